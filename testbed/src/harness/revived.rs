//! A program that is started again whenever it ends, as a kubelet does.

use std::panic::resume_unwind;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// As a kubelet does, only sooner.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A program that is started again whenever it ends. Dropping this kills it.
#[derive(Debug)]
pub struct Revived {
    /// Closed when it is over.
    over: Option<Sender<()>>,
    watching: Option<JoinHandle<()>>,
}

impl Revived {
    /// Starts it by a function that is told how the one before has ended, if there was one. If the function panics, then so does whoever
    /// drops this.
    pub fn start(start: impl FnMut(Option<ExitStatus>) -> Child + Send + 'static) -> Self {
        let (over, is_over) = channel();
        let watching = thread::spawn(move || watch(start, &is_over));
        Self { over: Some(over), watching: Some(watching) }
    }
}

fn watch(mut start: impl FnMut(Option<ExitStatus>) -> Child, is_over: &Receiver<()>) {
    let mut child = start(None);
    while is_over.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        if let Ok(Some(ended)) = child.try_wait() {
            child = start(Some(ended));
        }
    }
    // It may have ended by itself.
    drop(child.kill());
    drop(child.wait());
}

impl Drop for Revived {
    fn drop(&mut self) {
        drop(self.over.take());
        let ended = self.watching.take().map(JoinHandle::join);
        if let Some(Err(panic)) = ended
            && !thread::panicking()
        {
            resume_unwind(panic);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};

    use super::super::eventually;
    use super::*;

    #[test]
    fn what_ends_is_started_again_until_it_is_over() {
        let (starts, living) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(0)));
        let (counted, named) = (starts.clone(), living.clone());
        let revived = Revived::start(move |_| {
            if counted.fetch_add(1, Ordering::SeqCst) < 3 {
                return Command::new("true").spawn().unwrap();
            }
            let child = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap();
            *named.lock().unwrap() = child.id();
            child
        });
        let pid = eventually(|| Some(*living.lock().unwrap()).filter(|pid| *pid != 0)).unwrap();
        assert_eq!(starts.load(Ordering::SeqCst), 4);
        drop(revived);
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "it is killed");
    }

    #[test]
    #[should_panic(expected = "not so")]
    fn a_start_that_panics_is_told() {
        drop(Revived::start(|_| panic!("not so")));
    }
}
