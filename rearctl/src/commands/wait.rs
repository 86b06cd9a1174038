//! `rearctl wait`: until a reservation or a cluster is as it should be.

use std::str::FromStr;

use clap::Args;
use rear_agent_sdk::Length as Duration;
use rear_agent_sdk::communicator::{
    Advertisement, ClusterId, EventId, Reservation, ReservationRequest,
};
use rear_agent_sdk::{BrokerCommunicator, Error, request};
use rear_api::reservation::PhaseName;
use tokio::time::{sleep, timeout};

use crate::failure::Failure;
use crate::follow::{Followed, Follower};
use crate::names;
use crate::session::Session;
use crate::show::{Shown, is_over, states};

/// Between two attempts to find a broker that is gone.
const PAUSE: std::time::Duration = std::time::Duration::from_secs(1);

/// The flags of `wait`.
#[derive(Debug, Args)]
pub(crate) struct Wait {
    /// For what: reservations/ID or clusters/NAME
    #[arg(value_name = "KIND/NAME")]
    what: String,
    /// Until when: for a reservation its phase, such as Active, or ended; for a cluster active, stale,
    /// overcommitted, recovering, known or gone
    #[arg(long = "for", value_name = "CONDITION")]
    condition: String,
    /// For how long at most
    #[arg(long, value_name = "DURATION", default_value = "5m")]
    timeout: Duration,
}

/// What is waited for, with whom it is about.
enum Aim {
    Reservation(String, OfReservation),
    Cluster(ClusterId, OfCluster),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum OfReservation {
    Phase(PhaseName),
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OfCluster {
    Active,
    Stale,
    Overcommitted,
    Recovering,
    Known,
    Gone,
}

/// How far it is.
enum Progress {
    Met,
    NotYet,
    Never(String),
}

impl Wait {
    pub(crate) async fn run(self, session: Session) -> Result<(), Failure> {
        let aim = Aim::read(&self.what, &self.condition)?;
        let nanos = u64::try_from(self.timeout.as_nanos())
            .map_err(|_| Failure::Usage("--timeout: below zero".to_owned()))?;
        let limit = std::time::Duration::from_nanos(nanos);
        let text = format!("waiting for {} to be {}", self.what, self.condition);
        let waiting = session.output.progress.during(&text, until(&session, &aim));
        let late = |_| {
            let Self { what, condition, timeout } = &self;
            Failure::NotMet(format!("{what} was not {condition} within {timeout}"))
        };
        timeout(limit, waiting).await.map_err(late)?
    }
}

/// Looks, then looks again after everything that happens. A broker that is not there at first is an error; one that
/// goes away later is waited for.
async fn until(session: &Session, aim: &Aim) -> Result<(), Failure> {
    let mut begun = false;
    loop {
        match episode(session, aim, &mut begun).await {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(Failure::Broker(error)) if begun && error.is_transient() => sleep(PAUSE).await,
            Err(failure) => return Err(failure),
        }
    }
}

/// Until it is so, or everything has to be looked at anew. The state is asked for before the first look: what happens
/// in between is noticed.
async fn episode(session: &Session, aim: &Aim, begun: &mut bool) -> Result<bool, Failure> {
    let state = session.broker.readiness().await?.revision.map(EventId::end_of);
    if aim.look(session).await? {
        return Ok(true);
    }
    *begun = true;
    let mut follower = Follower::after(session.broker.clone(), session.output, state);
    while let Followed::Event(event) = follower.next().await? {
        if aim.concerns(&event.data) && aim.look(session).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Aim {
    fn read(what: &str, condition: &str) -> Result<Self, Failure> {
        let condition = condition.strip_prefix("phase=").unwrap_or(condition);
        match what.split_once('/') {
            Some(("reservation" | "reservations", id)) => {
                Ok(Self::Reservation(id.to_owned(), condition.parse()?))
            }
            Some(("cluster" | "clusters", _)) => {
                Ok(Self::Cluster(names::cluster(what)?, condition.parse()?))
            }
            _ => Err(Failure::Usage(format!(
                "`{what}` is neither reservations/ID nor clusters/NAME"
            ))),
        }
    }

    fn concerns(&self, data: &rear_agent_sdk::communicator::EventData) -> bool {
        match self {
            Self::Reservation(id, _) => data.reservation.as_ref().is_some_and(|it| it.id == *id),
            Self::Cluster(id, _) => {
                let of = data.reservation.as_ref().map(|it| it.target_cluster_id.as_str());
                of.or(data.cluster_id.as_deref()).is_none_or(|name| name == id.as_str())
            }
        }
    }

    /// Whether it is so now; what is so is printed.
    async fn look(&self, session: &Session) -> Result<bool, Failure> {
        let progress = match self {
            Self::Reservation(id, wanted) => {
                let found = session.broker.reservation(id).await?;
                shown(session, wanted.of(&found), Some(&found))?
            }
            Self::Cluster(id, wanted) => {
                let found = cluster(session, id).await?;
                shown(session, wanted.of(found.as_ref()), found.as_ref())?
            }
        };
        match progress {
            Progress::Met => Ok(true),
            Progress::NotYet => Ok(false),
            Progress::Never(why) => Err(Failure::NotMet(why)),
        }
    }
}

/// The cluster, if there is one. The broker answers alike for one that is not there and one that is not the caller's to
/// see: only who may see it can say that it is gone.
async fn cluster(session: &Session, id: &ClusterId) -> Result<Option<Advertisement>, Failure> {
    let found = session.broker.advertisement(id).await?;
    if found.is_none() && !may_see(session, id).await? {
        return Err(Failure::NotFound(format!(
            "whether there is a cluster `{id}` is not yours to see: wait with the certificate of `{id}` or of an administrator"
        )));
    }
    Ok(found)
}

/// Whom a caller may see is for whom it may ask, and that is the broker's first answer to a wish.
async fn may_see(session: &Session, id: &ClusterId) -> Result<bool, Failure> {
    let wish = ReservationRequest { on_behalf_of: Some(id.to_string()), ..request("1", "1Gi") };
    match session.broker.dry_run(&wish).await {
        Err(Error::OtherCluster { .. }) => Ok(false),
        // A broker of the earlier system shows every cluster to everyone.
        Ok(_) | Err(Error::Refused(_) | Error::Unsupported { .. }) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

fn shown<T: Shown>(
    session: &Session,
    progress: Progress,
    it: Option<&T>,
) -> Result<Progress, Failure> {
    if let (Progress::Met, Some(it)) = (&progress, it) {
        session.output.one(it)?;
    }
    Ok(progress)
}

impl OfReservation {
    fn of(&self, reservation: &Reservation) -> Progress {
        let phase = &reservation.status.phase;
        let met = match self {
            Self::Phase(wanted) => phase == wanted,
            Self::Ended => is_over(phase),
        };
        match (met, is_over(phase)) {
            (true, _) => Progress::Met,
            (false, false) => Progress::NotYet,
            (false, true) => Progress::Never(format!(
                "{}/{} is {} for good: {}",
                Reservation::KIND,
                reservation.id,
                phase.name(),
                reservation.status.message
            )),
        }
    }
}

impl OfCluster {
    fn of(self, cluster: Option<&Advertisement>) -> Progress {
        let status = cluster.and_then(|cluster| cluster.status.as_ref());
        let met = match self {
            Self::Gone => cluster.is_none(),
            Self::Known => cluster.is_some(),
            // In no trouble at all: something can be reserved on it.
            Self::Active => cluster.is_some_and(|cluster| states(cluster).0 == "Active"),
            Self::Stale => status.is_some_and(|status| !status.active),
            Self::Overcommitted => status.is_some_and(|status| status.overcommitted),
            Self::Recovering => status.is_some_and(|status| status.recovering),
        };
        if met { Progress::Met } else { Progress::NotYet }
    }
}

impl FromStr for OfReservation {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        match text.to_ascii_lowercase().as_str() {
            "reserved" => Ok(Self::Phase(PhaseName::Reserved)),
            "active" => Ok(Self::Phase(PhaseName::Active)),
            "released" => Ok(Self::Phase(PhaseName::Released)),
            "failed" => Ok(Self::Phase(PhaseName::Failed)),
            "ended" => Ok(Self::Ended),
            _ => Err(Failure::Usage(format!(
                "`{text}`: a reservation can be Reserved, Active, Released, Failed or ended"
            ))),
        }
    }
}

impl FromStr for OfCluster {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        match text.to_ascii_lowercase().as_str() {
            "active" => Ok(Self::Active),
            "stale" => Ok(Self::Stale),
            "overcommitted" => Ok(Self::Overcommitted),
            "recovering" => Ok(Self::Recovering),
            "known" => Ok(Self::Known),
            "gone" => Ok(Self::Gone),
            _ => Err(Failure::Usage(format!(
                "`{text}`: a cluster can be active, stale, overcommitted, recovering, known or gone"
            ))),
        }
    }
}
