//! The description of the API is what the routes really answer: every answer in these tests is held against it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;

use super::client::Answer;

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/openapi.json")
}

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let text = std::fs::read_to_string(path()).unwrap();
    let mut document = serde_json::from_str(&text).unwrap();
    nothing_else(&mut document);
    document
});

/// A member that is not described is a mistake in an answer of ours, though clients have to bear it. Parts
/// of a whole (`allOf`) are left as they are: each describes some of its members.
fn nothing_else(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut() {
        if object.contains_key("properties") && !object.contains_key("additionalProperties") {
            object.insert("additionalProperties".into(), false.into());
        }
        for (name, member) in object.iter_mut() {
            if name != "allOf" && name != PART {
                nothing_else(member);
            }
        }
    } else if let Some(items) = schema.as_array_mut() {
        items.iter_mut().for_each(nothing_else);
    }
}

/// The one schema that is a part of another.
const PART: &str = "Obstacle";

/// With `BLESS=1` in the environment it writes what the program prints.
#[test]
fn the_committed_description_is_what_the_program_prints() {
    let output = Command::new(env!("CARGO_BIN_EXE_rear-broker")).arg("openapi").output().unwrap();
    assert!(output.status.success());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path(), &output.stdout).unwrap();
    }
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(std::fs::read_to_string(path()).unwrap() == printed, "run this test with BLESS=1");
    assert!(printed.starts_with("{\n  \"openapi\": \"3.1."));
}

/// Panics over an answer that is not described.
pub(crate) fn check(method: &str, target: &str, answer: &Answer) {
    let path = target.split('?').next().unwrap();
    // Too long a head is refused before there is a route.
    if answer.status == 431 {
        return;
    }
    let Some(operation) = operation(method, path) else {
        assert!(matches!(answer.status, 401 | 404 | 405), "{method} {path} is not described");
        return;
    };
    let response = &operation["responses"][answer.status.to_string()];
    assert!(response.is_object(), "{method} {path}: {} is not described", answer.status);
    let kind = answer.header("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap();
    let content = &response["content"][kind];
    assert!(content.is_object(), "{method} {path}: {} as {kind} is not described", answer.status);
    if kind.ends_with("json") {
        let mut schema = content["schema"].clone();
        schema["components"] = DOCUMENT["components"].clone();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let body = answer.json();
        let errors: Vec<String> = validator.iter_errors(&body).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{method} {path}: {errors:?} in {body}");
    }
}

fn operation(method: &str, path: &str) -> Option<&'static Value> {
    let paths = DOCUMENT["paths"].as_object().unwrap();
    let fits = |template: &str| {
        let (mut a, mut b) = (template.split('/'), path.split('/'));
        a.by_ref().zip(b.by_ref()).all(|(a, b)| a.starts_with('{') || a == b)
            && template.split('/').count() == path.split('/').count()
    };
    let (_, found) = paths.iter().find(|(template, _)| fits(template))?;
    found.get(method.to_lowercase())
}

#[test]
fn every_operation_has_a_name_of_its_own() {
    let mut names: Vec<&str> = DOCUMENT["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|path| path.as_object().unwrap().values())
        .map(|operation| operation["operationId"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
    assert!(all >= 15);
}
