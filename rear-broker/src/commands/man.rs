//! `rear-broker man`: manual pages, one for each command.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::{Failure, Said, exit, grammar};

/// Its flags.
#[derive(Debug, Args)]
pub struct Man {
    /// A folder for the pages, made if it is not there
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Man {
    pub(crate) fn run(&self) -> Result<Said, Failure> {
        let mut command = grammar();
        command.build();
        let written = fs::create_dir_all(&self.folder)
            .and_then(|()| write_all(&command, "rear-broker", &self.folder))
            .map_err(|error| Failure::new(error, exit::OTHER))?;
        Ok(Said::done(format!("{written} pages in {}\n", self.folder.display())))
    }
}

fn write_all(command: &clap::Command, name: &str, folder: &Path) -> io::Result<usize> {
    let mut written = 1;
    fs::write(folder.join(format!("{name}.1")), page(command)?)?;
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        written += write_all(below, &format!("{name}-{}", below.get_name()), folder)?;
    }
    Ok(written)
}

fn page(command: &clap::Command) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut text)?;
    text.extend_from_slice(b".SH \"EXIT STATUS\"\n");
    for (code, meaning) in exit::ALL {
        text.extend_from_slice(format!(".TP\n{code}\n{}\n", meaning.replace('`', "")).as_bytes());
    }
    Ok(text)
}
