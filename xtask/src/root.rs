//! Finds the workspace root, which is the current directory of everything that runs.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::failed::Failed;

/// `cargo run` names this crate's directory in the environment; started by hand, the
/// program looks from where it stands.
pub(crate) fn workspace_root() -> Result<PathBuf, Failed> {
    let start = match env::var_os("CARGO_MANIFEST_DIR") {
        Some(directory) => PathBuf::from(directory),
        None => env::current_dir().map_err(|error| {
            eprintln!("error: the current directory cannot be read: {error}");
            Failed
        })?,
    };
    enclosing_workspace(&start).ok_or_else(|| {
        eprintln!("error: no workspace around {}: run this inside the project", start.display());
        Failed
    })
}

fn enclosing_workspace(start: &Path) -> Option<PathBuf> {
    start.ancestors().find(|directory| is_workspace_root(directory)).map(Path::to_path_buf)
}

fn is_workspace_root(directory: &Path) -> bool {
    fs::read_to_string(directory.join("Cargo.toml"))
        .is_ok_and(|manifest| manifest.lines().any(|line| line.trim() == "[workspace]"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::Planted;

    #[test]
    fn the_root_is_found_from_inside_a_member() {
        let planted = Planted::new(&[
            ("Cargo.toml", "[workspace]\nmembers = [\"tool\"]\n"),
            ("tool/Cargo.toml", "[package]\nname = \"tool\"\n"),
            ("tool/src/main.rs", ""),
        ]);
        let found = enclosing_workspace(&planted.root().join("tool/src"));
        assert_eq!(found.as_deref(), Some(planted.root()));
    }

    #[test]
    fn a_package_without_a_workspace_is_no_root() {
        let planted = Planted::new(&[("Cargo.toml", "[package]\nname = \"alone\"\n")]);
        assert!(!is_workspace_root(planted.root()));
    }
}
