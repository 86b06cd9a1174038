//! The ledger on disk. So far its foundation: where in the history something stands, what time it is, and records that
//! cannot be misread.
//!
//! A record is sealed with a checksum over its table, its key and its contents, so that flipped bytes, a
//! value under another key or a table under another name are found when it is read, never served.

pub mod position;
pub mod records;
pub mod timekeeper;

pub use position::Position;
