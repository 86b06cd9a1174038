//! What systemd is told: that the broker serves, that it stops, and that it still lives.
//!
//! The protocol is a datagram of `KEY=VALUE` lines to the socket in `NOTIFY_SOCKET`; without that variable nobody is told.

use std::env;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use rear_engine::Timestamp;
use tracing::{error, warn};

use crate::broker::Broker;

/// The socket of the one who started this process.
#[derive(Debug)]
pub struct Supervisor(Option<UnixDatagram>);

impl Supervisor {
    /// As the environment says.
    #[must_use]
    pub fn of_this_process() -> Self {
        let Some(name) = env::var_os("NOTIFY_SOCKET") else { return Self(None) };
        match connect(name.as_bytes()) {
            Ok(socket) => Self(Some(socket)),
            Err(error) => {
                warn!(%error, ?name, "the socket in NOTIFY_SOCKET cannot be reached");
                Self(None)
            }
        }
    }

    /// The broker serves.
    pub fn ready(&self) {
        self.tell("READY=1\nSTATUS=serving\n");
    }

    /// The broker finishes what it has accepted.
    pub fn stopping(&self) {
        self.tell("STOPPING=1\nSTATUS=finishing what was accepted\n");
    }

    /// Tells again and again that the broker lives, twice as often as it is asked to; for ever if nobody asks.
    pub async fn keep_alive(&self, broker: &Broker) {
        let Some(every) = asked_every().filter(|_| self.0.is_some()) else {
            return std::future::pending().await;
        };
        let mut last = None;
        loop {
            let time = broker.store.view().now();
            if is_alive(last.replace(time), time) {
                self.tell("WATCHDOG=1\n");
            } else {
                error!("the ledger's writer is stuck: the watchdog is not told");
            }
            tokio::time::sleep(every / 2).await;
        }
    }

    fn tell(&self, text: &str) {
        let Some(socket) = &self.0 else { return };
        if let Err(error) = socket.send(text.as_bytes()) {
            warn!(%error, "the socket in NOTIFY_SOCKET does not listen");
        }
    }
}

/// The writer looks at the clock every second at least: a time that stands still is a writer that does.
fn is_alive(last: Option<Timestamp>, now: Timestamp) -> bool {
    last.is_none_or(|last| last < now)
}

fn connect(name: &[u8]) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    // A name that begins with @ is in no file system.
    let address = match name.strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(name))?,
    };
    socket.connect_addr(&address)?;
    Ok(socket)
}

/// How often systemd wants a sign of life from this process.
fn asked_every() -> Option<Duration> {
    let variable = |name| env::var(name).ok();
    let ours = variable("WATCHDOG_PID").is_none_or(|id| id == std::process::id().to_string());
    let micros = variable("WATCHDOG_USEC")?.parse().ok()?;
    ours.then(|| Duration::from_micros(micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_stands_still_is_no_sign_of_life() {
        let at = Timestamp::from_seconds;
        assert!(is_alive(None, at(7)));
        assert!(is_alive(Some(at(7)), at(8)));
        assert!(!is_alive(Some(at(8)), at(8)));
    }
}
