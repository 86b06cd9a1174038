//! `rear-broker store copy`: looked at before, copied, read back and compared.

use std::path::Path;

use rear_store::etcd::{Copied, CopyError, EtcdOptions, copy_from_etcd, copy_to_etcd};
use rear_store::verify::{Report, verify_file};
use rear_store::{Commit, FileError, Journal, RedbJournal, backup};
use uuid::Uuid;

use super::{Copy, Target};
use crate::cli::{Failure, Said, exit};
use crate::ledger::LEDGER;
use crate::ledger::shared::{Reach, read};

pub(super) fn copy(copy: &Copy) -> Result<Said, Failure> {
    let options = read(&Reach {
        endpoints: copy.etcd_endpoints.iter().map(|endpoint| endpoint.0.clone()).collect(),
        prefix: &copy.etcd_prefix.0,
        certificates: copy.etcd_cert_path.as_deref(),
        user: copy.etcd_user.as_deref(),
        password_file: copy.etcd_password_file.as_deref(),
    })?;
    let file = copy.data.join(LEDGER);
    match copy.to {
        Target::Etcd => to_etcd(&file, options),
        Target::Redb => from_etcd(&file, options),
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
