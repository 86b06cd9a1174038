//! Answers that nobody takes: a client that asks and does not read keeps its answer in the broker's memory.
//!
//! At HTTP/1 such a connection is full, and `deadlines` notices. At HTTP/2 it need not be: each answer waits for a window of its
//! own, while everything else goes on. So each answer says when it waits for its client.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use hyper::body::Frame;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::deadlines::Flight;
use crate::limits::ANSWER_DEADLINE;

/// How often it is looked.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Every connection of a listener.
#[derive(Default)]
pub(super) struct Takers {
    next: AtomicU64,
    all: Mutex<HashMap<u64, Arc<Taking>>>,
}

/// The answers of one connection that wait for their client, and since when.
#[derive(Default)]
pub(super) struct Taking {
    next: AtomicU64,
    waiting: Mutex<BTreeMap<u64, Instant>>,
    over: Notify,
}

/// A connection among all.
pub(super) struct Taker {
    number: u64,
    takers: Arc<Takers>,
    pub(super) taking: Arc<Taking>,
}

impl Takers {
    pub(super) fn join(self: &Arc<Self>) -> Taker {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let taking = Arc::<Taking>::default();
        self.lock().insert(number, taking.clone());
        Taker { number, takers: self.clone(), taking }
    }

    /// Ends connections whose answers are not taken, for ever.
    pub(super) async fn watch(&self) -> Infallible {
        loop {
            sleep(LOOK_EVERY).await;
            self.end_those_who_wait(Instant::now());
        }
    }

    fn end_those_who_wait(&self, now: Instant) {
        for taking in self.lock().values() {
            if taking.oldest().is_some_and(|since| now - since >= ANSWER_DEADLINE) {
                taking.over.notify_one();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Taking>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Taker {
    fn drop(&mut self) {
        self.takers.lock().remove(&self.number);
    }
}

impl Taking {
    /// Ends when the connection is to end.
    pub(super) async fn over(&self) {
        self.over.notified().await;
    }

    fn oldest(&self) -> Option<Instant> {
        self.lock().values().min().copied()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Instant>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first piece of an answer, and the longest of the others: HTTP/2 keeps a whole piece for a client that has room for one byte,
/// where nobody sees that it is not taken. Most answers are one piece.
const FIRST_PIECE: usize = 2 << 10;
const PIECE: usize = 16 << 10;

/// The body of an answer: it holds on to its request, and says when it waits for the client.
pub(super) struct Guarded {
    body: Body,
    /// What is left of the frame that is handed out in pieces.
    rest: Bytes,
    piece: usize,
    number: u64,
    taking: Arc<Taking>,
    _flight: Flight,
}

impl Guarded {
    pub(super) fn new(body: Body, taking: Arc<Taking>, flight: Flight) -> Self {
        let number = taking.next.fetch_add(1, Ordering::Relaxed);
        let (rest, piece) = (Bytes::new(), FIRST_PIECE);
        let guarded = Self { body, rest, piece, number, taking, _flight: flight };
        guarded.waits_for_the_client();
        guarded
    }

    fn waits_for_the_client(&self) {
        self.taking.lock().insert(self.number, Instant::now());
    }

    fn waits_for_us(&self) {
        self.taking.lock().remove(&self.number);
    }

    /// The next piece of what is left.
    fn next_piece(&mut self) -> Frame<Bytes> {
        let piece = self.rest.split_to(self.rest.len().min(self.piece));
        self.piece = PIECE;
        Frame::data(piece)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.waits_for_us();
    }
}

impl hyper::body::Body for Guarded {
    type Data = <Body as hyper::body::Body>::Data;
    type Error = <Body as hyper::body::Body>::Error;

    /// Asked for when the client has room for more.
    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        if !self.rest.is_empty() {
            self.waits_for_the_client();
            return Poll::Ready(Some(Ok(self.next_piece())));
        }
        let next =
            Pin::new(&mut self.body).poll_frame(context).map_ok(|frame| match frame.into_data() {
                Ok(data) => {
                    self.rest = data;
                    self.next_piece()
                }
                Err(other) => other,
            });
        match &next {
            Poll::Ready(Some(Ok(_))) => self.waits_for_the_client(),
            Poll::Ready(Some(Err(_)) | None) | Poll::Pending => self.waits_for_us(),
        }
        next
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    /// Only asked for before the first piece.
    fn size_hint(&self) -> hyper::body::SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use http_body_util::BodyExt;
    use hyper::body::Body as _;

    use super::super::deadlines::InFlight;
    use super::*;

    #[tokio::test]
    async fn an_answer_waits_for_its_client_until_it_is_taken_and_for_us_otherwise() {
        let takers = Arc::<Takers>::default();
        let taker = takers.join();
        let taking = taker.taking.clone();
        let mut answer =
            Guarded::new(Body::from("all of it"), taking.clone(), InFlight::default().begin());
        assert!(taking.oldest().is_some(), "nobody has asked for it yet");
        assert!(answer.frame().await.is_some());
        assert!(answer.is_end_stream() || answer.frame().await.is_none());
        drop(answer);
        assert_eq!(taking.oldest(), None);
        let silent = Body::from_stream(futures::stream::pending::<Result<&str, Infallible>>());
        let mut silent = Guarded::new(silent, taking.clone(), InFlight::default().begin());
        assert!(silent.frame().now_or_never().is_none());
        assert_eq!(taking.oldest(), None, "it is the broker that has nothing to say");
        drop(taker);
        assert!(takers.lock().is_empty());
    }

    #[tokio::test]
    async fn a_connection_whose_answer_is_not_taken_is_ended_and_no_other() {
        let takers = Arc::<Takers>::default();
        let (slow, fine) = (takers.join(), takers.join());
        let _answer =
            Guarded::new(Body::from("x"), slow.taking.clone(), InFlight::default().begin());
        takers.end_those_who_wait(Instant::now());
        assert!(slow.taking.over().now_or_never().is_none());
        takers.end_those_who_wait(Instant::now() + ANSWER_DEADLINE);
        assert!(slow.taking.over().now_or_never().is_some());
        assert!(fine.taking.over().now_or_never().is_none());
    }
}
