//! The Kubernetes agent of REAR: it says what a cluster has, turns requests of its users into reservations, keeps aside
//! what others were promised, and starts the peering.
//!
//! It is the SDK's [agent loop](rear_agent_sdk::Agent) with a [collector](collect) that watches nodes and pods, and a
//! [handler](promises) that keeps promises as [custom resources](resources), which [controllers] look after.

pub mod cli;
pub mod clock;
pub mod collect;
pub mod context;
pub mod controllers;
pub mod identity;
pub mod liqo;
pub mod metrics;
pub mod offer;
pub mod probes;
pub mod promises;
pub mod resources;
pub mod rights;
pub mod run;
pub mod steps;
