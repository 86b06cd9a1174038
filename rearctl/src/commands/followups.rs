//! What the sides say about a reservation later: `release`, `renew`, `activate`, `reject`.

use clap::Args;
use rear_agent_sdk::BrokerCommunicator;
use rear_agent_sdk::Length as Duration;
use rear_agent_sdk::communicator::{Reservation, Timestamp};
use rear_api::moment;

use crate::failure::Failure;
use crate::names::bare;
use crate::output::say;
use crate::session::Session;
use crate::show::{Printer, Shown};

/// The flags of `release`.
#[derive(Debug, Args)]
pub(crate) struct Release {
    /// Which reservations
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

/// The flags of `renew`.
#[derive(Debug, Args)]
pub(crate) struct Renew {
    /// Which reservation
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    end: End,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct End {
    /// Until when, such as 2026-01-02T15:04:05Z
    #[arg(long, value_name = "MOMENT", value_parser = moment::read)]
    until: Option<Timestamp>,
    /// How long from now, such as 1h30m
    #[arg(long = "for", value_name = "DURATION")]
    span: Option<Duration>,
}

/// The flags of `activate`.
#[derive(Debug, Args)]
pub(crate) struct Activate {
    /// Which reservation
    #[arg(value_name = "ID")]
    id: String,
}

/// The flags of `reject`.
#[derive(Debug, Args)]
pub(crate) struct Reject {
    /// Which reservation
    #[arg(value_name = "ID")]
    id: String,
    /// Why, for its requester
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

impl Release {
    /// One after the other. One that fails does not keep the others: the last failure is told as the end of it all.
    /// A name that cannot be meant is noticed before the first is given back: that could not be undone.
    pub(crate) async fn run(self, session: Session) -> Result<(), Failure> {
        let ids = self.ids.iter().map(|id| bare(Reservation::KIND, id));
        let ids = ids.collect::<Result<Vec<_>, _>>()?;
        if let [id] = ids.as_slice() {
            return session.output.one(&session.wait(session.broker.release(id)).await?);
        }
        let mut printer = Printer::stream(session.output);
        let mut outcome = Ok(());
        for id in ids {
            match session.wait(session.broker.release(id)).await {
                Ok(released) => printer.items(&[&released])?,
                Err(failure) => {
                    if let Err(before) = std::mem::replace(&mut outcome, Err(failure)) {
                        say(&before.to_string());
                    }
                }
            }
        }
        outcome
    }
}

impl Renew {
    /// The end is made absolute here, so that asking again cannot extend twice.
    pub(crate) async fn run(self, session: Session) -> Result<(), Failure> {
        let End { until, span } = self.end;
        let until = until.or_else(|| span.map(|span| rear_agent_sdk::now().plus(span)));
        let until = until.ok_or_else(|| Failure::Usage("give --until or --for".to_owned()))?;
        let renewed = session.broker.renew(bare(Reservation::KIND, &self.id)?, until);
        session.output.one(&session.wait(renewed).await?)
    }
}

impl Activate {
    pub(crate) async fn run(self, session: Session) -> Result<(), Failure> {
        let activated = session.broker.activate(bare(Reservation::KIND, &self.id)?);
        session.output.one(&session.wait(activated).await?)
    }
}

impl Reject {
    pub(crate) async fn run(self, session: Session) -> Result<(), Failure> {
        let rejected = session.broker.reject(bare(Reservation::KIND, &self.id)?, &self.reason);
        session.output.one(&session.wait(rejected).await?)
    }
}
