//! Contexts: which broker, and with which certificate, under a name; kept in one file of the user's.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Names another file than the usual one.
const FILE: &str = "REARCTL_CONTEXTS";

/// A broker and how it is spoken to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Context {
    /// `https://HOST:PORT`, or several with commas between, which share a ledger.
    pub(crate) broker: String,
    /// A folder with `tls.crt`, `tls.key` and `ca.crt`.
    pub(crate) certificates: PathBuf,
}

impl Context {
    /// One for each of the brokers that share the ledger.
    pub(crate) fn each_broker(&self) -> impl Iterator<Item = Self> {
        self.broker.split(',').map(|broker| {
            let certificates = self.certificates.clone();
            Self { broker: broker.trim().to_owned(), certificates }
        })
    }
}

/// All contexts, and which one is used when none is named.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Contexts {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) current: Option<String>,
    #[serde(default)]
    pub(crate) contexts: BTreeMap<String, Context>,
}

/// Why it is not known which broker to ask.
#[derive(Debug, Error)]
pub(crate) enum ContextError {
    /// There is none.
    #[error("no broker is named, and no context is in use")]
    None,
    /// Only a half of one.
    #[error("a broker needs both its address and a certificate folder")]
    Half,
    /// Not this one.
    #[error("there is no context `{0}`")]
    Unknown(String),
    /// Already this one.
    #[error("there is a context `{0}` already")]
    Exists(String),
    /// Neither HOME nor anything else says where the file is.
    #[error("it is not known where your contexts are")]
    Homeless,
    /// The file.
    #[error("{} cannot be used", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl ContextError {
    /// What a person can do about it.
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            Self::None | Self::Half => {
                "Give --broker and --certs, or `rearctl context add NAME --broker https://HOST:PORT --certs DIR` once."
            }
            Self::Unknown(_) => "See `rearctl context list`.",
            Self::Exists(_) => "Choose another name, or add --replace.",
            Self::Homeless => "Set HOME, XDG_CONFIG_HOME or REARCTL_CONTEXTS.",
            Self::File { .. } => {
                "Correct the file or its permissions, or name another in REARCTL_CONTEXTS."
            }
        }
    }
}

/// Where the contexts are.
pub(crate) fn path() -> Result<PathBuf, ContextError> {
    let given = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let below = |folder: PathBuf| folder.join("rear/contexts.json");
    given(FILE)
        .or_else(|| given("XDG_CONFIG_HOME").map(below))
        .or_else(|| given("HOME").map(|home| below(home.join(".config"))))
        .ok_or(ContextError::Homeless)
}

impl Contexts {
    /// Those of the file; none if there is no file.
    pub(crate) fn read(path: &Path) -> Result<Self, ContextError> {
        let fail = |source| ContextError::File { path: path.into(), source };
        match fs::read(path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| fail(error.into())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(fail(error)),
        }
    }

    /// Replaces the file as a whole, so that it is never half written.
    pub(crate) fn write(&self, path: &Path) -> Result<(), ContextError> {
        let fail = |source| ContextError::File { path: path.into(), source };
        self.replace(path).map_err(fail)
    }

    fn replace(&self, path: &Path) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let beside = path.with_extension(format!("new-{}", std::process::id()));
        // What another left there, or planted as a link to something of the user's, is not written to.
        if let Err(error) = fs::remove_file(&beside)
            && error.kind() != ErrorKind::NotFound
        {
            return Err(error);
        }
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&beside)?;
        file.write_all(serde_json::to_string_pretty(self)?.as_bytes())?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        fs::rename(&beside, path)
    }

    /// The context of this name, else the one in use.
    pub(crate) fn find(&self, name: Option<&str>) -> Result<&Context, ContextError> {
        let name = name.or(self.current.as_deref()).ok_or(ContextError::None)?;
        self.contexts.get(name).ok_or_else(|| ContextError::Unknown(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_link_that_someone_planted_is_not_written_through_and_the_file_is_the_users_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (path, precious) = (folder.path().join("c.json"), folder.path().join("precious"));
        fs::write(&precious, b"precious").unwrap();
        let planted = path.with_extension(format!("new-{}", std::process::id()));
        std::os::unix::fs::symlink(&precious, &planted).unwrap();
        Contexts::default().write(&path).unwrap();
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
        assert_eq!(Contexts::read(&path).unwrap(), Contexts::default());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
