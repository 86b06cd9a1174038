//! Instructions as they change: long polls one after the other, or plain polling where a broker cannot hold an answer.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use tracing::warn;

use crate::communicator::{BrokerCommunicator, Level, Position, Role, Wait};
use crate::error::Error;

/// How long an answer is held: below what proxies cut (a minute), above what would be a poll again.
const HOLD: Duration = Duration::from_secs(30);

/// The pace of plain polling, as agents of the earlier system have it.
const POLL_EVERY: Duration = Duration::from_secs(5);

/// How long nothing is believed to have ended when a ledger fell back: time for an operator to bring back the right one, or to
/// restore it as one should.
const PATIENCE: Duration = Duration::from_mins(10);

/// The instructions of one side, level after level.
///
/// An error does not end it: [`next`](Self::next) may be asked again and goes on where it was.
pub struct Watch {
    communicator: Arc<dyn BrokerCommunicator>,
    role: Role,
    seen: Option<Seen>,
    /// When the ledger was last found to be behind what was seen of it.
    fell_back: Option<Instant>,
}

/// How the last answer came.
#[derive(Clone, Copy)]
enum Seen {
    At(Position),
    /// Without a revision. When it came: whoever stops waiting for the next one and asks again waits no longer than if it had not.
    Then(Instant),
}

impl Watch {
    /// Watches one side. The first level comes at once.
    #[must_use]
    pub fn new(communicator: Arc<dyn BrokerCommunicator>, role: Role) -> Self {
        Self { communicator, role, seen: None, fell_back: None }
    }

    /// The next level: when there is news, and now and then when there is none.
    ///
    /// What is missing in a level has ended: so levels never go back, also where several brokers share a ledger and
    /// one of them is behind. A broker that says that its ledger has never been so far is believed, and so is one whose ledger is
    /// in an earlier life; for ten minutes its levels [say so](Level::fell_back).
    pub async fn next(&mut self) -> Result<Level, Error> {
        loop {
            let level = match self.ask().await {
                // What was seen is from before: the first level of the ledger that is there now comes at once.
                Err(Error::Restored) if self.seen.is_some() => self.begin_anew().await?,
                answer => answer?,
            };
            if !self.is_behind(&level) {
                self.note_a_fall(&level);
                let seen = level.revision.map_or_else(|| Seen::Then(Instant::now()), Seen::At);
                self.seen = Some(seen);
                let fell_back = self.fell_back.is_some_and(|at| at.elapsed() < PATIENCE);
                return Ok(Level { fell_back, ..level });
            }
            sleep(POLL_EVERY).await;
        }
    }

    async fn begin_anew(&mut self) -> Result<Level, Error> {
        let level = self.communicator.instructions(self.role, None).await?;
        self.note_a_fall(&level);
        self.seen = None;
        Ok(level)
    }

    /// Notes whether the ledger was further once: no broker that others wait for, but the ledger itself has fallen back.
    fn note_a_fall(&mut self, level: &Level) {
        if self.seen_and_found(level).is_some_and(|(seen, found)| found < seen) {
            let role = self.role;
            warn!(%role, "the broker's ledger is behind what it was: for ten minutes nothing is given back because of that");
            self.fell_back = Some(Instant::now());
        }
    }

    /// Whether it is older than what was seen of the same life.
    fn is_behind(&self, level: &Level) -> bool {
        self.seen_and_found(level)
            .is_some_and(|(seen, found)| found.incarnation == seen.incarnation && found < seen)
    }

    fn seen_and_found(&self, level: &Level) -> Option<(Position, Position)> {
        match (self.seen, level.revision) {
            (Some(Seen::At(seen)), Some(found)) => Some((seen, found)),
            _ => None,
        }
    }

    async fn ask(&self) -> Result<Level, Error> {
        let wait = match self.seen {
            Some(Seen::At(after)) => Some(Wait { after, at_most: HOLD }),
            Some(Seen::Then(came)) => {
                sleep_until(came + POLL_EVERY).await;
                None
            }
            None => None,
        };
        self.communicator.instructions(self.role, wait).await
    }
}
