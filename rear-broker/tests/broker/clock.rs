//! A clock that one program takes for the machine's, and that a test sets while it runs. `cargo xtask setup` installs libfaketime,
//! which reads it from a file.

use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) struct Clock {
    file: PathBuf,
    library: String,
}

impl Clock {
    /// Right at first.
    pub(crate) fn new(folder: &Path) -> Self {
        let clock = Self { file: folder.join("clock"), library: library() };
        clock.set("+0");
        clock
    }

    /// To so much more, or less, than the machine's.
    pub(crate) fn set(&self, offset: &str) {
        // Whole or not at all: it is read at any moment.
        std::fs::write(self.file.with_extension("new"), offset).unwrap();
        std::fs::rename(self.file.with_extension("new"), &self.file).unwrap();
    }

    /// What the program is to be started with. The clock that nobody can set goes on as it does.
    pub(crate) fn environment(&self) -> [(String, String); 4] {
        [
            ("LD_PRELOAD", self.library.as_str()),
            ("FAKETIME_TIMESTAMP_FILE", self.file.to_str().unwrap()),
            ("FAKETIME_NO_CACHE", "1"),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
    }
}

/// For programs with threads, as the loader wants it.
fn library() -> String {
    let output =
        Command::new("faketime").args(["-m", "-f", "+0", "printenv", "LD_PRELOAD"]).output();
    String::from_utf8(output.unwrap().stdout).unwrap().trim().to_owned()
}
