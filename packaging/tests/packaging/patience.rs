//! How long something that must come is waited for.

use std::thread;
use std::time::Duration;

/// What takes longer is stuck.
pub(crate) const LOOKS: u32 = 6000;
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Waits until something is there.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..LOOKS {
        if let Some(found) = look() {
            return found;
        }
        thread::sleep(LOOK_EVERY);
    }
    panic!("it is stuck: {what}");
}
