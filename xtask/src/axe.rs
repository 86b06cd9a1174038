//! axe-core, the second opinion on whether everyone can use the dashboard: fetched by npm into the cache.

use std::fs;
use std::path::Path;

use rear_testbed::artifacts::Places;
use rear_testbed::artifacts::npm::{Axe, FOLDER};

use crate::failed::Failed;
use crate::invocation::Invocation;
use crate::tools::NPM;

/// What says which version, and its checksum.
const PINS: [&str; 2] = ["package.json", "package-lock.json"];

/// Succeeds when it is there; otherwise says the remedy.
pub(crate) fn is_there(_root: &Path) -> Result<(), String> {
    if Axe::script(&Places::from_environment()).is_file() {
        return Ok(());
    }
    Err(format!("axe-core {} is missing: run `cargo xtask setup`", Axe::version()))
}

/// Fetches it if it is not there, and names it if it still is not.
pub(crate) fn fetch_missing(root: &Path) -> Vec<String> {
    let label = format!("axe-core {}", Axe::version());
    println!("== {label}: judges whether everyone can use the dashboard");
    if is_there(root).is_ok() {
        println!("   already there");
        return Vec::new();
    }
    match fetch(root) {
        Ok(()) => Vec::new(),
        Err(why) => {
            println!("   not fetched: {why}");
            vec![label]
        }
    }
}

fn fetch(root: &Path) -> Result<(), String> {
    if !NPM.is_present(root) {
        return Err(format!("without {}", NPM.label()));
    }
    let folder = Axe::folder(&Places::from_environment());
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(&folder).map_err(failed)?;
    for pin in PINS {
        fs::copy(root.join(FOLDER).join(pin), folder.join(pin)).map_err(failed)?;
    }
    // Nothing of what is fetched runs here: pages run it.
    let install = Invocation::new("npm ci --ignore-scripts --no-audit --no-fund");
    install.run(&folder).map_err(|Failed| "npm did not install it".to_owned())?;
    is_there(root)
}
