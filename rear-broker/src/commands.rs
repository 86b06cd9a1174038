//! One file for each command: its flags, what it does, what it says. What goes wrong has one way to an exit code.

pub mod certs;
pub mod compact;
pub mod completion;
pub mod config;
pub mod dev;
pub mod init;
pub mod man;
pub mod recover;
pub mod serve;
pub mod snapshot;
pub mod store;
pub mod verify;

use std::path::Path;

use rear_store::FileError;
use rear_store::backup::{BackupError, ReceiveError, RestoreError};

use crate::administrator::CallError;
use crate::cli::{Failure, exit};
use crate::config::ConfigErrors;
use crate::dev::DevError;
use crate::kubernetes::KubernetesError;
use crate::ledger::LedgerError;
use crate::pki::PkiError;
use crate::serve::ServeError;

/// A path as it is typed into a shell: what is printed to be pasted must mean the same there.
pub(crate) fn pasted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:@%".contains(&byte);
    if text.bytes().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        let code = match error {
            ServeError::Ledger(_)
            | ServeError::NotOpened
            | ServeError::Stopped(_)
            | ServeError::Audit(_) => exit::DATA,
            ServeError::Listen { .. } => exit::ADDRESS,
            ServeError::Clock(_) => exit::CLOCK,
            ServeError::Kubernetes(KubernetesError::Claim(_) | KubernetesError::Ledger(_)) => {
                exit::DATA
            }
            ServeError::Certificates(_) | ServeError::Kubernetes(_) => exit::CONFIGURATION,
            ServeError::Signals(_) | ServeError::Log(_) | ServeError::Lease(_) => exit::OTHER,
        };
        Self::new(error, code)
    }
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        Self::new(error, exit::DATA)
    }
}

impl From<DevError> for Failure {
    fn from(error: DevError) -> Self {
        match error {
            DevError::Place(_) => Self::new(error, exit::DATA),
            DevError::Certificates(error) => error.into(),
            DevError::Configuration(error) => error.into(),
            DevError::Broker(error) => error.into(),
            DevError::Fleet(_) => Self::new(error, exit::OTHER),
        }
    }
}

impl From<ConfigErrors> for Failure {
    fn from(errors: ConfigErrors) -> Self {
        Self::new(errors, exit::CONFIGURATION)
    }
}

impl From<PkiError> for Failure {
    fn from(error: PkiError) -> Self {
        let code = match error {
            PkiError::Exists(_) => exit::EXISTS,
            PkiError::NoAuthority(_)
            | PkiError::File { .. }
            | PkiError::Contents { .. }
            | PkiError::Pair { .. } => exit::CONFIGURATION,
            PkiError::Sign(_)
            | PkiError::TooShort { .. }
            | PkiError::TooLong { .. }
            | PkiError::Unknown(_) => exit::OTHER,
        };
        Self::new(error, code)
    }
}

impl From<FileError> for Failure {
    /// For commands that need a ledger for themselves; what a second broker is told is another matter.
    fn from(error: FileError) -> Self {
        let code = match &error {
            FileError::Exists(_) => exit::EXISTS,
            FileError::InUse(path) => {
                let text = format!("{} is in use: stop the broker first", path.display());
                return Self::new(text, exit::DATA);
            }
            FileError::Missing(_)
            | FileError::Newer { .. }
            | FileError::Damaged { .. }
            | FileError::Io { .. } => exit::DATA,
        };
        Self::new(error, code)
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        let code = match error {
            CallError::Runtime(_) | CallError::Refused { .. } => exit::OTHER,
            CallError::Certificates(_) => exit::CONFIGURATION,
            CallError::Unreachable { .. } => exit::ADDRESS,
        };
        Self::new(error, code)
    }
}

impl From<ReceiveError> for Failure {
    fn from(error: ReceiveError) -> Self {
        let code = match error {
            ReceiveError::File(FileError::Exists(_)) => exit::EXISTS,
            ReceiveError::File(_) | ReceiveError::Backup(_) => exit::DATA,
        };
        Self::new(error, code)
    }
}

impl From<BackupError> for Failure {
    fn from(error: BackupError) -> Self {
        Self::new(error, exit::DATA)
    }
}

impl From<RestoreError> for Failure {
    fn from(error: RestoreError) -> Self {
        let code = match error {
            RestoreError::File(FileError::Exists(_)) => exit::EXISTS,
            RestoreError::Backup(_)
            | RestoreError::File(_)
            | RestoreError::Divergence(_)
            | RestoreError::Newer(_)
            | RestoreError::LastIncarnation => exit::DATA,
        };
        Self::new(error, code)
    }
}
