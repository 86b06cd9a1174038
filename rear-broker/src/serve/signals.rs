//! The signals that mean something, and what they mean.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::ServeError;

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Finish what was accepted, and end.
    Stop,
    /// Read the configuration and the certificates again.
    ReadAgain,
}

/// The signals of this process.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
    hanging_up: Wish,
}

impl Signals {
    /// Those of a service: SIGHUP makes it read again.
    pub(crate) fn of_a_service() -> Result<Self, ServeError> {
        Self::listen(Wish::ReadAgain)
    }

    /// Those of a program that someone tries in a terminal: when that is closed, it ends and tidies up, unless whoever
    /// started it has SIGHUP ignored, as `nohup` does.
    pub(crate) fn of_a_trial() -> Result<Self, ServeError> {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        Self::listen(if ignores_hanging_up(&status) { Wish::ReadAgain } else { Wish::Stop })
    }

    fn listen(hanging_up: Wish) -> Result<Self, ServeError> {
        let listen = |kind| signal(kind).map_err(ServeError::Signals);
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: listen(SignalKind::hangup())?,
            hanging_up,
        })
    }

    /// What the next one asks for.
    pub(crate) async fn next(&mut self) -> Wish {
        tokio::select! {
            _ = self.terminate.recv() => Wish::Stop,
            _ = self.interrupt.recv() => Wish::Stop,
            _ = self.hang_up.recv() => self.hanging_up,
        }
    }

    /// Until one says to stop.
    pub(crate) async fn stopping(&mut self) {
        while self.next().await != Wish::Stop {}
    }
}

/// Whether the process was started with SIGHUP ignored, by what the kernel says of it. Its first bit is that signal.
fn ignores_hanging_up(status: &str) -> bool {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.is_some_and(|ignored| {
        u64::from_str_radix(ignored.trim(), 16).is_ok_and(|signals| signals & 1 == 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_whether_hanging_up_is_ignored() {
        for (ignored, expected) in [
            ("SigBlk:\t0000000000000001\nSigIgn:\t0000000000001000\n", false),
            ("SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n", true),
            ("SigIgn:\tnonsense\n", false),
            ("", false),
        ] {
            assert_eq!(ignores_hanging_up(ignored), expected, "{ignored}");
        }
    }
}
