//! What can be wrong with an authority, or with what is asked of it.

use std::io;
use std::path::PathBuf;

use rear_engine::Duration;
use thiserror::Error;

/// Why something was not made, issued or revoked.
#[derive(Debug, Error)]
pub enum PkiError {
    /// Something is there already.
    #[error("{} exists already and is not overwritten", .0.display())]
    Exists(PathBuf),
    /// There is no authority.
    #[error("there is no authority in {}: `rear-broker init` makes one", .0.display())]
    NoAuthority(PathBuf),
    /// A file cannot be read or written.
    #[error("{} cannot be read or written", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file does not hold what it should.
    #[error("{} does not hold {what}", path.display())]
    Contents {
        /// Which one.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
        /// What is wrong with it.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The authority's key is not the one of its certificate.
    #[error("{} is not the key of {}", key.display(), certificate.display())]
    Pair {
        /// The key.
        key: PathBuf,
        /// The certificate.
        certificate: PathBuf,
    },
    /// A certificate cannot be made.
    #[error("the certificate cannot be made")]
    Sign(#[from] rcgen::Error),
    /// A certificate that nobody could use.
    #[error("a certificate is valid for at least {least}, not for {asked}")]
    TooShort {
        /// What was asked.
        asked: Duration,
        /// The least.
        least: Duration,
    },
    /// A certificate that would outlive its authority.
    #[error("the certificate would be valid until {asked}, its authority only until {authority}")]
    TooLong {
        /// Until when it should be valid.
        asked: String,
        /// Until when the authority is.
        authority: String,
    },
    /// Nobody knows what should be revoked.
    #[error(
        "{0:?} is neither the serial number nor the name of a certificate that was issued here"
    )]
    Unknown(String),
}

impl PkiError {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| match source.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists(path),
            _ => Self::File { path, source },
        }
    }

    pub(super) fn contents<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
        path: impl Into<PathBuf>,
        what: &'static str,
    ) -> impl FnOnce(E) -> Self {
        let path = path.into();
        move |source| Self::Contents { path, what, source: source.into() }
    }
}
