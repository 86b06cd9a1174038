//! `rear-broker verify`: is the ledger what it should be?

use std::path::PathBuf;

use clap::Args;
use rear_store::verify::verify_file;

use crate::cli::{Failure, Said, exit};
use crate::ledger::LEDGER;

/// Its flags.
#[derive(Debug, Args)]
pub struct Verify {
    /// The data directory
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
}

impl Verify {
    pub(crate) fn run(&self) -> Result<Said, Failure> {
        let report = verify_file(&self.data.join(LEDGER))?;
        let code = if report.findings.is_empty() { exit::OK } else { exit::OTHER };
        Ok(Said { text: format!("{report}\n"), code })
    }
}
