//! The workflows of a hosted CI are valid, and run what everyone can run here.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use super::tree::{root, text};

/// Each workflow by its name.
fn workflows() -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join(".github/workflows")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let workflow = text(&format!(".github/workflows/{name}"));
        let workflow = serde_saphyr::from_str(&workflow);
        found.push((name.clone(), workflow.unwrap_or_else(|error| panic!("{name}: {error}"))));
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found
}

/// Each step of each job.
fn steps(workflow: &Value) -> Vec<&Value> {
    let jobs = workflow["jobs"].as_object().unwrap();
    jobs.values().flat_map(|job| job["steps"].as_array().unwrap()).collect()
}

/// What is run, command by command.
fn commands(workflow: &Value) -> Vec<&str> {
    let scripts = steps(workflow).into_iter().filter_map(|step| step["run"].as_str());
    scripts
        .flat_map(|script| script.split(['\n', ';']))
        .flat_map(|line| line.split("&&"))
        .map(str::trim)
        .collect()
}

#[test]
fn every_workflow_has_triggers_and_jobs_with_limits() {
    assert!(workflows().len() >= 2);
    for (name, workflow) in workflows() {
        assert!(workflow["name"].is_string() && workflow["on"].is_object(), "{name}");
        assert_eq!(workflow["permissions"]["contents"], "read", "{name}: no more than it needs");
        for (job, told) in workflow["jobs"].as_object().unwrap() {
            assert!(told["runs-on"].is_string(), "{name}: {job}");
            assert!(told["timeout-minutes"].is_u64(), "{name}: {job} could run for ever");
            for step in told["steps"].as_array().unwrap() {
                assert!(step["uses"].is_string() != step["run"].is_string(), "{name}: {step}");
            }
        }
    }
}

/// What `cargo xtask` has is looked at by `cargo xtask tidy`.
#[test]
fn whatever_they_run_is_there() {
    for (name, workflow) in workflows() {
        for command in commands(&workflow).into_iter().filter(|command| !command.is_empty()) {
            let words: Vec<_> = command.split_whitespace().collect();
            match words[..] {
                ["rustup" | "sudo", ..]
                | ["cargo", "xtask" | "install" | "deny", ..]
                | ["cargo", "fuzz", "run", "${{", "matrix.target", "}}", ..] => {}
                [script] => {
                    let rights = fs::metadata(root().join(script)).unwrap().permissions();
                    assert_eq!(rights.mode() & 0o111, 0o111, "{name}: {script} cannot be run");
                }
                _ => panic!("{name}: `{command}` is nothing that is run elsewhere"),
            }
        }
    }
}

#[test]
fn a_change_is_checked_by_the_same_command_as_here() {
    let (_, ci) = workflows().into_iter().find(|(name, _)| name == "ci.yml").unwrap();
    assert!(commands(&ci).contains(&".ci/run"));
}

#[test]
fn they_use_the_versions_that_the_project_names() {
    let manifest = text("Cargo.toml");
    let (_, rust) = manifest.split_once("rust-version = \"").unwrap();
    let rust = rust.split('"').next().unwrap();
    let tools = text("xtask/src/tools.rs");
    for (name, workflow) in workflows() {
        for command in commands(&workflow).iter().filter(|it| it.starts_with("rustup default")) {
            assert_eq!(*command, format!("rustup default {rust}"), "{name}");
        }
        for step in steps(&workflow) {
            if let Some(go) = step["with"]["go-version"].as_str() {
                assert!(tools.contains(&format!("\"{go}")), "{name}: Go {go}");
            }
        }
    }
}

#[test]
fn every_fuzz_target_is_fuzzed() {
    let (_, nightly) = workflows().into_iter().find(|(name, _)| name == "nightly.yml").unwrap();
    let fuzzed = &nightly["jobs"]["fuzz"]["strategy"]["matrix"]["target"];
    let mut targets: Vec<_> = fs::read_dir(root().join("fuzz/fuzz_targets"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    targets.sort();
    assert_eq!(fuzzed, &Value::from(targets));
}
