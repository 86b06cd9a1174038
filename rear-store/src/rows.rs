//! Changes as rows: which record goes where. Shared by everything that keeps rows.

use rear_engine::decision::Change;
use rear_engine::fleet::ClusterRecord as Remembered;
use rear_engine::{ClusterId, Event, Reservation, ReservationId, Resources};

use crate::journal::{Batch, Contents, JournalError};
use crate::position::Position;
use crate::records::cluster::ClusterRecord;
use crate::records::event::{self, EventRecord};
use crate::records::ledger::LedgerRecord;
use crate::records::meta::{self, Meta, MetaRecord};
use crate::records::reservation::{self, ReservationRecord};
use crate::records::seal::{open, seal};
use crate::records::{InvalidField, Sealed, Table};

/// Is shown a key and its value, and says whether to go on.
pub(crate) type Show<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> Result<bool, JournalError>;

/// Rows that can be read.
pub(crate) trait ReadRows {
    /// The value of one key.
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, JournalError>;

    /// Shows every row whose key is not below `from`, in order, until told to stop.
    fn each_from(&self, table: Table, from: &[u8], show: Show<'_>) -> Result<(), JournalError>;
}

/// Rows that can be written.
pub(crate) trait WriteRows: ReadRows {
    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), JournalError>;

    fn remove(&mut self, table: Table, key: &[u8]) -> Result<(), JournalError>;
}

/// Writes a whole batch.
pub(crate) fn write_batch(rows: &mut impl WriteRows, batch: &Batch) -> Result<(), JournalError> {
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
        put(rows, &event::key_of(batch.position, place), &EventRecord::from(event))?;
    }
    meta.position = batch.position;
    meta.time_mark = meta.time_mark.max(batch.time_mark);
    write_meta(rows, meta)
}

fn write_change(
    rows: &mut impl WriteRows,
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

/// What the ledger knows of itself.
pub(crate) fn read_meta(rows: &impl ReadRows) -> Result<Meta, JournalError> {
    let bytes = rows.get(Table::Meta, meta::KEY)?;
    let bytes = bytes.ok_or(JournalError::Missing(Table::Meta.name()))?;
    Ok(open::<MetaRecord>(meta::KEY, &bytes)?.into())
}

/// Writes what the ledger knows of itself.
pub(crate) fn write_meta(rows: &mut impl WriteRows, meta: Meta) -> Result<(), JournalError> {
    put(rows, meta::KEY, &MetaRecord::from(meta))
}

/// Reads everything but the events.
pub(crate) fn read_all(rows: &impl ReadRows) -> Result<Contents, JournalError> {
    let mut contents = Contents {
        meta: read_meta(rows)?,
        clusters: Vec::new(),
        ledgers: Vec::new(),
        reservations: Vec::new(),
    };
    rows.each_from(Table::Advertisements, &[], &mut |key, value| {
        contents.clusters.push(cluster_of(key, value)?);
        Ok(true)
    })?;
    rows.each_from(Table::Ledger, &[], &mut |key, value| {
        contents.ledgers.push((id_of(Table::Ledger, key)?, ledger_of(key, value)?));
        Ok(true)
    })?;
    rows.each_from(Table::Reservations, &[], &mut |key, value| {
        contents.reservations.push(reservation_of(key, value)?);
        Ok(true)
    })?;
    Ok(contents)
}

/// Reads events after a position.
pub(crate) fn read_events_after(
    rows: &impl ReadRows,
    position: Position,
    limit: usize,
) -> Result<Vec<(Position, Event)>, JournalError> {
    let mut events = Vec::new();
    let Some(next) = position.next() else { return Ok(events) };
    rows.each_from(Table::Events, &event::key_of(next, 0), &mut |key, value| {
        if events.len() == limit {
            return Ok(false);
        }
        let position = event::position_of(key).map_err(|source| invalid(Table::Events, source))?;
        let event = open::<EventRecord>(key, value)?;
        let event = event.try_into().map_err(|source| invalid(Table::Events, source))?;
        events.push((position, event));
        Ok(true)
    })?;
    Ok(events)
}

fn put<R: Sealed>(rows: &mut impl WriteRows, key: &[u8], record: &R) -> Result<(), JournalError> {
    rows.put(R::TABLE, key, &seal(key, record)?)
}

fn put_cluster(rows: &mut impl WriteRows, record: &Remembered) -> Result<(), JournalError> {
    put(rows, record.id.as_str().as_bytes(), &ClusterRecord::from(record))
}

fn get_cluster(rows: &impl ReadRows, id: &ClusterId) -> Result<Option<Remembered>, JournalError> {
    let key = id.as_str().as_bytes();
    rows.get(Table::Advertisements, key)?.map(|value| cluster_of(key, &value)).transpose()
}

fn cluster_of(key: &[u8], value: &[u8]) -> Result<Remembered, JournalError> {
    let record = open::<ClusterRecord>(key, value)?;
    let id = id_of(Table::Advertisements, key)?;
    record.into_remembered(id).map_err(|source| invalid(Table::Advertisements, source))
}

fn ledger_of(key: &[u8], value: &[u8]) -> Result<Resources, JournalError> {
    let record = open::<LedgerRecord>(key, value)?;
    record.try_into().map_err(|source| invalid(Table::Ledger, source))
}

fn reservation_of(key: &[u8], value: &[u8]) -> Result<Reservation, JournalError> {
    let record = open::<ReservationRecord>(key, value)?;
    let bits = key.try_into().map_err(|_| invalid(Table::Reservations, InvalidField("key")))?;
    let id = ReservationId::from_bits(u128::from_be_bytes(bits));
    record.into_reservation(id).map_err(|source| invalid(Table::Reservations, source))
}

fn id_of(table: Table, key: &[u8]) -> Result<ClusterId, JournalError> {
    let text = std::str::from_utf8(key).ok();
    text.and_then(|text| text.parse().ok()).ok_or_else(|| invalid(table, InvalidField("key")))
}

fn invalid(table: Table, source: InvalidField) -> JournalError {
    JournalError::Field { table: table.name(), source }
}
