//! The register: every certificate that was issued, in a file that people can read.
//!
//! A certificate is entered before it is handed out, and a revocation before it is published: what is out there
//! is never missing here.

use std::fs::File;
use std::path::Path;

use rear_api::moment;
use rear_engine::Timestamp;
use rear_store::is_missing;
use serde::{Deserialize, Serialize};

use super::authority::Authority;
use super::files::replace;
use super::{Layout, PkiError};

/// Its file, beside the authority's key.
const REGISTER: &str = "issued.json";

/// What a certificate is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The broker itself.
    Server,
    /// Someone who may see and release everything.
    Administrator,
    /// A cluster.
    Cluster,
}

/// One certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// Its number, in hexadecimal.
    pub serial: String,
    /// Its common name.
    pub name: String,
    /// What it is for.
    pub kind: Kind,
    /// Since when it counts.
    pub issued_at: String,
    /// Until when it counts.
    pub expires_at: String,
    /// Since when it does not count any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<String>,
}

/// Every certificate that was issued.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Register {
    /// How many lists of revocations there were: each has a higher number than the one before it.
    pub revocation_lists: u64,
    /// The oldest first.
    pub certificates: Vec<Entry>,
}

impl Register {
    /// The one beside an authority.
    pub(super) fn read(folder: &Path) -> Result<Self, PkiError> {
        let path = folder.join(REGISTER);
        if is_missing(folder) {
            return Err(PkiError::NoAuthority(folder.to_owned()));
        }
        let text = std::fs::read_to_string(&path).map_err(PkiError::file(&path))?;
        serde_json::from_str(&text).map_err(PkiError::contents(path, "a register of certificates"))
    }

    /// As the file of a new register.
    pub(super) fn file(&self) -> Result<(&'static str, String), PkiError> {
        let text = serde_json::to_string_pretty(self)
            .map_err(PkiError::contents(REGISTER, "a register of certificates"))?;
        Ok((REGISTER, text + "\n"))
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), PkiError> {
        let (name, text) = self.file()?;
        replace(&folder.join(name), &text)
    }

    /// The next list of everything that was revoked, in PEM.
    pub(super) fn revocations(
        &mut self,
        authority: &Authority,
        now: Timestamp,
    ) -> Result<String, PkiError> {
        self.revocation_lists += 1;
        let revoked: Result<Vec<_>, PkiError> = self
            .certificates
            .iter()
            .filter_map(|entry| entry.revoked_at.as_ref().map(|at| (entry, at)))
            .map(|(entry, at)| Ok((serial_of(&entry.serial)?, moment_of(at)?)))
            .collect();
        authority.sign_revocations(&revoked?, self.revocation_lists, now)
    }
}

/// One command at a time: the next one waits for the register that this one writes.
pub(super) fn lock(layout: &Layout) -> Result<File, PkiError> {
    let folder = layout.authority();
    if is_missing(&folder) {
        return Err(PkiError::NoAuthority(folder));
    }
    let locked = File::open(&folder).and_then(|file| file.lock().map(|()| file));
    locked.map_err(PkiError::file(folder))
}

fn moment_of(text: &str) -> Result<Timestamp, PkiError> {
    moment::read(text).map_err(PkiError::contents(REGISTER, "a moment where one should be"))
}

fn serial_of(text: &str) -> Result<u128, PkiError> {
    u128::from_str_radix(text, 16)
        .map_err(PkiError::contents(REGISTER, "a serial number where one should be"))
}
