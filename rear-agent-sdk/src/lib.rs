//! Brings a cluster of any kind to a REAR broker.

pub mod agent;
mod clock;
mod collector;
pub mod communicator;
mod error;
mod handler;
pub mod http;
mod watch;

pub use agent::{Agent, Schedule};
pub use clock::now;
pub use collector::{Doing, ResourceCollector, Snapshot};
pub use communicator::{BrokerCommunicator, Intent};
pub use error::{Chain, Error, Refused, Source};
pub use handler::{InstructionHandler, Keeping, NotKept};
pub use http::HttpCommunicator;
pub use watch::Watch;
