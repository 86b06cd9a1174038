//! What is finished also if nobody waits for it any more.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::thread;

use futures::FutureExt;
use futures::future::CatchUnwind;
use tokio::runtime::Handle;

/// Work that goes on by itself where whoever waits for it goes away: until then it needs no task of its own.
pub(super) struct Finished<F: Future<Output: Send> + Send + 'static>(Option<Rest<F>>);

type Rest<F> = Pin<Box<CatchUnwind<AssertUnwindSafe<F>>>>;

impl<F: Future<Output: Send> + Send + 'static> Finished<F> {
    pub(super) fn new(work: F) -> Self {
        Self(Some(Box::pin(AssertUnwindSafe(work).catch_unwind())))
    }
}

impl<F: Future<Output: Send> + Send + 'static> Future for Finished<F> {
    /// What came of it; an error if it panicked.
    type Output = thread::Result<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(work) = &mut self.0 else { return Poll::Pending };
        let done = ready!(work.as_mut().poll(context));
        self.0 = None;
        Poll::Ready(done)
    }
}

impl<F: Future<Output: Send> + Send + 'static> Drop for Finished<F> {
    fn drop(&mut self) {
        // Without a runtime nothing is served any more.
        if let (Some(rest), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::oneshot;
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn whoever_waits_gets_what_came_of_it() {
        assert_eq!(Finished::new(async { 7 }).await.ok(), Some(7));
        assert!(Finished::new(async { panic!("a secret") }).await.is_err());
    }

    #[tokio::test]
    async fn what_nobody_waits_for_any_more_is_finished() {
        let (go_on, wait) = oneshot::channel::<()>();
        let (tell, told) = oneshot::channel();
        let work = Finished::new(async move {
            wait.await.unwrap();
            tell.send("done").unwrap();
        });
        assert!(timeout(Duration::ZERO, work).await.is_err(), "it waits");
        go_on.send(()).unwrap();
        assert_eq!(told.await, Ok("done"));
    }
}
