//! `rear-broker store`: a ledger goes from a file to etcd and back, looked at before and after.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use rear_store::etcd::{Copied, CopyError, EtcdOptions, copy_from_etcd, copy_to_etcd};
use rear_store::verify::{Report, verify_file};
use rear_store::{Commit, FileError, Journal, RedbJournal, backup};
use uuid::Uuid;

use crate::cli::{Failure, Said, exit};
use crate::config::{EtcdEndpoint, EtcdPrefix};
use crate::ledger::LEDGER;
use crate::ledger::shared::{Reach, read};

/// What can be done with stores.
#[derive(Debug, Subcommand)]
pub enum Store {
    /// Copy a ledger that nobody uses: every broker of it is stopped
    Copy(Copy),
}

/// Where a ledger goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Target {
    /// From the file in the data directory to etcd, where there is none yet
    Etcd,
    /// From etcd to a file in the data directory, where there is none yet
    Redb,
}

/// The flags of `store copy`.
#[derive(Debug, Args)]
pub struct Copy {
    /// Where the ledger goes
    #[arg(long, value_name = "STORE")]
    to: Target,
    /// The data directory with the file
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The address of a node of etcd; may be repeated
    #[arg(long, value_name = "URL", required = true)]
    etcd_endpoints: Vec<EtcdEndpoint>,
    /// What the keys of the ledger in etcd begin with
    #[arg(long, value_name = "PREFIX", default_value = "/rear")]
    etcd_prefix: EtcdPrefix,
    /// A folder with ca.crt of etcd, and tls.crt and tls.key of the broker if etcd asks for a certificate
    #[arg(long, value_name = "DIR")]
    etcd_cert_path: Option<PathBuf>,
    /// The user in etcd
    #[arg(long, value_name = "NAME", requires = "etcd_password_file")]
    etcd_user: Option<String>,
    /// A file with the password of that user
    #[arg(long, value_name = "FILE", requires = "etcd_user")]
    etcd_password_file: Option<PathBuf>,
}

impl Store {
    pub(crate) fn run(self) -> Result<Said, Failure> {
        match self {
            Self::Copy(copy) => copy.run(),
        }
    }
}

impl Copy {
    fn run(self) -> Result<Said, Failure> {
        let options = read(&Reach {
            endpoints: self.etcd_endpoints.iter().map(|endpoint| endpoint.0.clone()).collect(),
            prefix: &self.etcd_prefix.0,
            certificates: self.etcd_cert_path.as_deref(),
            user: self.etcd_user.as_deref(),
            password_file: self.etcd_password_file.as_deref(),
        })?;
        let file = self.data.join(LEDGER);
        match self.to {
            Target::Etcd => to_etcd(&file, options),
            Target::Redb => from_etcd(&file, options),
        }
    }
}

fn to_etcd(file: &Path, options: EtcdOptions) -> Result<Said, Failure> {
    let before = sound(verify_file(file)?, "the file")?;
    let ledger = RedbJournal::open(file, Commit::TwoPhase)?;
    let copied = copy_to_etcd(&*ledger.reader(), options.clone(), number())?;
    // What is there now, read back as a newcomer would.
    let folder = tempfile::tempdir().map_err(|error| Failure::new(error, exit::DATA))?;
    let back = folder.path().join(LEDGER);
    copy_from_etcd(options, &back, number(), Commit::OnePhase)?;
    sound(verify_file(&back)?, "the copy in etcd")?;
    let copy = RedbJournal::open(&back, Commit::OnePhase)?;
    if dump(&ledger)? != dump(&copy)? {
        let wrong = "the copy in etcd is not the same: remove what is below its prefix there";
        return Err(Failure::new(wrong, exit::DATA));
    }
    Ok(said("etcd", copied, &before))
}

fn from_etcd(file: &Path, options: EtcdOptions) -> Result<Said, Failure> {
    let copied = copy_from_etcd(options, file, number(), Commit::TwoPhase)?;
    let after = sound(verify_file(file)?, "the copy")?;
    Ok(said(&file.display().to_string(), copied, &after))
}

fn said(place: &str, copied: Copied, report: &Report) -> Said {
    let Copied { ledger, position } = copied;
    Said::done(format!(
        "the ledger {ledger:032x} is in {place}, at {position}\n{report}\n\
         use it in one place only: brokers on the other would not know of these\n"
    ))
}

/// Nothing is copied that is not what it should be.
fn sound(report: Report, what: &str) -> Result<Report, Failure> {
    if report.findings.is_empty() {
        return Ok(report);
    }
    Err(Failure::new(format!("{what} has findings: {report}"), exit::OTHER))
}

/// Every row, in order.
fn dump(ledger: &RedbJournal) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    backup::write(&*ledger.reader(), &mut bytes)?;
    Ok(bytes)
}

fn number() -> u128 {
    Uuid::new_v4().as_u128()
}

impl From<CopyError> for Failure {
    fn from(error: CopyError) -> Self {
        let code = match error {
            CopyError::Exists(_) | CopyError::File(FileError::Exists(_)) => exit::EXISTS,
            CopyError::File(_) | CopyError::Open(_) | CopyError::Journal(_) => exit::DATA,
        };
        Self::new(error, code)
    }
}
