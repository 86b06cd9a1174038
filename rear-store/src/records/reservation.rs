//! A reservation as it is written down, with its idempotency key.

use std::borrow::Cow;

use rear_engine::reservation::{
    Active, Failed, Failure, Phase, Release, Released, Reservation, Reserved,
};
use rear_engine::{ReservationId, Timestamp};
use serde::{Deserialize, Serialize};

use super::ask::AskRecord;
use super::{InvalidField, Sealed, Table};

/// A reservation. Its id is the key of the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReservationRecord<'a> {
    ask: AskRecord<'a>,
    key: Option<Cow<'a, str>>,
    provider: Cow<'a, str>,
    reserved_at: i64,
    expires_at: Option<i64>,
    phase: PhaseRecord,
}

/// Variants are numbered by their order: new ones go to the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum PhaseRecord {
    Reserved,
    Active { since: i64 },
    Released { at: i64, why: ReleaseRecord },
    Failed { at: i64, why: FailureRecord },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ReleaseRecord {
    ByRequester,
    ByAdministrator,
    Expired,
    RequesterGone,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum FailureRecord {
    NoRoom,
    Rejected { reason: String },
    ProviderGone,
}

impl Sealed for ReservationRecord<'_> {
    const TABLE: Table = Table::Reservations;
    const SCHEMA: u8 = 1;
}

/// The key of a reservation's record: its bits, so that records are appended in order of time.
#[must_use]
pub fn key_of(id: ReservationId) -> [u8; 16] {
    id.to_bits().to_be_bytes()
}

impl<'a> From<&'a Reservation> for ReservationRecord<'a> {
    fn from(reservation: &'a Reservation) -> Self {
        let Reservation { id: _, ask, key, provider, reserved_at, expires_at, phase } = reservation;
        Self {
            ask: ask.into(),
            key: key.as_ref().map(|key| key.as_str().into()),
            provider: provider.as_str().into(),
            reserved_at: reserved_at.as_nanos(),
            expires_at: expires_at.map(Timestamp::as_nanos),
            phase: phase.into(),
        }
    }
}

impl ReservationRecord<'_> {
    /// The reservation of this id.
    pub fn into_reservation(self, id: ReservationId) -> Result<Reservation, InvalidField> {
        let Self { ask, key, provider, reserved_at, expires_at, phase } = self;
        Ok(Reservation {
            id,
            ask: ask.try_into()?,
            key: key.map(|key| key.parse()).transpose().map_err(|_| InvalidField("key"))?,
            provider: provider.parse().map_err(|_| InvalidField("provider"))?,
            reserved_at: Timestamp::from_nanos(reserved_at),
            expires_at: expires_at.map(Timestamp::from_nanos),
            phase: phase.try_into()?,
        })
    }
}

impl From<&Phase> for PhaseRecord {
    fn from(phase: &Phase) -> Self {
        match phase {
            Phase::Reserved(Reserved) => Self::Reserved,
            Phase::Active(Active { since }) => Self::Active { since: since.as_nanos() },
            Phase::Released(Released { at, why }) => {
                Self::Released { at: at.as_nanos(), why: (*why).into() }
            }
            Phase::Failed(Failed { at, why }) => {
                Self::Failed { at: at.as_nanos(), why: why.into() }
            }
        }
    }
}

impl TryFrom<PhaseRecord> for Phase {
    type Error = InvalidField;

    fn try_from(record: PhaseRecord) -> Result<Self, InvalidField> {
        Ok(match record {
            PhaseRecord::Reserved => Self::Reserved(Reserved),
            PhaseRecord::Active { since } => {
                Self::Active(Active { since: Timestamp::from_nanos(since) })
            }
            PhaseRecord::Released { at, why } => {
                Self::Released(Released { at: Timestamp::from_nanos(at), why: why.into() })
            }
            PhaseRecord::Failed { at, why } => {
                Self::Failed(Failed { at: Timestamp::from_nanos(at), why: why.try_into()? })
            }
        })
    }
}

impl From<Release> for ReleaseRecord {
    fn from(why: Release) -> Self {
        match why {
            Release::ByRequester => Self::ByRequester,
            Release::ByAdministrator => Self::ByAdministrator,
            Release::Expired => Self::Expired,
            Release::RequesterGone => Self::RequesterGone,
        }
    }
}

impl From<ReleaseRecord> for Release {
    fn from(record: ReleaseRecord) -> Self {
        match record {
            ReleaseRecord::ByRequester => Self::ByRequester,
            ReleaseRecord::ByAdministrator => Self::ByAdministrator,
            ReleaseRecord::Expired => Self::Expired,
            ReleaseRecord::RequesterGone => Self::RequesterGone,
        }
    }
}

impl From<&Failure> for FailureRecord {
    fn from(why: &Failure) -> Self {
        match why {
            Failure::NoRoom => Self::NoRoom,
            Failure::Rejected(reason) => Self::Rejected { reason: reason.to_string() },
            Failure::ProviderGone => Self::ProviderGone,
        }
    }
}

impl TryFrom<FailureRecord> for Failure {
    type Error = InvalidField;

    fn try_from(record: FailureRecord) -> Result<Self, InvalidField> {
        Ok(match record {
            FailureRecord::NoRoom => Self::NoRoom,
            FailureRecord::Rejected { reason } => {
                Self::Rejected(reason.parse().map_err(|_| InvalidField("reason"))?)
            }
            FailureRecord::ProviderGone => Self::ProviderGone,
        })
    }
}
