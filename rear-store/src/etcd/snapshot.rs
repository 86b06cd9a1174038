//! Snapshots: every so many entries, one broker puts all its rows into etcd in chunks; then old entries go.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use etcd_client::{Client, Compare, CompareOp, DeleteOptions, GetOptions, PutOptions, Txn, TxnOp};
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::KEPT_BEHIND;
use super::hub::Hub;
use super::local::Local;
use super::remote::{Remote, get};
use crate::backup::{BackupError, Rows, write_rows};
use crate::chain::chain;
use crate::journal::{JournalError, Reader};
use crate::position::Position;
use crate::records::Table;
use crate::records::head::{APPLIED_KEY, open_applied, open_head, seal_head};
use crate::records::shelf::ShelfRecord;
use crate::rows::{ReadRows, WriteRows};
use crate::shared::{Head, hash_of};

/// How many bytes a chunk has: well below what etcd takes at once, and few of them for a large ledger.
const CHUNK: usize = 512 << 10;

/// How long a snapshot may take before another broker makes one, in seconds.
const CLAIM: i64 = 600;

/// What a broker does not know of the journal, because it was not there, does not count: after so many times the usual number
/// of entries one is made all the same.
const LATEST: u64 = 16;

/// How far the journal has come since the last snapshot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Since {
    pub(super) entries: u64,
    /// How many bytes those have that were followed.
    pub(super) bytes: u64,
    /// How many bytes the snapshot has.
    pub(super) snapshot: u64,
}

impl Since {
    /// Whether another one is worth its bytes: all snapshots together are at most as many as all entries, however large the
    /// ledger is.
    pub(super) fn is_due(self, every: u64) -> bool {
        let worth = self.entries >= every && self.bytes >= self.snapshot;
        worth || self.entries >= every.saturating_mul(LATEST)
    }
}

/// A snapshot that is there.
#[derive(Debug, Clone)]
pub(super) struct Shelf {
    pub(super) head: Head,
    pub(super) upload: u128,
    pub(super) chunks: u64,
    pub(super) bytes: u64,
    pub(super) at: i64,
}

/// The last snapshot, if there is one.
pub(super) async fn find(remote: &Remote) -> Result<Option<Shelf>, JournalError> {
    let Some(bytes) = remote.value(remote.keys.snapshot()).await? else { return Ok(None) };
    let ShelfRecord { head, upload, chunks, bytes, at } = ShelfRecord::open(&bytes)?;
    Ok(Some(Shelf { head: open_head(&head)?, upload, chunks, bytes, at }))
}

/// Puts the rows of a snapshot in the place of all that the broker's own file holds.
pub(super) fn install(
    remote: &Arc<Remote>,
    handle: &Handle,
    shelf: &Shelf,
    local: &mut Local,
) -> Result<(), JournalError> {
    local.replace(&shelf.head, |rows| read(remote, handle, shelf, rows))
}

/// Puts the rows of a snapshot where there are none.
pub(super) fn read(
    remote: &Arc<Remote>,
    handle: &Handle,
    shelf: &Shelf,
    rows: &mut dyn WriteRows,
) -> Result<(), JournalError> {
    let chunks = Chunks {
        remote: remote.clone(),
        handle: handle.clone(),
        shelf: shelf.clone(),
        next: 0,
        rest: io::Cursor::new(Vec::new()),
    };
    let mut kept = Rows::open(chunks).map_err(unusable)?;
    while let Some(row) = kept.next().map_err(unusable)? {
        rows.put(row.table, &row.key, &row.value)?;
    }
    Ok(())
}

/// A snapshot that cannot be read may be one that was replaced: it is looked for again.
fn unusable(error: BackupError) -> JournalError {
    match error {
        BackupError::Journal(error) => error,
        error => JournalError::OutOfReach(format!("the snapshot: {}", chain(&error))),
    }
}

/// The bytes of a snapshot, chunk by chunk.
struct Chunks {
    remote: Arc<Remote>,
    handle: Handle,
    shelf: Shelf,
    next: u64,
    rest: io::Cursor<Vec<u8>>,
}

impl Read for Chunks {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.rest.read(into)?;
        if read > 0 || into.is_empty() || self.next == self.shelf.chunks {
            return Ok(read);
        }
        let key = self.remote.keys.chunk(self.shelf.upload, self.next);
        let chunk = self.handle.block_on(self.remote.value(key));
        let chunk = chunk.map_err(|trouble| io::Error::other(trouble.into_text()))?;
        let chunk = chunk.ok_or_else(|| io::Error::other("a chunk of it is missing"))?;
        self.next += 1;
        self.rest = io::Cursor::new(chunk);
        self.read(into)
    }
}

/// Makes a snapshot of what a reader shows, unless another broker is at it, and removes what nobody needs any more.
pub(super) fn make(
    hub: &Hub,
    handle: &Handle,
    reader: &dyn Reader,
    broker: u128,
) -> Result<(), JournalError> {
    let Some(claim) = handle.block_on(claim(&hub.remote))? else { return Ok(()) };
    let made = make_claimed(hub, handle, reader, broker, claim);
    let given_back =
        hub.remote.once(|mut client: Client| async move { client.lease_revoke(claim).await });
    // A claim that cannot be given back runs out.
    drop(handle.block_on(given_back));
    made
}

fn make_claimed(
    hub: &Hub,
    handle: &Handle,
    reader: &dyn Reader,
    broker: u128,
    claim: i64,
) -> Result<(), JournalError> {
    let rows = reader.snapshot()?;
    let head = applied(&*rows)?;
    let present = handle.block_on(find(&hub.remote))?;
    if let Some(present) = &present
        && hub.last_snapshot() != Some(present.head.position)
    {
        // Another broker was faster: whether the next one is due is to be seen.
        hub.note_snapshot(present);
        return Ok(());
    }
    let shelf = upload(&hub.remote, handle, &*rows, head, broker)?;
    let shown = TxnOp::put(hub.remote.keys.snapshot(), record(&shelf)?, None);
    if !handle.block_on(while_claimed(&hub.remote, claim, shown))? {
        // Another broker makes one: what was put here goes when that is done.
        return Ok(());
    }
    hub.note_snapshot(&shelf);
    handle.block_on(clear_away(&hub.remote, &shelf, claim))
}

fn applied(rows: &dyn ReadRows) -> Result<Head, JournalError> {
    let row = rows.get(Table::Meta, APPLIED_KEY)?;
    Ok(open_applied(&row.ok_or(JournalError::Missing(Table::Meta.name()))?)?)
}

/// The lease of whoever may make a snapshot now.
async fn claim(remote: &Remote) -> Result<Option<i64>, JournalError> {
    let key = remote.keys.claim();
    let granted =
        remote.once(|mut client: Client| async move { client.lease_grant(CLAIM, None).await });
    let lease = granted.await?.id();
    let txn = Txn::new()
        .when([Compare::create_revision(key.clone(), CompareOp::Equal, 0)])
        .and_then([TxnOp::put(key, [], Some(PutOptions::new().with_lease(lease)))]);
    let claimed = remote.once(|mut client: Client| async move { client.txn(txn).await }).await;
    if matches!(&claimed, Ok(answer) if answer.succeeded()) {
        return Ok(Some(lease));
    }
    let back = remote.once(|mut client: Client| async move { client.lease_revoke(lease).await });
    drop(back.await);
    claimed.map(|_| None).map_err(Into::into)
}

/// Puts all rows into etcd, in chunks that nobody knows of yet.
pub(super) fn upload(
    remote: &Arc<Remote>,
    handle: &Handle,
    rows: &dyn ReadRows,
    head: Head,
    broker: u128,
) -> Result<Shelf, JournalError> {
    let upload = hash_of(&[&broker.to_be_bytes()[..], &seal_head(&head)?].concat());
    let mut out = Uploading { remote, handle, upload, chunks: 0, bytes: 0, chunk: Vec::new() };
    let written = write_rows(rows, &mut out).and_then(|_| Ok(out.put_chunk()?));
    written.map_err(|error| match error {
        BackupError::Journal(error) => error,
        error => JournalError::OutOfReach(chain(&error)),
    })?;
    let at = head.time_mark.as_nanos();
    Ok(Shelf { head, upload, chunks: out.chunks, bytes: out.bytes, at })
}

/// Cuts what is written into chunks and puts each.
struct Uploading<'r> {
    remote: &'r Arc<Remote>,
    handle: &'r Handle,
    upload: u128,
    chunks: u64,
    bytes: u64,
    chunk: Vec<u8>,
}

impl Uploading<'_> {
    fn put_chunk(&mut self) -> io::Result<()> {
        let key = self.remote.keys.chunk(self.upload, self.chunks);
        let chunk = std::mem::take(&mut self.chunk);
        let length = chunk.len() as u64;
        let put = self.remote.each(|mut client: Client| {
            let (key, chunk) = (key.clone(), chunk.clone());
            async move { client.put(key, chunk, None).await }
        });
        let began = Instant::now();
        self.handle.block_on(put).map_err(|trouble| io::Error::other(trouble.into_text()))?;
        // As long as etcd was busy with it, it is there for what is granted meanwhile.
        std::thread::sleep(began.elapsed());
        self.chunks += 1;
        self.bytes += length;
        Ok(())
    }
}

impl Write for Uploading<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(CHUNK - self.chunk.len());
        self.chunk.extend(&bytes[..taken]);
        if self.chunk.len() == CHUNK {
            self.put_chunk()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The record of a snapshot.
pub(super) fn record(shelf: &Shelf) -> Result<Vec<u8>, JournalError> {
    let head = seal_head(&shelf.head)?;
    let Shelf { upload, chunks, bytes, at, .. } = *shelf;
    Ok(ShelfRecord { head, upload, chunks, bytes, at }.seal()?)
}

/// Does this if the claim is still this broker's, and says whether it was: one that was stopped for long may have lost it to
/// another, whose chunks it would remove.
async fn while_claimed(remote: &Remote, claim: i64, what: TxnOp) -> Result<bool, JournalError> {
    let mine = Compare::lease(remote.keys.claim(), CompareOp::Equal, claim);
    let txn = Txn::new().when([mine]).and_then([what]);
    let done = remote.each(|mut client: Client| {
        let txn = txn.clone();
        async move { client.txn(txn).await }
    });
    Ok(done.await?.succeeded())
}

/// Removes entries that are in the snapshot, and older snapshots, and lets etcd give the space back.
async fn clear_away(remote: &Remote, shelf: &Shelf, claim: i64) -> Result<(), JournalError> {
    let Position { incarnation, number } = shelf.head.position;
    let kept = remote.options().snapshot_every / KEPT_BEHIND;
    let first_kept = Position { incarnation, number: number.saturating_sub(kept) };
    let old_entries = delete(remote.keys.entries(), remote.keys.entry(first_kept));
    if !while_claimed(remote, claim, old_entries).await? {
        return Ok(());
    }
    let prefix = remote.keys.uploads();
    let options = GetOptions::new().with_prefix().with_keys_only();
    let found = remote.each(|client| get(client, prefix.clone(), Some(options.clone()))).await?;
    let own = remote.keys.chunks(shelf.upload);
    for old in found.kvs().iter().filter(|kept| !kept.key().starts_with(own.as_bytes())) {
        let key = String::from_utf8_lossy(old.key()).into_owned();
        if !while_claimed(remote, claim, delete(key.clone(), key + "\0")).await? {
            return Ok(());
        }
    }
    let revision = found.header().map_or(0, etcd_client::ResponseHeader::revision);
    // Someone else may have compacted further already: that is as good.
    let compacted =
        remote.once(|mut client: Client| async move { client.compact(revision, None).await });
    drop(compacted.await);
    Ok(())
}

fn delete(from: String, to: String) -> TxnOp {
    TxnOp::delete(from, Some(DeleteOptions::new().with_range(to)))
}

/// How long a snapshot that failed is not tried again.
pub(super) const PAUSE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: u64 = 1000;

    fn is_due(entries: u64, bytes: u64, snapshot: u64) -> bool {
        Since { entries, bytes, snapshot }.is_due(EVERY)
    }

    #[test]
    fn the_first_snapshot_is_made_after_the_usual_number_of_entries() {
        assert!(!is_due(EVERY - 1, 1 << 30, 0));
        assert!(is_due(EVERY, 0, 0));
    }

    #[test]
    fn a_large_ledger_is_written_again_when_as_much_has_come() {
        assert!(!is_due(EVERY, 99, 100));
        assert!(is_due(EVERY, 100, 100));
    }

    #[test]
    fn what_was_not_seen_of_the_journal_does_not_keep_it_for_ever() {
        assert!(!is_due(EVERY * LATEST - 1, 0, 100));
        assert!(is_due(EVERY * LATEST, 0, 100));
    }
}
