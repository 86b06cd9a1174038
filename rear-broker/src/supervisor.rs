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
use tokio::time::Instant;
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
        let mut pulse = Pulse::new(broker.store.view().now(), Instant::now());
        loop {
            if pulse.beats(broker.store.view().now(), Instant::now(), every) {
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

/// The writer looks at the clock every second at least. A time that stands still for longer than this is a writer that does.
const WRITER_LOOKS: Duration = Duration::from_secs(2);

/// The broker's time, and since when it has been that.
struct Pulse {
    time: Timestamp,
    since: Instant,
}

impl Pulse {
    fn new(time: Timestamp, since: Instant) -> Self {
        Self { time, since }
    }

    /// Whether the writer lives, as seen `at` this moment, for one who asks this often.
    fn beats(&mut self, time: Timestamp, at: Instant, asked_every: Duration) -> bool {
        if time > self.time {
            *self = Self::new(time, at);
        }
        at.duration_since(self.since) <= WRITER_LOOKS.max(asked_every / 2)
    }
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
    fn a_time_that_stands_still_for_long_is_no_sign_of_life() {
        let began = Instant::now();
        let after = |millis| began + Duration::from_millis(millis);
        let time = Timestamp::from_seconds;
        let often = Duration::from_secs(1);
        let mut pulse = Pulse::new(time(7), began);
        // Looked at twice a second, a healthy writer's time stands still in between.
        assert!(pulse.beats(time(7), after(500), often));
        assert!(pulse.beats(time(7), after(2000), often));
        assert!(!pulse.beats(time(7), after(2001), often));
        assert!(pulse.beats(time(8), after(2500), often), "it goes on");
        assert!(pulse.beats(time(8), after(4500), often));
        assert!(!pulse.beats(time(8), after(4501), often));
    }

    #[test]
    fn whoever_asks_seldom_is_told_as_long_as_time_went_on_since_it_was_told_last() {
        let began = Instant::now();
        let seldom = Duration::from_secs(30);
        let mut pulse = Pulse::new(Timestamp::from_seconds(7), began);
        assert!(pulse.beats(Timestamp::from_seconds(7), began + seldom / 2, seldom));
        let later = began + seldom / 2 + Duration::from_millis(1);
        assert!(!pulse.beats(Timestamp::from_seconds(7), later, seldom));
    }
}
