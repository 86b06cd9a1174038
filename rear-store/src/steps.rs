//! Places where tests can stop the process: between any two steps of a commit.

/// Does nothing, except in tests that have configured a failpoint of this name.
macro_rules! step {
    ($name:literal) => {
        #[cfg(feature = "failpoints")]
        fail::fail_point!($name);
    };
}
pub(crate) use step;
