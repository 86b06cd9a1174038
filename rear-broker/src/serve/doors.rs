//! The sockets that a broker listens on: the API's, and the operator's where there are any.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use rear_agent_sdk::daemon::BindAddress;
use tokio::net::TcpListener;
use tracing::info;

use super::ServeError;
use crate::config::Config;

/// Where the broker listens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Addresses {
    pub(crate) api: SocketAddr,
    pub(crate) metrics: Option<SocketAddr>,
    pub(crate) probes: Option<SocketAddr>,
    pub(crate) operations: Option<SocketAddr>,
}

impl Addresses {
    pub(super) fn tell(&self, data: &Path) {
        let at = |address: Option<SocketAddr>| {
            address.map_or_else(|| "nowhere".to_owned(), |address| address.to_string())
        };
        info!(
            address = %self.api, metrics = at(self.metrics), probes = at(self.probes),
            operations = at(self.operations), data = %data.display(), "serving"
        );
    }
}

/// The sockets, open and not yet listened to.
pub(super) struct Doors {
    pub(super) api: TcpListener,
    pub(super) metrics: Option<TcpListener>,
    pub(super) probes: Option<TcpListener>,
    pub(super) operations: Option<TcpListener>,
}

impl Doors {
    pub(super) async fn open(config: &Config) -> Result<Self, ServeError> {
        let (metrics, probes) = (config.metrics_bind_address, config.health_probe_bind_address);
        let operations = config.operations_bind_address;
        Ok(Self {
            api: bind("http-port", config.address()).await?,
            metrics: bind_for_operators("metrics-bind-address", metrics).await?,
            probes: bind_for_operators("health-probe-bind-address", probes).await?,
            operations: bind_for_operators("operations-bind-address", operations).await?,
        })
    }

    /// Where they really are; `api` is where it should be.
    pub(super) fn addresses(&self, api: SocketAddr) -> Addresses {
        let at = |socket: &Option<TcpListener>| socket.as_ref()?.local_addr().ok();
        Addresses {
            api: self.api.local_addr().unwrap_or(api),
            metrics: at(&self.metrics),
            probes: at(&self.probes),
            operations: at(&self.operations),
        }
    }
}

pub(super) async fn bind_for_operators(
    key: &'static str,
    at: BindAddress,
) -> Result<Option<TcpListener>, ServeError> {
    match at {
        BindAddress(Some(address)) => bind(key, address).await.map(Some),
        BindAddress(None) => Ok(None),
    }
}

async fn bind(key: &'static str, address: SocketAddr) -> Result<TcpListener, ServeError> {
    let failed = |source| ServeError::Listen { address, key, source };
    match TcpListener::bind(address).await {
        // All interfaces of a machine without IPv6.
        Err(error) if address.ip() == Ipv6Addr::UNSPECIFIED && lacks_ipv6(&error) => {
            let address = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port());
            TcpListener::bind(address).await.map_err(failed)
        }
        bound => bound.map_err(failed),
    }
}

fn lacks_ipv6(error: &std::io::Error) -> bool {
    let family = rustix::io::Errno::AFNOSUPPORT.raw_os_error();
    error.raw_os_error() == Some(family) || error.kind() == ErrorKind::AddrNotAvailable
}
