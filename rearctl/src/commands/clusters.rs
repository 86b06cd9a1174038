//! `rearctl clusters`: list, get, describe, watch.

use std::collections::BTreeSet;
use std::pin::pin;
use std::time::Duration;

use clap::Subcommand;
use rear_agent_sdk::BrokerCommunicator;
use rear_agent_sdk::communicator::{Advertisement, BrokerEvent, ClusterId, EventId};
use tokio::time::{Interval, interval};

use super::list::{Extent, nothing, print};
use crate::failure::Failure;
use crate::follow::{Followed, Follower};
use crate::names;
use crate::output::say;
use crate::session::Session;
use crate::show::{Printer, Shown};

/// A cluster on which much is reserved is shown again at most this often.
const REFRESH: Duration = Duration::from_secs(1);

/// What can be done with clusters.
#[derive(Debug, Subcommand)]
pub(crate) enum Clusters {
    /// List them: all for an administrator, itself for a cluster
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        extent: Extent,
        /// Go on with what changes
        #[arg(short, long)]
        watch: bool,
    },
    /// Show one
    Get {
        /// Which cluster
        #[arg(value_name = "CLUSTER")]
        name: String,
        /// Go on with what changes
        #[arg(short, long)]
        watch: bool,
    },
    /// Show one on many lines
    Describe {
        /// Which cluster
        #[arg(value_name = "CLUSTER")]
        name: String,
    },
    /// Show them, and then what changes, until Ctrl-C
    Watch {
        /// Only this cluster
        #[arg(value_name = "CLUSTER")]
        name: Option<String>,
    },
}

impl Clusters {
    pub(crate) async fn run(self, session: Session) -> Result<(), Failure> {
        match self {
            Self::List { extent, watch: false } => list(&session, extent).await,
            Self::List { extent, watch: true } => watch(&session, extent, None).await,
            Self::Get { name, watch: false } => session.output.one(&one(&session, &name).await?),
            Self::Get { name, watch: true } => {
                watch(&session, Extent::default(), Some(names::cluster(&name)?)).await
            }
            Self::Describe { name } => session.output.described(&one(&session, &name).await?),
            Self::Watch { name } => {
                let only = name.as_deref().map(names::cluster).transpose()?;
                watch(&session, Extent::default(), only).await
            }
        }
    }
}

async fn list(session: &Session, extent: Extent) -> Result<(), Failure> {
    let mut printer = Printer::list(session.output);
    let first = session.broker.clusters_page(Some(extent.page()));
    print::<Advertisement, Advertisement>(session, extent, &mut printer, first, |_| true).await?;
    nothing(session, &printer, Advertisement::KIND);
    printer.end()
}

async fn one(session: &Session, name: &str) -> Result<Advertisement, Failure> {
    let id = names::cluster(name)?;
    let found = session.wait(session.broker.advertisement(&id)).await?;
    let unknown = || format!("there is no cluster `{id}`, or it is not yours to see");
    found.ok_or_else(|| Failure::NotFound(unknown()))
}

/// Shows clusters, then each again when it says something, when its state changes, and when something is promised on
/// it: that changes what is free without the cluster saying a word.
async fn watch(session: &Session, extent: Extent, only: Option<ClusterId>) -> Result<(), Failure> {
    let mut printer = Printer::stream(session.output);
    'anew: loop {
        let last = present(session, extent, only.as_ref(), &mut printer).await?;
        let mut follower = Follower::after(session.broker.clone(), session.output, last);
        let mut touched = BTreeSet::new();
        let mut tick = interval(REFRESH);
        loop {
            match next(session, &mut follower, &mut tick, &mut printer, &mut touched).await? {
                Followed::Anew => continue 'anew,
                Followed::Event(event) => touched.extend(told(&event, only.as_ref())),
            }
        }
    }
}

/// What comes next; until then, what was touched is looked at. The follower is not begun anew after each look: while
/// the broker is away something stays touched, and no attempt to find it would come to its end.
async fn next(
    session: &Session,
    follower: &mut Follower,
    tick: &mut Interval,
    printer: &mut Printer,
    touched: &mut BTreeSet<ClusterId>,
) -> Result<Followed, Failure> {
    let mut following = pin!(follower.next());
    loop {
        tokio::select! {
            next = &mut following => return next,
            _ = tick.tick(), if !touched.is_empty() => {
                refresh(session, printer, touched).await?;
                // From the end of a look that took long, so that the follower has its turn too.
                tick.reset();
            }
        }
    }
}

/// What there is; after which event to go on.
async fn present(
    session: &Session,
    extent: Extent,
    only: Option<&ClusterId>,
    printer: &mut Printer,
) -> Result<Option<EventId>, Failure> {
    let Some(id) = only else {
        let first = session.broker.clusters_page(Some(extent.page()));
        let state =
            print::<Advertisement, Advertisement>(session, extent, printer, first, |_| true);
        return Ok(state.await?.map(EventId::end_of));
    };
    // The state is asked for first: what happens in between is told twice, and not never.
    let state = session.wait(session.broker.readiness()).await?.revision;
    printer.items(&[&one(session, id.as_str()).await?])?;
    Ok(state.map(EventId::end_of))
}

/// Which cluster looks different after an event.
fn told(event: &BrokerEvent, only: Option<&ClusterId>) -> Option<ClusterId> {
    let data = &event.data;
    let name = match &data.reservation {
        Some(reservation) => &reservation.target_cluster_id,
        None => data.cluster_id.as_ref()?,
    };
    let id: ClusterId = name.parse().ok()?;
    if only.is_some_and(|only| *only != id) {
        return None;
    }
    if data.reason.as_deref() == Some("forgotten") {
        say(&format!("clusters/{id} is gone"));
        return None;
    }
    Some(id)
}

/// A requester sees its reservations and not their providers; a cluster that is gone was told of. What could not be
/// looked at stays touched: its event is not told again.
async fn refresh(
    session: &Session,
    printer: &mut Printer,
    touched: &mut BTreeSet<ClusterId>,
) -> Result<(), Failure> {
    while let Some(id) = touched.first() {
        match session.wait(session.broker.advertisement(id)).await {
            Ok(Some(cluster)) => printer.items(&[&cluster])?,
            Ok(None) => {}
            // The follower notices too, and waits for the broker.
            Err(Failure::Broker(error)) if error.is_transient() => return Ok(()),
            Err(failure) => return Err(failure),
        }
        touched.pop_first();
    }
    Ok(())
}
