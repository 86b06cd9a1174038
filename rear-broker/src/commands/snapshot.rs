//! `rear-broker snapshot`: a ledger in one file that can be carried away and brought back.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use rear_api::moment;
use rear_engine::Timestamp;
use rear_store::backup::{self, Inspected, ReceiveError, RestoreError, SaveError, Summary};
use rear_store::{FileError, is_missing};
use reqwest::{Method, Url};
use uuid::Uuid;

use super::pasted;
use crate::administrator::{Administrator, Reach, address};
use crate::cli::{Failure, Said, exit, in_one_line};
use crate::ledger::{LEDGER, LedgerError};
use crate::pki::Layout;
use crate::routes::addresses::SNAPSHOT;

/// What can be done with snapshots.
#[derive(Debug, Subcommand)]
pub enum Snapshot {
    /// Save a ledger: from its file, or from the broker that has it open
    Save(Save),
    /// Read a snapshot from beginning to end and say what is in it
    Inspect(Inspect),
    /// Make a ledger from a snapshot, in a data directory that has none
    Restore(Restore),
}

/// The flags of `snapshot save`.
#[derive(Debug, Args)]
pub struct Save {
    /// The file to write; must not be there yet
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The data directory of a broker that is stopped
    #[arg(long, value_name = "DIR", required_unless_present = "url", conflicts_with = "url")]
    data: Option<PathBuf>,
    /// A broker that runs, as https://HOST:PORT
    #[arg(long, value_name = "URL", requires = "certificates", value_parser = address)]
    url: Option<Url>,
    /// A folder with tls.crt, tls.key and ca.crt of an administrator, for a broker that runs
    #[arg(long, value_name = "DIR", requires = "url")]
    certificates: Option<PathBuf>,
}

/// The flags of `snapshot inspect`.
#[derive(Debug, Args)]
pub struct Inspect {
    /// The snapshot
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// The flags of `snapshot restore`.
#[derive(Debug, Args)]
pub struct Restore {
    /// The snapshot
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The data directory; made if it is not there
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
}

/// A data directory is nobody else's business.
const OWNER_ONLY: u32 = 0o700;

impl Snapshot {
    pub(crate) fn run(self, now: Timestamp) -> Result<Said, Failure> {
        match self {
            Self::Save(save) => save.run(),
            Self::Inspect(inspect) => inspect.run(),
            Self::Restore(restore) => restore.run(now),
        }
    }
}

impl Save {
    fn run(self) -> Result<Said, Failure> {
        match (self.url, self.certificates, self.data) {
            (Some(url), Some(certificates), _) => {
                save_from_broker(Reach { url, certificates }, &self.file)
            }
            (_, _, Some(data)) => save_from_file(&data, &self.file),
            // The rules of the flags leave nothing else.
            _ => Err(Failure::new(
                "name a data directory, or a broker and certificates",
                exit::OTHER,
            )),
        }
    }
}

fn save_from_broker(reach: Reach, file: &Path) -> Result<Said, Failure> {
    let broker = Administrator::new(reach)?;
    let answer = broker.call(Method::GET, SNAPSHOT, None)?;
    let summary = backup::receive(answer, file).map_err(|error| match error {
        ReceiveError::File(_) => error.into(),
        ReceiveError::Backup(_) => of_file(file, error),
    })?;
    Ok(saved(&summary, file))
}

fn save_from_file(data: &Path, file: &Path) -> Result<Said, Failure> {
    match backup::save(&data.join(LEDGER), file) {
        Ok(summary) => Ok(saved(&summary, file)),
        Err(SaveError::File(FileError::InUse(path))) => {
            let text = format!(
                "{} is in use: save from the broker that has it, with `rear-broker snapshot save {} --url https://localhost:8443 --certificates {}`, or stop it first",
                path.display(),
                pasted(file),
                pasted(&Layout::of(data).issued().join("admin")),
            );
            Err(Failure::new(text, exit::DATA))
        }
        Err(SaveError::File(error)) => Err(error.into()),
        Err(SaveError::Unsound(report)) => {
            let text =
                format!("{report}\nnothing was saved: a ledger with findings cannot be restored\n");
            Ok(Said { text, code: exit::OTHER })
        }
    }
}

fn saved(summary: &Summary, file: &Path) -> Said {
    Said::done(format!("{}: {} rows, {} bytes\n", file.display(), summary.rows, summary.bytes))
}

/// A failure that names the snapshot.
fn of_file(file: &Path, error: impl Into<Failure>) -> Failure {
    let failure: Failure = error.into();
    Failure {
        error: format!("{}: {}", file.display(), in_one_line(&*failure.error)).into(),
        ..failure
    }
}

impl Inspect {
    fn run(&self) -> Result<Said, Failure> {
        let inspected = backup::inspect(&self.file).map_err(|error| of_file(&self.file, error))?;
        let Inspected { summary, tables, schema, meta } = inspected;
        let mut lines = vec![
            format!("{}: a whole snapshot, {} bytes", self.file.display(), summary.bytes),
            format!("schema {schema}"),
        ];
        if let Some(meta) = meta {
            lines.push(format!("ledger {}", Uuid::from_u128(meta.ledger)));
            lines.push(format!("revision {}", meta.position));
            lines.push(format!("last time {}", moment::text(meta.time_mark)));
        }
        lines.extend(tables.iter().map(|(table, rows)| format!("{rows} {table}")));
        Ok(Said::done(lines.join("\n") + "\n"))
    }
}

impl Restore {
    fn run(&self, now: Timestamp) -> Result<Said, Failure> {
        let data = |source| LedgerError::Data { path: self.data.clone(), source };
        let is_new = is_missing(&self.data);
        let mut folder = std::fs::DirBuilder::new();
        folder.recursive(true).mode(OWNER_ONLY).create(&self.data).map_err(data)?;
        let restored =
            backup::restore(&self.file, &self.data.join(LEDGER), now).map_err(|error| {
                if is_new {
                    // Unless someone has put something there, which stays.
                    drop(std::fs::remove_dir(&self.data));
                }
                match error {
                    RestoreError::File(_) => error.into(),
                    other => of_file(&self.file, other),
                }
            })?;
        Ok(Said::done(format!(
            "\
{clusters} clusters and {reservations} reservations are restored, as of revision {revision}.

What was promised after that is known to the providers alone. So every provider is recovering now: nothing is granted
on it before it has said what it holds (`holding` in its advertisement, also if that is nothing). Cursors and event ids from
before are answered with 410.

A snapshot holds no certificates. If there is no tls folder here, copy the folders ca and tls from the old data
directory, or name one with `--http-cert-path`. Then start the broker:
  rear-broker serve --data {data}
",
            clusters = restored.clusters,
            reservations = restored.reservations,
            revision = restored.backup,
            data = pasted(&self.data),
        )))
    }
}
