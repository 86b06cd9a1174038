//! Every test that needs a feature is run by some suite: a filter that names what is no longer there passes silently.

use std::fs;
use std::path::{Path, PathBuf};

use super::ALL;
use crate::root::workspace_root;

/// What a suite runs of one test target.
struct Selection {
    target: String,
    filters: Vec<String>,
    skipped: Vec<String>,
}

impl Selection {
    fn of(words: &[String]) -> Option<Self> {
        let after = |name: &'static str| words.iter().skip_while(move |word| *word != name).skip(1);
        let mut selection = Self {
            target: after("--test").next()?.clone(),
            filters: Vec::new(),
            skipped: Vec::new(),
        };
        let mut words = after("--");
        while let Some(word) = words.next() {
            match word.as_str() {
                "--skip" => selection.skipped.extend(words.next().cloned()),
                "--test-threads" => drop(words.next()),
                _ => selection.filters.push(word.clone()),
            }
        }
        Some(selection)
    }

    /// As the test harness reads filters: a part of the name is enough.
    fn runs(&self, target: &str, test: &str) -> bool {
        let named = |words: &[String]| words.iter().any(|word| test.contains(word.as_str()));
        self.target == target
            && (self.filters.is_empty() || named(&self.filters))
            && !named(&self.skipped)
    }
}

/// The modules and tests in a file of tests that are only there with a feature.
fn behind_features(module: &str, text: &str) -> Vec<String> {
    let (mut gated, mut found) = (false, Vec::new());
    for line in text.lines() {
        let name = |rest: &str| rest.split([';', '(']).next().unwrap_or_default().to_owned();
        if line.starts_with("#[cfg(feature") {
            gated = true;
        } else if !line.starts_with("#[") {
            let inner = line.strip_prefix("mod ").map(|rest| format!("{}::", name(rest)));
            let function = line.strip_prefix("fn ").map(|rest| format!("{module}::{}", name(rest)));
            found.extend(inner.or(function).filter(|_| gated));
            gated = false;
        }
    }
    found
}

#[test]
fn every_test_behind_a_feature_is_in_a_suite() {
    let root = workspace_root().unwrap();
    let commands = ALL.iter().filter_map(|suite| (suite.commands)(&root).ok()).flatten();
    let selections: Vec<_> =
        commands.filter_map(|command| Selection::of(command.words())).collect();
    let mut seen = 0;
    for target in below(&root).flat_map(|package| below(&package.join("tests"))) {
        let name = target.file_name().unwrap().to_string_lossy().into_owned();
        for file in below(&target).filter(|file| file.is_file()) {
            let module = file.file_stem().unwrap().to_string_lossy().into_owned();
            let found = behind_features(&module, &fs::read_to_string(&file).unwrap());
            for test in found.into_iter().filter(|test| has_tests(&target, test)) {
                let run = selections.iter().any(|selection| selection.runs(&name, &test));
                assert!(run, "no suite runs {test} of {}", target.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 20, "only {seen} were found");
}

/// Modules may only help others.
fn has_tests(target: &Path, test: &str) -> bool {
    let Some(module) = test.strip_suffix("::") else { return true };
    let code = fs::read_to_string(target.join(module).with_extension("rs")).unwrap();
    code.contains("#[test]") || code.lines().any(|line| line.starts_with("mod "))
}

fn below(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path())
}

#[test]
fn modules_and_tests_behind_features_are_found() {
    let text = "mod a;\n#[cfg(feature = \"x\")]\nmod b;\n#[test]\nfn c() {}\n#[cfg(feature = \"x\")]\n#[test]\nfn d() {}\n";
    assert_eq!(behind_features("m", text), ["b::", "m::d"]);
}
