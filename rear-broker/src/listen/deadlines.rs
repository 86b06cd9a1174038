//! Deadlines of a connection: how long it may be silent, how long the head of a request may take, and how long it may be full.
//!
//! They are kept where bytes arrive: a client that sends one byte after the other looks busy to everyone else.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::limits::{ANSWER_DEADLINE, HEADER_DEADLINE, IDLE_DEADLINE, LEAST_TAKEN};

/// Counts the requests of a connection that are not answered yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct InFlight(Arc<AtomicUsize>);

/// One request that is not answered yet.
#[derive(Debug)]
pub(crate) struct Flight(Arc<AtomicUsize>);

impl InFlight {
    /// A request has arrived.
    pub(crate) fn begin(&self) -> Flight {
        self.0.fetch_add(1, Ordering::AcqRel);
        Flight(self.0.clone())
    }

    fn is_empty(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What a connection is doing, as far as its bytes tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing.
    Silent,
    /// The head of a request has begun.
    Head,
    /// A request is being answered.
    Busy,
}

/// A connection that ends itself when it takes too long.
pub(crate) struct Timed<C> {
    connection: C,
    in_flight: InFlight,
    /// At HTTP/2 heads are frames among others: their size is limited instead.
    has_heads: bool,
    phase: Phase,
    /// Of the phase, once it was waited in: most heads come whole, and need none.
    deadline: Pin<Box<Sleep>>,
    is_set: bool,
    /// While there is something to be written that the other end does not take.
    full: Option<Full>,
}

/// A connection that takes no more for the moment.
struct Full {
    /// Until it must have taken something.
    deadline: Pin<Box<Sleep>>,
    /// What it has taken of that.
    taken: usize,
}

impl<C> Timed<C> {
    pub(crate) fn new(connection: C, in_flight: InFlight, has_heads: bool) -> Self {
        let deadline = Box::pin(sleep_until(Instant::now() + IDLE_DEADLINE));
        let (phase, is_set) = (Phase::Silent, true);
        Self { connection, in_flight, has_heads, phase, deadline, is_set, full: None }
    }

    /// So much was written, or the other end takes nothing at the moment.
    fn taken(
        &mut self,
        written: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(Ok(bytes)) => {
                if let Some(full) = &mut self.full {
                    full.taken += bytes;
                }
                written
            }
            Poll::Ready(Err(_)) => written,
            Poll::Pending if self.waited_in_vain(context) => {
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    /// Whether the other end has had its time and taken too little.
    fn waited_in_vain(&mut self, context: &mut Context<'_>) -> bool {
        let end = || Instant::now() + ANSWER_DEADLINE;
        let full = self
            .full
            .get_or_insert_with(|| Full { deadline: Box::pin(sleep_until(end())), taken: 0 });
        while full.deadline.as_mut().poll(context).is_ready() {
            if full.taken < LEAST_TAKEN {
                return true;
            }
            full.taken = 0;
            full.deadline.as_mut().reset(end());
        }
        false
    }

    /// Whether it has been waited for too long in this phase.
    fn is_overdue(&mut self, context: &mut Context<'_>) -> bool {
        let span = match self.phase {
            Phase::Silent => IDLE_DEADLINE,
            Phase::Head => HEADER_DEADLINE,
            Phase::Busy => return false,
        };
        if !self.is_set {
            self.deadline.as_mut().reset(Instant::now() + span);
            self.is_set = true;
        }
        self.deadline.as_mut().poll(context).is_ready()
    }

    /// Bytes arrived, or none are there yet.
    fn notice(&mut self, arrived: bool) {
        let next = match self.phase {
            _ if !self.in_flight.is_empty() => Phase::Busy,
            Phase::Head => Phase::Head,
            Phase::Silent | Phase::Busy if arrived && self.has_heads => Phase::Head,
            Phase::Silent | Phase::Busy => Phase::Silent,
        };
        // What arrives at HTTP/2 without a request is mostly answers to pings: it gives no more time.
        if next != self.phase {
            (self.phase, self.is_set) = (next, false);
        }
    }
}

impl<C: AsyncRead + Unpin> AsyncRead for Timed<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.connection).poll_read(context, buffer);
        self.notice(read.is_ready() && buffer.filled().len() > before);
        if read.is_pending() && self.is_overdue(context) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }
}

impl<C: AsyncWrite + Unpin> AsyncWrite for Timed<C> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.connection).poll_write(context, bytes);
        self.taken(written, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.connection).poll_flush(context);
        match flushed {
            Poll::Ready(_) => self.full = None,
            Poll::Pending if self.waited_in_vain(context) => {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            Poll::Pending => {}
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.connection).poll_write_vectored(context, parts);
        self.taken(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::time::{sleep, timeout};

    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    /// How long a connection lives on which something arrives every minute; `None` for longer than an hour.
    async fn lives_for(
        mut connection: Timed<DuplexStream>,
        mut client: DuplexStream,
    ) -> Option<Duration> {
        let pings = tokio::spawn(async move {
            while client.write_all(b"pong").await.is_ok() {
                sleep(MINUTE).await;
            }
        });
        let began = Instant::now();
        let ended = async { while connection.read(&mut [0; 64]).await.is_ok() {} };
        let lived = timeout(60 * MINUTE, ended).await.ok().map(|()| began.elapsed());
        pings.abort();
        lived
    }

    #[tokio::test(start_paused = true)]
    async fn answering_pings_is_not_asking_for_anything() {
        let (server, client) = duplex(1024);
        let http2 = Timed::new(server, InFlight::default(), false);
        assert_eq!(lives_for(http2, client).await, Some(IDLE_DEADLINE));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_lives_while_something_is_answered_on_it() {
        let (server, client) = duplex(1024);
        let in_flight = InFlight::default();
        let asked = in_flight.begin();
        assert_eq!(lives_for(Timed::new(server, in_flight, false), client).await, None);
        drop(asked);
    }

    #[tokio::test(start_paused = true)]
    async fn the_head_of_a_request_does_not_come_byte_by_byte() {
        let (server, client) = duplex(1024);
        let http1 = Timed::new(server, InFlight::default(), true);
        assert_eq!(lives_for(http1, client).await, Some(HEADER_DEADLINE));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_silent_again_once_everything_is_answered_on_it() {
        let (server, client) = duplex(1024);
        let in_flight = InFlight::default();
        drop([in_flight.begin(), in_flight.begin()]);
        let answered = Timed::new(server, in_flight, false);
        assert_eq!(lives_for(answered, client).await, Some(IDLE_DEADLINE));
    }

    /// How long someone is written to who takes so much of it twice in the time for an answer; `None` for longer than an hour.
    async fn is_written_for(takes: usize) -> Option<Duration> {
        let (server, mut client) = duplex(1024);
        let taking = tokio::spawn(async move {
            let mut piece = vec![0; takes];
            loop {
                sleep(ANSWER_DEADLINE * 2 / 5).await;
                client.read_exact(&mut piece).await.unwrap();
            }
        });
        let mut connection = Timed::new(server, InFlight::default(), false);
        let began = Instant::now();
        let ended = async { while connection.write_all(&[0; 4096]).await.is_ok() {} };
        let written = timeout(60 * MINUTE, ended).await.ok().map(|()| began.elapsed());
        taking.abort();
        written
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_takes_too_little_is_not_waited_for_and_whoever_is_slow_is() {
        assert_eq!(is_written_for(0).await, Some(ANSWER_DEADLINE));
        assert_eq!(is_written_for(LEAST_TAKEN / 4).await, Some(ANSWER_DEADLINE));
        assert_eq!(is_written_for(LEAST_TAKEN).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_has_taken_everything_begins_anew() {
        let (server, mut client) = duplex(1024);
        let mut connection = Timed::new(server, InFlight::default(), false);
        for _ in 0..3 {
            let write = async {
                connection.write_all(&[0; 4096]).await?;
                connection.flush().await
            };
            let take = async {
                sleep(ANSWER_DEADLINE / 2).await;
                client.read_exact(&mut [0; 4096]).await
            };
            let ((), taken) = tokio::try_join!(write, take).unwrap();
            assert_eq!(taken, 4096);
            sleep(MINUTE).await;
        }
    }
}
