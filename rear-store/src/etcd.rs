//! A ledger that several brokers share: an ordered journal in etcd, and each broker's own file as what it has applied.
//!
//! ```text
//! PREFIX/head                        where the journal ends: number and hash of the last entry
//! PREFIX/entries/INCARNATION/NUMBER  one decided batch, sealed, with the hash of the entry before it
//! PREFIX/snapshot                    where the last snapshot is, and which entry it ends with
//! PREFIX/snapshots/UPLOAD/CHUNK      its chunks
//! PREFIX/brokers/BROKER              who is there, as long as its lease lives: what it can read, and where its door is
//! ```
//!
//! An entry is appended in one transaction: if `head` is what was applied last, put the entry and move `head`. Removing old
//! entries never touches `head`, so that a put that was held up cannot land in an old place. What is decided about all of
//! this is in [`crate::shared`]; here are the network, the file and the tasks.

mod append;
mod copy;
mod follow;
mod hub;
mod journal;
mod keys;
mod local;
mod peers;
mod presence;
mod remote;
mod snapshot;

use std::time::Duration;

use thiserror::Error;

pub use copy::{Copied, CopyError, copy_from_etcd, copy_to_etcd};
pub use journal::EtcdJournal;

use crate::files::FileError;
use crate::journal::JournalError;

/// Where the journal is, and who may use it.
#[derive(Debug, Clone)]
pub struct EtcdOptions {
    /// The addresses of the nodes, as `https://etcd-1:2379`; the first that answers is used until it does not.
    pub endpoints: Vec<String>,
    /// What the keys of this ledger begin with.
    pub prefix: String,
    /// What TLS needs; without it the addresses are `http://`.
    pub tls: Option<EtcdTls>,
    /// Name and password.
    pub user: Option<(String, String)>,
    /// After so many entries, a snapshot is made.
    pub snapshot_every: u64,
    /// Where other brokers reach this one, as `broker-1:7443`, to hand over what they would otherwise contend for. Port 0 is
    /// any that is free.
    pub door: Option<String>,
}

/// What TLS needs, as PEM.
#[derive(Debug, Clone)]
pub struct EtcdTls {
    /// The authority of the nodes.
    pub authority: Vec<u8>,
    /// The broker's certificate and key, if the nodes ask for one.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
}

/// After so many entries, a snapshot is made: a newcomer reads about as many, which takes a second or two.
pub const SNAPSHOT_EVERY: u64 = 1000;

/// Of the entries before a snapshot this part stays, so that a broker that is a little behind reads those instead of all of it.
const KEPT_BEHIND: u64 = 5;

/// For one question to one node. The next node is asked when it has not answered by then.
const QUESTION: Duration = Duration::from_secs(1);

/// How long callers wait for a batch whose put is not answered.
const PATIENCE: Duration = Duration::from_secs(5);

impl EtcdOptions {
    /// Without TLS and users.
    #[must_use]
    pub fn new(endpoints: Vec<String>, prefix: impl Into<String>) -> Self {
        let prefix = prefix.into();
        let snapshot_every = SNAPSHOT_EVERY;
        Self { endpoints, prefix, tls: None, user: None, snapshot_every, door: None }
    }
}

/// Why a shared ledger cannot be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The broker's own file cannot be used.
    #[error("the broker's own file cannot be used")]
    File(#[from] FileError),
    /// The journal cannot be used.
    #[error("the journal in etcd cannot be used")]
    Journal(#[from] JournalError),
    /// The file holds a ledger that was never shared.
    #[error(
        "{0} holds a ledger that is not from this journal: move it away, or copy it to etcd with `rear-broker store copy`"
    )]
    NotShared(std::path::PathBuf),
    /// Other brokers cannot be listened to.
    #[error("nobody can be listened to at {address}")]
    Door {
        /// Where.
        address: String,
        /// Why.
        source: std::io::Error,
    },
    /// No threads to be had.
    #[error("the threads for etcd cannot be started")]
    Runtime(#[source] std::io::Error),
}
