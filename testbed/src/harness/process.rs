//! One server as a process: started, killed, stopped for a while, started again.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::guard::Group;

/// Enough to see why a server gave up, and not so much that it hides the test's own words.
const LAST_LINES: usize = 20;

/// A server of a test. Dropping it kills it.
#[derive(Debug)]
pub struct Process {
    name: String,
    program: PathBuf,
    arguments: Vec<String>,
    log: PathBuf,
    group: Group,
    child: Option<Child>,
}

/// A process that could not be started or signalled.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The program could not be run.
    #[error("{name} could not be started")]
    Start {
        /// The process.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// The signal was not delivered.
    #[error("{name} could not be signalled")]
    Signal {
        /// The process.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// It was killed, or never started.
    #[error("{name} is not running")]
    NotRunning {
        /// The process.
        name: String,
    },
    /// A second one would fight with the first over its port.
    #[error("{name} is running already")]
    Running {
        /// The process.
        name: String,
    },
}

impl Process {
    /// What to run, in which group, with its output in `NAME.log` of the folder. It does not run yet.
    pub(crate) fn new(
        name: &str,
        program: PathBuf,
        arguments: Vec<String>,
        folder: &Path,
        group: Group,
    ) -> Self {
        let log = folder.join(format!("{name}.log"));
        Self { name: name.to_owned(), program, arguments, log, group, child: None }
    }

    /// The name, such as `kube-apiserver`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The process id, while it runs.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Starts it, again with its data if it ran before. It is not ready yet when this returns.
    pub fn start(&mut self) -> Result<(), ProcessError> {
        if self.is_running() {
            return Err(ProcessError::Running { name: self.name.clone() });
        }
        let child = self
            .spawn()
            .map_err(|source| ProcessError::Start { name: self.name.clone(), source })?;
        self.child = Some(child);
        Ok(())
    }

    fn spawn(&self) -> io::Result<Child> {
        let log = File::options().create(true).append(true).open(&self.log)?;
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        self.group.spawn(&mut command)
    }

    /// Whether it was started and has not ended since.
    pub fn is_running(&mut self) -> bool {
        let ended = |child: &mut Child| matches!(child.try_wait(), Ok(Some(_)));
        self.child.take_if(ended);
        self.child.is_some()
    }

    /// Ends it at once, without a chance to say goodbye (SIGKILL).
    pub fn kill(&mut self) -> Result<(), ProcessError> {
        let mut child = self.child.take().ok_or_else(|| self.not_running())?;
        child.kill().and_then(|()| child.wait()).map_err(|source| self.not_signalled(source))?;
        Ok(())
    }

    /// Stops it where it is (SIGSTOP): its connections stay open and nothing answers. Returns when it
    /// has stopped.
    pub fn pause(&mut self) -> Result<(), ProcessError> {
        self.signal(Signal::STOP)?;
        let pid = self.pid()?;
        // Not reaping: that it ended, if it did, is for `is_running` to find out.
        let options = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(pid), options).map_err(|source| self.not_signalled(source.into()))?;
        Ok(())
    }

    /// Lets it go on after [`pause`](Self::pause) (SIGCONT).
    pub fn resume(&mut self) -> Result<(), ProcessError> {
        self.signal(Signal::CONT)
    }

    /// The child is not reaped before [`kill`](Self::kill) or a check that it runs, so that the id is
    /// nobody else's.
    fn signal(&mut self, signal: Signal) -> Result<(), ProcessError> {
        if !self.is_running() {
            return Err(self.not_running());
        }
        kill_process(self.pid()?, signal).map_err(|source| self.not_signalled(source.into()))
    }

    fn pid(&self) -> Result<Pid, ProcessError> {
        self.child.as_ref().map(Pid::from_child).ok_or_else(|| self.not_running())
    }

    fn not_running(&self) -> ProcessError {
        ProcessError::NotRunning { name: self.name.clone() }
    }

    fn not_signalled(&self, source: io::Error) -> ProcessError {
        ProcessError::Signal { name: self.name.clone(), source }
    }

    /// The last lines that it wrote.
    #[must_use]
    pub fn last_words(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("-- the last words of {}:\n{}", self.name, self.last_words());
        }
        // It may have ended before; whatever is left, the guard ends.
        let _ = self.kill();
    }
}
