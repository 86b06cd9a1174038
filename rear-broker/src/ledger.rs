//! The ledger as it is configured: a file of this broker alone, or a journal in etcd that several share.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rear_store::clock::SystemClock;
use rear_store::store::StartError;
use rear_store::{Commit, FileError, RedbJournal, Store};
use thiserror::Error;
use tracing::info;
use uuid::Uuid;

use crate::config::{Config, StoreKind};

/// The ledger's file in the data directory.
pub(crate) const LEDGER: &str = "ledger.redb";

/// Who may look into a data directory that is made here.
const OWNERS_FOLDER: u32 = 0o700;

/// Why there is no ledger.
#[derive(Debug, Error)]
pub enum LedgerError {
    /// The data directory cannot be used.
    #[error("the data directory {} cannot be used", path.display())]
    Data {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The ledger's file cannot be used.
    #[error("the ledger cannot be opened")]
    File(#[from] FileError),
    /// The ledger cannot be used.
    #[error("the ledger cannot be used")]
    Ledger(#[from] StartError),
    /// What etcd asks for cannot be read.
    #[cfg(feature = "etcd")]
    #[error("{} cannot be read, which etcd needs", path.display())]
    Secret {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The shared ledger cannot be used.
    #[cfg(feature = "etcd")]
    #[error("the shared ledger cannot be opened")]
    Shared(#[from] rear_store::etcd::OpenError),
    /// Etcd is not in this build.
    #[cfg(not(feature = "etcd"))]
    #[error("etcd is not in this build: build it with `--features etcd`")]
    NoEtcd,
}

/// Opens the ledger and starts its writer. May take a while, and must not be called where others wait.
pub(crate) fn open(config: &Config) -> Result<Store, LedgerError> {
    let data = |source| LedgerError::Data { path: config.data.clone(), source };
    let mut folders = DirBuilder::new();
    folders.recursive(true).mode(OWNERS_FOLDER).create(&config.data).map_err(data)?;
    let path = config.data.join(LEDGER);
    match config.store {
        StoreKind::Redb => {
            let journal = open_file(&path, config.durability.0)?;
            Ok(Store::start(journal, config.settings(), SystemClock::default())?)
        }
        StoreKind::Etcd => open_shared(config, &path),
    }
}

fn open_file(path: &Path, commit: Commit) -> Result<RedbJournal, FileError> {
    if path.exists() {
        return RedbJournal::open(path, commit);
    }
    info!(path = %path.display(), "a new ledger is made");
    RedbJournal::create(path, Uuid::new_v4().as_u128(), commit)
}

#[cfg(feature = "etcd")]
fn open_shared(config: &Config, path: &Path) -> Result<Store, LedgerError> {
    use rear_store::etcd::EtcdJournal;

    let number = || Uuid::new_v4().as_u128();
    let options = shared::options(config)?;
    let journal = EtcdJournal::open(options, path, number(), number(), config.durability.0)?;
    Ok(Store::start(journal, config.settings(), SystemClock::default())?)
}

#[cfg(not(feature = "etcd"))]
fn open_shared(_config: &Config, _path: &Path) -> Result<Store, LedgerError> {
    Err(LedgerError::NoEtcd)
}

#[cfg(feature = "etcd")]
pub(crate) mod shared {
    //! What etcd asks for.

    use std::path::{Path, PathBuf};

    use rear_store::etcd::{EtcdOptions, EtcdTls};

    use super::LedgerError;
    use crate::config::Config;

    /// How etcd is reached.
    pub(crate) struct Reach<'c> {
        pub(crate) endpoints: Vec<String>,
        pub(crate) prefix: &'c str,
        pub(crate) certificates: Option<&'c Path>,
        pub(crate) user: Option<&'c str>,
        pub(crate) password_file: Option<&'c Path>,
    }

    pub(super) fn options(config: &Config) -> Result<EtcdOptions, LedgerError> {
        read(&Reach {
            endpoints: config.etcd_endpoints.iter().map(|endpoint| endpoint.0.clone()).collect(),
            prefix: &config.etcd_prefix.0,
            certificates: config.etcd_cert_path.as_deref(),
            user: config.etcd_user.as_ref().map(|name| name.0.as_str()),
            password_file: config.etcd_password_file.as_deref(),
        })
        .map(|options| EtcdOptions {
            door: config.etcd_peer_address.as_ref().map(|address| address.0.clone()),
            snapshot_every: config.etcd_snapshot_every.get().into(),
            ..options
        })
    }

    /// Reads certificates and the password.
    pub(crate) fn read(reach: &Reach<'_>) -> Result<EtcdOptions, LedgerError> {
        let mut options = EtcdOptions::new(reach.endpoints.clone(), reach.prefix);
        options.tls = reach.certificates.map(tls).transpose()?;
        if let (Some(user), Some(file)) = (reach.user, reach.password_file) {
            let password = file_of(file.to_owned())?;
            let password = String::from_utf8_lossy(&password).trim_end().to_owned();
            options.user = Some((user.to_owned(), password));
        }
        Ok(options)
    }

    fn tls(folder: &Path) -> Result<EtcdTls, LedgerError> {
        let certificate = folder.join("tls.crt");
        let identity = certificate.exists().then(|| {
            Ok::<_, LedgerError>((file_of(certificate)?, file_of(folder.join("tls.key"))?))
        });
        Ok(EtcdTls { authority: file_of(folder.join("ca.crt"))?, identity: identity.transpose()? })
    }

    fn file_of(path: PathBuf) -> Result<Vec<u8>, LedgerError> {
        std::fs::read(&path).map_err(|source| LedgerError::Secret { path, source })
    }
}
