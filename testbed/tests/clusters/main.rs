//! What the testbed promises, on real servers. One binary: linking is slow on two cores.
//!
//! `cargo xtask test` runs it where the servers are: `whole_clusters` needs all of them, the rest only an
//! API server with its etcd.
// A test that is surprised should fail at once.
#![allow(clippy::unwrap_used)]

mod api_servers;
mod etcd_alone;
mod remains;
mod whole_clusters;
