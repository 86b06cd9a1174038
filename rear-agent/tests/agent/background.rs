//! The little that is asynchronous in tests that wait for processes.

use std::future::{Future, pending};
use std::sync::mpsc;
use std::thread;

use tokio::runtime::{Builder, Runtime};

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Waits for it.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    runtime().block_on(future)
}

/// Starts it; what it has spawned goes on until the tests end.
pub(crate) fn in_background<T: Send + 'static>(
    start: impl Future<Output = T> + Send + 'static,
) -> T {
    let (started, answer) = mpsc::channel();
    thread::spawn(move || {
        runtime().block_on(async {
            started.send(start.await).unwrap();
            pending::<()>().await;
        });
    });
    answer.recv().unwrap()
}
