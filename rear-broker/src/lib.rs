//! The REAR broker: one process on a ledger of its own or one that several share, which clusters reach over mTLS.
//!
//! A request comes in through [`listen`], is known by the certificate of its connection ([`identity`],
//! [`caller`]), finds its route ([`routes`]), becomes a command for the store and is answered when the decision
//! is durable ([`answer`]). Nothing here adds or subtracts a quantity.
//!
//! An operator decides by [`config`], which [`reload`] looks at again; [`log`](mod@log) and [`audit`] tell what happens, [`metrics`]
//! count it.
//!
//! [`kubernetes`] is the other way in: custom resources on a broker cluster.
//!
//! [`cli`] is the command line, with a file in [`commands`] for each command; [`pki`] is the operator's own authority. [`dev`] starts all of it with a simulated
//! fleet.

pub mod administrator;
pub mod answer;
pub mod audit;
pub mod broker;
pub mod caller;
pub mod certificates;
pub mod cli;
pub mod commands;
pub mod config;
pub mod dashboard;
pub mod dev;
mod files;
mod freshness;
pub mod identity;
pub mod kubernetes;
pub mod ledger;
pub mod limits;
pub mod listen;
pub mod log;
pub mod metrics;
pub mod operations;
pub mod pki;
pub mod refusals;
pub mod reload;
pub mod room;
pub mod routes;
pub mod serve;
pub mod supervisor;
pub mod tally;
pub mod tls;
