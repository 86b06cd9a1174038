//! The ground on which servers stand: a guarded folder, and where their programs are.

use std::fs;
use std::path::{Path, PathBuf};

use super::guard::{Group, Guard};
use super::process::Process;
use super::start_error::StartError;
use crate::artifacts::{Artifact, Places};

/// Outlives the processes that it makes: a struct that has both names the processes first, as its fields
/// are dropped in that order.
#[derive(Debug)]
pub(crate) struct Site {
    guard: Guard,
    places: Places,
}

impl Site {
    pub(crate) fn open() -> Result<Self, StartError> {
        let guard = Guard::start().map_err(StartError::Guard)?;
        Ok(Self { guard, places: Places::from_environment() })
    }

    pub(crate) fn folder(&self) -> &Path {
        self.guard.folder()
    }

    pub(crate) fn group(&self) -> Group {
        self.guard.group()
    }

    /// The file of the artifact.
    pub(crate) fn artifact(&self, artifact: Artifact) -> Result<PathBuf, StartError> {
        Ok(self.places.find(artifact)?)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf, StartError> {
        let path = self.folder().join(name);
        match fs::write(&path, text) {
            Ok(()) => Ok(path),
            Err(source) => Err(StartError::File { path, source }),
        }
    }

    /// Starts the program under the given name, which must be its own on this site.
    pub(crate) fn start(
        &self,
        program: Artifact,
        name: &str,
        arguments: Vec<String>,
    ) -> Result<Process, StartError> {
        let program = self.artifact(program)?;
        let mut process = Process::new(name, program, arguments, self.folder(), self.group());
        process.start()?;
        Ok(process)
    }
}
