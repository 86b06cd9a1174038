//! The process that outlives a killed test: it holds the folder and the process group of a
//! [`Site`](super::site::Site), and takes both away when the test lets go or dies.

use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// The guard itself makes the folder, so that there is no moment in which a folder has no guard, and
/// says where it is. Then it reads until the other end of the pipe is closed, by whatever end of the test.
///
/// It leads the process group of all servers, and dies with them. So a shell in a session of its own does
/// the rest; the group cannot be anybody else's by then, as its leader still waits. A server that is
/// being killed may write one more file while the folder goes: then it is tried again, for ten seconds.
const SCRIPT: &str = r#"
trap '' PIPE HUP INT TERM
folder=$(mktemp -d "${TMPDIR:-/tmp}/rear-testbed-XXXXXXXX") || exit
echo "$folder"
while read -r _; do :; done
setsid sh -c '
    kill -s KILL -- "-$1"
    tries=100
    until rm -rf -- "$2" || [ $tries = 0 ]; do tries=$((tries - 1)); sleep 0.1; done
' sh $$ "$folder"
"#;

/// Dropping it ends every process of its group, and removes the folder.
#[derive(Debug)]
pub(crate) struct Guard {
    shell: Child,
    /// Ends when both shells are gone.
    output: BufReader<ChildStdout>,
    folder: PathBuf,
}

impl Guard {
    pub(crate) fn start() -> io::Result<Self> {
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = shell.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut guard = Self { shell, output: BufReader::new(output), folder: PathBuf::new() };
        guard.folder = guard.read_folder()?;
        Ok(guard)
    }

    fn read_folder(&mut self) -> io::Result<PathBuf> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        match line.strip_suffix('\n') {
            Some(folder) if !folder.is_empty() => Ok(PathBuf::from(folder)),
            _ => Err(io::Error::other("no temporary folder could be made")),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The process group to which every server must belong.
    pub(crate) fn group(&self) -> Group {
        Group(self.shell.id())
    }
}

/// A process group that is ended as a whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group(u32);

impl Group {
    /// A process that is no member would outlive a killed test, so there is none without the group.
    pub(crate) fn spawn(self, command: &mut Command) -> io::Result<Child> {
        let leader = i32::try_from(self.0).map_err(io::Error::other)?;
        command.process_group(leader).spawn()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // Nobody is there to be told of a guard that was killed itself.
        let _ = self.output.read_to_end(&mut Vec::new());
        let _ = self.shell.wait();
    }
}
