//! Places where tests can end the process: between any two things that the agent does to the world.
//!
//! Without the feature `failpoints`, which is for tests alone, nothing of this is in the program.

/// Every place, in the order in which a reservation passes them: first those of the requester, then the provider's.
#[cfg(feature = "failpoints")]
pub const ALL: &[&str] = &[
    "advertisement-written",
    "advertisement-shown",
    "request-seen",
    "request-noted",
    "request-answered",
    "request-shown",
    "request-delivered",
    "peering-held",
    "peering-announced",
    "peering-done",
    "peering-active",
    "peering-shown",
    "request-released",
    "instruction-removed",
    "request-let-go",
    "instruction-withdrawn",
    "peering-undone",
    "instruction-let-go",
    "promise-seen",
    "promise-kept",
    "promise-enforced",
    "promise-ended",
    "promise-withdrawn",
];

/// Does nothing, except in tests that have the process end here.
macro_rules! step {
    ($name:literal) => {
        #[cfg(feature = "failpoints")]
        fail::fail_point!($name);
    };
}
pub(crate) use step;

/// Has the process end, as if it were killed, when it first comes to the place that the environment names.
#[cfg(feature = "failpoints")]
pub fn die_where_told() -> Result<(), String> {
    match std::env::var("REAR_AGENT_DIES_AT") {
        Ok(place) if ALL.contains(&place.as_str()) => {
            fail::cfg_callback(place, || std::process::abort())
        }
        Ok(place) => Err(format!("REAR_AGENT_DIES_AT: there is no place {place}")),
        Err(_) => Ok(()),
    }
}
