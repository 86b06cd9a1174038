//! The program, run as a person or a script runs it.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};

use super::stage::until;

/// The program with its arguments, before it runs.
pub(crate) struct Ctl(pub(crate) Command);

/// What it said, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ctl {
    /// In a folder, with nothing of this machine's settings.
    pub(crate) fn new(home: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rearctl"));
        command.args(arguments).env_clear().env("HOME", home).env("TERM", "xterm");
        command.stdin(Stdio::null());
        Self(command)
    }

    /// Speaking to a broker with a certificate.
    pub(crate) fn to(mut self, url: &str, certificates: &Path) -> Self {
        self.0.arg("--broker").arg(url).arg("--certs").arg(certificates);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    /// Runs it to its end.
    pub(crate) fn run(mut self) -> Told {
        let output = self.0.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Told {
            code: output.status.code().expect("it ends by itself"),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// Runs it to its end, which must be a good one; what it printed.
    pub(crate) fn out(self) -> String {
        let told = self.run();
        assert_eq!(told.code, 0, "{told:?}");
        told.out
    }

    /// Starts it, to be listened to while it runs.
    pub(crate) fn start(mut self) -> Running {
        let mut child = self.0.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out: ChildStdout = child.stdout.take().unwrap();
        let err: ChildStderr = child.stderr.take().unwrap();
        Running { child, out: Heard::of(out), err: Heard::of(err) }
    }

    /// Starts it with an output that the test reads when it likes.
    pub(crate) fn start_unread(mut self) -> (Child, ChildStdout) {
        let mut child = self.0.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = child.stdout.take().unwrap();
        (child, out)
    }
}

/// The program while it runs; it ends with its test.
pub(crate) struct Running {
    child: Child,
    pub(crate) out: Heard,
    pub(crate) err: Heard,
}

impl Running {
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Told {
        let status: ExitStatus = until("its end", || self.child.try_wait().unwrap());
        let code = status.code().expect("it ends by itself");
        Told { code, out: self.out.all(), err: self.err.all() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What a stream has said so far.
#[derive(Clone)]
pub(crate) struct Heard {
    text: Arc<Mutex<(Vec<u8>, bool)>>,
}

impl Heard {
    pub(crate) fn of(mut stream: impl Read + Send + 'static) -> Self {
        let text = Arc::new(Mutex::new((Vec::new(), false)));
        let kept = text.clone();
        thread::spawn(move || {
            let mut buffer = [0; 8192];
            // A terminal whose other side is gone is an error, and an end.
            while let Ok(read @ 1..) = stream.read(&mut buffer) {
                kept.lock().unwrap().0.extend_from_slice(&buffer[..read]);
            }
            kept.lock().unwrap().1 = true;
        });
        Self { text }
    }

    pub(crate) fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.text.lock().unwrap().0).into_owned()
    }

    /// Waits until it has said this; all that it has said.
    pub(crate) fn wait_for(&self, words: &str) -> String {
        self.wait_until(words, |text| text.contains(words))
    }

    /// Waits until what it has said is as it should be.
    pub(crate) fn wait_until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        until(&format!("{what}, after:\n{}", self.so_far()), || {
            Some(self.so_far()).filter(|text| is_so(text))
        })
    }

    /// All of it, to its end.
    pub(crate) fn all(&self) -> String {
        until("the end of its output", || self.text.lock().unwrap().1.then_some(()));
        self.so_far()
    }
}
