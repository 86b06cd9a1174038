//! `cargo xtask setup`: installs the tools and builds the servers that are missing, and tells about each.

use std::path::Path;

use crate::axe;
use crate::base_system;
use crate::failed::Failed;
use crate::stopwatch::Stopwatch;
use crate::testbed;
use crate::tools::{self, Tool};

/// Goes on after a failure: what can be had is there afterwards.
pub(crate) fn run(root: &Path) -> Result<(), Failed> {
    let mut missing = install_missing(root, tools::ALL);
    missing.extend(testbed::build_missing(root));
    missing.extend(axe::fetch_missing(root));
    missing.extend(base_system::make_missing(root));
    if missing.is_empty() {
        println!("setup: everything is there");
        Ok(())
    } else {
        println!("setup: not there: {}", missing.join(", "));
        Err(Failed)
    }
}

/// The tools that could not be installed.
fn install_missing(root: &Path, tools: &[Tool]) -> Vec<String> {
    tools.iter().filter(|tool| ensure(root, tool).is_err()).map(Tool::label).collect()
}

fn ensure(root: &Path, tool: &Tool) -> Result<(), Failed> {
    println!("== {}: {}", tool.label(), tool.why);
    if tool.is_present(root) {
        println!("   already there");
        return Ok(());
    }
    let stopwatch = Stopwatch::start();
    let installed = install(root, tool);
    match installed {
        Ok(()) => println!("   installed in {}", stopwatch.elapsed()),
        Err(Failed) => println!("   not installed: {}", tool.by_hand()),
    }
    installed
}

/// An installer may succeed and leave its program outside the search path.
fn install(root: &Path, tool: &Tool) -> Result<(), Failed> {
    for command in tool.installation() {
        command.run(root)?;
    }
    if tool.is_present(root) { Ok(()) } else { Err(Failed) }
}
