//! `rear-broker store`: a ledger goes from a file to etcd and back, looked at before and after.

#[cfg(feature = "etcd")]
mod copy;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::{Failure, Said};
use crate::config::{EtcdEndpoint, EtcdPrefix};

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
#[cfg_attr(not(feature = "etcd"), allow(dead_code, reason = "read only where there is etcd"))]
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
    #[cfg(feature = "etcd")]
    fn run(self) -> Result<Said, Failure> {
        copy::copy(&self)
    }

    #[cfg(not(feature = "etcd"))]
    fn run(self) -> Result<Said, Failure> {
        drop(self);
        Err(crate::ledger::LedgerError::NoEtcd.into())
    }
}
