//! Restore: a ledger from a backup, as a new incarnation in which every provider is recovering.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use rear_engine::fleet::Divergence;
use rear_engine::{Policy, Timestamp};
use thiserror::Error;

use super::{BackupError, Rows};
use crate::files::FileError;
use crate::journal::{Journal, JournalError};
use crate::migrate::{self, SCHEMA};
use crate::position::Position;
use crate::records::Table;
use crate::records::head::APPLIED_KEY;
use crate::records::meta::Meta;
use crate::records::seal::schema_of;
use crate::redb::{Commit, RedbJournal};
use crate::rows::{read_meta, write_meta};

/// How many bytes are written at once: a backup may be larger than memory.
const CHUNK_BYTES: usize = 8 << 20;

/// What was restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    /// Which ledger.
    pub ledger: u128,
    /// The last commit that the backup knew.
    pub backup: Position,
    /// The incarnation that begins now.
    pub incarnation: u64,
    /// How many clusters are known: nothing is granted on them before they say what they hold.
    pub clusters: usize,
    /// How many reservations, live or ended.
    pub reservations: usize,
}

/// Why a backup cannot be restored. Nothing was changed.
#[derive(Debug, Error)]
pub enum RestoreError {
    /// The backup cannot be read.
    #[error("the backup cannot be used")]
    Backup(#[from] BackupError),
    /// The ledger cannot be made.
    #[error("the ledger cannot be made")]
    File(#[from] FileError),
    /// Its rows contradict each other.
    #[error("the backup contradicts itself")]
    Divergence(#[from] Divergence),
    /// It was written by a newer program.
    #[error(
        "the backup has schema {0}, this program knows up to {SCHEMA}: restore it with the version that wrote it, or a later one"
    )]
    Newer(u8),
    /// Its incarnation is the last that can be counted.
    #[error("no further incarnation can be counted after the backup's")]
    LastIncarnation,
}

/// Makes a ledger from a backup. What is at `path` already is not overwritten.
///
/// Whatever happened after the backup is not in it. So a new incarnation begins: ids of events and
/// cursors of older ones are refused, and nothing is granted on any cluster before it has said what it
/// holds. The number of the incarnation is the microsecond of the restore, so that the same backup restored
/// twice does not begin the same incarnation twice.
pub fn restore(backup: &Path, path: &Path, now: Timestamp) -> Result<Restored, RestoreError> {
    RedbJournal::create_with(path, Commit::TwoPhase, |journal| fill(journal, backup, now))
}

fn fill(
    journal: &mut RedbJournal,
    backup: &Path,
    now: Timestamp,
) -> Result<Restored, RestoreError> {
    let file = File::open(backup).map_err(BackupError::from)?;
    let mut rows = Rows::open(BufReader::new(file))?;
    while copy_chunk(journal, &mut rows)? {}
    let before = begin_incarnation(journal, now)?;
    let contents = journal.load().map_err(BackupError::from)?;
    let restored = Restored {
        ledger: before.ledger,
        backup: before.position,
        incarnation: contents.meta.position.incarnation,
        clusters: contents.clusters.len(),
        reservations: contents.reservations.len(),
    };
    contents.into_fleet(Policy::default(), now)?;
    Ok(restored)
}

/// Whether there may be more.
fn copy_chunk(
    journal: &mut RedbJournal,
    rows: &mut Rows<BufReader<File>>,
) -> Result<bool, RestoreError> {
    let (mut chunk, mut bytes) = (Vec::new(), 0);
    while bytes < CHUNK_BYTES
        && let Some(row) = rows.next()?
    {
        let sealed = schema_of(row.table, &row.key, &row.value).map_err(JournalError::from);
        sealed.map_err(BackupError::from)?;
        bytes += row.key.len() + row.value.len();
        chunk.push(row);
    }
    let more = bytes >= CHUNK_BYTES;
    let put = journal
        .write(|rows| chunk.iter().try_for_each(|row| rows.put(row.table, &row.key, &row.value)));
    put.map_err(BackupError::from)?;
    Ok(more)
}

/// Returns what the ledger knew of itself before.
fn begin_incarnation(journal: &mut RedbJournal, now: Timestamp) -> Result<Meta, RestoreError> {
    let schema = journal.reader().snapshot().and_then(|rows| migrate::schema(&*rows));
    let schema = schema.map_err(BackupError::from)?;
    if schema > SCHEMA {
        return Err(RestoreError::Newer(schema));
    }
    let migrated = journal.write(|rows| migrate::migrate(rows).and_then(|()| read_meta(rows)));
    let before = migrated.map_err(BackupError::from)?;
    let next = before.position.incarnation.checked_add(1).ok_or(RestoreError::LastIncarnation)?;
    let microsecond = u64::try_from(now.as_nanos() / 1000).unwrap_or(0);
    let position = Position::start_of(next.max(microsecond));
    let begun = journal.write(|rows| {
        // A file of its own again, whatever journal it came from.
        rows.remove(Table::Meta, APPLIED_KEY)?;
        write_meta(rows, Meta { position, ..before })
    });
    begun.map_err(BackupError::from)?;
    Ok(before)
}
