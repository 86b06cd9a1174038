//! A process that ends with who started it.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, ExitStatus};

/// A process. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Child(std::process::Child);

impl Child {
    /// Starts it.
    pub(crate) fn spawn(command: &mut Command) -> io::Result<Self> {
        let program = command.get_program().to_string_lossy().into_owned();
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("{program} cannot be started: {error}"))
        };
        command.spawn().map(Self).map_err(named)
    }

    /// Its number.
    #[must_use]
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Ends it without a word.
    pub(crate) fn kill(&mut self) -> io::Result<ExitStatus> {
        self.0.kill()?;
        self.0.wait()
    }

    /// Waits for its own end.
    pub(crate) fn wait(&mut self) -> io::Result<ExitStatus> {
        self.0.wait()
    }

    /// Whether it has ended, and how.
    pub(crate) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.0.try_wait()
    }

    /// The first line of its standard output, without its end.
    pub(crate) fn first_line(&mut self) -> io::Result<String> {
        let output = self.take_stdout()?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }

    /// Its standard output, once.
    pub(crate) fn take_stdout(&mut self) -> io::Result<std::process::ChildStdout> {
        self.0.stdout.take().ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }

    /// Its standard error, once.
    pub(crate) fn take_stderr(&mut self) -> io::Result<std::process::ChildStderr> {
        self.0.stderr.take().ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A line for whoever started this process.
pub(crate) fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout();
    writeln!(out, "{line}")?;
    out.flush()
}
