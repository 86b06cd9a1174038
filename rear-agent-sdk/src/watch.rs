//! Instructions as they change: long polls one after the other, or plain polling where a broker cannot hold an answer.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use crate::communicator::{BrokerCommunicator, Level, Position, Role, Wait};
use crate::error::Error;

/// How long an answer is held: below what proxies cut (a minute), above what would be a poll again.
const HOLD: Duration = Duration::from_secs(30);

/// The pace of plain polling, as agents of the earlier system have it.
const POLL_EVERY: Duration = Duration::from_secs(5);

/// The instructions of one side, level after level.
///
/// An error does not end it: [`next`](Self::next) may be asked again and goes on where it was.
pub struct Watch {
    communicator: Arc<dyn BrokerCommunicator>,
    role: Role,
    seen: Option<Seen>,
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
        Self { communicator, role, seen: None }
    }

    /// The next level: when there is news, and now and then when there is none.
    ///
    /// What is missing in a level has ended: so levels never go back, also where several brokers share a ledger and
    /// one of them is behind.
    pub async fn next(&mut self) -> Result<Level, Error> {
        loop {
            let level = match self.ask().await {
                // What was seen is from before: the first level of the restored ledger comes at once.
                Err(Error::Restored) if self.seen.is_some() => {
                    self.seen = None;
                    continue;
                }
                answer => answer?,
            };
            if !self.is_behind(&level) {
                let seen = level.revision.map_or_else(|| Seen::Then(Instant::now()), Seen::At);
                self.seen = Some(seen);
                return Ok(level);
            }
            sleep(POLL_EVERY).await;
        }
    }

    fn is_behind(&self, level: &Level) -> bool {
        match (self.seen, level.revision) {
            (Some(Seen::At(seen)), Some(found)) => {
                found.incarnation == seen.incarnation && found < seen
            }
            _ => false,
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
