//! `rearctl man`: manual pages, one for each command.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use clap_mangen::Man as Page;

use crate::cli::grammar;
use crate::exit;
use crate::failure::Failure;
use crate::output::{put, say};

/// The flags of `man`.
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// A folder for all pages; without it, the first page is printed
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let failed = |source| Failure::Io { what: "the pages cannot be written".into(), source };
        // Built, so that every command has the flags that are the same everywhere.
        let mut command = grammar();
        command.build();
        match self.folder {
            None => {
                let page = page(&command).map_err(failed)?;
                put(&String::from_utf8_lossy(&page))
            }
            Some(folder) => {
                fs::create_dir_all(&folder).map_err(failed)?;
                let written = write_all(&command, "rearctl", &folder).map_err(failed)?;
                say(&format!("{written} pages in {}", folder.display()));
                Ok(())
            }
        }
    }
}

fn write_all(command: &clap::Command, name: &str, folder: &Path) -> io::Result<usize> {
    let mut written = 1;
    fs::write(folder.join(format!("{name}.1")), page(command)?)?;
    for below in command.get_subcommands() {
        written += write_all(below, &format!("{name}-{}", below.get_name()), folder)?;
    }
    Ok(written)
}

fn page(command: &clap::Command) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    Page::new(command.clone()).render(&mut text)?;
    text.extend_from_slice(b".SH \"EXIT STATUS\"\n");
    for exit in exit::ALL {
        let line = format!(".TP\n{}\n{}\n", exit.code, exit.meaning);
        text.extend_from_slice(line.as_bytes());
    }
    Ok(text)
}
