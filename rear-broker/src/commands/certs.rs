//! `rear-broker certs`: who is let in, and who no longer.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use rear_api::moment;
use rear_engine::{ClusterId, Duration, Timestamp};

use crate::cli::{Failure, Said};
use crate::pki::{self, Entry, Kind, Order};

/// What can be done with certificates.
#[derive(Debug, Subcommand)]
pub enum Certs {
    /// Issue a certificate for a cluster or an administrator
    Issue(Issue),
    /// List the certificates that were issued
    List(List),
    /// Revoke certificates; a running broker notices by itself
    Revoke(Revoke),
}

/// The flags of `certs issue`.
#[derive(Debug, Args)]
pub struct Issue {
    /// The id of the cluster, or the name of the administrator
    #[arg(value_name = "CLUSTER")]
    name: ClusterId,
    /// The data directory that `init` made
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// A new folder for tls.crt, tls.key and ca.crt; below the data directory if not given
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// How long it is valid, such as 2160h; a year if not given
    #[arg(long, value_name = "DURATION")]
    valid_for: Option<Duration>,
    /// It may see and release everything
    #[arg(long)]
    administrator: bool,
}

/// The flags of `certs list`.
#[derive(Debug, Args)]
pub struct List {
    /// The data directory that `init` made
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
}

/// The flags of `certs revoke`.
#[derive(Debug, Args)]
pub struct Revoke {
    /// A cluster or administrator, with all its certificates, or the serial number of one
    #[arg(value_name = "CLUSTER|SERIAL")]
    target: String,
    /// The data directory that `init` made
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
}

impl Certs {
    pub(crate) fn run(self, now: Timestamp) -> Result<Said, Failure> {
        match self {
            Self::Issue(issue) => issue.run(now),
            Self::List(list) => list.run(now),
            Self::Revoke(revoke) => revoke.run(now),
        }
    }
}

impl Issue {
    fn run(self, now: Timestamp) -> Result<Said, Failure> {
        let Self { name, data, out, valid_for, administrator } = self;
        let order = Order { name, administrator, valid_for, out };
        let issued = pki::issue(&data, &order, now)?;
        Ok(Said::done(format!(
            "{folder} holds tls.crt, tls.key and ca.crt for {name}: serial {serial}, valid until {until}\n",
            folder = issued.folder.display(),
            name = issued.entry.name,
            serial = issued.entry.serial,
            until = issued.entry.expires_at,
        )))
    }
}

impl List {
    fn run(&self, now: Timestamp) -> Result<Said, Failure> {
        let register = pki::list(&self.data)?;
        let lines = register.certificates.iter().map(|entry| line(entry, now));
        let head = columns(["SERIAL", "KIND", "UNTIL", "STATE", "NAME"]);
        Ok(Said::done([head].into_iter().chain(lines).collect::<String>()))
    }
}

fn line(entry: &Entry, now: Timestamp) -> String {
    let kind = match entry.kind {
        Kind::Server => "server",
        Kind::Administrator => "administrator",
        Kind::Cluster => "cluster",
    };
    let expired = moment::read(&entry.expires_at).is_ok_and(|until| until <= now);
    let state = match &entry.revoked_at {
        Some(_) => "revoked",
        None if expired => "expired",
        None => "valid",
    };
    columns([&entry.serial, kind, &entry.expires_at, state, &entry.name])
}

fn columns([serial, kind, until, state, name]: [&str; 5]) -> String {
    format!("{serial:<32}  {kind:<13}  {until:<20}  {state:<7}  {name}\n")
}

impl Revoke {
    fn run(&self, now: Timestamp) -> Result<Said, Failure> {
        let revoked = pki::revoke(&self.data, &self.target, now)?;
        let lines = revoked
            .now
            .iter()
            .map(|entry| format!("{} of {} no longer counts\n", entry.serial, entry.name));
        let before = match revoked.before {
            0 => String::new(),
            count => format!("revoked before: {count}\n"),
        };
        Ok(Said::done(lines.chain([before]).collect::<String>()))
    }
}
