//! The audit log: who did what, one line for each request that may change something, also if it was refused.
//!
//! An accepted advertisement is not in it: one comes every half minute from every cluster, and what it changed is in the
//! events. Lines go to a file of their own, or to the log as the target `audit`.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use serde::Serialize;
use thiserror::Error;
use tracing::{error, info};

/// Who did what is nobody else's business.
const OWNER_ONLY: u32 = 0o600;

/// Lines that may wait for the disk. Whoever comes then waits too: a line is not left out.
const MAX_WAITING: usize = 4096;

/// When it is tried again to write what could not be written.
const TRY_AGAIN: Duration = Duration::from_millis(200);

/// How long lines gather before they are written. Waking the thread for each of them costs as much as making it.
const GATHER: Duration = Duration::from_millis(5);

/// What is told of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// When, by the broker's time.
    pub at: String,
    /// The request, as its answer and the log name it.
    pub request: String,
    /// Whom the certificate names; absent without one that can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Whether that is an administrator.
    pub administrator: bool,
    /// For whom an administrator has asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<String>,
    /// What was to be done.
    pub action: &'static str,
    /// With what: a reservation or a cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// The status of the answer.
    pub status: u16,
    /// The code of the problem, if it was refused or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// The audit log cannot be written.
#[derive(Debug, Error)]
#[error("{} cannot be written", path.display())]
pub struct AuditError {
    /// Which file.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

/// Where records go.
#[derive(Debug, Clone)]
pub struct Audit(Arc<ArcSwapOption<Lines>>);

impl Audit {
    /// To this file, or to the log.
    pub fn open(path: Option<&Path>) -> Result<Self, AuditError> {
        Ok(Self(Arc::new(ArcSwapOption::new(lines(path)?))))
    }

    /// From now on to this file, made anew if it was moved away, or to the log.
    pub fn reopen(&self, path: Option<&Path>) -> Result<(), AuditError> {
        self.0.store(lines(path)?);
        Ok(())
    }

    /// Why lines cannot be written at the moment. They are kept, and nothing more is to be changed of which there would be one.
    #[must_use]
    pub fn trouble(&self) -> Option<Arc<String>> {
        self.0.load().as_ref()?.writer.trouble.load_full()
    }

    /// Tells of a request.
    pub fn tell(&self, record: &Record) {
        let Some(lines) = &*self.0.load() else { return log(record) };
        match serde_json::to_string(record) {
            Ok(line) => {
                if !lines.take(line + "\n") {
                    // Better there than nowhere.
                    log(record);
                }
            }
            Err(error) => error!(%error, ?record, "a line of the audit log cannot be written"),
        }
    }
}

fn lines(path: Option<&Path>) -> Result<Option<Arc<Lines>>, AuditError> {
    path.map(|path| Lines::open(path).map(Arc::new)).transpose()
}

fn log(record: &Record) {
    let Record { at: _, request, by, administrator, on_behalf_of, action, object, status, code } =
        record;
    info!(
        target: "audit",
        request, by, administrator, on_behalf_of, action, object, status, code, "audit"
    );
}

/// A file and the thread that writes it.
#[derive(Debug)]
struct Lines {
    queue: Option<SyncSender<String>>,
    thread: Option<JoinHandle<()>>,
    writer: Arc<Writer>,
}

/// What the thread knows, and others with it.
#[derive(Debug)]
struct Writer {
    path: PathBuf,
    trouble: ArcSwapOption<String>,
    /// Nobody waits for the disk any more.
    ends: AtomicBool,
}

impl Lines {
    fn open(path: &Path) -> Result<Self, AuditError> {
        let failed = |source| AuditError { path: path.to_owned(), source };
        let mut options = OpenOptions::new();
        let file = options.create(true).append(true).mode(OWNER_ONLY).open(path).map_err(failed)?;
        let (queue, waiting) = sync_channel(MAX_WAITING);
        let (path, trouble, ends) =
            (path.to_owned(), ArcSwapOption::empty(), AtomicBool::new(false));
        let writer = Arc::new(Writer { path, trouble, ends });
        let (thread, own) = (thread::Builder::new().name("audit log".into()), writer.clone());
        let thread = thread.spawn(move || own.write_all(&file, &waiting)).map_err(failed)?;
        Ok(Self { queue: Some(queue), thread: Some(thread), writer })
    }

    /// Whether it has taken a line, which waits for room unless there will be none for long.
    fn take(&self, mut line: String) -> bool {
        let Some(queue) = &self.queue else { return false };
        loop {
            line = match queue.try_send(line) {
                Ok(()) => return true,
                Err(TrySendError::Full(line)) if self.writer.trouble.load().is_none() => line,
                Err(_) => return false,
            };
            thread::sleep(GATHER);
        }
    }
}

impl Writer {
    fn write_all(&self, file: &File, waiting: &Receiver<String>) {
        while let Ok(line) = waiting.recv() {
            thread::sleep(GATHER);
            let rest = std::iter::from_fn(|| waiting.try_recv().ok()).take(MAX_WAITING);
            let lines: String = [line].into_iter().chain(rest).collect();
            self.write(file, lines.as_bytes());
        }
    }

    /// Until all of it is written, or nobody waits any more. What has been written of a line stays, and the rest follows.
    fn write(&self, mut file: &File, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match file.write(bytes) {
                Ok(0) => self.wait(&io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    bytes = &bytes[written..];
                    if self.trouble.swap(None).is_some() {
                        info!(path = %self.path.display(), "the audit log can be written again");
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) if self.ends.load(Ordering::SeqCst) => {
                    let lines = bytes.split(|byte| *byte == b'\n').count() - 1;
                    let path = self.path.display();
                    return error!(%path, lines, "lines of the audit log were lost");
                }
                Err(error) => self.wait(&error),
            }
        }
    }

    fn wait(&self, error: &io::Error) {
        let path = self.path.display();
        if self.trouble.load().is_none() {
            error!(%path, %error, "the audit log cannot be written: nothing is changed until it can");
        }
        let trouble = format!("the audit log {path} cannot be written: {error}");
        self.trouble.store(Some(Arc::new(trouble)));
        thread::sleep(TRY_AGAIN);
    }
}

impl Drop for Lines {
    /// What was told is written before it ends.
    fn drop(&mut self) {
        self.writer.ends.store(true, Ordering::SeqCst);
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            error!("the audit log's thread panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u32) -> Record {
        Record {
            at: String::new(),
            request: number.to_string(),
            by: None,
            administrator: false,
            on_behalf_of: None,
            action: "release",
            object: None,
            status: 401,
            code: None,
        }
    }

    #[test]
    fn what_was_told_is_written_when_the_log_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let audit = Audit::open(Some(&path)).unwrap();
        (0..100).for_each(|number| audit.tell(&record(number)));
        drop(audit);
        assert_eq!(std::fs::read_to_string(path).unwrap().lines().count(), 100);
    }

    #[test]
    fn a_log_that_cannot_be_written_says_so_and_does_not_hold_up_its_end() {
        let audit = Audit::open(Some(Path::new("/dev/full"))).unwrap();
        assert_eq!(audit.trouble(), None);
        audit.tell(&record(1));
        // More than may wait: nobody is kept waiting for them.
        (0..=MAX_WAITING).for_each(|_| audit.tell(&record(2)));
        let trouble = std::iter::repeat_with(|| audit.trouble()).flatten().next().unwrap();
        assert!(trouble.starts_with("the audit log /dev/full cannot be written: "), "{trouble}");
        audit.reopen(None).unwrap();
        assert_eq!(audit.trouble(), None);
    }
}
