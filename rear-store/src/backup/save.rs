//! Save: a backup of a file that nobody uses. Not a byte of that file changes.

use std::path::Path;

use thiserror::Error;

use super::{Summary, write_rows_file};
use crate::files::FileError;
use crate::glass::Glass;
use crate::redb::look_into;
use crate::verify::{Report, verify_file};

/// Why nothing was saved.
#[derive(Debug, Error)]
pub enum SaveError {
    /// The ledger cannot be read or the backup cannot be written.
    #[error("the ledger cannot be saved")]
    File(#[from] FileError),
    /// The ledger is not what it should be. A backup of it would be noticed only when it is needed.
    #[error("the ledger has findings")]
    Unsound(Report),
}

/// Writes the ledger at `ledger` to a new file at `path`, after a look at all of it.
pub fn save(ledger: &Path, path: &Path) -> Result<Summary, SaveError> {
    if path.exists() {
        return Err(FileError::Exists(path.to_owned()).into());
    }
    let report = verify_file(ledger)?;
    if !report.findings.is_empty() {
        return Err(SaveError::Unsound(report));
    }
    let written = look_into(Glass::over(ledger)?, |rows| write_rows_file(rows, path));
    Ok(written.map_err(|error| FileError::damaged(ledger, error))??)
}
