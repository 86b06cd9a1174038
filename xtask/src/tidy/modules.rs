//! The files in which the modules that a Rust file declares may live.

use std::path::{Path, PathBuf};

use super::declarations::{Attributes, Declaration, declarations};

/// A file of a crate, and whether its submodules lie beside it, as for the first file of
/// a target and for `mod.rs`, or in a directory of its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SourceFile {
    pub(super) path: PathBuf,
    pub(super) beside: bool,
}

/// Every file in which a module that this file declares may live.
pub(super) fn declared_files(file: &SourceFile, text: &str) -> Vec<SourceFile> {
    declarations(text).iter().flat_map(|declaration| places(file, declaration)).collect()
}

fn places(file: &SourceFile, declaration: &Declaration) -> Vec<SourceFile> {
    let here = file.path.parent().unwrap_or(Path::new(""));
    let submodules = if file.beside { here.to_path_buf() } else { file.path.with_extension("") };
    let nested = declaration.inside.iter().fold(submodules, |path, module| path.join(module));
    let base = if declaration.inside.is_empty() { here } else { nested.as_path() };
    let Attributes { paths, conditional } = &declaration.attributes;
    let mut places: Vec<_> =
        paths.iter().map(|path| SourceFile { path: base.join(path), beside: true }).collect();
    if places.is_empty() || *conditional {
        let name = &declaration.name;
        places.push(SourceFile { path: nested.join(format!("{name}.rs")), beside: false });
        places.push(SourceFile { path: nested.join(name).join("mod.rs"), beside: true });
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files that the text of `src/a.rs` may declare.
    fn files(text: &str) -> Vec<String> {
        let file = SourceFile { path: "src/a.rs".into(), beside: false };
        declared_files(&file, text).iter().map(|file| file.path.display().to_string()).collect()
    }

    #[test]
    fn a_module_lives_in_a_file_or_a_directory_of_its_name() {
        assert_eq!(files("mod x;"), ["src/a/x.rs", "src/a/x/mod.rs"]);
    }

    #[test]
    fn modules_of_a_first_file_lie_beside_it() {
        let file = SourceFile { path: "tests/all/main.rs".into(), beside: true };
        let paths: Vec<_> =
            declared_files(&file, "mod x;").into_iter().map(|file| file.path).collect();
        assert_eq!(paths, [Path::new("tests/all/x.rs"), Path::new("tests/all/x/mod.rs")]);
    }

    #[test]
    fn modules_with_braces_are_directories() {
        assert_eq!(
            files("mod outer { mod inner { fn f() {} mod x; } mod y; }\nmod z;"),
            [
                "src/a/outer/inner/x.rs",
                "src/a/outer/inner/x/mod.rs",
                "src/a/outer/y.rs",
                "src/a/outer/y/mod.rs",
                "src/a/z.rs",
                "src/a/z/mod.rs",
            ]
        );
    }

    #[test]
    fn a_path_takes_the_place_of_the_usual_files() {
        assert_eq!(files("#[path = \"odd/name.rs\"]\n#[cfg(test)]\nmod x;"), ["src/odd/name.rs"]);
        assert_eq!(files("mod o { #[path = \"name.rs\"] mod x; }"), ["src/a/o/name.rs"]);
    }

    #[test]
    fn a_path_under_a_condition_adds_to_the_usual_files() {
        assert_eq!(
            files("#[cfg_attr(unix, path = \"unix.rs\")]\nmod x;"),
            ["src/unix.rs", "src/a/x.rs", "src/a/x/mod.rs"]
        );
    }
}
