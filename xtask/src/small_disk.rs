//! The suite that fills a small file system.

use std::path::Path;

use crate::invocation::Invocation;
use crate::suites;

/// Makes a small file system and runs a command on it.
const SCRIPT: &str = "sh xtask/small-disk.sh";

fn tests() -> [String; 2] {
    [suites::tests("small_disk", ""), suites::tests("broker", "failing_disks::")]
}

pub(crate) fn requirement(root: &Path) -> Result<(), String> {
    match Invocation::new(&format!("{SCRIPT} true")).output(root) {
        Some(_) => Ok(()),
        None => Err("a small file system cannot be mounted here: allow user namespaces \
                     (`sysctl kernel.unprivileged_userns_clone=1`, or \
                     `kernel.apparmor_restrict_unprivileged_userns=0`), or run as root"
            .to_owned()),
    }
}

/// Built first, outside: the small file system is for the ledger alone.
#[expect(clippy::unnecessary_wraps, reason = "the type that every list of commands has")]
pub(crate) fn commands(_root: &Path) -> Result<Vec<Invocation>, String> {
    let build = |test: &str| {
        let (command, _filter) = test.split_once(" -- ").unwrap_or((test, ""));
        Invocation::new(&format!("{command} --no-run"))
    };
    let run = |test: &str| Invocation::new(&format!("{SCRIPT} {test}"));
    Ok(tests().iter().flat_map(|test| [build(test), run(test)]).collect())
}
