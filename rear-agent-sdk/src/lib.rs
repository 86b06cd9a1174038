//! Brings a cluster of any kind to a REAR broker.

mod clock;
pub mod communicator;
mod error;
pub mod http;
mod watch;

pub use clock::now;
pub use communicator::{BrokerCommunicator, Intent};
pub use error::{Chain, Error, Refused, Source};
pub use http::HttpCommunicator;
pub use watch::Watch;
