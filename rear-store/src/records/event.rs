//! An event as it is written down.

use std::borrow::Cow;

use rear_engine::reservation::Ending;
use rear_engine::{Actor, Event, Happening, ReservationId, Subject, Timestamp};
use serde::{Deserialize, Serialize};

use super::reservation::{FailureRecord, ReleaseRecord};
use super::{InvalidField, Sealed, Table};
use crate::position::{EventId, Position};

/// Something that happened. Its key is its position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRecord<'a> {
    at: i64,
    subject: SubjectRecord<'a>,
    what: HappeningRecord,
    by: ActorRecord<'a>,
}

/// Variants are numbered by their order: new ones go to the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum SubjectRecord<'a> {
    Fleet,
    Cluster(Cow<'a, str>),
    Reservation(u128),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ActorRecord<'a> {
    Broker,
    Cluster(Cow<'a, str>),
    Administrator(Cow<'a, str>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum HappeningRecord {
    Advertised,
    Reserved,
    Activated,
    Renewed,
    Released(ReleaseRecord),
    Failed(FailureRecord),
    Adopted,
    BecameStale,
    BecameFresh,
    BecameOvercommitted,
    NoLongerOvercommitted,
    Recovered,
    Forgotten,
}

impl Sealed for EventRecord<'_> {
    const TABLE: Table = Table::Events;
    const SCHEMA: u8 = 1;
}

/// The key of an event's record: its commit, and its place among the events of that commit.
#[must_use]
pub fn key_of(id: EventId) -> [u8; 20] {
    let EventId { position: Position { incarnation, number }, place } = id;
    let mut key = [0; 20];
    key[..8].copy_from_slice(&incarnation.to_be_bytes());
    key[8..16].copy_from_slice(&number.to_be_bytes());
    key[16..].copy_from_slice(&place.to_be_bytes());
    key
}

/// The event of this key.
pub fn id_of(key: &[u8]) -> Result<EventId, InvalidField> {
    let wrong = || InvalidField("key");
    let (incarnation, rest) = key.split_first_chunk().ok_or_else(wrong)?;
    let (number, place) = rest.split_first_chunk().ok_or_else(wrong)?;
    let position = Position {
        incarnation: u64::from_be_bytes(*incarnation),
        number: u64::from_be_bytes(*number),
    };
    Ok(EventId { position, place: u32::from_be_bytes(place.try_into().map_err(|_| wrong())?) })
}

impl<'a> From<&'a Event> for EventRecord<'a> {
    fn from(event: &'a Event) -> Self {
        let Event { at, subject, what, by } = event;
        Self { at: at.as_nanos(), subject: subject.into(), what: what.into(), by: by.into() }
    }
}

impl TryFrom<EventRecord<'_>> for Event {
    type Error = InvalidField;

    fn try_from(record: EventRecord<'_>) -> Result<Self, InvalidField> {
        Ok(Self {
            at: Timestamp::from_nanos(record.at),
            subject: record.subject.try_into()?,
            what: record.what.try_into()?,
            by: record.by.try_into()?,
        })
    }
}

impl<'a> From<&'a Subject> for SubjectRecord<'a> {
    fn from(subject: &'a Subject) -> Self {
        match subject {
            Subject::Fleet => Self::Fleet,
            Subject::Cluster(id) => Self::Cluster(id.as_str().into()),
            Subject::Reservation(id) => Self::Reservation(id.to_bits()),
        }
    }
}

impl TryFrom<SubjectRecord<'_>> for Subject {
    type Error = InvalidField;

    fn try_from(record: SubjectRecord<'_>) -> Result<Self, InvalidField> {
        Ok(match record {
            SubjectRecord::Fleet => Self::Fleet,
            SubjectRecord::Cluster(id) => {
                Self::Cluster(id.parse().map_err(|_| InvalidField("subject"))?)
            }
            SubjectRecord::Reservation(bits) => Self::Reservation(ReservationId::from_bits(bits)),
        })
    }
}

impl<'a> From<&'a Actor> for ActorRecord<'a> {
    fn from(by: &'a Actor) -> Self {
        match by {
            Actor::Broker => Self::Broker,
            Actor::Cluster(id) => Self::Cluster(id.as_str().into()),
            Actor::Administrator(id) => Self::Administrator(id.as_str().into()),
        }
    }
}

impl TryFrom<ActorRecord<'_>> for Actor {
    type Error = InvalidField;

    fn try_from(record: ActorRecord<'_>) -> Result<Self, InvalidField> {
        let id = |text: Cow<'_, str>| text.parse().map_err(|_| InvalidField("actor"));
        Ok(match record {
            ActorRecord::Broker => Self::Broker,
            ActorRecord::Cluster(text) => Self::Cluster(id(text)?),
            ActorRecord::Administrator(text) => Self::Administrator(id(text)?),
        })
    }
}

impl From<&Happening> for HappeningRecord {
    fn from(what: &Happening) -> Self {
        match what {
            Happening::Advertised => Self::Advertised,
            Happening::Reserved => Self::Reserved,
            Happening::Activated => Self::Activated,
            Happening::Renewed => Self::Renewed,
            Happening::Ended(Ending::Released(why)) => Self::Released((*why).into()),
            Happening::Ended(Ending::Failed(why)) => Self::Failed(why.into()),
            Happening::Adopted => Self::Adopted,
            Happening::BecameStale => Self::BecameStale,
            Happening::BecameFresh => Self::BecameFresh,
            Happening::BecameOvercommitted => Self::BecameOvercommitted,
            Happening::NoLongerOvercommitted => Self::NoLongerOvercommitted,
            Happening::Recovered => Self::Recovered,
            Happening::Forgotten => Self::Forgotten,
        }
    }
}

impl TryFrom<HappeningRecord> for Happening {
    type Error = InvalidField;

    fn try_from(record: HappeningRecord) -> Result<Self, InvalidField> {
        Ok(match record {
            HappeningRecord::Advertised => Self::Advertised,
            HappeningRecord::Reserved => Self::Reserved,
            HappeningRecord::Activated => Self::Activated,
            HappeningRecord::Renewed => Self::Renewed,
            HappeningRecord::Released(why) => Self::Ended(Ending::Released(why.into())),
            HappeningRecord::Failed(why) => Self::Ended(Ending::Failed(why.try_into()?)),
            HappeningRecord::Adopted => Self::Adopted,
            HappeningRecord::BecameStale => Self::BecameStale,
            HappeningRecord::BecameFresh => Self::BecameFresh,
            HappeningRecord::BecameOvercommitted => Self::BecameOvercommitted,
            HappeningRecord::NoLongerOvercommitted => Self::NoLongerOvercommitted,
            HappeningRecord::Recovered => Self::Recovered,
            HappeningRecord::Forgotten => Self::Forgotten,
        })
    }
}
