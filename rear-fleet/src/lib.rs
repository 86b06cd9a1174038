//! Thousands of simulated clusters in one process, that really speak to a broker and watch over its promises.
//!
//! `rear-broker dev`, tests and the evaluation use it; so does the program `rear-fleet`, against any broker. Every
//! cluster is an agent of `rear-agent-sdk` with a certificate and a connection of its own:
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use rear_fleet::Fleet;
//!
//! # async fn example() -> Result<(), rear_agent_sdk::Error> {
//! let mut fleet = Fleet::builder("https://127.0.0.1:8443", "certificates")
//!     .clusters(1000)
//!     .seed(7)
//!     .churn(Duration::from_secs(60))
//!     .bursts(20, Duration::from_millis(500))
//!     .crashes(Duration::from_secs(120))
//!     .lost_answers(5)
//!     .start()?;
//! fleet.advertised().await;
//! tokio::time::sleep(Duration::from_secs(60)).await;
//! let report = fleet.settle(Duration::from_secs(60)).await;
//! assert!(report.is_clean(), "{report}");
//! fleet.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! The certificate of each cluster is in a folder of its [`name`], as `rear-broker certs issue` writes it;
//! [`make_certificates`] makes many at once for a broker that is only tried. [`Load`] is the other tool: callers that ask
//! as fast as they are answered.

mod certificates;
mod chance;
pub mod cli;
mod cluster;
mod cost;
mod demand;
mod fleet;
mod latency;
mod load;
mod member;
mod names;
mod plan;
mod poll;
mod report;
mod settle;
mod statement;
mod watched;
mod witness;

pub use certificates::{Authority, CertificatesError, make_certificates};
pub use chance::Chance;
pub use cost::Cost;
pub use fleet::Fleet;
pub use latency::Latencies;
pub use load::{Load, LoadReport};
pub use names::name;
pub use plan::Builder;
pub use poll::{Polling, PollingReport};
pub use report::{Operation, Report};
pub use witness::{Broken, Side};
