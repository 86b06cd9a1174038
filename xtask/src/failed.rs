//! The error of every command: something failed, and the user has been told what.

/// Carries no message, because the failing place printed it where it makes sense;
/// whoever receives this only has to stop and to end with a non-zero exit code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failed;
