//! The suite that replays the committed corpus of every fuzz target, without fuzzing.

use std::fs;
use std::io;
use std::path::Path;

use crate::invocation::Invocation;
use crate::tools::{self, CARGO_FUZZ, CXX};

const TARGETS: &str = "fuzz/fuzz_targets";
const CORPUS: &str = "fuzz/corpus";

/// An input that takes longer hangs: the targets answer within milliseconds.
const SECONDS_FOR_AN_INPUT: u32 = 60;

pub(crate) fn requirement(root: &Path) -> Result<(), String> {
    if targets(root).is_empty() {
        return Err(format!("there is no fuzz target: add one to `{TARGETS}`"));
    }
    tools::require(root, &[&CXX, &CARGO_FUZZ])
}

/// One replay for each target. A target with nothing to replay is an error: its line in
/// the summary would claim what was not shown.
pub(crate) fn commands(root: &Path) -> Result<Vec<Invocation>, String> {
    targets(root)
        .into_iter()
        .map(|target| {
            if has_files(&root.join(CORPUS).join(&target)) {
                Ok(replay(&target))
            } else {
                Err(format!("`{CORPUS}/{target}` has no inputs: commit some for this target"))
            }
        })
        .collect()
}

/// Zero runs make libFuzzer execute the corpus and end. Sanitizers need a nightly
/// toolchain, and optimisation takes longer than the replay.
fn replay(target: &str) -> Invocation {
    Invocation::new(&format!(
        "cargo fuzz run --dev --sanitizer none {target} -- -runs=0 -timeout={SECONDS_FOR_AN_INPUT}"
    ))
}

/// The names of the targets, which are the names of their files.
fn targets(root: &Path) -> Vec<String> {
    let mut targets: Vec<_> = file_names(&root.join(TARGETS))
        .unwrap_or_default()
        .iter()
        .filter_map(|name| name.strip_suffix(".rs"))
        .map(str::to_owned)
        .collect();
    targets.sort_unstable();
    targets
}

fn has_files(directory: &Path) -> bool {
    file_names(directory).is_ok_and(|names| !names.is_empty())
}

fn file_names(directory: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::Planted;

    #[test]
    fn every_target_is_replayed_in_the_order_of_names() {
        let planted = Planted::new(&[
            ("fuzz/fuzz_targets/quantity.rs", ""),
            ("fuzz/fuzz_targets/ledger.rs", ""),
            ("fuzz/fuzz_targets/README.md", ""),
            ("fuzz/corpus/quantity/first", "1"),
            ("fuzz/corpus/ledger/first", "1"),
        ]);
        let lines: Vec<_> = commands(planted.root())
            .expect("both targets have a corpus")
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            lines,
            [
                "cargo fuzz run --dev --sanitizer none ledger -- -runs=0 -timeout=60",
                "cargo fuzz run --dev --sanitizer none quantity -- -runs=0 -timeout=60",
            ]
        );
    }

    #[test]
    fn a_target_without_a_corpus_is_an_error_that_names_it() {
        let planted = Planted::new(&[("fuzz/fuzz_targets/quantity.rs", "")]);
        assert_eq!(
            commands(planted.root()),
            Err("`fuzz/corpus/quantity` has no inputs: commit some for this target".to_owned())
        );
    }

    #[test]
    fn without_targets_the_suite_cannot_run() {
        let planted = Planted::new(&[]);
        assert_eq!(
            requirement(planted.root()),
            Err("there is no fuzz target: add one to `fuzz/fuzz_targets`".to_owned())
        );
    }
}
