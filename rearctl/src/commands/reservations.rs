//! `rearctl reservations`: list, get, describe, watch.

use clap::{Args, Subcommand, ValueEnum};
use rear_agent_sdk::BrokerCommunicator;
use rear_agent_sdk::communicator::{EventId, Reservation, Role};
use rear_agent_sdk::http::ReservationFilter;
use rear_api::reservation::PhaseName;

use super::list::{Extent, nothing, print};
use crate::failure::Failure;
use crate::follow::{Followed, Follower};
use crate::names::bare;
use crate::session::Session;
use crate::show::{Printer, Shown};

/// What can be done with reservations.
#[derive(Debug, Subcommand)]
pub(crate) enum Reservations {
    /// List them: all for an administrator, its own for a cluster
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        wanted: Wanted,
        #[command(flatten)]
        extent: Extent,
        /// Go on with what changes
        #[arg(short, long)]
        watch: bool,
    },
    /// Show one
    Get {
        /// Which reservation
        #[arg(value_name = "ID")]
        id: String,
        /// Go on with what changes
        #[arg(short, long)]
        watch: bool,
    },
    /// Show one on many lines
    Describe {
        /// Which reservation
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Show them, and then what changes, until Ctrl-C
    Watch {
        /// Only this reservation
        #[arg(value_name = "ID")]
        id: Option<String>,
        #[command(flatten)]
        wanted: Wanted,
    },
}

/// Which reservations.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct Wanted {
    /// Only those in which this cluster has the role
    #[arg(long, value_enum)]
    role: Option<Side>,
    /// Only those in this phase
    #[arg(long, value_enum, ignore_case = true)]
    phase: Option<Phase>,
}

/// A side of a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Side {
    /// Who was promised
    Requester,
    /// Who keeps it aside
    Provider,
}

/// The phases that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Phase {
    /// Locked
    Reserved,
    /// In use
    Active,
    /// Given back
    Released,
    /// Could not be kept
    Failed,
}

impl From<Side> for Role {
    fn from(side: Side) -> Self {
        match side {
            Side::Requester => Self::Requester,
            Side::Provider => Self::Provider,
        }
    }
}

impl From<Phase> for PhaseName {
    fn from(phase: Phase) -> Self {
        match phase {
            Phase::Reserved => Self::Reserved,
            Phase::Active => Self::Active,
            Phase::Released => Self::Released,
            Phase::Failed => Self::Failed,
        }
    }
}

impl Wanted {
    fn filter(self) -> ReservationFilter {
        ReservationFilter {
            role: self.role.map(Role::from),
            phase: self.phase.map(PhaseName::from),
        }
    }
}

impl Reservations {
    pub(crate) async fn run(self, session: Session) -> Result<(), Failure> {
        match self {
            Self::List { wanted, extent, watch: false } => list(&session, wanted, extent).await,
            Self::List { wanted, extent, watch: true } => {
                watch(&session, wanted, extent, None).await
            }
            Self::Get { id, watch: false } => session.output.one(&one(&session, &id).await?),
            Self::Get { id, watch: true } => watch_one(&session, &id, Wanted::default()).await,
            Self::Describe { id } => session.output.described(&one(&session, &id).await?),
            Self::Watch { id: Some(id), wanted } => watch_one(&session, &id, wanted).await,
            Self::Watch { id: None, wanted } => {
                watch(&session, wanted, Extent::default(), None).await
            }
        }
    }
}

async fn list(session: &Session, wanted: Wanted, extent: Extent) -> Result<(), Failure> {
    let mut printer = Printer::list(session.output);
    let filter = wanted.filter();
    let first = session.broker.reservations_page(&filter, Some(extent.page()));
    print::<Reservation, Reservation>(session, extent, &mut printer, first, |_| true).await?;
    nothing(session, &printer, Reservation::KIND);
    printer.end()
}

async fn one(session: &Session, id: &str) -> Result<Reservation, Failure> {
    session.wait(session.broker.reservation(bare(Reservation::KIND, id)?)).await
}

async fn watch_one(session: &Session, id: &str, wanted: Wanted) -> Result<(), Failure> {
    let id = bare(Reservation::KIND, id)?;
    watch(session, wanted, Extent::default(), Some(id)).await
}

/// Shows reservations, then each again when something happens to it.
async fn watch(
    session: &Session,
    wanted: Wanted,
    extent: Extent,
    only: Option<&str>,
) -> Result<(), Failure> {
    let mut printer = Printer::stream(session.output);
    'anew: loop {
        let last = present(session, wanted, extent, only, &mut printer).await?;
        let own = whose(session, wanted)?;
        let mut follower = Follower::after(session.broker.clone(), session.output, last);
        loop {
            let Followed::Event(event) = follower.next().await? else { continue 'anew };
            let Some(reservation) = &event.data.reservation else { continue };
            let meant = only.is_none_or(|id| reservation.id == id);
            if meant && is_wanted(reservation, wanted, own.as_deref()) {
                printer.items(&[reservation])?;
            }
        }
    }
}

/// What there is; after which event to go on.
async fn present(
    session: &Session,
    wanted: Wanted,
    extent: Extent,
    only: Option<&str>,
    printer: &mut Printer,
) -> Result<Option<EventId>, Failure> {
    if let Some(id) = only {
        // The state is asked for first: what happens in between is told twice, and not never.
        let state = session.wait(session.broker.readiness()).await?.revision;
        printer.items(&[&one(session, id).await?])?;
        return Ok(state.map(EventId::end_of));
    }
    let filter = wanted.filter();
    let first = session.broker.reservations_page(&filter, Some(extent.page()));
    let state = print::<Reservation, Reservation>(session, extent, printer, first, |_| true);
    Ok(state.await?.map(EventId::end_of))
}

/// The broker filters lists; events are of everything that concerns the caller, and filtered here.
fn is_wanted(reservation: &Reservation, wanted: Wanted, own: Option<&str>) -> bool {
    let side = match wanted.role {
        None => true,
        Some(Side::Requester) => own == Some(reservation.requester_id.as_str()),
        Some(Side::Provider) => own == Some(reservation.target_cluster_id.as_str()),
    };
    side && wanted.phase.is_none_or(|phase| PhaseName::from(phase) == reservation.status.phase)
}

/// The name in the certificate, where it matters.
fn whose(session: &Session, wanted: Wanted) -> Result<Option<String>, Failure> {
    wanted.role.map(|_| crate::certificate::own_name(&session.context.certificates)).transpose()
}
