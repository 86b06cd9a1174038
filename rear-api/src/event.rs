//! Events: what happened, told to those whom it concerns, with the object as its `GET` shows it.

use std::fmt;
use std::str::FromStr;

use rear_engine::id::ClusterIdError;
use rear_engine::reservation::{Ending, Failure, Release};
use rear_engine::{Actor, ClusterId, Event, Happening, Subject};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::advertisement::Advertisement;
use crate::body::only_objects;
use crate::moment;
use crate::reservation::Reservation;

/// What an event is about: the `event` line of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventName {
    /// A cluster says something new of itself.
    Advertisement,
    /// A reservation has changed.
    Reservation,
    /// A cluster stands otherwise with the broker.
    Cluster,
}

/// What an event says: the `data` line of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EventData {
    /// When, by the broker's clock (RFC 3339).
    pub at: String,
    /// What happened, as a stable word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// By whom: `cluster/ID` or `administrator/ID`; absent when it was the broker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Which cluster it is about; absent when it is about a reservation, or all clusters.
    #[serde(rename = "clusterID", skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<String>,
    /// The cluster's advertisement; absent when there is none (any more).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advertisement: Option<Advertisement>,
    /// The reservation; absent when it is no longer remembered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reservation: Option<Reservation>,
}

only_objects!(EventData);

/// The object that an event is about, as its `GET` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Object {
    /// A cluster.
    Advertisement(Box<Advertisement>),
    /// A reservation.
    Reservation(Box<Reservation>),
    /// It is not there any more.
    Gone,
}

impl EventData {
    /// How an event is told.
    #[must_use]
    pub fn of(event: &Event, object: Object) -> Self {
        let (advertisement, reservation) = match object {
            Object::Advertisement(advertisement) => (Some(*advertisement), None),
            Object::Reservation(reservation) => (None, Some(*reservation)),
            Object::Gone => (None, None),
        };
        Self {
            at: moment::text(event.at),
            reason: Some(reason(&event.what).to_owned()),
            by: By::of(&event.by).map(|by| by.to_string()),
            cluster_id: match &event.subject {
                Subject::Cluster(id) => Some(id.to_string()),
                Subject::Reservation(_) | Subject::Fleet => None,
            },
            advertisement,
            reservation,
        }
    }
}

impl EventName {
    /// What this event is about.
    #[must_use]
    pub const fn of(event: &Event) -> Self {
        match (&event.subject, &event.what) {
            (Subject::Reservation(_), _) => Self::Reservation,
            (Subject::Cluster(_), Happening::Advertised) => Self::Advertisement,
            (Subject::Cluster(_) | Subject::Fleet, _) => Self::Cluster,
        }
    }

    /// Its name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Advertisement => "advertisement",
            Self::Reservation => "reservation",
            Self::Cluster => "cluster",
        }
    }
}

/// A stable word for what happened.
#[must_use]
pub const fn reason(what: &Happening) -> &'static str {
    match what {
        Happening::Advertised => "advertised",
        Happening::Reserved => "reserved",
        Happening::Activated => "activated",
        Happening::Renewed => "renewed",
        Happening::Ended(Ending::Released(Release::ByRequester)) => "released-by-requester",
        Happening::Ended(Ending::Released(Release::ByAdministrator)) => "released-by-administrator",
        Happening::Ended(Ending::Released(Release::Expired)) => "expired",
        Happening::Ended(Ending::Released(Release::RequesterGone)) => "requester-gone",
        Happening::Ended(Ending::Failed(Failure::NoRoom)) => "no-room",
        Happening::Ended(Ending::Failed(Failure::Rejected(_))) => "rejected",
        Happening::Ended(Ending::Failed(Failure::ProviderGone)) => "provider-gone",
        Happening::Adopted => "adopted",
        Happening::BecameStale => "stale",
        Happening::BecameFresh => "fresh",
        Happening::BecameOvercommitted => "overcommitted",
        Happening::NoLongerOvercommitted => "no-longer-overcommitted",
        Happening::Recovered => "recovered",
        Happening::Forgotten => "forgotten",
    }
}

/// Who did something, as text: no id contains the slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    /// A cluster, for itself.
    Cluster(ClusterId),
    /// An administrator.
    Administrator(ClusterId),
}

/// A text that names nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ByError {
    /// Neither of the two kinds.
    #[error("it was cluster/ID or administrator/ID")]
    Kind,
    /// Not an id.
    #[error(transparent)]
    Id(#[from] ClusterIdError),
}

impl By {
    /// Who it was; nobody when it was the broker itself.
    #[must_use]
    pub fn of(actor: &Actor) -> Option<Self> {
        match actor {
            Actor::Cluster(id) => Some(Self::Cluster(id.clone())),
            Actor::Administrator(id) => Some(Self::Administrator(id.clone())),
            Actor::Broker => None,
        }
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster(id) => write!(f, "cluster/{id}"),
            Self::Administrator(id) => write!(f, "administrator/{id}"),
        }
    }
}

impl FromStr for By {
    type Err = ByError;

    fn from_str(text: &str) -> Result<Self, ByError> {
        match text.split_once('/') {
            Some(("cluster", id)) => Ok(Self::Cluster(id.parse()?)),
            Some(("administrator", id)) => Ok(Self::Administrator(id.parse()?)),
            _ => Err(ByError::Kind),
        }
    }
}
