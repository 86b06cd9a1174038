//! A temporary directory in which a test plants files; gone when the test is over.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) struct Planted {
    root: PathBuf,
}

impl Planted {
    /// Writes each file, given as its path below the directory and its text.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        static PLANTED: AtomicUsize = AtomicUsize::new(0);
        let number = PLANTED.fetch_add(1, Ordering::Relaxed);
        let root = env::temp_dir().join(format!("xtask-test-{}-{number}", process::id()));
        fs::create_dir_all(&root).expect("the temporary directory is writable");
        let planted = Self { root };
        for (path, text) in files {
            planted.write(path, text.as_bytes());
        }
        planted
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn write(&self, path: &str, content: &[u8]) {
        let file = self.root.join(path);
        let directory = file.parent().expect("a planted file has a directory");
        fs::create_dir_all(directory).expect("the directory of a planted file can be made");
        fs::write(&file, content).expect("a planted file can be written");
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        // A leftover in the temporary directory is no reason to fail a test.
        let _ = fs::remove_dir_all(&self.root);
    }
}
