//! `rear-broker certs revoke`: from now on a certificate does not count, also on connections that are open.

use std::path::Path;

use rear_api::moment;
use rear_engine::Timestamp;

use super::authority::{Authority, whole_seconds};
use super::files::replace;
use super::register::{Entry, Kind, Register, lock};
use super::{Layout, PkiError};

/// What was revoked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revoked {
    /// These count no longer.
    pub now: Vec<Entry>,
    /// How many of those that were meant had been revoked before.
    pub before: usize,
}

/// Revokes one certificate by its serial number, or all of a cluster or administrator by name.
///
/// The list is written anew in any case: a command that was interrupted can be repeated.
pub fn revoke(data: &Path, target: &str, now: Timestamp) -> Result<Revoked, PkiError> {
    let layout = Layout::of(data);
    let locked = lock(&layout)?;
    let authority = Authority::read(&layout.authority())?;
    let mut register = Register::read(&layout.authority())?;
    let mut revoked = Revoked { now: Vec::new(), before: 0 };
    for entry in meant(&mut register, target)? {
        if entry.revoked_at.is_some() {
            revoked.before += 1;
        } else {
            entry.revoked_at = Some(moment::text(whole_seconds(now)));
            revoked.now.push(entry.clone());
        }
    }
    let list = register.revocations(&authority, now)?;
    register.write(&layout.authority())?;
    replace(&layout.revoked(), &list)?;
    drop(locked);
    Ok(revoked)
}

fn meant<'r>(register: &'r mut Register, target: &str) -> Result<Vec<&'r mut Entry>, PkiError> {
    let serial = target.replace(':', "").to_ascii_lowercase();
    let by_serial = register.certificates.iter().any(|entry| entry.serial == serial);
    let is_meant = |entry: &&mut Entry| {
        if by_serial {
            entry.serial == serial
        } else {
            // The broker's own name is nobody's to revoke: its certificate goes by number only.
            entry.name == target && entry.kind != Kind::Server
        }
    };
    let meant: Vec<_> = register.certificates.iter_mut().filter(is_meant).collect();
    if meant.is_empty() { Err(PkiError::Unknown(target.to_owned())) } else { Ok(meant) }
}
