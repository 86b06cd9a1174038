//! Why servers did not start.

use std::io;
use std::path::PathBuf;

use super::kubectl::KubectlError;
use super::process::ProcessError;
use crate::artifacts::Missing;

/// Why servers did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A program is not on this machine.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The shell that cleans up could not be started.
    #[error("the guard of the folder could not be started")]
    Guard(#[source] io::Error),
    /// No port could be reserved.
    #[error("no port could be reserved")]
    Port(#[source] io::Error),
    /// A certificate could not be made.
    #[error("a certificate could not be made")]
    Certificate(#[source] rcgen::Error),
    /// A file of the site could not be written.
    #[error("{} could not be written", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A process could not be started.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The API server runs and refused an object that a start needs.
    #[error(transparent)]
    Kubectl(#[from] KubectlError),
    /// A process ended while it was waited for.
    #[error("{name} ended by itself; its last words:\n{last_words}")]
    Ended {
        /// The process.
        name: String,
        /// What it wrote last.
        last_words: String,
    },
    /// A process runs and does not become ready.
    #[error("{name} does not become ready: {unready}; its last words:\n{last_words}")]
    NotReady {
        /// The process.
        name: String,
        /// What is not ready.
        unready: String,
        /// What it wrote last.
        last_words: String,
    },
}
