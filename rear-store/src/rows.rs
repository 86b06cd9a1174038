//! Changes as rows: which record goes where. Shared by everything that keeps rows.

use rear_engine::decision::Change;
use rear_engine::fleet::ClusterRecord as Remembered;
use rear_engine::{ClusterId, Event, Reservation, ReservationId, Resources};

use crate::journal::{Batch, Contents, JournalError};
use crate::position::{EventId, Position};
use crate::records::cluster::ClusterRecord;
use crate::records::event::{self, EventRecord};
use crate::records::ledger::LedgerRecord;
use crate::records::meta::{self, Meta, MetaRecord};
use crate::records::reservation::{self, ReservationRecord};
use crate::records::seal::{open, seal};
use crate::records::{InvalidField, Sealed, Table};

/// Is shown a key and its value, and says whether to go on.
pub type Show<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> Result<bool, JournalError>;

/// Rows that can be read.
pub trait ReadRows {
    /// The value of one key.
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, JournalError>;

    /// Shows every row whose key is not below `from`, in order, until told to stop.
    fn each_from(&self, table: Table, from: &[u8], show: Show<'_>) -> Result<(), JournalError>;

    /// How many rows there are.
    fn count(&self, table: Table) -> Result<usize, JournalError>;
}

/// Rows that can be written.
pub(crate) trait WriteRows: ReadRows {
    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), JournalError>;

    fn remove(&mut self, table: Table, key: &[u8]) -> Result<(), JournalError>;
}

/// Writes a whole batch.
pub(crate) fn write_batch(
    rows: &mut (impl WriteRows + ?Sized),
    batch: &Batch,
) -> Result<(), JournalError> {
    let mut meta = read_meta(rows)?;
    let expected = meta.position.next();
    if expected != Some(batch.position) {
        let (last, found) = (meta.position, batch.position);
        return Err(JournalError::OutOfOrder { last, found });
    }
    for change in &batch.changes {
        write_change(rows, change, &mut meta)?;
    }
    for (place, event) in (0..).zip(&batch.events) {
        let id = EventId { position: batch.position, place };
        put(rows, &event::key_of(id), &EventRecord::from(event))?;
    }
    if let Some(through) = batch.trim_through {
        trim_events(rows, through)?;
        meta.trimmed_through = meta.trimmed_through.max(through);
    }
    meta.position = batch.position;
    meta.time_mark = meta.time_mark.max(batch.time_mark);
    write_meta(rows, meta)
}

fn write_change(
    rows: &mut (impl WriteRows + ?Sized),
    change: &Change,
    meta: &mut Meta,
) -> Result<(), JournalError> {
    match change {
        Change::Cluster(record) => put_cluster(rows, record),
        Change::Refreshed { durable: false, .. } | Change::Heard { durable: false, .. } => Ok(()),
        Change::Refreshed { cluster, at, timestamp, order, durable: true } => {
            let mut kept = get_cluster(rows, cluster)?
                .ok_or(JournalError::Missing(Table::Advertisements.name()))?;
            let advertised = kept
                .advertised
                .as_mut()
                .ok_or(JournalError::Missing(Table::Advertisements.name()))?;
            advertised.received_at = *at;
            advertised.advertisement.timestamp = *timestamp;
            advertised.advertisement.order = *order;
            put_cluster(rows, &kept)
        }
        Change::Heard { cluster, at, durable: true } => {
            let kept = get_cluster(rows, cluster)?;
            let mut kept = kept.unwrap_or_else(|| Remembered::new(cluster.clone()));
            kept.heard_at = Some(*at);
            put_cluster(rows, &kept)
        }
        Change::Reservation(kept) => {
            put(rows, &reservation::key_of(kept.id), &ReservationRecord::from(kept.as_ref()))
        }
        Change::Ledger { cluster, total } => {
            put(rows, cluster.as_str().as_bytes(), &LedgerRecord::from(*total))
        }
        Change::Forgotten(cluster) => {
            let key = cluster.as_str().as_bytes();
            rows.remove(Table::Advertisements, key)?;
            rows.remove(Table::Ledger, key)
        }
        Change::Dropped(id) => rows.remove(Table::Reservations, &reservation::key_of(*id)),
        Change::RecoveryEnded { incarnation } => {
            meta.recovered_through = meta.recovered_through.max(*incarnation);
            Ok(())
        }
    }
}

/// The writer chooses `through` so that few events go at once.
fn trim_events(
    rows: &mut (impl WriteRows + ?Sized),
    through: Position,
) -> Result<(), JournalError> {
    let mut old = Vec::new();
    rows.each_from(Table::Events, &[], &mut |key, _| {
        let is_old = event_id_of(key)?.position <= through;
        if is_old {
            old.push(key.to_vec());
        }
        Ok(is_old)
    })?;
    old.iter().try_for_each(|key| rows.remove(Table::Events, key))
}

/// What the ledger knows of itself.
pub(crate) fn read_meta(rows: &(impl ReadRows + ?Sized)) -> Result<Meta, JournalError> {
    let bytes = rows.get(Table::Meta, meta::KEY)?;
    let bytes = bytes.ok_or(JournalError::Missing(Table::Meta.name()))?;
    Ok(open::<MetaRecord>(meta::KEY, &bytes)?.into())
}

/// Writes what the ledger knows of itself.
pub(crate) fn write_meta(
    rows: &mut (impl WriteRows + ?Sized),
    meta: Meta,
) -> Result<(), JournalError> {
    put(rows, meta::KEY, &MetaRecord::from(meta))
}

/// Reads everything but the events.
pub(crate) fn read_all(rows: &dyn ReadRows) -> Result<Contents, JournalError> {
    let mut contents = Contents {
        meta: read_meta(rows)?,
        clusters: Vec::new(),
        ledgers: Vec::new(),
        reservations: Vec::new(),
        bytes: 0,
    };
    let mut bytes = 0;
    let mut count = |key: &[u8], value: &[u8]| bytes += (key.len() + value.len()) as u64;
    rows.each_from(Table::Advertisements, &[], &mut |key, value| {
        count(key, value);
        contents.clusters.push(cluster_of(key, value)?);
        Ok(true)
    })?;
    rows.each_from(Table::Ledger, &[], &mut |key, value| {
        count(key, value);
        contents.ledgers.push((id_of(Table::Ledger, key)?, ledger_of(key, value)?));
        Ok(true)
    })?;
    rows.each_from(Table::Reservations, &[], &mut |key, value| {
        count(key, value);
        contents.reservations.push(reservation_of(key, value)?);
        Ok(true)
    })?;
    Ok(Contents { bytes, ..contents })
}

/// Reads events after one of them.
pub(crate) fn read_events_after(
    rows: &dyn ReadRows,
    last: EventId,
    limit: usize,
) -> Result<Vec<(EventId, Event)>, JournalError> {
    let mut events = Vec::new();
    let Some(next) = last.next() else { return Ok(events) };
    rows.each_from(Table::Events, &event::key_of(next), &mut |key, value| {
        if events.len() == limit {
            return Ok(false);
        }
        events.push((event_id_of(key)?, event_of(key, value)?));
        Ok(true)
    })?;
    Ok(events)
}

fn put<R: Sealed>(
    rows: &mut (impl WriteRows + ?Sized),
    key: &[u8],
    record: &R,
) -> Result<(), JournalError> {
    rows.put(R::TABLE, key, &seal(key, record)?)
}

fn put_cluster(
    rows: &mut (impl WriteRows + ?Sized),
    record: &Remembered,
) -> Result<(), JournalError> {
    put(rows, record.id.as_str().as_bytes(), &ClusterRecord::from(record))
}

fn get_cluster(
    rows: &(impl WriteRows + ?Sized),
    id: &ClusterId,
) -> Result<Option<Remembered>, JournalError> {
    let key = id.as_str().as_bytes();
    rows.get(Table::Advertisements, key)?.map(|value| cluster_of(key, &value)).transpose()
}

pub(crate) fn cluster_of(key: &[u8], value: &[u8]) -> Result<Remembered, JournalError> {
    let record = open::<ClusterRecord>(key, value)?;
    let id = id_of(Table::Advertisements, key)?;
    record.into_remembered(id).map_err(|source| invalid(Table::Advertisements, source))
}

pub(crate) fn ledger_of(key: &[u8], value: &[u8]) -> Result<Resources, JournalError> {
    let record = open::<LedgerRecord>(key, value)?;
    record.try_into().map_err(|source| invalid(Table::Ledger, source))
}

pub(crate) fn reservation_of(key: &[u8], value: &[u8]) -> Result<Reservation, JournalError> {
    let record = open::<ReservationRecord>(key, value)?;
    let bits = key.try_into().map_err(|_| invalid(Table::Reservations, InvalidField("key")))?;
    let id = ReservationId::from_bits(u128::from_be_bytes(bits));
    record.into_reservation(id).map_err(|source| invalid(Table::Reservations, source))
}

pub(crate) fn event_of(key: &[u8], value: &[u8]) -> Result<Event, JournalError> {
    let record = open::<EventRecord>(key, value)?;
    record.try_into().map_err(|source| invalid(Table::Events, source))
}

pub(crate) fn event_id_of(key: &[u8]) -> Result<EventId, JournalError> {
    event::id_of(key).map_err(|source| invalid(Table::Events, source))
}

pub(crate) fn id_of(table: Table, key: &[u8]) -> Result<ClusterId, JournalError> {
    let text = std::str::from_utf8(key).ok();
    text.and_then(|text| text.parse().ok()).ok_or_else(|| invalid(table, InvalidField("key")))
}

fn invalid(table: Table, source: InvalidField) -> JournalError {
    JournalError::Field { table: table.name(), source }
}
