//! Builds with Go from the pinned modules in `testbed/go`, and tells how far it is.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rear_testbed::artifacts::GoModule;

/// A line of progress for so many packages: every half minute or so in the longest build.
const PACKAGES_FOR_A_LINE: usize = 100;

/// A pinned module, in which the go command runs.
pub(crate) struct Module {
    folder: PathBuf,
    release: GoModule,
}

impl Module {
    pub(crate) fn new(root: &Path, release: GoModule) -> Self {
        Self { folder: root.join("testbed/go").join(release.folder()), release }
    }

    /// Compiles the program of the package into the file.
    pub(crate) fn build(&self, package: &str, flags: &str, file: &Path) -> Result<(), String> {
        let dependencies = self.output(&["list", "-deps", package])?.lines().count();
        let mut build =
            self.go(&["build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", flags]);
        build.arg("-o").arg(file).arg(package).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut build = build.spawn().map_err(not_started)?;
        if let Some(stderr) = build.stderr.take() {
            tell_progress(stderr, dependencies);
        }
        let status = build.wait().map_err(not_started)?;
        if status.success() { Ok(()) } else { Err(format!("go build ended with {status}")) }
    }

    /// The folder with the sources of the release, downloaded if necessary.
    pub(crate) fn source(&self) -> Result<PathBuf, String> {
        self.output(&["mod", "download", self.release.path()])?;
        let folder = self.output(&["list", "-m", "-f", "{{.Dir}}", self.release.path()])?;
        Ok(PathBuf::from(folder.trim_end()))
    }

    fn output(&self, arguments: &[&str]) -> Result<String, String> {
        let output = self.go(arguments).stderr(Stdio::inherit()).output().map_err(not_started)?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(format!("go {} ended with {}", arguments.join(" "), output.status))
        }
    }

    fn go(&self, arguments: &[&str]) -> Command {
        let mut go = Command::new("go");
        go.args(arguments)
            .current_dir(&self.folder)
            // What is built depends on the pinned module and not on how this machine is set up.
            .env("GOFLAGS", "-mod=readonly")
            .env("GOWORK", "off")
            // Else Go may look for another toolchain than the one that setup has checked.
            .env("GOTOOLCHAIN", "local")
            // Needs no C compiler, and runs on any Linux.
            .env("CGO_ENABLED", "0");
        go
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape of what maps an error")]
fn not_started(error: std::io::Error) -> String {
    format!("go could not be run: {error}")
}

/// Go names each package that it compiles on a line of its own; what it has compiled for another program
/// is not named again. Other lines are messages.
fn tell_progress(stderr: impl Read, dependencies: usize) {
    let mut compiled = 0;
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        if line.contains(char::is_whitespace) {
            eprintln!("   {line}");
            continue;
        }
        compiled += 1;
        if compiled % PACKAGES_FOR_A_LINE == 0 {
            println!("   {compiled} packages compiled, of {dependencies} at most");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_runs_in_the_pinned_module_and_nothing_of_the_machine_changes_what_it_builds() {
        let go = Module::new(Path::new("project"), GoModule::Kwok).go(&["version"]);
        assert_eq!(go.get_current_dir(), Some(Path::new("project/testbed/go/kwok")));
        let variables: Vec<_> = go.get_envs().filter_map(|(name, _)| name.to_str()).collect();
        assert_eq!(variables, ["CGO_ENABLED", "GOFLAGS", "GOTOOLCHAIN", "GOWORK"]);
    }
}
