//! Events without a gap: opened again behind the last one when the broker goes away, listed anew when it was restored.

use std::sync::Arc;
use std::time::Duration;

use rear_agent_sdk::communicator::{BrokerEvent, EventId, EventStream};
use rear_agent_sdk::{BrokerCommunicator, Chain, Error, HttpCommunicator};
use tokio::time::sleep;

use crate::failure::Failure;
use crate::output::say;
use crate::show::Output;

/// Between two attempts to find a broker that is gone; the transport itself has tried a few times by then.
const PAUSE: Duration = Duration::from_secs(1);

/// What comes next.
pub(crate) enum Followed {
    /// This happened.
    Event(Box<BrokerEvent>),
    /// What was known is from before a restore: list again.
    Anew,
}

/// Events one after the other, until the program ends.
pub(crate) struct Follower {
    broker: Arc<HttpCommunicator>,
    output: Output,
    stream: Option<Box<dyn EventStream>>,
    last: Option<EventId>,
    lost: bool,
}

impl Follower {
    /// After an event, else from now on.
    pub(crate) fn after(
        broker: Arc<HttpCommunicator>,
        output: Output,
        last: Option<EventId>,
    ) -> Self {
        Self { broker, output, stream: None, last, lost: false }
    }

    /// The next one. Errors that waiting may cure are told and waited for.
    pub(crate) async fn next(&mut self) -> Result<Followed, Failure> {
        loop {
            match self.step().await {
                Ok(Some(event)) => {
                    self.last = Some(event.id);
                    return Ok(Followed::Event(Box::new(event)));
                }
                Ok(None) => self.gone("the stream of events has ended").await,
                Err(Error::Restored) => {
                    (self.stream, self.last) = (None, None);
                    say("the broker's ledger was restored: what follows is listed anew");
                    return Ok(Followed::Anew);
                }
                Err(error) if error.is_transient() => {
                    let why = Chain(&error).to_string();
                    self.gone(&why).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn step(&mut self) -> Result<Option<BrokerEvent>, Error> {
        if self.stream.is_none() {
            let opening = self.broker.events(self.last);
            self.stream =
                Some(self.output.progress.during("waiting for the broker", opening).await?);
            if std::mem::take(&mut self.lost) {
                say("the broker is back");
            }
        }
        match &mut self.stream {
            Some(stream) => stream.next().await,
            None => Ok(None),
        }
    }

    /// Said once for each time that the broker is gone.
    async fn gone(&mut self, why: &str) {
        self.stream = None;
        if !std::mem::replace(&mut self.lost, true) {
            say(&format!("{why}; trying again"));
        }
        sleep(PAUSE).await;
    }
}
