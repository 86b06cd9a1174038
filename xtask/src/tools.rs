//! The table of tools that the suites and the checks need beside Rust itself.
//!
//! A further tool is one more constant and its place in [`ALL`]; another way of
//! installing is one more case of [`Install`].

use std::path::Path;

use crate::invocation::Invocation;

/// Something to be installed once for each machine.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    /// The exact version, or none where any version does.
    pub(crate) version: Option<&'static str>,
    pub(crate) why: &'static str,
    /// Succeeds when the tool is there, and prints its version.
    check: &'static str,
    install: Install,
}

#[derive(Debug)]
enum Install {
    /// A component of the Rust toolchain.
    Component(&'static str),
    /// A program from the crate registry, named as the tool.
    Crate,
    /// A package of Debian and what descends from it.
    Debian(&'static str),
}

const RUSTFMT: Tool = Tool {
    name: "rustfmt",
    version: None,
    why: "checks the format of the sources",
    check: "cargo fmt --version",
    install: Install::Component("rustfmt"),
};

const CLIPPY: Tool = Tool {
    name: "clippy",
    version: None,
    why: "lints the sources",
    check: "cargo clippy --version",
    install: Install::Component("clippy"),
};

const CARGO_DENY: Tool = Tool {
    name: "cargo-deny",
    version: Some("0.20.2"),
    why: "checks licences, bans and sources of the dependencies",
    check: "cargo deny --version",
    install: Install::Crate,
};

pub(crate) const CXX: Tool = Tool {
    name: "c++",
    version: None,
    why: "compiles libFuzzer, on which the fuzz targets are built",
    check: "c++ --version",
    install: Install::Debian("g++"),
};

pub(crate) const CARGO_FUZZ: Tool = Tool {
    name: "cargo-fuzz",
    version: Some("0.13.2"),
    why: "builds the fuzz targets and replays their corpus",
    check: "cargo fuzz --version",
    install: Install::Crate,
};

/// Everything `cargo xtask setup` installs, in this order.
pub(crate) const ALL: &[Tool] = &[RUSTFMT, CLIPPY, CARGO_DENY, CXX, CARGO_FUZZ];

impl Tool {
    /// The name, with the version where one is asked for.
    pub(crate) fn label(&self) -> String {
        match self.version {
            Some(version) => format!("{} {version}", self.name),
            None => self.name.to_owned(),
        }
    }

    pub(crate) fn is_present(&self, root: &Path) -> bool {
        Invocation::new(self.check)
            .output(root)
            .is_some_and(|printed| self.accepts_version(&printed))
    }

    fn accepts_version(&self, printed: &str) -> bool {
        self.version.is_none_or(|version| printed.split_whitespace().any(|word| word == version))
    }

    /// The commands that install the tool.
    pub(crate) fn installation(&self) -> Vec<Invocation> {
        match self.install {
            Install::Component(component) => {
                vec![Invocation::new(&format!("rustup component add {component}"))]
            }
            // Forced, as a copy of another version may lie in the way.
            Install::Crate => {
                let pin = self.version.map(|version| format!("--version ={version}"));
                vec![Invocation::new(&format!(
                    "cargo install --locked --force {} {}",
                    self.name,
                    pin.unwrap_or_default()
                ))]
            }
            Install::Debian(package) => vec![
                Invocation::new("apt-get update"),
                Invocation::new(&format!(
                    "apt-get install --yes --no-install-recommends {package}"
                )),
            ],
        }
    }

    /// What a person can do where the installation does not work.
    pub(crate) fn by_hand(&self) -> String {
        match self.install {
            Install::Component(component) => {
                format!("without rustup, install `{component}` from where your Rust came from")
            }
            Install::Crate => "see the messages above: the crate registry must be reachable".into(),
            Install::Debian(package) => {
                format!("as root, install Debian's `{package}` or what your system calls it")
            }
        }
    }
}

/// Succeeds when all the tools are there; otherwise names the first missing one and the remedy.
pub(crate) fn require(root: &Path, tools: &[&Tool]) -> Result<(), String> {
    match tools.iter().find(|tool| !tool.is_present(root)) {
        None => Ok(()),
        Some(tool) => Err(format!("{} is missing: run `cargo xtask setup`", tool.label())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MISSING: Tool = Tool {
        name: "sundial",
        version: Some("1.2.3"),
        why: "tells the time",
        check: "no-such-program-anywhere --version",
        install: Install::Crate,
    };

    fn lines(tool: &Tool) -> Vec<String> {
        tool.installation().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn only_the_pinned_version_is_accepted() {
        assert!(MISSING.accepts_version("sundial 1.2.3\n"));
        assert!(!MISSING.accepts_version("sundial 1.2.30\n"));
        assert!(!MISSING.accepts_version("sundial 1.2.4\n"));
    }

    #[test]
    fn any_version_is_accepted_where_none_is_pinned() {
        assert!(CXX.accepts_version("c++ (Some 12.1) 7"));
    }

    #[test]
    fn a_missing_tool_is_named_with_its_version_and_the_remedy() {
        assert_eq!(
            require(Path::new("."), &[&MISSING]),
            Err("sundial 1.2.3 is missing: run `cargo xtask setup`".to_owned())
        );
        assert_eq!(require(Path::new("."), &[]), Ok(()));
    }

    #[test]
    fn each_kind_of_tool_has_its_way_of_installing() {
        assert_eq!(lines(&CLIPPY), ["rustup component add clippy"]);
        assert_eq!(lines(&MISSING), ["cargo install --locked --force sundial --version =1.2.3"]);
        assert_eq!(
            lines(&CXX),
            ["apt-get update", "apt-get install --yes --no-install-recommends g++"]
        );
    }

    #[test]
    fn every_tool_of_the_registry_is_pinned_and_says_why() {
        for tool in ALL {
            assert!(!tool.why.is_empty(), "{} says why", tool.name);
            let from_registry = matches!(tool.install, Install::Crate);
            assert!(!from_registry || tool.version.is_some(), "{} is pinned", tool.name);
        }
    }
}
