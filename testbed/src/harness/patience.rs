//! Waiting for something to become true, for a bounded time.

use std::thread;
use std::time::Duration;

/// Short against the seconds that a server needs to start.
const PAUSE: Duration = Duration::from_millis(50);

/// With the pauses alone two minutes: an API server is ready within seconds, but on a busy machine
/// everything may take twenty times as long.
const ATTEMPTS: u32 = 2400;

/// Asks until the answer is there; none if it never was.
///
/// ```
/// let mut asked = 0;
/// let third = rear_testbed::eventually(|| {
///     asked += 1;
///     (asked == 3).then_some(asked)
/// });
/// assert_eq!(third, Some(3));
/// ```
pub fn eventually<T>(mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    (0..ATTEMPTS).find_map(|attempt| {
        if attempt > 0 {
            thread::sleep(PAUSE);
        }
        ask()
    })
}
