//! Real Kubernetes API servers, whole clusters and etcd for tests, without containers.
//!
//! A test starts what it needs and lets go of it: each server has ports and a folder of its own, and
//! nothing is left behind when the test succeeds, panics or is killed. The programs are built once by
//! `cargo xtask setup`, or taken from `KUBEBUILDER_ASSETS`; see `docs/how-to/test-on-real-clusters.md`.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use rear_testbed::{ApiServer, Cluster, Etcd, Members, Node};
//!
//! let server = ApiServer::start()?; // an API server and its etcd; ready when this returns
//! server.kubectl().run(&["create", "namespace", "rome"])?; // kubectl as the administrator
//! let rome = server.user("rome")?; // a user without rights, for RBAC
//! println!("any client connects as rome with {}", rome.kubeconfig().display());
//!
//! let mut cluster = Cluster::start()?; // with scheduler, controller manager and kwok
//! cluster.add_nodes(&[Node::new("a").cpu("16").resource("nvidia.com/gpu", "2")])?;
//! cluster.scheduler().kill()?; // SIGKILL; `start` brings it back with its data
//! cluster.api_server_mut().process().pause()?; // SIGSTOP; `resume` continues it
//!
//! let mut etcd = Etcd::start(Members::Three)?; // etcd alone
//! etcd.member(0).expect("the first of three").kill()?;
//! # Ok(())
//! # }
//! ```
//!
//! | type | what it starts | ready in | memory |
//! |---|---|---|---|
//! | [`ApiServer`] | an API server and its etcd | 4 s | 300 MB |
//! | [`Cluster`] | the same with scheduler, controller manager, and kwok as the kubelets | 11 s | 540 MB |
//! | [`Etcd`] | one or three nodes of etcd alone | 0.5 s | 28 MB each |

pub mod artifacts;
pub mod corpus;
#[cfg(feature = "harness")]
mod harness;
pub mod programs;

#[cfg(feature = "harness")]
pub use harness::*;
