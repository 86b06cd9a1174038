//! TCP ports that are nobody else's, also when several test processes look for them at once.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process;

/// Below the range from which Linux takes the ports of outgoing connections (32768 and up), so that only
/// other servers can be in the way.
const FIRST: u16 = 20_000;
const COUNT: u16 = 10_000;

/// How far apart two processes begin to look; more than the ports that one needs at a time.
const STRIDE: u32 = 64;

/// A port that is reserved for as long as this value lives.
#[derive(Debug)]
pub(crate) struct Port {
    number: u16,
    /// A name in the same namespace as the ports, which the kernel gives to one process only and takes
    /// back when that dies; nothing is left on the disk.
    _claim: UnixListener,
}

impl Port {
    pub(crate) fn reserve() -> io::Result<Self> {
        let start = process::id().wrapping_mul(STRIDE);
        (0..u32::from(COUNT))
            .map(|step| start.wrapping_add(step) % u32::from(COUNT))
            .find_map(|offset| Self::claim(FIRST + u16::try_from(offset).ok()?))
            .ok_or_else(|| io::Error::new(io::ErrorKind::AddrInUse, "no port is free"))
    }

    fn claim(number: u16) -> Option<Self> {
        let name = SocketAddr::from_abstract_name(format!("rear-testbed-port-{number}")).ok()?;
        let claim = UnixListener::bind_addr(&name).ok()?;
        // Claimed by none of us, and bound by no one else.
        TcpListener::bind((Ipv4Addr::LOCALHOST, number)).ok()?;
        Some(Self { number, _claim: claim })
    }

    pub(crate) fn number(&self) -> u16 {
        self.number
    }

    /// The address with a scheme, such as `https`.
    pub(crate) fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}:{}", Ipv4Addr::LOCALHOST, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserved_port_is_not_given_twice_and_is_free_again_afterwards() {
        let first = Port::reserve().unwrap();
        let number = first.number();
        assert!(Port::claim(number).is_none(), "reserved by another value");
        assert_ne!(Port::reserve().unwrap().number(), number);
        drop(first);
        assert!(Port::claim(number).is_some(), "given back");
    }

    #[test]
    fn a_port_on_which_a_stranger_listens_is_not_given() {
        let number = Port::reserve().unwrap().number();
        let _stranger = TcpListener::bind((Ipv4Addr::LOCALHOST, number)).unwrap();
        assert!(Port::claim(number).is_none());
    }
}
