//! The command line: what can be asked of the program, and how it ends.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use rear_engine::Timestamp;
use rear_store::clock::{Clock, SystemClock};

use crate::commands::certs::Certs;
use crate::commands::compact::Compact;
use crate::commands::completion::Completion;
use crate::commands::config::Config;
use crate::commands::dev::Dev;
use crate::commands::init::Init;
use crate::commands::man::Man;
use crate::commands::recover::{ConfirmClock, Recover};
use crate::commands::serve::Serve;
use crate::commands::snapshot::Snapshot;
use crate::commands::store::Store;
use crate::commands::verify::Verify;
use crate::serve::{ServeError, check_clock};

/// A broker of spare capacity: clusters advertise, ask, and are told.
#[derive(Debug, Parser)]
#[command(name = "rear-broker", version, about, max_term_width = 100)]
pub struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Try it: a broker, its own authority and a simulated fleet, on this machine only
    Dev(Dev),
    /// Serve the API until told to stop
    Serve(Box<Serve>),
    /// Look at the configuration without serving
    #[command(subcommand)]
    Config(Box<Config>),
    /// Make a data directory with an authority, the broker's certificate and an administrator's
    Init(Init),
    /// Issue, list and revoke certificates
    #[command(subcommand)]
    Certs(Certs),
    /// Look at every record of a ledger that is not in use, without changing anything
    Verify(Verify),
    /// Save a ledger, look at what was saved, bring it back
    #[command(subcommand)]
    Snapshot(Snapshot),
    /// Copy a ledger between a file and etcd
    #[command(subcommand)]
    Store(Box<Store>),
    /// After a restore: do not wait any longer for what a cluster holds
    Recover(Recover),
    /// The clock is right, however far it jumped
    ConfirmClock(ConfirmClock),
    /// Make the file of a ledger that is not in use as small as it can be
    Compact(Compact),
    /// Print the description of the API (OpenAPI 3.1, JSON)
    Openapi,
    /// Print the definitions of the custom resources (YAML), for `kubectl apply -f -`
    Crds,
    /// Print a script that completes command lines, for a shell
    Completion(Completion),
    /// Write manual pages
    Man(Man),
}

/// What a command has to say, and how it ends.
#[derive(Debug)]
pub struct Said {
    /// For the standard output.
    pub text: String,
    /// For the shell.
    pub code: u8,
}

/// Why a command did not do what it should, and how it ends.
#[derive(Debug)]
pub struct Failure {
    /// What is wrong.
    pub error: Box<dyn Error + Send + Sync>,
    /// For the shell.
    pub code: u8,
    /// What a person can do about it, where the error itself does not say it.
    pub remedy: Option<&'static str>,
}

/// How the program ends.
pub mod exit {
    /// Each code with what it means, in order.
    pub const ALL: [(u8, &str); 8] = [
        (OK, "done; the broker stopped because it was told to"),
        (
            OTHER,
            "`verify` has findings, `snapshot save` would save some; a certificate cannot be issued or revoked as \
             asked; a broker refuses; anything else",
        ),
        (USAGE, "the command line makes no sense"),
        (ADDRESS, "the address cannot be listened on, or the broker there does not answer"),
        (CLOCK, "the clock of the machine is not set"),
        (EXISTS, "something is there already and is not overwritten"),
        (
            DATA,
            "the ledger, a snapshot, the audit log or the data directory cannot be used, is in use, or the disk failed",
        ),
        (CONFIGURATION, "the configuration, the certificates or the authority cannot be used"),
    ];

    /// Done.
    pub const OK: u8 = 0;
    /// A ledger with findings, or something that is not named below.
    pub const OTHER: u8 = 1;
    /// The command line makes no sense; it is clap that ends with it.
    pub const USAGE: u8 = 2;
    /// The address cannot be listened on, or the broker there does not answer.
    pub const ADDRESS: u8 = 69;
    /// The clock of the machine is not set.
    pub const CLOCK: u8 = 71;
    /// Something is there already and is not overwritten.
    pub const EXISTS: u8 = 73;
    /// The ledger, a snapshot or the data directory cannot be used, or the disk failed.
    pub const DATA: u8 = 74;
    /// The configuration, the certificates or the authority cannot be used.
    pub const CONFIGURATION: u8 = 78;
}

/// What clap knows of the command line, for completions, manual pages and the reference.
#[must_use]
pub fn grammar() -> clap::Command {
    CommandLine::command()
}

/// Does what the command line asks for.
#[must_use]
pub fn run() -> ExitCode {
    match command(CommandLine::parse().command) {
        Ok(said) => {
            // A reader that has seen enough is no error.
            drop(write!(std::io::stdout(), "{}", said.text));
            ExitCode::from(said.code)
        }
        Err(failure) => {
            let remedy = failure.remedy.map(|remedy| format!("\n  {remedy}"));
            let remedy = remedy.unwrap_or_default();
            let error = in_one_line(&*failure.error);
            // Where nobody can be told, the code says it.
            drop(writeln!(std::io::stderr(), "rear-broker: {error}{remedy}"));
            ExitCode::from(failure.code)
        }
    }
}

fn command(command: Command) -> Result<Said, Failure> {
    match command {
        Command::Dev(dev) => dev.run(now()?),
        Command::Serve(serve) => serve.run(),
        Command::Config(config) => config.run(),
        Command::Init(init) => init.run(now()?),
        Command::Certs(certs) => certs.run(now()?),
        Command::Verify(verify) => verify.run(),
        Command::Snapshot(snapshot) => snapshot.run(now()?),
        Command::Store(store) => store.run(),
        Command::Recover(recover) => recover.run(),
        Command::ConfirmClock(confirm) => confirm.run(),
        Command::Compact(compact) => compact.run(),
        Command::Openapi => description(),
        Command::Crds => definitions(),
        Command::Completion(completion) => Ok(completion.run()),
        Command::Man(man) => man.run(),
    }
}

fn description() -> Result<Said, Failure> {
    match crate::routes::document().to_pretty_json() {
        Ok(text) => Ok(Said::done(text + "\n")),
        Err(error) => Err(Failure::new(error, exit::OTHER)),
    }
}

fn definitions() -> Result<Said, Failure> {
    let text = rear_api::resources::definitions_as_yaml();
    text.map(Said::done).map_err(|error| Failure::new(error, exit::OTHER))
}

/// A clock that is not set is told at once: what is made by it, such as a certificate, would be of no use later.
fn now() -> Result<Timestamp, ServeError> {
    let wall = SystemClock::default().read().wall;
    check_clock(wall)?;
    Ok(wall)
}

/// An error with everything that led to it.
pub(crate) fn in_one_line(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

impl Said {
    /// All went well.
    #[must_use]
    pub fn done(text: impl Into<String>) -> Self {
        Self { text: text.into(), code: exit::OK }
    }
}

impl Failure {
    /// With this code.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>, code: u8) -> Self {
        Self { error: error.into(), code, remedy: None }
    }

    /// And with what can be done about it.
    #[must_use]
    pub fn with_remedy(self, remedy: Option<&'static str>) -> Self {
        Self { remedy, ..self }
    }
}
