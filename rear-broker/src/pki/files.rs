//! Folders and files that are their owner's alone.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::PkiError;

/// Keys are nobody else's business, and neither is who has certificates.
const OWNERS_FILE: u32 = 0o600;
const OWNERS_FOLDER: u32 = 0o700;

/// Folders of a command that is not through yet: they go again if it fails, so that it can be repeated.
#[derive(Debug, Default)]
pub(super) struct Unfinished {
    made: Vec<PathBuf>,
}

impl Unfinished {
    /// Makes a folder that must not be there, with what should be in it.
    pub(super) fn folder(&mut self, path: &Path, files: &[(&str, &str)]) -> Result<(), PkiError> {
        let make = DirBuilder::new().mode(OWNERS_FOLDER).create(path);
        make.map_err(PkiError::file(path))?;
        self.made.push(path.to_owned());
        fill(path, files)
    }

    /// Everything is as it should be, and stays.
    pub(super) fn finish(mut self) {
        self.made.clear();
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        for folder in self.made.iter().rev() {
            // What failed before is what is told.
            drop(fs::remove_dir_all(folder));
        }
    }
}

/// Puts new files into a folder.
pub(super) fn fill(folder: &Path, files: &[(&str, &str)]) -> Result<(), PkiError> {
    for (name, contents) in files {
        let path = folder.join(name);
        write_new(&path, contents).map_err(PkiError::file(path))?;
    }
    sync_folder(folder).map_err(PkiError::file(folder))
}

/// A folder that may be there, and those above it.
pub(super) fn make_folders(path: &Path) -> Result<(), PkiError> {
    let made = DirBuilder::new().recursive(true).mode(OWNERS_FOLDER).create(path);
    made.map_err(PkiError::file(path))
}

/// Puts another content in the place of a file's, whole or not at all.
pub(super) fn replace(path: &Path, contents: &str) -> Result<(), PkiError> {
    let unfinished = path.with_added_extension("new");
    // What an interrupted command left is of no use to anyone.
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(PkiError::file(unfinished)(error));
        }
        _ => {}
    }
    let written = write_new(&unfinished, contents).and_then(|()| fs::rename(&unfinished, path));
    let folder = path.parent().unwrap_or(Path::new("."));
    written.and_then(|()| sync_folder(folder)).map_err(PkiError::file(path))
}

fn write_new(path: &Path, contents: &str) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(OWNERS_FILE).open(path)?;
    file.write_all(contents.as_bytes())?;
    file.sync_all()
}

fn sync_folder(path: &Path) -> std::io::Result<()> {
    File::open(path)?.sync_all()
}
