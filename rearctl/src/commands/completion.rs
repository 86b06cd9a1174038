//! `rearctl completion`: a script for a shell.

use clap::Args;
use clap_complete::Shell;

use crate::cli::grammar;
use crate::failure::Failure;
use crate::output::put;

/// The flags of `completion`.
#[derive(Debug, Args)]
pub(crate) struct Completion {
    /// For which shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

impl Completion {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut grammar(), "rearctl", &mut script);
        put(&String::from_utf8_lossy(&script))
    }
}
