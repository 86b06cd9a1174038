//! `rear-broker compact`: space that is not needed goes back to the file system.

use std::path::{Path, PathBuf};

use clap::Args;
use rear_agent_sdk::Chain;
use rear_store::{Commit, RedbJournal};

use crate::cli::{Failure, Said, exit};
use crate::ledger::LEDGER;

/// Its flags.
#[derive(Debug, Args)]
pub struct Compact {
    /// The data directory
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
}

impl Compact {
    pub(crate) fn run(&self) -> Result<Said, Failure> {
        let path = self.data.join(LEDGER);
        let mut journal = RedbJournal::open(&path, Commit::TwoPhase)?;
        let before = length(&path)?;
        journal.compact().map_err(|error| {
            let text = format!("{}: {}", path.display(), Chain(&error));
            Failure::new(text, exit::DATA)
        })?;
        drop(journal);
        let text = format!("{}: {before} bytes before, {} now\n", path.display(), length(&path)?);
        Ok(Said::done(text))
    }
}

fn length(path: &Path) -> Result<u64, Failure> {
    let found = std::fs::metadata(path).map_err(|error| Failure::new(error, exit::DATA))?;
    Ok(found.len())
}
