//! What goes wrong with a command: its one way to an exit code, and what a person can do about it.

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
use crate::tls::CredentialError;

/// What to do, where the message itself does not say it.
type Remedy = Option<&'static str>;

fn of_serving(error: &ServeError) -> Remedy {
    match error {
        ServeError::Ledger(error) => of_ledger(error),
        // It says so itself.
        ServeError::Certificates(CredentialError::List { .. }) => None,
        ServeError::Certificates(_) => Some(
            "Put tls.crt, tls.key and ca.crt, in PEM, into that folder, or name another one with `--http-cert-path`.",
        ),
        ServeError::Listen { .. } => Some(
            "Stop what listens there, which may be another broker, or give the key another value.",
        ),
        ServeError::Audit(_) => {
            Some("Give the key `audit-log` a file that the broker's user may write.")
        }
        ServeError::Kubernetes(KubernetesError::Connect(_)) => Some(
            "Name the broker cluster's kubeconfig with `--kubeconfig`, or leave `kubernetes` out of `--broker-interface`.",
        ),
        ServeError::Lease(_) => Some("Start it again: it waits for its turn."),
        // These say it themselves.
        ServeError::Kubernetes(_)
        | ServeError::Clock(_)
        | ServeError::Stopped(_)
        | ServeError::NotOpened
        | ServeError::Log(_)
        | ServeError::Signals(_) => None,
    }
}

fn of_ledger(error: &LedgerError) -> Remedy {
    match error {
        LedgerError::File(error) => Some(of_file(error)),
        LedgerError::Data { .. } => Some(
            "Name a directory with `--data` that is the user's of the broker, on a disk that can be written.",
        ),
        LedgerError::Ledger(_) => Some(
            "Look at it with `rear-broker verify`; restore a snapshot into another directory if it is damaged.",
        ),
        #[cfg(feature = "etcd")]
        LedgerError::Secret { .. } | LedgerError::Shared(_) => None,
        #[cfg(not(feature = "etcd"))]
        LedgerError::NoEtcd => None,
    }
}

fn of_file(error: &FileError) -> &'static str {
    match error {
        FileError::Exists(_) => "Choose another name, or move what is there away.",
        FileError::Missing(_) => {
            "Name the data directory of a broker; its first `serve` makes the ledger."
        }
        FileError::InUse(_) => "Stop it, or give this one a data directory of its own.",
        FileError::Newer { .. } => {
            "Use that version, or move the file away and restore the backup that was made beside it at the upgrade."
        }
        FileError::Damaged { .. } => {
            "Keep the file, and restore a snapshot into another directory with `rear-broker snapshot restore`."
        }
        FileError::Io { .. } => {
            "Check that the disk is not full or read-only, and that the file is the user's of the broker."
        }
    }
}

fn of_pki(error: &PkiError) -> Remedy {
    match error {
        PkiError::Exists(_) => {
            Some("Choose another directory or name, or move what is there away.")
        }
        PkiError::File { .. } => Some("Run it as the user to whom the data directory belongs."),
        PkiError::Unknown(_) => Some("`rear-broker certs list` shows what was issued."),
        PkiError::NoAuthority(_)
        | PkiError::Contents { .. }
        | PkiError::Pair { .. }
        | PkiError::Sign(_)
        | PkiError::TooShort { .. }
        | PkiError::TooLong { .. } => None,
    }
}

fn of_call(error: &CallError) -> Remedy {
    match error {
        CallError::Certificates(error) => Some(error.remedy()),
        CallError::Unreachable { .. } => Some(
            "Check that the broker runs, its address, and that the certificates are of its authority.",
        ),
        CallError::Refused { status: 401 | 403, .. } => {
            Some("Use an administrator's certificate: `init` made one.")
        }
        CallError::Refused { .. } | CallError::Runtime(_) => None,
    }
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
        let remedy = of_serving(&error);
        Self::new(error, code).with_remedy(remedy)
    }
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        let remedy = of_ledger(&error);
        Self::new(error, exit::DATA).with_remedy(remedy)
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
        let remedy = of_pki(&error);
        Self::new(error, code).with_remedy(remedy)
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
        let remedy = of_file(&error);
        Self::new(error, code).with_remedy(Some(remedy))
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        let code = match error {
            CallError::Runtime(_) | CallError::Refused { .. } => exit::OTHER,
            CallError::Certificates(_) => exit::CONFIGURATION,
            CallError::Unreachable { .. } => exit::ADDRESS,
        };
        let remedy = of_call(&error);
        Self::new(error, code).with_remedy(remedy)
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
