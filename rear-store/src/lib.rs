//! The ledger on disk: decided batches become durable, whole or not at all, and come back as they were.
//!
//! [`journal`] is the seam; [`redb`](mod@crate::redb) keeps a ledger in a file, [`memory`] without one. Both
//! write the same rows ([`records`]): each is sealed with a checksum over its table, its key and its
//! contents, so that flipped bytes, a value under another key or a table under another name are found
//! when it is read, never served.
//!
//! [`writer`] queues commands, decides them, commits them in groups and answers.

pub mod clock;
pub mod journal;
pub mod memory;
pub mod records;
pub mod redb;
mod rows;
pub mod timekeeper;
pub mod writer;

pub use journal::{Batch, Contents, Journal, JournalError};
pub use memory::Memory;
pub use rear_engine::position::{self, Position};
pub use redb::{Commit, RedbJournal};
pub use writer::{Answer, Store, SubmitError};
