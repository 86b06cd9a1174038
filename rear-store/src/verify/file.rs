//! A file that nobody uses: its pages by redb's checksums, then its rows.

use std::path::Path;

use super::{Finding, Report, verify};
use crate::chain::chain;
use crate::files::{FileError, is_missing};
use crate::glass::Glass;
use crate::redb::{is_sound, look_into};

/// Looks at the whole of a file, redb's own checksums included, without changing a byte of it.
pub fn verify_file(path: &Path) -> Result<Report, FileError> {
    if is_missing(path) {
        return Err(FileError::Missing(path.to_owned()));
    }
    let unreadable = |why| Finding::Unreadable { what: path.display().to_string(), why };
    let pages = match is_sound(Glass::over(path)?) {
        Ok(true) => None,
        Ok(false) => Some("redb's checksums of its pages do not match".to_owned()),
        Err(error) => Some(chain(&error)),
    };
    let mut report = look_into(Glass::over(path)?, verify).unwrap_or_else(|error| Report {
        findings: vec![unreadable(chain(&error))],
        ..Report::default()
    });
    report.findings.extend(pages.map(unreadable));
    Ok(report)
}
