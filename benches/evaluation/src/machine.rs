//! What the figures were measured on.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// A machine at the time of a test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor, in its maker's words.
    pub processor: String,
    /// How many of its threads may be used.
    pub cores: usize,
    /// In bytes.
    pub memory: u64,
    /// The system's kernel.
    pub kernel: String,
    /// On what the ledgers are written.
    pub file_system: String,
    /// How many processes wanted to run, on average over the minute before: near 0 on a quiet machine.
    pub load: String,
    /// The commit of the source.
    pub commit: String,
    /// Whether the programs are optimised.
    pub optimised: bool,
}

impl Machine {
    /// This one, with ledgers below a folder.
    #[must_use]
    pub fn here(folder: &Path) -> Self {
        Self {
            processor: value_of("/proc/cpuinfo", "model name").unwrap_or_default(),
            cores: std::thread::available_parallelism().map_or(1, Into::into),
            memory: value_of("/proc/meminfo", "MemTotal").map_or(0, |told| kibibytes(&told)),
            kernel: read("/proc/sys/kernel/osrelease"),
            file_system: file_system(folder, &read("/proc/self/mounts")),
            load: read("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned(),
            commit: commit(),
            optimised: !cfg!(debug_assertions),
        }
    }

    /// In a few words.
    #[must_use]
    pub fn in_short(&self) -> String {
        format!("{} cores", self.cores)
    }

    /// In a sentence.
    #[must_use]
    pub fn in_full(&self) -> String {
        let Self { processor, cores, memory, kernel, file_system, load, commit, optimised } = self;
        let build = if *optimised { "release build" } else { "build without optimisation" };
        format!(
            "{cores} cores of {processor}, {} MiB of memory, Linux {kernel}, ledgers on {file_system}; \
             load before the test {load}; commit {commit}, {build}.",
            memory >> 20
        )
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// The value of the first line with this name, in the form that Linux has for them.
fn value_of(path: &str, name: &str) -> Option<String> {
    let text = read(path);
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim_start_matches([' ', '\t', ':']).trim().to_owned())
}

fn kibibytes(text: &str) -> u64 {
    text.strip_suffix(" kB").and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// The kind of the deepest mount that the folder is below.
fn file_system(folder: &Path, mounts: &str) -> String {
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let mounted = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (place, kind) = (fields.next()?, fields.next()?);
        folder.starts_with(place).then_some((place.len(), kind))
    });
    // Of several at one place, the last one counts.
    let deepest = mounted.max_by_key(|(depth, _)| *depth);
    deepest.map_or_else(|| "an unknown file system".to_owned(), |(_, kind)| kind.to_owned())
}

/// Of the source that is evaluated; `-changed` if it is not as committed.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else {
        return "unknown".to_owned();
    };
    let clean = git(&["status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs"]);
    if clean.is_some_and(|changes| changes.is_empty()) { commit } else { commit + "-changed" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_cores_and_memory() {
        let here = Machine::here(Path::new("."));
        assert!(here.cores > 0 && here.memory > 0, "{here:?}");
        assert!(!here.kernel.is_empty() && !here.file_system.is_empty(), "{here:?}");
    }

    #[test]
    fn the_deepest_mount_counts() {
        let mounts = "a / ext4 rw 0 0\nb /proc proc rw 0 0\nc /pro overlay rw 0 0\n";
        assert_eq!(file_system(Path::new("/proc/self"), mounts), "proc");
        assert_eq!(file_system(Path::new("/nowhere"), mounts), "ext4");
    }
}
