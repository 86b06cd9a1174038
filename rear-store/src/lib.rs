//! The ledger on disk: decided batches become durable, whole or not at all, and come back as they were.
//!
//! [`journal`] is the seam; [`redb`](mod@crate::redb) keeps a ledger in a file, [`memory`] without one,
//! and the feature `etcd` in a journal that several brokers [`shared`]. All of them
//! write the same rows ([`records`]): each is sealed with a checksum over its table, its key and its
//! contents, so that flipped bytes, a value under another key or a table under another name are found
//! when it is read, never served.
//!
//! [`writer`] queues commands, decides them, commits them in groups and answers.

pub mod backup;
mod chain;
pub mod clock;
#[cfg(feature = "etcd")]
pub mod etcd;
mod feed;
mod files;
mod glass;
pub mod journal;
pub mod memory;
pub mod meters;
mod migrate;
mod news;
pub mod records;
pub mod redb;
mod refreshments;
mod rows;
pub mod settings;
pub mod shared;
mod steps;
pub mod store;
pub mod timekeeper;
pub mod verify;
pub mod view;
pub mod writer;

pub use feed::{FeedError, Stretch};
pub use files::{FileError, is_missing};
pub use journal::{Batch, Contents, Journal, JournalError, Reader, Standing};
pub use memory::Memory;
pub use migrate::SCHEMA;
pub use news::News;
pub use rear_engine::position::{self, EventId, Position};
pub use redb::{Commit, RedbJournal};
pub use rows::{ReadRows, Show};
pub use settings::Settings;
pub use store::{Answer, Health, Store, SubmitError};
pub use view::View;
