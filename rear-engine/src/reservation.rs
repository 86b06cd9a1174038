//! A promise of capacity and its phases: each transition consumes the phase that it leaves.

use std::fmt;

use thiserror::Error;

use crate::ask::Ask;
use crate::id::{ClusterId, IdempotencyKey, ReservationId};
use crate::resources::Resources;
use crate::text::Line;
use crate::time::Timestamp;

/// A promise of capacity on one provider to one requester.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// Its name, for ever.
    pub id: ReservationId,
    /// What was asked, by whom, on which terms.
    pub ask: Ask,
    /// What the client called this intent.
    pub key: Option<IdempotencyKey>,
    /// Who keeps the capacity aside.
    pub provider: ClusterId,
    /// When it was promised.
    pub reserved_at: Timestamp,
    /// When it ends by itself; without it, when its requester is gone.
    pub expires_at: Option<Timestamp>,
    /// How far it has come.
    pub phase: Phase,
}

/// A request that is not decided yet: it has a name and no provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// The name that it will have.
    pub id: ReservationId,
    /// What is asked.
    pub ask: Ask,
    /// What the client called this intent.
    pub key: Option<IdempotencyKey>,
}

impl Pending {
    /// Capacity is locked for it.
    #[must_use]
    pub fn grant(
        self,
        provider: ClusterId,
        at: Timestamp,
        expires_at: Option<Timestamp>,
    ) -> Reservation {
        let Self { id, ask, key } = self;
        let phase = Phase::Reserved(Reserved);
        Reservation { id, ask, key, provider, reserved_at: at, expires_at, phase }
    }

    /// Nobody had room. Only requests that are kept as resources remember it.
    #[must_use]
    pub fn fail(self, at: Timestamp) -> Failed {
        Failed { at, why: Failure::NoRoom }
    }
}

/// How far a reservation has come. Only forward: the methods of the phases are the only way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// The capacity is locked.
    Reserved(Reserved),
    /// The requester uses it.
    Active(Active),
    /// Given back as agreed.
    Released(Released),
    /// Given back because it could not be kept.
    Failed(Failed),
}

/// The capacity is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reserved;

/// The requester uses the capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Active {
    /// Since when.
    pub since: Timestamp,
}

/// Given back as agreed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Released {
    /// When.
    pub at: Timestamp,
    /// Why.
    pub why: Release,
}

/// Given back because it could not be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// When.
    pub at: Timestamp,
    /// Why.
    pub why: Failure,
}

/// Why a reservation was released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// By who asked for it.
    ByRequester,
    /// By an administrator.
    ByAdministrator,
    /// Its time was over.
    Expired,
    /// Its requester was forgotten or not heard of for too long.
    RequesterGone,
}

/// Why a reservation failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// Nobody had enough: for requests that are kept as resources; others leave no trace.
    NoRoom,
    /// The provider would not keep it.
    Rejected(Line),
    /// The provider was forgotten.
    ProviderGone,
}

/// How a reservation ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// As agreed.
    Released(Release),
    /// Otherwise.
    Failed(Failure),
}

/// What had ended cannot move any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the reservation has already ended")]
pub struct AlreadyEnded;

impl Reserved {
    /// The requester confirms that it uses the capacity.
    #[must_use]
    pub fn activate(self, at: Timestamp) -> Active {
        Active { since: at }
    }

    /// The capacity is given back.
    #[must_use]
    pub fn end(self, at: Timestamp, how: Ending) -> Phase {
        end_of(at, how)
    }
}

impl Active {
    /// The capacity is given back.
    #[must_use]
    pub fn end(self, at: Timestamp, how: Ending) -> Phase {
        end_of(at, how)
    }
}

fn end_of(at: Timestamp, how: Ending) -> Phase {
    match how {
        Ending::Released(why) => Phase::Released(Released { at, why }),
        Ending::Failed(why) => Phase::Failed(Failed { at, why }),
    }
}

impl Phase {
    /// Its name on the wire.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Reserved(_) => "Reserved",
            Self::Active(_) => "Active",
            Self::Released(_) => "Released",
            Self::Failed(_) => "Failed",
        }
    }

    /// Whether capacity is kept aside.
    #[must_use]
    pub const fn is_live(&self) -> bool {
        match self {
            Self::Reserved(_) | Self::Active(_) => true,
            Self::Released(_) | Self::Failed(_) => false,
        }
    }

    /// When it ended.
    #[must_use]
    pub const fn ended_at(&self) -> Option<Timestamp> {
        match self {
            Self::Reserved(_) | Self::Active(_) => None,
            Self::Released(Released { at, .. }) | Self::Failed(Failed { at, .. }) => Some(*at),
        }
    }

    /// The phase after activation; what is Active stays as it is.
    pub fn activated(self, at: Timestamp) -> Result<Self, AlreadyEnded> {
        match self {
            Self::Reserved(reserved) => Ok(Self::Active(reserved.activate(at))),
            Self::Active(active) => Ok(Self::Active(active)),
            Self::Released(_) | Self::Failed(_) => Err(AlreadyEnded),
        }
    }

    /// The phase after the end.
    pub fn ended(self, at: Timestamp, how: Ending) -> Result<Self, AlreadyEnded> {
        match self {
            Self::Reserved(reserved) => Ok(reserved.end(at, how)),
            Self::Active(active) => Ok(active.end(at, how)),
            Self::Released(_) | Self::Failed(_) => Err(AlreadyEnded),
        }
    }
}

impl Reservation {
    /// Who was promised.
    #[must_use]
    pub fn requester(&self) -> &ClusterId {
        self.ask.requester()
    }

    /// What is kept aside: the amounts while it lives, nothing afterwards.
    #[must_use]
    pub fn held(&self) -> Resources {
        if self.phase.is_live() { self.ask.resources() } else { Resources::NONE }
    }

    /// Whether its time is over, whether or not it has been ended yet.
    #[must_use]
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.phase.is_live() && self.expires_at.is_some_and(|end| end <= now)
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ByRequester => "released by the requester",
            Self::ByAdministrator => "released by an administrator",
            Self::Expired => "expired",
            Self::RequesterGone => "the requester is gone",
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoom => f.write_str("no cluster had room"),
            Self::Rejected(reason) => write!(f, "rejected by the provider: {reason}"),
            Self::ProviderGone => f.write_str("the provider is gone"),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Released(why) => why.fmt(f),
            Self::Failed(why) => why.fmt(f),
        }
    }
}
