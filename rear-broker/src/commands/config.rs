//! `rear-broker config`: what would count if the broker were started like this.

use clap::{Args, Subcommand};

use crate::cli::{Failure, Said};
use crate::config::{Environment, Flags, KEYS, Key, Loaded, load};

/// What can be done with a configuration.
#[derive(Debug, Subcommand)]
pub enum Config {
    /// Read the configuration as `serve` would, and say what counts and where it comes from
    Check(Check),
}

/// The flags of `config check`: those of `serve`.
#[derive(Debug, Args)]
pub struct Check {
    #[command(flatten)]
    flags: Flags,
}

impl Config {
    pub(crate) fn run(&self) -> Result<Said, Failure> {
        let Self::Check(Check { flags }) = self;
        let loaded = load(flags, &Environment::of_this_process())?;
        let file = match &loaded.file {
            Some(path) => format!("# file: {}\n", path.display()),
            None => "# no file\n".to_owned(),
        };
        let unknown = loaded.unknown_variables.iter();
        let unknown = unknown.map(|name| format!("# {name} in the environment is no key\n"));
        let lines = KEYS.iter().map(|key| line(key, &loaded));
        Ok(Said::done([file].into_iter().chain(unknown).chain(lines).collect::<String>()))
    }
}

/// A key as it could stand in a file, with where it comes from.
fn line(key: &Key, loaded: &Loaded) -> String {
    let name = key.name;
    match (loaded.values.get(name), key.default) {
        (Some(found), _) => format!("{} # {}\n", key.line(&found.texts), found.place),
        (None, Some(default)) => format!("{} # default\n", key.line(&[default.to_owned()])),
        (None, None) => format!("# {name}: not set\n"),
    }
}
