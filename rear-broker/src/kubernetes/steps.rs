//! Places where tests can end the process: after everything that is written, on the API server or in the ledger.
//!
//! Without the feature `failpoints`, which is for tests alone, nothing of this is in the program.

/// Every place.
#[cfg(feature = "failpoints")]
pub const ALL: &[&str] = &[
    "advertisement-heard",
    "advertisement-made",
    "advertisement-counted",
    "advertisement-shown",
    "wish-decided",
    "status-written",
    "copy-made",
    "view-removed",
    "held",
    "let-go",
];

/// Does nothing, except in tests that have the process end here.
macro_rules! step {
    ($name:expr) => {
        #[cfg(feature = "failpoints")]
        fail::fail_point!($name);
    };
}
pub(super) use step;

/// Has the process end, as if it were killed, when it comes to a place for the so-many-th time, if the environment says so.
#[cfg(feature = "failpoints")]
pub fn die_where_told() -> Result<(), String> {
    use std::io::Write;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    let Ok(text) = std::env::var("REAR_BROKER_DIES_AFTER") else { return Ok(()) };
    let number: usize = text.parse().map_err(|error| format!("REAR_BROKER_DIES_AFTER: {error}"))?;
    let passed = Arc::new(AtomicUsize::new(0));
    for place in ALL {
        let passed = passed.clone();
        fail::cfg_callback(*place, move || {
            if passed.fetch_add(1, Ordering::SeqCst) + 1 >= number {
                // The test reads it; whether it does changes nothing.
                let _ = writeln!(std::io::stderr(), "ends at {place}");
                std::process::abort();
            }
        })?;
    }
    Ok(())
}
