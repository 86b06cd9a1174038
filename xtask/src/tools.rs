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
    pub(crate) version: Version,
    pub(crate) why: &'static str,
    /// Succeeds when the tool is there, and prints its version.
    check: &'static str,
    install: Install,
}

/// Which versions of a tool do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Version {
    Any,
    Exactly(&'static str),
    AtLeast(&'static str),
}

#[derive(Debug)]
enum Install {
    /// A component of the Rust toolchain.
    Component(&'static str),
    /// A program from the crate registry, named as the tool.
    Crate,
    /// A package of Debian and what descends from it.
    Debian(&'static str),
    /// By a person, who is told how.
    ByHand(&'static str),
}

const RUSTFMT: Tool = Tool {
    name: "rustfmt",
    version: Version::Any,
    why: "checks the format of the sources",
    check: "cargo fmt --version",
    install: Install::Component("rustfmt"),
};

const CLIPPY: Tool = Tool {
    name: "clippy",
    version: Version::Any,
    why: "lints the sources",
    check: "cargo clippy --version",
    install: Install::Component("clippy"),
};

const CARGO_DENY: Tool = Tool {
    name: "cargo-deny",
    version: Version::Exactly("0.20.2"),
    why: "checks licences, bans and sources of the dependencies",
    check: "cargo deny --version",
    install: Install::Crate,
};

pub(crate) const CXX: Tool = Tool {
    name: "c++",
    version: Version::Any,
    why: "compiles libFuzzer, on which the fuzz targets are built",
    check: "c++ --version",
    install: Install::Debian("g++"),
};

pub(crate) const CURL: Tool = Tool {
    name: "curl",
    version: Version::Any,
    why: "calls the broker as people do",
    check: "curl --version",
    install: Install::Debian("curl"),
};

pub(crate) const OPENSSL: Tool = Tool {
    name: "openssl",
    version: Version::Any,
    why: "judges the broker's certificates and handshakes",
    check: "openssl version",
    install: Install::Debian("openssl"),
};

pub(crate) const PROMTOOL: Tool = Tool {
    name: "promtool",
    version: Version::Any,
    why: "judges the form of the broker's metrics",
    check: "promtool --version",
    install: Install::Debian("prometheus"),
};

pub(crate) const SYSTEMD_ANALYZE: Tool = Tool {
    name: "systemd-analyze",
    version: Version::Any,
    why: "judges the broker's unit",
    check: "systemd-analyze --version",
    install: Install::Debian("systemd"),
};

pub(crate) const FAKETIME: Tool = Tool {
    name: "faketime",
    version: Version::Any,
    why: "sets the clock of one program, such as to 1970",
    check: "faketime --version",
    install: Install::Debian("faketime"),
};

pub(crate) const STRACE: Tool = Tool {
    name: "strace",
    version: Version::Any,
    why: "makes the disk of one program slow",
    check: "strace --version",
    install: Install::Debian("strace"),
};

pub(crate) const CHROMIUM: Tool = Tool {
    name: "chromium",
    version: Version::Any,
    why: "shows the dashboard",
    check: "chromium --version",
    install: Install::Debian("chromium"),
};

pub(crate) const CHROMEDRIVER: Tool = Tool {
    name: "chromedriver",
    version: Version::Any,
    why: "drives the browser in tests",
    check: "chromedriver --version",
    install: Install::Debian("chromium-driver"),
};

pub(crate) const PROTOC: Tool = Tool {
    name: "protoc",
    version: Version::Any,
    why: "builds the client of etcd, behind the feature `etcd`",
    check: "protoc --version",
    install: Install::Debian("protobuf-compiler"),
};

/// `protoc` alone does not know the types that etcd's messages are made of.
pub(crate) const PROTOC_TYPES: Tool = Tool {
    name: "google/protobuf",
    version: Version::Any,
    why: "types that the messages of etcd are made of",
    check: "find /usr/include/google/protobuf/descriptor.proto",
    install: Install::Debian("libprotobuf-dev"),
};

pub(crate) const NPM: Tool = Tool {
    name: "npm",
    version: Version::Any,
    why: "fetches axe-core, which judges the dashboard",
    check: "npm --version",
    install: Install::Debian("npm"),
};

pub(crate) const CARGO_FUZZ: Tool = Tool {
    name: "cargo-fuzz",
    version: Version::Exactly("0.13.2"),
    why: "builds the fuzz targets and replays their corpus",
    check: "cargo fuzz --version",
    install: Install::Crate,
};

pub(crate) const CARGO_DEB: Tool = Tool {
    name: "cargo-deb",
    version: Version::Exactly("3.8.0"),
    why: "makes Debian packages",
    check: "cargo deb --version",
    install: Install::Crate,
};

pub(crate) const DPKG_DEV: Tool = Tool {
    name: "dpkg-shlibdeps",
    version: Version::Any,
    why: "says what a package depends on",
    check: "dpkg-shlibdeps --version",
    install: Install::Debian("dpkg-dev"),
};

pub(crate) const DEBOOTSTRAP: Tool = Tool {
    name: "debootstrap",
    version: Version::Any,
    why: "makes a small Debian, in which packages are tried",
    check: "debootstrap --version",
    install: Install::Debian("debootstrap"),
};

pub(crate) const IP: Tool = Tool {
    name: "ip",
    version: Version::Any,
    why: "gives tests a network of their own",
    check: "ip -Version",
    install: Install::Debian("iproute2"),
};

/// Debian 12 and 13 have older ones: to install those would help nobody.
pub(crate) const GO: Tool = Tool {
    name: "go",
    version: Version::AtLeast("1.26.0"),
    why: "builds the Kubernetes and etcd that tests run on",
    check: "go version",
    install: Install::ByHand(
        "install it from https://go.dev/dl, with its `bin` folder in PATH \
         (Debian's `golang-go` is older up to Debian 13)",
    ),
};

/// These tools look at a few files: to optimise them takes far longer than they run.
const QUICKLY_BUILT: &str = "--config profile.release.opt-level=0 \
     --config profile.release.lto=false --config profile.release.codegen-units=16";

/// Everything `cargo xtask setup` installs, in this order.
pub(crate) const ALL: &[Tool] = &[
    RUSTFMT,
    CLIPPY,
    CARGO_DENY,
    CURL,
    OPENSSL,
    SYSTEMD_ANALYZE,
    PROMTOOL,
    FAKETIME,
    STRACE,
    CXX,
    CHROMIUM,
    CHROMEDRIVER,
    PROTOC,
    PROTOC_TYPES,
    NPM,
    CARGO_FUZZ,
    CARGO_DEB,
    DPKG_DEV,
    DEBOOTSTRAP,
    IP,
    GO,
];

impl Tool {
    /// The name, with the version where one is asked for.
    pub(crate) fn label(&self) -> String {
        match self.version {
            Version::Any => self.name.to_owned(),
            Version::Exactly(version) => format!("{} {version}", self.name),
            Version::AtLeast(version) => format!("{} {version} or later", self.name),
        }
    }

    pub(crate) fn is_present(&self, root: &Path) -> bool {
        Invocation::new(self.check)
            .output(root)
            .is_some_and(|printed| self.accepts_version(&printed))
    }

    fn accepts_version(&self, printed: &str) -> bool {
        let mut words = printed.split_whitespace();
        match self.version {
            Version::Any => true,
            Version::Exactly(version) => words.any(|word| word == version),
            Version::AtLeast(version) => {
                let oldest = numbers(version);
                words.filter_map(|word| numbers(word.trim_start_matches(self.name))).max() >= oldest
            }
        }
    }

    /// The commands that install the tool.
    pub(crate) fn installation(&self) -> Vec<Invocation> {
        match self.install {
            Install::Component(component) => {
                vec![Invocation::new(&format!("rustup component add {component}"))]
            }
            // Forced, as a copy of another version may lie in the way.
            Install::Crate => {
                let pin = match self.version {
                    Version::Exactly(version) => format!("--version ={version}"),
                    Version::AtLeast(version) => format!("--version >={version}"),
                    Version::Any => String::new(),
                };
                let install = format!("cargo install --locked --force {} {pin}", self.name);
                vec![Invocation::new(&format!("{install} {QUICKLY_BUILT}"))]
            }
            Install::Debian(package) => vec![
                Invocation::new("apt-get update"),
                Invocation::new(&format!(
                    "apt-get install --yes --no-install-recommends {package}"
                )),
            ],
            Install::ByHand(_) => Vec::new(),
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
            Install::ByHand(how) => how.to_owned(),
        }
    }
}

/// The numbers of a version such as `1.26.8`; none for other words.
fn numbers(word: &str) -> Option<Vec<u32>> {
    word.split('.').map(|part| part.parse().ok()).collect()
}

/// Succeeds when everything with all features can be built, and these tools are there.
pub(crate) fn require_for_all_features(root: &Path, tools: &[&Tool]) -> Result<(), String> {
    require(root, &[&PROTOC, &PROTOC_TYPES])?;
    require(root, tools)
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
        version: Version::Exactly("1.2.3"),
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
    fn an_older_version_is_not_accepted_where_a_newer_is_needed() {
        assert!(GO.accepts_version("go version go1.26.0 linux/amd64"));
        assert!(GO.accepts_version("go version go1.30 linux/amd64"));
        assert!(GO.accepts_version("go version go2.0.1 linux/amd64"));
        assert!(!GO.accepts_version("go version go1.19.8 linux/amd64"));
        assert!(!GO.accepts_version("go version devel linux/amd64"));
    }

    #[test]
    fn the_go_that_is_asked_for_is_what_the_pinned_modules_need() {
        let Version::AtLeast(version) = GO.version else {
            panic!("a newer Go does as well");
        };
        assert_eq!(version, rear_testbed::artifacts::go_version());
    }

    #[test]
    fn what_cannot_be_installed_says_what_a_person_can_do() {
        assert_eq!(lines(&GO), [""; 0]);
        assert!(GO.by_hand().contains("https://go.dev/dl"));
        assert_eq!(GO.label(), "go 1.26.0 or later");
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
        let [install] = &lines(&MISSING)[..] else { panic!("one command") };
        assert!(install.starts_with("cargo install --locked --force sundial --version =1.2.3 "));
        assert!(install.ends_with("--config profile.release.codegen-units=16"), "{install}");
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
            let pinned = matches!(tool.version, Version::Exactly(_));
            assert!(!from_registry || pinned, "{} is pinned", tool.name);
        }
    }
}
