//! For tests: a communicator that answers from a script, and the contract that every transport keeps.
//!
//! With [`Scripted`], a collector, a handler or any program that asks a broker is tried without one. With
//! [`contract`], a transport of one's own is tried against a broker: what it carries may be anything, what it keeps is
//! the same for all.
//!
//! # To write a transport
//!
//! Implement [`BrokerCommunicator`](crate::BrokerCommunicator). Its bodies are types of `rear-api` that serde writes and
//! reads, so that a transport is mostly: name the operation, send its body, take the answer or a typed
//! [`Error`](crate::Error). What to look after:
//!
//! - **Who speaks** is the connection's affair, never a body's: a broker believes certificates, or what your transport
//!   has instead of them, and answers [`Error::OtherCluster`](crate::Error::OtherCluster) to everything else.
//! - **Every future ends.** Give each operation a deadline of the transport's own; for
//!   [`instructions`](crate::BrokerCommunicator::instructions) with a [`Wait`](crate::communicator::Wait), beyond the
//!   time that the answer may be held. A queue that may never answer (MQTT) needs it most.
//! - **A lost answer** is [`Error::Interrupted`](crate::Error::Interrupted) or
//!   [`Error::TimedOut`](crate::Error::TimedOut). Repeat what names the state that it wants (every operation but
//!   `reserve`); repeat `reserve` only with its [`Intent`](crate::Intent), and only to a broker that honours it. Else say
//!   [`Error::OutcomeUnknown`](crate::Error::OutcomeUnknown).
//! - **Levels, not messages**: `instructions` tells all live promises of a side each time. With a
//!   [revision](crate::communicator::Level::revision), callers wait for news with it; without one, they poll. A
//!   transport with subscriptions (gRPC streams, MQTT topics) holds the answer until the subscription says that there
//!   is news, and then asks for the level.
//! - **What the broker lacks** is [`Error::Unsupported`](crate::Error::Unsupported), never an empty list: an agent
//!   would take that for the end of its promises.
//! - **Dropped futures** are how callers lose patience; the transport stays usable.
//! - **Closing** ends what waits with [`Error::Closed`](crate::Error::Closed), and so everything later.
//!
//! Then run [`contract::check`] against a real broker. `examples/custom_transport` does all of this over a Unix socket.

pub mod contract;
mod scripted;

pub use scripted::{Answer, Said, Scripted};

#[cfg(feature = "http")]
pub use crate::http::read_events;
