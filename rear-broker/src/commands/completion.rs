//! `rear-broker completion`: a script for a shell.

use clap::Args;
use clap_complete::Shell;

use crate::cli::{Said, grammar};

/// Its flags.
#[derive(Debug, Args)]
pub struct Completion {
    /// For which shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

impl Completion {
    pub(crate) fn run(self) -> Said {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut grammar(), "rear-broker", &mut script);
        Said::done(String::from_utf8_lossy(&script))
    }
}
