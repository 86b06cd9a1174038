//! Beginning a journal, and copying a ledger between a file and etcd.

use std::path::Path;
use std::sync::Arc;

use etcd_client::{Client, Compare, CompareOp, Txn, TxnOp};
use thiserror::Error;

use super::journal::{begin_file, runtime};
use super::local::genesis;
use super::remote::Remote;
use super::snapshot::{record, upload};
use super::{EtcdJournal, EtcdOptions, OpenError};
use crate::files::FileError;
use crate::journal::{Journal, JournalError, Reader};
use crate::position::Position;
use crate::records::Table;
use crate::records::head::{APPLIED_KEY, seal_head};
use crate::redb::{Commit, RedbJournal};
use crate::rows::read_meta;
use crate::shared::{Fork, Head, hash_of};

/// What was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// Which ledger.
    pub ledger: u128,
    /// Its last commit.
    pub position: Position,
}

/// Why a ledger was not copied.
#[derive(Debug, Error)]
pub enum CopyError {
    /// A file cannot be used.
    #[error("the file cannot be used")]
    File(#[from] FileError),
    /// The journal cannot be used.
    #[error("the journal in etcd cannot be used")]
    Open(#[from] OpenError),
    /// The ledger cannot be read or written.
    #[error("the ledger cannot be copied")]
    Journal(#[from] JournalError),
    /// There is one already.
    #[error("there is a journal below this prefix in etcd already, at {0}: it is not overwritten")]
    Exists(Position),
}

/// Where the journal ends; one that is not there is begun, unless a broker has followed it.
pub(super) async fn find_or_begin(
    remote: &Remote,
    ledger: u128,
    followed: bool,
) -> Result<Head, JournalError> {
    if let (Some(head), _) = remote.head().await? {
        return Ok(head);
    }
    if followed {
        return Err(Fork::Gone(Position::default()).into());
    }
    begin(remote, &genesis(ledger), None).await?;
    // Whoever was faster has begun it.
    let (head, _) = remote.head().await?;
    head.ok_or_else(|| JournalError::OutOfReach("the journal could not be begun".into()))
}

/// Begins a journal, if there is none: whether there was none is not told.
async fn begin(
    remote: &Remote,
    head: &Head,
    snapshot: Option<Vec<u8>>,
) -> Result<(), JournalError> {
    let key = remote.keys.head();
    let mut puts = vec![TxnOp::put(key.clone(), seal_head(head)?, None)];
    puts.extend(snapshot.map(|record| TxnOp::put(remote.keys.snapshot(), record, None)));
    let txn = Txn::new().when([Compare::create_revision(key, CompareOp::Equal, 0)]).and_then(puts);
    let begun = remote.each(|mut client: Client| {
        let txn = txn.clone();
        async move { client.txn(txn).await }
    });
    Ok(begun.await.map(drop)?)
}

/// Copies the ledger of a file, which nobody uses, to a place in etcd where there is none.
pub fn copy_to_etcd(
    reader: &dyn Reader,
    options: EtcdOptions,
    broker: u128,
) -> Result<Copied, CopyError> {
    let runtime = runtime()?;
    let remote = Arc::new(Remote::new(options));
    if let (Some(head), _) = runtime.block_on(remote.head())? {
        return Err(CopyError::Exists(head.position));
    }
    let rows = reader.snapshot()?;
    let meta = read_meta(&*rows)?;
    let mut head =
        Head { ledger: meta.ledger, position: meta.position, hash: 0, time_mark: meta.time_mark };
    let mut shelf = upload(&remote, runtime.handle(), &*rows, head, broker)?;
    // The chain begins with what is copied: another copy of the same ledger is another journal.
    head.hash = hash_of(&shelf.upload.to_be_bytes());
    shelf.head = head;
    runtime.block_on(begin(&remote, &head, Some(record(&shelf)?)))?;
    match runtime.block_on(remote.head())? {
        (Some(found), _) if found == head => {
            Ok(Copied { ledger: head.ledger, position: head.position })
        }
        (found, _) => {
            let position = found.map_or(Position::default(), |found| found.position);
            Err(CopyError::Exists(position))
        }
    }
}

/// Copies the ledger in etcd to a new file, which is a ledger of its own from then on.
pub fn copy_from_etcd(
    options: EtcdOptions,
    path: &Path,
    broker: u128,
    commit: Commit,
) -> Result<Copied, CopyError> {
    if path.exists() {
        return Err(FileError::Exists(path.to_owned()).into());
    }
    {
        let runtime = runtime()?;
        let remote = Arc::new(Remote::new(options.clone()));
        let (head, _) = runtime.block_on(remote.head())?;
        let head = head.ok_or(JournalError::Fork(Fork::Gone(Position::default())))?;
        begin_file(&runtime, &remote, &head, path, commit)?;
    }
    let mut journal = EtcdJournal::open(options, path, 0, broker, commit)?;
    journal.confirm()?;
    drop(journal);
    let mut file = RedbJournal::open(path, commit)?;
    file.write(|rows| rows.remove(Table::Meta, APPLIED_KEY))?;
    let meta = file.load()?.meta;
    Ok(Copied { ledger: meta.ledger, position: meta.position })
}
