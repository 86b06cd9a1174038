//! A Dockerfile as far as ours use it, so that a test can do in a chroot what a container engine would do.

use std::collections::BTreeMap;

use thiserror::Error;

/// A stage: what it begins from, and what is done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stage {
    /// The image that it begins from, with arguments filled in.
    pub from: String,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// What is done, in order.
    pub steps: Vec<Step>,
}

/// One instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Run a command line.
    Run(String),
    /// Copy a file, of another stage if one is named.
    Copy {
        /// The stage.
        stage: Option<String>,
        /// The file.
        source: String,
        /// Where it goes.
        target: String,
    },
    /// Go to a folder, which is made.
    Workdir(String),
    /// As whom everything after it runs: `UID:GID`.
    User(String),
    /// The program that a container runs.
    Entrypoint(Vec<String>),
    /// Its arguments, unless others are given.
    Command(Vec<String>),
    /// What is said about the image: ports, volumes, labels.
    Said(String),
}

/// Why a file cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is nothing that is known here")]
pub struct ContainerFileError(pub String);

/// The stages of a file, with these values of its arguments in the place of their defaults.
pub fn stages(
    text: &str,
    arguments: &BTreeMap<String, String>,
) -> Result<Vec<Stage>, ContainerFileError> {
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    let mut stages: Vec<Stage> = Vec::new();
    for line in lines(text) {
        let unknown = || ContainerFileError(line.clone());
        let (word, rest) = line.split_once(' ').ok_or_else(unknown)?;
        let rest = filled(rest.trim(), &values);
        match (word, stages.last_mut()) {
            ("ARG", _) => {
                let (name, default) = rest.split_once('=').unwrap_or((&rest, ""));
                let value = arguments.get(name).map_or(default, String::as_str);
                values.insert(name.to_owned(), value.to_owned());
            }
            ("FROM", _) => {
                let (from, name) =
                    rest.split_once(" AS ").map_or((&*rest, None), |(a, b)| (a, Some(b)));
                let name = name.map(str::to_owned);
                stages.push(Stage { from: from.to_owned(), name, steps: Vec::new() });
            }
            (_, Some(stage)) => stage.steps.push(step(word, &rest).ok_or_else(unknown)?),
            (_, None) => return Err(unknown()),
        }
    }
    Ok(stages)
}

fn step(word: &str, rest: &str) -> Option<Step> {
    match word {
        "RUN" => Some(Step::Run(rest.to_owned())),
        "COPY" => copy(rest),
        "WORKDIR" => Some(Step::Workdir(rest.to_owned())),
        "USER" => Some(Step::User(rest.to_owned())),
        "ENTRYPOINT" => serde_json::from_str(rest).ok().map(Step::Entrypoint),
        "CMD" => serde_json::from_str(rest).ok().map(Step::Command),
        "EXPOSE" | "VOLUME" | "LABEL" => Some(Step::Said(format!("{word} {rest}"))),
        _ => None,
    }
}

fn copy(rest: &str) -> Option<Step> {
    let words: Vec<_> = rest.split_whitespace().collect();
    match words[..] {
        [stage, source, target] => Some(Step::Copy {
            stage: Some(stage.strip_prefix("--from=")?.to_owned()),
            source: source.to_owned(),
            target: target.to_owned(),
        }),
        [source, target] => {
            Some(Step::Copy { stage: None, source: source.to_owned(), target: target.to_owned() })
        }
        _ => None,
    }
}

/// Without comments and empty lines, and with lines joined that end in a backslash.
fn lines(text: &str) -> Vec<String> {
    let mut joined = Vec::new();
    let mut begun = String::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        match line.trim_end().strip_suffix('\\') {
            Some(part) => begun.push_str(part),
            None => joined.push(std::mem::take(&mut begun) + line.trim_end()),
        }
    }
    joined.into_iter().filter(|line| !line.trim().is_empty()).collect()
}

fn filled(text: &str, values: &BTreeMap<String, String>) -> String {
    values
        .iter()
        .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${{{name}}}"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# A comment\nARG BASE=debian\nFROM rust AS build\nRUN cargo build \\\n    --release\n\n\
        FROM ${BASE}\nCOPY --from=build /a /b\nUSER 1:2\nEXPOSE 80\nENTRYPOINT [\"/b\"]\nCMD [\"serve\", \"x\"]\n";

    #[test]
    fn a_file_is_its_stages_with_what_is_done_in_each() {
        let stages = stages(FILE, &BTreeMap::new()).expect("it can be followed");
        let [build, image] = &stages[..] else { panic!("two stages: {stages:?}") };
        assert_eq!((build.from.as_str(), build.name.as_deref()), ("rust", Some("build")));
        assert_eq!(build.steps, [Step::Run("cargo build     --release".to_owned())]);
        assert_eq!((image.from.as_str(), image.name.as_deref()), ("debian", None));
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        assert_eq!(
            image.steps,
            [
                Step::Copy {
                    stage: Some("build".to_owned()),
                    source: "/a".to_owned(),
                    target: "/b".to_owned()
                },
                Step::User("1:2".to_owned()),
                Step::Said("EXPOSE 80".to_owned()),
                Step::Entrypoint(words(&["/b"])),
                Step::Command(words(&["serve", "x"])),
            ]
        );
    }

    #[test]
    fn an_argument_takes_the_place_of_its_default() {
        let given = BTreeMap::from([("BASE".to_owned(), "other".to_owned())]);
        assert_eq!(stages(FILE, &given).expect("it can be followed")[1].from, "other");
    }

    #[test]
    fn what_is_not_known_is_an_error() {
        for text in ["RUN early\n", "FROM a\nHEALTHCHECK b\n", "FROM a\nCMD serve\n"] {
            assert!(stages(text, &BTreeMap::new()).is_err(), "{text}");
        }
    }
}
