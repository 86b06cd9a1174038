//! Where a listener is, written as controllers on Kubernetes take it.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use thiserror::Error;

/// Where a listener of the operator is: `:8080` for all interfaces, `127.0.0.1:8080` for one, `0` for none.
///
/// ```
/// use rear_agent_sdk::daemon::BindAddress;
///
/// assert_eq!(":8080".parse(), Ok(BindAddress(Some("[::]:8080".parse()?))));
/// assert_eq!("0".parse(), Ok(BindAddress(None)));
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BindAddress(pub Option<SocketAddr>);

/// A text that is no address to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("an address is HOST:PORT, :PORT for all interfaces, or 0 for none")]
pub struct BindAddressError;

impl FromStr for BindAddress {
    type Err = BindAddressError;

    fn from_str(text: &str) -> Result<Self, BindAddressError> {
        if text == "0" {
            return Ok(Self(None));
        }
        let everywhere = |port| SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port);
        let address = match text.strip_prefix(':') {
            Some(port) => port.parse().ok().map(everywhere),
            None => text.parse().ok(),
        };
        address.map(|address| Self(Some(address))).ok_or(BindAddressError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_in_go() {
        let read = |text: &str| text.parse::<BindAddress>().map(|address| address.0);
        let at = |text: &str| Ok(text.parse().ok());
        assert_eq!(read("0"), Ok(None));
        assert_eq!(read(":8080"), at("[::]:8080"));
        assert_eq!(read("127.0.0.1:1"), at("127.0.0.1:1"));
        assert!(read("8080").is_err() && read("").is_err() && read(":x").is_err());
    }
}
