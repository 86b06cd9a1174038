//! One entry of a shared journal as it is written down: what one batch changes and tells.
//!
//! Values only, never commands: whoever reads it applies it, and decides nothing.

use std::borrow::Cow;
use std::sync::Arc;

use rear_engine::advertisement::Order;
use rear_engine::decision::Change;
use rear_engine::{Event, ReservationId, Timestamp};
use serde::{Deserialize, Serialize};

use super::cluster::ClusterRecord;
use super::event::EventRecord;
use super::ledger::LedgerRecord;
use super::reservation::ReservationRecord;
use super::seal::{open_in, seal_in};
use super::{InvalidField, SealError};
use crate::journal::Batch;
use crate::position::Position;

/// The name in the checksum of every entry.
const NAME: &str = "journal";

/// The newest shape of entries that this program writes and reads.
pub const SCHEMA: u8 = 1;

/// The oldest shape that it still writes, for brokers that cannot read a newer one.
pub const OLDEST: u8 = 1;

/// One entry. Its position is its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryRecord<'a> {
    /// Which ledger it belongs to.
    pub ledger: u128,
    /// The hash of the entry before it.
    pub before: u128,
    /// Who made it.
    pub broker: u128,
    /// Which batch of its maker it is.
    pub sequence: u64,
    time_mark: i64,
    changes: Vec<ChangeRecord<'a>>,
    events: Vec<EventRecord<'a>>,
    trim_through: Option<(u64, u64)>,
}

/// Variants are numbered by their order: new ones go to the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum ChangeRecord<'a> {
    Cluster(Cow<'a, str>, ClusterRecord),
    Refreshed { cluster: Cow<'a, str>, at: i64, timestamp: i64, order: Option<(u64, u64)> },
    Heard { cluster: Cow<'a, str>, at: i64 },
    Reservation(u128, ReservationRecord<'a>),
    Ledger(Cow<'a, str>, LedgerRecord),
    Forgotten(Cow<'a, str>),
    Dropped(u128),
    RecoveryEnded(u64),
}

impl<'a> EntryRecord<'a> {
    /// An entry that holds what of a batch must be durable.
    #[must_use]
    pub fn of(batch: &'a Batch, ledger: u128, before: u128, broker: u128, sequence: u64) -> Self {
        Self {
            ledger,
            before,
            broker,
            sequence,
            time_mark: batch.time_mark.as_nanos(),
            changes: batch.changes.iter().filter_map(record).collect(),
            events: batch.events.iter().map(Into::into).collect(),
            trim_through: batch.trim_through.map(|at| (at.incarnation, at.number)),
        }
    }

    /// Its bytes at this position, in a shape that everyone can read.
    pub fn seal(&self, position: Position, schema: u8) -> Result<Vec<u8>, SealError> {
        if !(OLDEST..=SCHEMA).contains(&schema) {
            return Err(SealError::Unknown { table: NAME, format: 1, schema });
        }
        seal_in(NAME, schema, &key_of(position), self)
    }

    /// The entry of this position.
    pub fn open(position: Position, bytes: &[u8]) -> Result<Self, SealError> {
        open_in(NAME, SCHEMA, &key_of(position), bytes)
    }

    /// The batch that it makes true at this position.
    pub fn into_batch(self, position: Position) -> Result<Batch, InvalidField> {
        let events = self.events.into_iter().map(Event::try_from);
        let trimmed = |(incarnation, number)| Position { incarnation, number };
        Ok(Batch {
            position,
            time_mark: Timestamp::from_nanos(self.time_mark),
            changes: self.changes.into_iter().map(change).collect::<Result<_, _>>()?,
            events: events.collect::<Result<_, _>>()?,
            trim_through: self.trim_through.map(trimmed),
        })
    }
}

/// The position as part of the checksum, so that no entry is taken for another.
fn key_of(position: Position) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&position.incarnation.to_be_bytes());
    key[8..].copy_from_slice(&position.number.to_be_bytes());
    key
}

/// `None` for what need not be durable: nobody else has to know of it.
fn record(change: &Change) -> Option<ChangeRecord<'_>> {
    Some(match change {
        Change::Refreshed { durable: false, .. } | Change::Heard { durable: false, .. } => {
            return None;
        }
        Change::Cluster(kept) => ChangeRecord::Cluster(kept.id.as_str().into(), (&**kept).into()),
        Change::Refreshed { cluster, at, timestamp, order, durable: true } => {
            ChangeRecord::Refreshed {
                cluster: cluster.as_str().into(),
                at: at.as_nanos(),
                timestamp: timestamp.as_nanos(),
                order: order.map(|order| (order.epoch, order.sequence)),
            }
        }
        Change::Heard { cluster, at, durable: true } => {
            ChangeRecord::Heard { cluster: cluster.as_str().into(), at: at.as_nanos() }
        }
        Change::Reservation(kept) => ChangeRecord::Reservation(kept.id.to_bits(), (&**kept).into()),
        Change::Ledger { cluster, total } => {
            ChangeRecord::Ledger(cluster.as_str().into(), (*total).into())
        }
        Change::Forgotten(cluster) => ChangeRecord::Forgotten(cluster.as_str().into()),
        Change::Dropped(id) => ChangeRecord::Dropped(id.to_bits()),
        Change::RecoveryEnded { incarnation } => ChangeRecord::RecoveryEnded(*incarnation),
    })
}

fn change(record: ChangeRecord<'_>) -> Result<Change, InvalidField> {
    let id = |text: Cow<'_, str>| text.parse().map_err(|_| InvalidField("cluster"));
    Ok(match record {
        ChangeRecord::Cluster(cluster, kept) => {
            Change::Cluster(Box::new(kept.into_remembered(id(cluster)?)?))
        }
        ChangeRecord::Refreshed { cluster, at, timestamp, order } => Change::Refreshed {
            cluster: id(cluster)?,
            at: Timestamp::from_nanos(at),
            timestamp: Timestamp::from_nanos(timestamp),
            order: order.map(|(epoch, sequence)| Order { epoch, sequence }),
            durable: true,
        },
        ChangeRecord::Heard { cluster, at } => {
            Change::Heard { cluster: id(cluster)?, at: Timestamp::from_nanos(at), durable: true }
        }
        ChangeRecord::Reservation(bits, kept) => {
            Change::Reservation(Arc::new(kept.into_reservation(ReservationId::from_bits(bits))?))
        }
        ChangeRecord::Ledger(cluster, total) => {
            Change::Ledger { cluster: id(cluster)?, total: total.try_into()? }
        }
        ChangeRecord::Forgotten(cluster) => Change::Forgotten(id(cluster)?),
        ChangeRecord::Dropped(bits) => Change::Dropped(ReservationId::from_bits(bits)),
        ChangeRecord::RecoveryEnded(incarnation) => Change::RecoveryEnded { incarnation },
    })
}
