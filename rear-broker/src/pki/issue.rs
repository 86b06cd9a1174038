//! `rear-broker certs issue`: a certificate for a cluster, or for an administrator.

use std::path::{Path, PathBuf};

use rear_engine::{ClusterId, Duration, Timestamp};

use super::authority::{Authority, Signed};
use super::files::{Unfinished, fill, make_folders};
use super::register::{Entry, Kind, Register, lock};
use super::{AUTHORITY, CERTIFICATE, KEY, Layout, PkiError};

/// A year: long enough to be forgotten, short enough that what is forgotten ends.
pub(super) const DEFAULT_VALIDITY: Duration = Duration::from_seconds(365 * 24 * 60 * 60);

/// What should be issued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// To whom.
    pub name: ClusterId,
    /// Whether it may see and release everything.
    pub administrator: bool,
    /// For how long; a year if nobody says.
    pub valid_for: Option<Duration>,
    /// A folder that must not be there yet; one below the data directory if nobody says.
    pub out: Option<PathBuf>,
}

/// What was issued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issued {
    /// Where it is.
    pub folder: PathBuf,
    /// What the register says of it.
    pub entry: Entry,
}

/// Issues a certificate with the authority of a data directory.
pub fn issue(data: &Path, order: &Order, now: Timestamp) -> Result<Issued, PkiError> {
    let layout = Layout::of(data);
    let locked = lock(&layout)?;
    let authority = Authority::read(&layout.authority())?;
    let mut register = Register::read(&layout.authority())?;
    let kind = if order.administrator { Kind::Administrator } else { Kind::Cluster };
    let valid_for = order.valid_for.unwrap_or(DEFAULT_VALIDITY);
    let signed = authority.sign_client(&order.name, kind, valid_for, now)?;
    let folder = order.out.clone().unwrap_or_else(|| folder_of(&layout, &order.name));
    if let Some(above) = folder.parent().filter(|above| !above.as_os_str().is_empty()) {
        make_folders(above)?;
    }
    let mut unfinished = Unfinished::default();
    unfinished.folder(&folder, &[])?;
    register.certificates.push(signed.entry.clone());
    register.write(&layout.authority())?;
    fill(&folder, &signed.files(&authority))?;
    unfinished.finish();
    drop(locked);
    Ok(Issued { folder, entry: signed.entry })
}

/// Where a certificate goes if nobody says.
pub(super) fn folder_of(layout: &Layout, name: &ClusterId) -> PathBuf {
    layout.issued().join(name.as_str())
}

impl Signed {
    /// As an agent reads them.
    pub(super) fn files<'a>(&'a self, authority: &'a Authority) -> [(&'static str, &'a str); 3] {
        [(CERTIFICATE, &self.certificate), (KEY, &self.key), (AUTHORITY, &authority.certificate)]
    }
}
