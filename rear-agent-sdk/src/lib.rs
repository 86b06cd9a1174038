//! Brings a cluster of any kind to a REAR broker: says what it has, asks for what it needs, and acts on what was promised.
//!
//! An agent is a [collector](ResourceCollector), which looks at the cluster, and a [handler](InstructionHandler), which
//! acts on promises; the [`Agent`] does the rest. This one lends four cores and keeps its promises in memory:
//!
//! ```no_run
//! use std::sync::{Arc, Mutex};
//!
//! use rear_agent_sdk::communicator::{Reservation, Role};
//! use rear_agent_sdk::{
//!     Agent, Doing, HttpCommunicator, InstructionHandler, Keeping, ResourceCollector, Resources,
//!     Snapshot,
//! };
//!
//! struct FourCores;
//!
//! impl ResourceCollector for FourCores {
//!     fn collect(&self) -> Doing<'_, Snapshot> {
//!         Box::pin(async {
//!             let all = Resources::parse("4", "8Gi", None, None).expect("these are quantities");
//!             Ok(Snapshot { capacity: all, allocatable: all, ..Snapshot::default() })
//!         })
//!     }
//! }
//!
//! #[derive(Default)]
//! struct Promises(Mutex<Vec<(Role, Reservation)>>);
//!
//! impl InstructionHandler for Promises {
//!     fn kept(&self, role: Role) -> Doing<'_, Vec<Reservation>> {
//!         let kept = self.0.lock().expect("nobody panics").clone();
//!         let of_role = kept.into_iter().filter(move |(side, _)| *side == role);
//!         Box::pin(async { Ok(of_role.map(|(_, promise)| promise).collect()) })
//!     }
//!
//!     fn keep<'a>(&'a self, role: Role, promise: &'a Reservation) -> Keeping<'a> {
//!         Box::pin(async move {
//!             let mut kept = self.0.lock().expect("nobody panics");
//!             kept.retain(|(_, known)| known.id != promise.id);
//!             kept.push((role, promise.clone()));
//!             Ok(())
//!         })
//!     }
//!
//!     fn give_back<'a>(&'a self, _: Role, promise: &'a Reservation) -> Doing<'a, ()> {
//!         Box::pin(async {
//!             self.0.lock().expect("nobody panics").retain(|(_, known)| known.id != promise.id);
//!             Ok(())
//!         })
//!     }
//! }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let broker = Arc::new(HttpCommunicator::new("https://broker.example:8443", "/etc/rear/certs")?);
//! let agent = Agent::builder("rome".parse()?, broker, FourCores, Promises::default()).build();
//! agent.run(std::future::pending()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! To ask for capacity needs no agent: [`BrokerCommunicator::reserve`] with an [`Intent`]. Every [`Error`] says whether
//! it [is transient](Error::is_transient) and what a person [can do](Error::remedy) about it.
//!
//! A transport of another kind is an implementation of [`BrokerCommunicator`].
//!
//! Bodies and amounts are types of [`rear_api`] and [`rear_engine`], which are this crate's too: one version for both.
//!
//! # Features
//!
//! - `http` (on unless it is turned off): the transport over HTTPS. Without it, neither TLS nor an HTTP client is built.
//! - `kubernetes`: the transport over custom resources on a broker cluster.
//! - `daemon`: what the broker and the agent have in common as daemons: addresses of listeners, leader election, clients of
//!   API servers, objects that cannot be read.
//! - `testing`: a communicator that answers from a script, and the contract suite that every transport passes.

pub mod agent;
mod clock;
mod collector;
pub mod communicator;
#[cfg(feature = "daemon")]
pub mod daemon;
mod error;
mod handler;
#[cfg(feature = "http")]
pub mod http;
mod jitter;
#[cfg(any(feature = "daemon", feature = "kubernetes"))]
pub mod kubeconfig;
#[cfg(feature = "kubernetes")]
pub mod kubernetes;
mod recovery;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(any(feature = "daemon", feature = "kubernetes"))]
pub mod unreadable;
mod watch;

pub use agent::{Agent, Schedule};
pub use clock::now;
pub use collector::{Doing, ResourceCollector, Snapshot};
pub use communicator::{BrokerCommunicator, Intent, request};
pub use error::{Chain, Error, Refused, Source};
pub use handler::{InstructionHandler, Keeping, NotKept};
#[cfg(feature = "http")]
pub use http::HttpCommunicator;
#[cfg(feature = "kubernetes")]
pub use kubernetes::KubernetesCommunicator;
pub use rear_engine::duration;
pub use rear_engine::{Dimension, Duration as Length, Resources};
pub use recovery::is_recovering;
pub use watch::Watch;
pub use {rear_api, rear_engine};
