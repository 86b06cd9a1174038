//! The broker's own file: what it has applied of the journal, with the hash of the last entry in it.
//!
//! Entries are durable in etcd. So the file is synced only now and then: what a crash takes back is read again.

use std::path::Path;
use std::time::Duration;

use rear_engine::Timestamp;
use rear_engine::fleet::FIRST_INCARNATION;
use tokio::time::Instant;

use super::OpenError;
use crate::journal::{Batch, Journal, JournalError};
use crate::position::Position;
use crate::records::Table;
use crate::records::head::{APPLIED_KEY, open_applied, seal_applied};
use crate::records::meta::Meta;
use crate::redb::{Commit, RedbJournal};
use crate::rows::{WriteRows, write_batch, write_meta};
use crate::shared::Head;

/// So many entries are synced together, at most.
const MAX_UNSYNCED: u32 = 1024;

/// So long an entry waits at most to be synced.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// The broker's own file.
pub(super) struct Local {
    pub(super) file: RedbJournal,
    unsynced: u32,
    synced_at: Instant,
}

/// What a journal is before its first entry.
pub(super) fn genesis(ledger: u128) -> Head {
    Head {
        ledger,
        position: Position::start_of(FIRST_INCARNATION),
        hash: 0,
        time_mark: Timestamp::from_nanos(i64::MIN),
    }
}

impl Local {
    /// Makes a file for a journal that begins as `genesis` does.
    pub(super) fn create(path: &Path, ledger: u128, commit: Commit) -> Result<(), OpenError> {
        let first = FIRST_INCARNATION;
        Self::create_with(path, &genesis(ledger), commit, |rows| {
            write_meta(rows, Meta::of_new(ledger, first, first))
        })
    }

    /// Makes a file that has applied a journal up to `head`. It gets its name once all rows are in it.
    pub(super) fn create_with(
        path: &Path,
        head: &Head,
        commit: Commit,
        fill: impl FnOnce(&mut dyn WriteRows) -> Result<(), JournalError>,
    ) -> Result<(), OpenError> {
        let row = seal_applied(head).map_err(JournalError::from)?;
        RedbJournal::create_with(path, commit, |file| {
            Ok(file.write(|rows| {
                fill(rows)?;
                rows.put(Table::Meta, APPLIED_KEY, &row)
            })?)
        })
    }

    /// Opens the file, and says what it has applied.
    pub(super) fn open(path: &Path, commit: Commit) -> Result<(Self, Head), OpenError> {
        let file = RedbJournal::open(path, commit)?;
        let row = file.reader().snapshot()?.get(Table::Meta, APPLIED_KEY)?;
        let row = row.ok_or_else(|| OpenError::NotShared(path.to_owned()))?;
        let applied = open_applied(&row).map_err(JournalError::from)?;
        Ok((Self { file, unsynced: 0, synced_at: Instant::now() }, applied))
    }

    /// Applies a batch if `settle` agrees once it is known that it can be applied.
    pub(super) fn apply(
        &mut self,
        batch: &Batch,
        after: &Head,
        settle: impl FnOnce() -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        let row = seal_applied(after)?;
        self.file.write_soon(|rows| {
            write_batch(rows, batch)?;
            rows.put(Table::Meta, APPLIED_KEY, &row)?;
            settle()
        })?;
        self.unsynced += 1;
        if self.unsynced >= MAX_UNSYNCED { self.sync() } else { Ok(()) }
    }

    /// Syncs what has waited long enough.
    pub(super) fn sync_if_due(&mut self) -> Result<(), JournalError> {
        let due = self.unsynced > 0 && self.synced_at.elapsed() >= SYNC_EVERY;
        if due { self.sync() } else { Ok(()) }
    }

    /// Syncs what was applied.
    pub(super) fn sync(&mut self) -> Result<(), JournalError> {
        self.file.write(|_| Ok(()))?;
        self.unsynced = 0;
        self.synced_at = Instant::now();
        Ok(())
    }

    /// Puts other rows in the place of all that are there.
    pub(super) fn replace(
        &mut self,
        head: &Head,
        fill: impl FnOnce(&mut dyn WriteRows) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        let row = seal_applied(head)?;
        self.file.write(|rows| {
            clear(rows)?;
            fill(rows)?;
            rows.put(Table::Meta, APPLIED_KEY, &row)
        })
    }
}

fn clear(rows: &mut dyn WriteRows) -> Result<(), JournalError> {
    for table in Table::ALL {
        let mut keys = Vec::new();
        rows.each_from(table, &[], &mut |key, _| {
            keys.push(key.to_vec());
            Ok(true)
        })?;
        keys.iter().try_for_each(|key| rows.remove(table, key))?;
    }
    Ok(())
}
