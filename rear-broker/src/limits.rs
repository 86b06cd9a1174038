//! Every limit of the API, with its reason. Whoever meets one is told so.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter};
use rear_engine::ClusterId;

/// A client that cannot greet in this time holds a place that another could use.
pub const HANDSHAKE_DEADLINE: Duration = Duration::from_secs(10);

/// From the first byte of a request's head to its last: one packet, mostly.
pub const HEADER_DEADLINE: Duration = Duration::from_secs(10);

/// For a whole body: 1 MiB in this time is slower than any link that agents use.
pub const BODY_DEADLINE: Duration = Duration::from_secs(20);

/// So much more of a body is taken and thrown away after its answer, for clients that read no answer before they have sent all: a body
/// that is too long by mistake.
pub const MAX_LEFT_OVER: usize = 16 * rear_api::body::MAX_BODY_LENGTH;

/// Whoever pauses so long in the middle of such a body waits for the answer, or is gone.
pub const LEFT_OVER_PAUSE: Duration = Duration::from_secs(1);

/// A connection on which nothing is asked for so long is closed.
pub const IDLE_DEADLINE: Duration = Duration::from_mins(3);

/// A connection is closed after this time and made anew: with the certificates that count by then.
pub const MAX_CONNECTION_AGE: Duration = Duration::from_hours(1);

/// After that, what was asked on it may be answered for so long: a snapshot of a large ledger, the rest of a stream.
pub const LAST_ANSWERS: Duration = Duration::from_hours(1);

/// An answer that waits for so long for its client to take any of it is kept in memory for nobody: the connection is closed.
pub const ANSWER_DEADLINE: Duration = Duration::from_secs(30);

/// Whoever takes less than this in that time, with more to take, takes nothing: slower than any link that agents use.
pub const LEAST_TAKEN: usize = 16 << 10;

/// Connections at once: ten thousand agents, and some that reconnect before they are missed.
pub const MAX_CONNECTIONS: usize = 16_384;

/// Connections of those who look at the pages, the metrics or the probes, at each listener of these.
pub const MAX_OPERATORS: usize = 256;

/// Requests at once on one HTTP/2 connection.
pub const MAX_STREAMS: u32 = 128;

/// Bytes of headers: names and values of a request are far shorter.
pub const MAX_HEADER_BYTES: u32 = 16 << 10;

/// How many headers a request may have. It is hyper's own limit: for another one it would fill a list anew for every request.
pub const MAX_HEADERS: usize = 100;

/// Streams that an HTTP/2 client may reset before they were accepted: more is an attack.
pub const MAX_PENDING_RESETS: usize = 20;

/// The longest that a question for news is held: proxies cut connections after a minute.
pub const MAX_WAIT: Duration = Duration::from_secs(55);

/// Streams of events that one cluster may have open: one for each of its programs.
pub const MAX_EVENT_STREAMS: usize = 16;

/// Streams of events at once.
pub const MAX_ALL_EVENT_STREAMS: usize = 16_384;

/// Instructions in one answer: a provider with more takes them page by page.
pub const MAX_INSTRUCTIONS: usize = 10_000;

/// Requests of one caller that may change something or bring a body, and wait for their answer: an eighth of what may wait for
/// the ledger in all, so that nobody keeps the others out.
pub const MAX_CHANGING: usize = rear_store::store::MAX_WAITING / 8;

/// Bytes of one caller's requests and answers that are on their way, as far as they are not [`SMALL`]; no agent needs so many.
pub const MAX_ROOM: usize = 16 << 20;

/// The same of all callers. A broker has to get by with a few hundred megabytes.
pub const MAX_ROOM_OF_ALL: usize = 128 << 20;

/// So many bytes of a request or an answer are not counted: most have fewer.
pub const SMALL: usize = 16 << 10;

/// What is suggested to whoever has so many: a commit takes milliseconds.
pub const CHANGING_LATER: Duration = Duration::from_secs(1);

/// Lines of the audit log about requests that are refused for their certificate or their number.
const TOLD_PER_SECOND: NonZeroU32 = NonZeroU32::new(10).unwrap();
const TOLD_AT_ONCE: NonZeroU32 = NonZeroU32::new(1000).unwrap();

/// How often each cluster may ask.
pub struct RateLimit {
    limiter: DefaultKeyedRateLimiter<ClusterId>,
}

impl RateLimit {
    /// So many requests in a second, with bursts of so many.
    #[must_use]
    pub fn new(per_second: NonZeroU32, burst: NonZeroU32) -> Self {
        let quota = Quota::per_second(per_second).allow_burst(burst);
        Self { limiter: RateLimiter::keyed(quota) }
    }

    /// How long the cluster has to wait, if it asks too often.
    pub fn check(&self, cluster: &ClusterId) -> Result<(), Duration> {
        let now = || DefaultClock::default().now();
        self.limiter.check_key(cluster).map_err(|not_until| not_until.wait_time_from(now()))
    }

    /// Forgets clusters that have not asked for long.
    pub fn tidy(&self) {
        self.limiter.retain_recent();
    }
}

/// How many of those who are turned away at the door are told of: anyone could fill a disk with them otherwise.
pub struct TurnedAway(DefaultDirectRateLimiter);

impl Default for TurnedAway {
    fn default() -> Self {
        let quota = Quota::per_second(TOLD_PER_SECOND).allow_burst(TOLD_AT_ONCE);
        Self(RateLimiter::direct(quota))
    }
}

impl TurnedAway {
    /// Whether one more may be.
    #[must_use]
    pub fn may_be_told(&self) -> bool {
        self.0.check().is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_not_asked_for_long_is_forgotten() {
        // Whatever it has used is given back within a microsecond.
        let often = NonZeroU32::new(1_000_000).unwrap();
        let limit = RateLimit::new(often, NonZeroU32::MIN);
        limit.check(&"rome".parse().unwrap()).unwrap();
        assert_eq!(limit.limiter.len(), 1);
        let mut looked = 0;
        while !limit.limiter.is_empty() {
            limit.tidy();
            looked += 1;
            assert!(looked < 1_000_000, "it is kept");
        }
    }
}
