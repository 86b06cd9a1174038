//! A small Debian with a network of its own, which goes with its test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rear_testbed::artifacts::Places;
use tempfile::TempDir;

use super::patience::until;

/// The system. Dropping it ends what runs in it, and removes it.
pub(crate) struct Chroot {
    /// A process that does nothing but hold the namespaces.
    holder: Child,
    folder: TempDir,
}

/// A program in it, that ends with it.
pub(crate) struct Running(Child);

impl Running {
    /// Asks it to end, and waits for that.
    pub(crate) fn stop(mut self) {
        let id = self.0.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert!(self.0.wait().unwrap().success(), "it does not end well");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Chroot {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let archive = Places::from_environment().base_system();
        let unpacked = Command::new("tar")
            .arg("--extract")
            .arg("--file")
            .arg(archive)
            .args(["--numeric-owner", "--directory"])
            .arg(folder.path())
            .status();
        assert!(unpacked.unwrap().success(), "the base system cannot be unpacked");
        // What every machine has, and an installer writes.
        fs::write(folder.path().join("etc/hosts"), "127.0.0.1 localhost\n::1 localhost\n").unwrap();
        // Others than root run in it.
        Command::new("chmod").arg("755").arg(folder.path()).status().unwrap();
        let ready = folder.path().join("tmp/ready");
        let holder = Command::new("unshare")
            .args(["--mount", "--net", "sh", "-euc"])
            .arg(
                "ip link set lo up; mount -t proc proc \"$0/proc\"; touch \"$0/tmp/ready\"; \
                 exec sleep infinity",
            )
            .arg(folder.path())
            .spawn()
            .unwrap();
        until("a namespace", || ready.exists().then_some(()));
        Self { holder, folder }
    }

    pub(crate) fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside.trim_start_matches('/'))
    }

    /// Copies a file into it.
    pub(crate) fn bring(&self, file: &Path, inside: &str) {
        let target = self.path(inside);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(file, &target).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }

    /// Runs lines of shell in it, which must succeed, and returns all that they print.
    pub(crate) fn run(&self, lines: &str) -> String {
        let output = self.try_run(lines);
        let told = told(&output);
        assert!(output.status.success(), "{lines}\n{told}");
        told
    }

    /// The same, whatever becomes of them.
    pub(crate) fn try_run(&self, lines: &str) -> Output {
        self.inside().args(["sh", "-euc", lines]).output().unwrap()
    }

    /// Starts a program in it.
    pub(crate) fn start(&self, words: &[String]) -> Running {
        Running(self.inside().args(words).stdin(Stdio::null()).spawn().unwrap())
    }

    /// A program of this machine, on the network of that one.
    pub(crate) fn beside(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.holder.id().to_string(), "--net", "--", program]);
        command
    }

    /// With nothing of this machine in the environment.
    fn inside(&self) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args(["--target", &self.holder.id().to_string(), "--mount", "--net", "--", "chroot"])
            .arg(self.folder.path())
            .args(["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"])
            .args(["DEBIAN_FRONTEND=noninteractive", "HOME=/"]);
        command
    }
}

fn told(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

impl Drop for Chroot {
    fn drop(&mut self) {
        // Its mounts go with the last process in it.
        drop(self.holder.kill());
        drop(self.holder.wait());
    }
}
