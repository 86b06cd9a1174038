//! What a package depends on, however its manifest says so.

use std::collections::{BTreeMap, HashMap};

use super::toml::Entry;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Normal,
    Build,
    Dev,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dependency {
    /// The package's own name, where the manifest renames it.
    pub(super) package: String,
    pub(super) kind: Kind,
    pub(super) line: usize,
}

/// New names of packages in `[workspace.dependencies]`, which members inherit.
pub(super) type Renames = HashMap<String, String>;

pub(super) fn workspace_renames(entries: &[Entry]) -> Renames {
    let rename = |entry: &Entry| match words(entry).as_slice() {
        ["workspace", "dependencies", alias, "package"] => {
            Some(((*alias).to_owned(), entry.value.clone()))
        }
        _ => None,
    };
    entries.iter().filter_map(rename).collect()
}

/// The dependencies in the order of their lines. One that several tables name is there
/// once for each of them.
pub(super) fn dependencies(entries: &[Entry], renames: &Renames) -> Vec<Dependency> {
    let mut found: BTreeMap<&[String], Dependency> = BTreeMap::new();
    for entry in entries {
        let Some((kind, length)) = dependency_key(entry) else {
            continue;
        };
        let (key, field) = entry.key.split_at(length);
        let dependency = found.entry(key).or_insert_with(|| Dependency {
            package: key[length - 1].clone(),
            kind,
            line: entry.line,
        });
        if field == ["package"] {
            dependency.package.clone_from(&entry.value);
        } else if field == ["workspace"]
            && let Some(package) = renames.get(&key[length - 1])
        {
            dependency.package.clone_from(package);
        }
    }
    let mut dependencies: Vec<_> = found.into_values().collect();
    dependencies.sort_by_key(|dependency| dependency.line);
    dependencies
}

/// The kind of dependency that an entry is about, and how many words of its key name it.
fn dependency_key(entry: &Entry) -> Option<(Kind, usize)> {
    match words(entry).as_slice() {
        ["target", _, table, _, ..] => Some((kind(table)?, 4)),
        [table, _, ..] => Some((kind(table)?, 2)),
        _ => None,
    }
}

fn kind(table: &str) -> Option<Kind> {
    match table {
        "dependencies" => Some(Kind::Normal),
        "build-dependencies" | "build_dependencies" => Some(Kind::Build),
        "dev-dependencies" | "dev_dependencies" => Some(Kind::Dev),
        _ => None,
    }
}

fn words(entry: &Entry) -> Vec<&str> {
    entry.key.iter().map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::super::toml::entries;
    use super::*;

    fn found(manifest: &str) -> Vec<(String, Kind, usize)> {
        dependencies(&entries(manifest), &Renames::new())
            .into_iter()
            .map(|dependency| (dependency.package, dependency.kind, dependency.line))
            .collect()
    }

    #[test]
    fn every_shape_of_a_dependency_is_read() {
        for manifest in [
            "[dependencies]\nclock = \"1\"",
            "[dependencies]\nclock = { version = \"1\", features = [\n\"fast\",\n] }",
            "[dependencies]\nclock.workspace = true\nclock.features = [\"fast\"]",
            "[dependencies]\n\"clock\" = \"1\"",
            "[dependencies] # note\nclock = { path = \"../clock\" } # note",
            "\n[dependencies.clock]\nversion = \"1\"\nfeatures = [\"fast\"]",
            "\n[target.'cfg(unix)'.dependencies.clock]\nworkspace = true",
            "[target.'cfg(target_os = \"linux\")'.dependencies]\nclock = \"1\"",
            "[target.x86_64-unknown-linux-gnu.dependencies]\nclock = \"1\"",
            "\ndependencies = { clock = \"1\" }",
            "[dependencies]\ntime = { package = \"clock\", version = \"1\" }",
            "\n[dependencies.time]\nversion = \"1\"\npackage = \"clock\"",
        ] {
            assert_eq!(found(manifest), [("clock".to_owned(), Kind::Normal, 2)], "{manifest}");
        }
    }

    #[test]
    fn kinds_are_told_apart() {
        let manifest = "[dev-dependencies]\na = \"1\"\n[build-dependencies]\nb = \"1\"\n\
                        [target.'cfg(unix)'.dev-dependencies]\nc = \"1\"\n\
                        [dev-dependencies.d]\nversion = \"1\"\n";
        assert_eq!(
            found(manifest),
            [
                ("a".to_owned(), Kind::Dev, 2),
                ("b".to_owned(), Kind::Build, 4),
                ("c".to_owned(), Kind::Dev, 6),
                ("d".to_owned(), Kind::Dev, 7),
            ]
        );
    }

    #[test]
    fn other_tables_are_no_dependencies() {
        let manifest = "[package]\nname = \"x\"\n[features]\nclock = [\"dep:clock\"]\n\
                        [workspace.dependencies]\nclock = \"1\"\n[lints]\nworkspace = true\n";
        assert_eq!(found(manifest), []);
    }

    #[test]
    fn a_new_name_given_by_the_workspace_is_followed() {
        let workspace =
            entries("[workspace.dependencies]\ntime = { package = \"clock\", version = \"1\" }");
        let member = entries("[dependencies]\ntime.workspace = true\nother.workspace = true");
        let names: Vec<_> = dependencies(&member, &workspace_renames(&workspace))
            .into_iter()
            .map(|dependency| dependency.package)
            .collect();
        assert_eq!(names, ["clock", "other"]);
    }
}
