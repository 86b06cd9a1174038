//! kubectl as a client: the harness asks with it whether a server is ready, and tests may use it too.

use std::io::{self, BufRead, BufReader, Lines, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use super::guard::Group;

/// kubectl for one user of one API server.
#[derive(Clone, Debug)]
pub struct Kubectl {
    pub(crate) program: PathBuf,
    pub(crate) kubeconfig: PathBuf,
    /// kubectl remembers what an API server offers, by default in the user's home.
    pub(crate) cache: PathBuf,
    pub(crate) group: Group,
}

/// Why kubectl did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum KubectlError {
    /// It could not be run.
    #[error("kubectl could not be run")]
    Run(#[source] io::Error),
    /// It ended with an error, mostly the API server's.
    #[error("kubectl {command}: {message}")]
    Refused {
        /// The arguments.
        command: String,
        /// What it wrote on its standard error.
        message: String,
    },
}

impl Kubectl {
    /// Runs kubectl with the arguments and returns what it prints.
    pub fn run(&self, arguments: &[&str]) -> Result<String, KubectlError> {
        self.run_with_input(arguments, "")
    }

    /// Creates or changes the objects of a YAML text.
    pub fn apply(&self, objects: &str) -> Result<String, KubectlError> {
        self.run_with_input(&["apply", "--server-side", "--filename", "-"], objects)
    }

    /// Runs kubectl with the arguments and a text on its standard input.
    pub fn run_with_input(&self, arguments: &[&str], input: &str) -> Result<String, KubectlError> {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.group.spawn(&mut command).map_err(KubectlError::Run)?;
        let mut stdin = child.stdin.take();
        if let Some(stdin) = &mut stdin
            && let Err(error) = stdin.write_all(input.as_bytes())
            // One that gives up early tells why by itself.
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            return Err(KubectlError::Run(error));
        }
        drop(stdin);
        let output = child.wait_with_output().map_err(KubectlError::Run)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(KubectlError::Refused { command: arguments.join(" "), message })
    }

    /// Runs kubectl for as long as the answer lives, to read what it prints line by line, as of a watch.
    pub fn follow(&self, arguments: &[&str]) -> Result<Followed, KubectlError> {
        let mut command = self.command(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = self.group.spawn(&mut command).map_err(KubectlError::Run)?;
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe);
        let output = output.map_err(|kind| KubectlError::Run(kind.into()))?;
        Ok(Followed { child, lines: BufReader::new(output).lines() })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECACHEDIR", &self.cache)
            // Preferences of the person who runs the tests are not the tests'.
            .env("KUBERC", "off");
        command
    }
}

/// The lines that a running kubectl prints. Dropping it ends kubectl.
#[derive(Debug)]
pub struct Followed {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Iterator for Followed {
    type Item = String;

    /// Waits for the next line; none when kubectl ended.
    fn next(&mut self) -> Option<String> {
        self.lines.next()?.ok()
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
