//! `cargo xtask setup`: installs the tools that are missing and tells about each.

use std::path::Path;

use crate::failed::Failed;
use crate::stopwatch::Stopwatch;
use crate::tools::{self, Tool};

pub(crate) fn run(root: &Path) -> Result<(), Failed> {
    install_missing(root, tools::ALL)
}

/// Goes on after a failure: what can be installed is installed.
fn install_missing(root: &Path, tools: &[Tool]) -> Result<(), Failed> {
    let mut missing = Vec::new();
    for tool in tools {
        if ensure(root, tool).is_err() {
            missing.push(tool.label());
        }
    }
    if missing.is_empty() {
        println!("setup: everything is there");
        Ok(())
    } else {
        println!("setup: could not install {}", missing.join(", "));
        Err(Failed)
    }
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
