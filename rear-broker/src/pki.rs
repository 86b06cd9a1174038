//! An authority of the operator's own: `rear-broker init` makes it, `rear-broker certs` issues and revokes with it.
//!
//! ```text
//! DATA/ca/        ca.key, ca.crt, issued.json     the authority: `serve` never reads it
//! DATA/tls/       tls.crt, tls.key, ca.crt, ca.crl     what `serve` shows and believes
//! DATA/issued/    NAME/{tls.crt, tls.key, ca.crt}     what was issued, to be carried to its owner
//! ```
//!
//! Who already has an authority (cert-manager, a company's own) needs none of this: `--http-cert-path`.

mod authority;
mod error;
mod files;
mod init;
mod issue;
mod register;
mod revoke;

use std::path::{Path, PathBuf};

pub use authority::Host;
pub use error::PkiError;
pub use init::{Initialised, init};
pub use issue::{Issued, Order, issue};
pub use register::{Entry, Kind, Register};
pub use revoke::{Revoked, revoke};

/// The file of a private key, as cert-manager calls it.
const KEY: &str = "tls.key";
/// The file of a certificate.
const CERTIFICATE: &str = "tls.crt";
/// The file of the authority's certificate.
const AUTHORITY: &str = "ca.crt";
/// The file of what was revoked.
const REVOKED: &str = "ca.crl";

/// Where things are in a data directory.
#[derive(Debug, Clone)]
pub struct Layout {
    data: PathBuf,
}

impl Layout {
    /// Of this data directory.
    #[must_use]
    pub fn of(data: &Path) -> Self {
        Self { data: data.to_owned() }
    }

    /// The authority: its key, its certificate, its register.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        self.data.join("ca")
    }

    /// What the broker shows and believes.
    #[must_use]
    pub fn tls(&self) -> PathBuf {
        self.data.join("tls")
    }

    /// What is issued when nobody says where it should go.
    #[must_use]
    pub fn issued(&self) -> PathBuf {
        self.data.join("issued")
    }

    /// The list of what was revoked.
    #[must_use]
    pub fn revoked(&self) -> PathBuf {
        self.tls().join(REVOKED)
    }
}

/// The register of the authority of a data directory.
pub fn list(data: &Path) -> Result<Register, PkiError> {
    Register::read(&Layout::of(data).authority())
}
