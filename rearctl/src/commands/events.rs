//! `rearctl events`: what happens, as it happens.

use std::time::Duration;

use clap::Args;
use rear_agent_sdk::communicator::EventId;
use rear_agent_sdk::{BrokerCommunicator, Error};
use tokio::time::timeout;

use crate::failure::Failure;
use crate::follow::{Followed, Follower};
use crate::session::Session;
use crate::show::{Printer, Told};

/// Without `--follow`: what happened already is told at once, so that this silence is its end.
const SILENCE: Duration = Duration::from_secs(1);

/// The flags of `events`.
#[derive(Debug, Args)]
pub(crate) struct Events {
    /// Go on with what happens from now on, until Ctrl-C
    #[arg(short, long, required_unless_present = "after")]
    follow: bool,
    /// Begin behind this event, as `-o wide` and `-o name` show it
    #[arg(long, value_name = "EVENT", value_parser = event)]
    after: Option<EventId>,
    /// End after so many
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
}

/// `events/3.41-0`, as `-o name` prints it, or without the kind.
fn event(text: &str) -> Result<EventId, String> {
    let name = text.strip_prefix("events/").unwrap_or(text);
    name.parse().map_err(|error: <EventId as std::str::FromStr>::Err| error.to_string())
}

impl Events {
    pub(crate) async fn run(self, session: Session) -> Result<(), Failure> {
        let mut printer = Printer::stream(session.output);
        if self.follow {
            self.go_on(&session, &mut printer).await
        } else {
            self.kept(&session, &mut printer).await
        }
    }

    fn is_enough(&self, printer: &Printer) -> bool {
        self.limit.is_some_and(|limit| printer.printed() >= limit)
    }

    async fn go_on(&self, session: &Session, printer: &mut Printer) -> Result<(), Failure> {
        let after = match self.after {
            Some(after) => Some(after),
            // Named now, so that nothing is missed if the broker goes away before the first event.
            None => session.wait(session.broker.readiness()).await?.revision.map(EventId::end_of),
        };
        let mut follower = Follower::after(session.broker.clone(), session.output, after);
        while !self.is_enough(printer) {
            if let Followed::Event(event) = follower.next().await? {
                printer.items(&[&Told::from(&*event)])?;
            }
        }
        Ok(())
    }

    async fn kept(&self, session: &Session, printer: &mut Printer) -> Result<(), Failure> {
        let mut stream = session.wait(session.broker.events(self.after)).await?;
        while !self.is_enough(printer) {
            let Ok(next) = timeout(SILENCE, stream.next()).await else { return Ok(()) };
            match next {
                Ok(Some(event)) => printer.items(&[&Told::from(&event)])?,
                Ok(None) | Err(Error::Closed) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
