//! Types the commands of a document into a shell, as a reader would, and looks at what is printed.
//!
//! The reader's checkout is a folder of links to the project, so that nothing is written into it. `cargo` there is `cargo.sh`,
//! and `target/release` is where the programs of tests are. The network is the session's own, so that ports are free; so are the processes, and `/etc` and `/var` are layers over
//! those of the machine, so that documents can use the places that their readers will use.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rear_packaging::document::{Act, Step, difference, missing, steps};
use rear_testbed::artifacts::{Artifact, CACHE_VARIABLE, Places};
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use super::patience::until;
use super::programs;
use super::tree::{root, text};

/// A command that prints nothing for so long is stuck.
const SILENCE: Duration = Duration::from_mins(10);
/// Ends what one block prints.
const MARK: &str = "--- the block has ended ---";
/// What a block prints that should have failed, and has not.
const SUCCEEDED: &str = "--- and has not failed ---";

/// The names under which documents reach a broker are this machine.
const MACHINE: &str = r#"
ip link set lo up
layers=$(mktemp -d)
mount -t tmpfs tmpfs "$layers"
for folder in etc var; do
  mkdir "$layers/$folder" "$layers/$folder.work"
  mount -t overlay -o "lowerdir=/$folder,upperdir=$layers/$folder,workdir=$layers/$folder.work" overlay "/$folder"
done
echo '127.0.0.1 localhost broker.example.com broker.example.org' > /etc/hosts
exec bash --noprofile --norc -eu -o pipefail 2>&1
"#;

/// A shell in a checkout of its own. Dropping it ends everything that was started in it.
struct Session {
    shell: Child,
    /// Closed when the session ends.
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    checkout: TempDir,
    started: usize,
}

/// A document whose commands are tried.
pub(crate) struct Trial<'a> {
    path: &'a str,
    accepted: &'a [&'a str],
    before: &'a str,
    files: fn(&Path),
}

impl<'a> Trial<'a> {
    /// Of a document in which every command is executed.
    pub(crate) fn of(path: &'a str) -> Self {
        Self { path, accepted: &[], before: "", files: |_| {} }
    }

    /// Commands that are not executed have one of these reasons.
    pub(crate) fn accepting(self, accepted: &'a [&'a str]) -> Self {
        Self { accepted, ..self }
    }

    /// After commands that make what the document says its reader has.
    pub(crate) fn after(self, before: &'a str) -> Self {
        Self { before, ..self }
    }

    /// With files in the reader's folder.
    pub(crate) fn with(self, files: fn(&Path)) -> Self {
        Self { files, ..self }
    }

    /// Types every command.
    pub(crate) fn run(self) {
        let Self { path, accepted, before, files } = self;
        let steps = steps(&text(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut session = Session::begin();
        files(session.checkout.path());
        session.type_in(&format!("before {path}"), before);
        for step in steps {
            session.take(path, accepted, step);
        }
    }
}

fn assert_printed(place: &str, expected: &[String], printed: &str) {
    if let Some(line) = missing(expected, printed) {
        panic!("{place}: `{line}` is not printed, but this:\n{printed}");
    }
}

impl Session {
    fn begin() -> Self {
        let checkout = checkout();
        let home = checkout.path().join("home");
        let mut command = Command::new("unshare");
        command
            .args(["--map-root-user", "--net", "--mount", "--pid", "--fork", "--mount-proc"])
            .args(["sh", "-euc", MACHINE])
            .current_dir(checkout.path())
            .env("HOME", &home)
            .env("XDG_CACHE_HOME", home.join(".cache"))
            .env("XDG_CONFIG_HOME", home.join(".config"))
            .env("SERVERS", servers())
            .env("PROJECT", root())
            .env("PROGRAMS", programs::folder())
            .env("CARGO_ITSELF", env!("CARGO"))
            // The broker warns of variables that look like keys and are none.
            .env_remove(CACHE_VARIABLE)
            .env("PATH", path(checkout.path()))
            .env("NO_COLOR", "1")
            .env("CARGO_TERM_COLOR", "never")
            // What cargo tells the tests about themselves is not for what they start.
            .env_remove("CARGO_MANIFEST_DIR")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0);
        for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
            if std::env::var_os(name).is_none() {
                command.env(name, std::env::home_dir().unwrap().join(folder));
            }
        }
        let mut shell = command.spawn().unwrap();
        let stdin = shell.stdin.take();
        let lines = read(shell.stdout.take().unwrap());
        Self { shell, stdin, lines, checkout, started: 0 }
    }

    fn take(&mut self, path: &str, accepted: &[&str], Step { line, act }: Step) {
        let place = format!("{path}:{line}");
        match act {
            Act::Type { commands, expected } => {
                let printed = self.type_in(&place, &commands);
                assert_printed(&place, &expected, &printed);
            }
            Act::Start { commands, expected } => self.start(&place, &commands, &expected),
            Act::Fail { commands, expected } => {
                let printed = self.fail(&place, &commands);
                if let Some(difference) = difference(&expected, &printed) {
                    panic!("{place}: it prints {difference}. All of it:\n{printed}");
                }
            }
            Act::Write { file, text } => {
                assert!(
                    !file.starts_with('/'),
                    "{place}: files are written into the reader's folder"
                );
                let file = self.checkout.path().join(file);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            }
            Act::Leave { reason } => {
                assert!(accepted.contains(&reason.as_str()), "{place}: {reason} is no reason");
            }
        }
    }

    /// Types lines, and returns what they print.
    fn type_in(&mut self, place: &str, commands: &str) -> String {
        // Beside the block, as its last line may have begun something that reads the standard input.
        // What it prints may not end with a line's end.
        let typed = format!("{{ :\n{commands}\n}} < /dev/null\nprintf '\\n%s\\n' '{MARK}'\n");
        self.stdin.as_mut().unwrap().write_all(typed.as_bytes()).unwrap();
        let mut printed = String::new();
        loop {
            match self.lines.recv_timeout(SILENCE) {
                Ok(line) if line == MARK => return printed,
                Ok(line) => printed.extend([&line, "\n"]),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("{place}: a command has failed, or is stuck:\n{commands}\n{printed}")
                }
            }
        }
    }

    /// Types lines that fail, and returns what they print.
    fn fail(&mut self, place: &str, commands: &str) -> String {
        let typed =
            format!("set +e\n(\nset -e\n{commands}\n)\n[ $? -ne 0 ] || echo '{SUCCEEDED}'\nset -e");
        let printed = self.type_in(place, &typed);
        assert!(!printed.contains(SUCCEEDED), "{place}: it does not fail:\n{commands}\n{printed}");
        printed
    }

    /// Starts what stays, and waits for its first words.
    fn start(&mut self, place: &str, commands: &str, expected: &[String]) {
        self.started += 1;
        let output = self.checkout.path().join(format!("home/started-{}", self.started));
        let typed = format!("(\n{commands}\n) > '{}' 2>&1 < /dev/null &", output.display());
        self.type_in(place, &typed);
        let said = || fs::read_to_string(&output).unwrap_or_default();
        until(&format!("{place}: {commands}"), || {
            missing(expected, &said()).is_none().then_some(())
        });
    }
}

impl Drop for Session {
    /// The shell is the first of its processes: those that are left when it ends are killed by the kernel.
    fn drop(&mut self) {
        let group = Pid::from_child(&self.shell);
        // What runs may tidy up; what has ended already is as good.
        let _ = kill_process_group(group, Signal::TERM);
        if let Some(mut stdin) = self.stdin.take() {
            // It may have ended, if a command has failed.
            let _ = stdin.write_all(b"wait\n");
        }
        for _ in 0..100 {
            if matches!(self.shell.try_wait(), Ok(Some(_))) {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
        let _ = kill_process_group(group, Signal::KILL);
        drop(self.shell.wait());
    }
}

fn read(stream: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// Where real servers and definitions are.
fn servers() -> PathBuf {
    let helm = Places::from_environment().in_cache(Artifact::Helm);
    helm.ancestors().nth(2).unwrap().to_owned()
}

/// Links to everything of the project, and `target/release`.
fn checkout() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(root()).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() != "target" && entry.file_name() != ".git" {
            symlink(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
    }
    fs::create_dir_all(folder.path().join("target")).unwrap();
    symlink(programs::folder(), folder.path().join("target/release")).unwrap();
    for below in ["home/.cache", "home/.config", "home/bin"] {
        fs::create_dir_all(folder.path().join(below)).unwrap();
    }
    write_cargo(&folder.path().join("home/bin/cargo"));
    for (artifact, name) in [(Artifact::Kubectl, "kubectl"), (Artifact::Helm, "helm")] {
        if let Ok(program) = Places::from_environment().find(artifact) {
            symlink(program, folder.path().join("home/bin").join(name)).unwrap();
        }
    }
    folder
}

fn write_cargo(file: &Path) {
    fs::write(file, include_str!("cargo.sh")).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}

fn path(checkout: &Path) -> String {
    format!("{}:{}", checkout.join("home/bin").display(), std::env::var("PATH").unwrap())
}
