//! A small Debian for tests of packages and containers: made once by debootstrap, kept in the cache as one archive.

use std::fs;
use std::path::Path;
use std::process;

use rear_testbed::artifacts::Places;

use crate::failed::Failed;
use crate::invocation::Invocation;
use crate::stopwatch::Stopwatch;
use crate::tools::{self, CARGO_DEB, DEBOOTSTRAP, DPKG_DEV, IP};

/// The release of this machine, as what is built here may need its C library.
const MAKE: &str = "sh xtask/base-system.sh";

/// Succeeds when packages can be made, and installed in a chroot.
pub(crate) fn requirement(root: &Path) -> Result<(), String> {
    tools::require(root, &[&CARGO_DEB, &DPKG_DEV, &IP])?;
    if Invocation::new("id -u").output(root).as_deref().map(str::trim) != Some("0") {
        return Err("packages are installed in a chroot, as root only: run it as root".to_owned());
    }
    if Places::from_environment().base_system().is_file() {
        Ok(())
    } else {
        Err("the base system is missing: run `cargo xtask setup` as root".to_owned())
    }
}

/// Makes it unless it is there; what could not be made is named.
pub(crate) fn make_missing(root: &Path) -> Option<String> {
    println!("== base system: in which packages and containers are tried");
    let file = Places::from_environment().base_system();
    if file.is_file() {
        println!("   already there");
        return None;
    }
    let stopwatch = Stopwatch::start();
    if make(root, &file).is_err() {
        println!("   not made: this needs root, a mirror of Debian, and {}", DEBOOTSTRAP.label());
        return Some("base system".to_owned());
    }
    println!("   made in {} as {}", stopwatch.elapsed(), file.display());
    None
}

/// Under another name first, so that what has the right name is whole.
fn make(root: &Path, file: &Path) -> Result<(), Failed> {
    let unfinished = file.with_extension(format!("unfinished-{}", process::id()));
    let folder = file.parent().unwrap_or(root);
    let told = |error: std::io::Error| {
        println!("   {}: {error}", folder.display());
        Failed
    };
    fs::create_dir_all(folder).map_err(told)?;
    let words = [unfinished.display().to_string()];
    Invocation::new(MAKE).with(&words).run(root)?;
    fs::rename(&unfinished, file).map_err(told)
}
