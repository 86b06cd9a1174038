//! The Kubernetes agent of REAR: it says what a cluster has, turns requests of its users into reservations, keeps aside
//! what others were promised, and starts the peering.
//!
//! It is the SDK's [agent loop](rear_agent_sdk::Agent) with a [collector](collect) that watches nodes and pods, and a
//! handler that keeps promises as custom resources.

pub mod collect;
pub mod resources;
