//! What every test runs on: its size and seed, the programs, certificates, and a bar that shows how far it is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressStyle};
use rear_agent_sdk::HttpCommunicator;
use rear_engine::ClusterId;
use rear_fleet::{CertificatesError, make_certificates, name};
use thiserror::Error;

/// Who may see and end everything, at the brokers of the evaluation.
pub(crate) const ADMINISTRATOR: &str = "administrator";

/// Why a test could not be done at all.
#[derive(Debug, Error)]
pub enum Trouble {
    /// A file, a process or a connection.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The broker did not answer what it was asked.
    #[error(transparent)]
    Broker(#[from] rear_agent_sdk::Error),
    /// Certificates could not be made.
    #[error(transparent)]
    Certificates(#[from] CertificatesError),
    /// Something that this machine does not have.
    #[error("{0}")]
    Missing(String),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

/// How much is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// All of it, to be measured.
    Full,
    /// As little as shows that it works, in seconds.
    Short,
}

/// The programs that are evaluated.
#[derive(Debug, Clone)]
pub struct Programs {
    /// This one, which plays other roles too.
    pub own: PathBuf,
    /// Where cargo puts programs: `rear-broker`, `rear-agent`, and `examples/host_agent`, `examples/figures`.
    pub folder: PathBuf,
}

impl Programs {
    pub(crate) fn own(&self) -> Command {
        Command::new(&self.own)
    }

    /// A program of another profile than that of the others, if it was built.
    pub(crate) fn of_profile(&self, profile: &str, name: &str) -> Option<PathBuf> {
        let path = self.folder.with_file_name(profile).join(name);
        path.is_file().then_some(path)
    }

    pub(crate) fn path(&self, name: &str) -> Result<PathBuf, Trouble> {
        let path = self.folder.join(name);
        if path.is_file() {
            return Ok(path);
        }
        let path = path.display();
        Err(Trouble::Missing(format!("{path} is not built: `cargo xtask evaluate` builds it")))
    }
}

/// What tests run on.
pub struct Stage {
    size: Size,
    seed: u64,
    programs: Programs,
    folder: tempfile::TempDir,
    bars: bool,
}

impl Stage {
    /// Below a folder, with certificates for so many clusters.
    pub fn new(
        size: Size,
        seed: u64,
        programs: Programs,
        below: &Path,
        clusters: usize,
    ) -> Result<Self, Trouble> {
        let folder = tempfile::tempdir_in(below)?;
        let stage = Self { size, seed, programs, folder, bars: size == Size::Full };
        let administrator: ClusterId = ADMINISTRATOR.parse().map_err(io::Error::other)?;
        let names = (0..clusters).map(name).chain([administrator]);
        make_certificates(&stage.folder().join("pki"), names)?;
        Ok(stage)
    }

    /// How far a test is, as a bar where someone looks.
    #[must_use]
    pub fn with_bars(mut self, bars: bool) -> Self {
        self.bars = bars;
        self
    }

    /// How much is done.
    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// One of two, by size.
    pub(crate) fn pick<T>(&self, full: T, short: T) -> T {
        match self.size {
            Size::Full => full,
            Size::Short => short,
        }
    }

    /// The seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    pub(crate) fn programs(&self) -> &Programs {
        &self.programs
    }

    /// A folder that goes with this.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A new folder below that.
    pub(crate) fn new_folder(&self, name: &str) -> io::Result<PathBuf> {
        let path = tempfile::Builder::new().prefix(name).tempdir_in(self.folder())?.keep();
        fs::create_dir_all(&path)?;
        Ok(path)
    }

    /// All certificates.
    pub(crate) fn pki(&self) -> PathBuf {
        self.folder().join("pki")
    }

    /// Those of one cluster.
    pub(crate) fn certificates(&self, name: &str) -> PathBuf {
        self.pki().join(name)
    }

    /// A connection of its own as a cluster.
    pub(crate) fn connect(
        &self,
        address: &str,
        who: &str,
    ) -> Result<Arc<HttpCommunicator>, Trouble> {
        Ok(Arc::new(HttpCommunicator::new(address, self.certificates(who))?))
    }

    /// A bar for so many steps.
    pub(crate) fn progress(&self, what: &str, steps: usize) -> Progress {
        let steps = u64::try_from(steps).unwrap_or(u64::MAX);
        let bar = if self.bars { ProgressBar::new(steps) } else { ProgressBar::hidden() };
        let style =
            ProgressStyle::with_template("{prefix:>14} {bar:32} {pos}/{len} {elapsed} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_prefix(what.to_owned());
        Progress(bar)
    }
}

/// How far a test is. The bar goes with it.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// One more step.
    pub(crate) fn done(&self) {
        self.0.inc(1);
    }

    /// What is done at the moment.
    pub(crate) fn at(&self, what: impl Into<String>) {
        self.0.set_message(what.into());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
