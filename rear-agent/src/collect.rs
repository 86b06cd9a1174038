//! What the cluster has: nodes and pods are watched, and sums follow every change.
//!
//! The flow: [`watch`] hands partial objects to [`node`] and [`pod`], which read what counts; [`sums`] adds it up;
//! the [`collector`] shows the sums to the agent loop.

pub mod amounts;
pub mod collector;
mod metadata;
pub mod node;
pub mod pod;
pub mod sums;
pub mod watch;
