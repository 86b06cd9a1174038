//! Starts servers, and lets nothing of them be left.
//!
//! A [`site`] is a folder with a [`guard`]; on it stand [`process`]es with [`port`]s of their own: [`etcd`] alone,
//! under an [`api_server`], or that under a whole [`cluster`].

mod api_server;
mod certificates;
mod cluster;
mod etcd;
mod gateway;
mod guard;
mod kubectl;
mod node;
mod patience;
mod port;
mod process;
mod proxy;
mod readiness;
mod revived;
mod site;
mod start_error;
mod user;
mod way;

pub use api_server::ApiServer;
pub use cluster::Cluster;
pub use etcd::{Etcd, EtcdCertificates, Members};
pub use gateway::Gateway;
pub use kubectl::{Followed, Kubectl, KubectlError};
pub use node::Node;
pub use patience::eventually;
pub use process::{Process, ProcessError};
pub use proxy::Proxy;
pub use revived::Revived;
pub use start_error::StartError;
pub use user::User;
