//! Keys on the command line: a flag for each, made from the table.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::keys::{KEYS, Key};
use super::value::Shape;
use super::{Found, Place};

/// The flag that names the file.
const FILE_FLAG: &str = "config";

/// What was said on the command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Flags {
    file: Option<PathBuf>,
    values: BTreeMap<&'static str, Found>,
}

impl Flags {
    pub(super) fn file(&self) -> Option<PathBuf> {
        self.file.clone()
    }

    pub(super) fn values(&self) -> BTreeMap<&'static str, Found> {
        self.values.clone()
    }
}

impl Args for Flags {
    fn augment_args(command: Command) -> Command {
        let file = Arg::new(FILE_FLAG)
            .long(FILE_FLAG)
            .value_name("FILE")
            .value_parser(clap::value_parser!(PathBuf))
            .help("A file of keys, as TOML; broker.toml in the data directory if not given");
        command.arg(file).args(KEYS.iter().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn argument(key: &'static Key) -> Arg {
    let check = move |text: &str| (key.check)(text).map(|()| text.to_owned());
    let argument = Arg::new(key.name).long(key.name).value_name(key.value_name).help(key.help);
    let argument = match key.shape {
        Shape::One => argument.action(ArgAction::Set).value_parser(check),
        // Repeated, or with commas between, as in the environment.
        Shape::Many => argument.action(ArgAction::Append).value_delimiter(',').value_parser(check),
        // Without a value it is on; `--flag=false` takes back what a file says.
        Shape::Switch => argument
            .action(ArgAction::Set)
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_parser([PossibleValue::new("true"), PossibleValue::new("false")]),
    };
    match key.default {
        Some(default) => argument.default_value(default),
        None => argument,
    }
}

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.file = matches.get_one::<PathBuf>(FILE_FLAG).cloned();
        let said = |key: &&Key| matches.value_source(key.name) == Some(ValueSource::CommandLine);
        for key in KEYS.iter().filter(said) {
            let texts = matches.get_many::<String>(key.name).unwrap_or_default();
            let found = Found { texts: texts.cloned().collect(), place: Place::Flag(key.name) };
            self.values.insert(key.name, found);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_a_repeated_flag_or_has_commas() {
        let said = |words: &[&str]| {
            let command = Flags::augment_args(Command::new("broker"));
            let matches = command.try_get_matches_from([&["broker"], words].concat()).unwrap();
            let flags = Flags::from_arg_matches(&matches).unwrap();
            flags.values["etcd-endpoints"].texts.clone()
        };
        let (one, two) = ("http://a:2379", "http://b:2379");
        let both = format!("{one},{two}");
        assert_eq!(said(&["--etcd-endpoints", &both]), [one, two]);
        assert_eq!(said(&["--etcd-endpoints", one, "--etcd-endpoints", two]), [one, two]);
    }
}
