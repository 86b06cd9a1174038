//! The Debian packages, as an administrator meets them: installed, started, upgraded, removed, purged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::chroot::{Chroot, Running};
use super::patience::until;
use super::programs;

const UNIT: &str = "/usr/lib/systemd/system/rear-broker.service";
const SETTINGS: &str = "/etc/rear/broker.toml";
/// As the broker's administrator.
const CTL: &str = "rearctl --broker https://localhost:8443 --certs /var/lib/rear/issued/admin";

/// What `cargo xtask package --as-tests` has made.
fn package(name: &str) -> PathBuf {
    let folder = programs::folder().parent().unwrap().join("debian-as-tests");
    let files = fs::read_dir(&folder).unwrap_or_else(|error| {
        panic!("{}: {error}: run `cargo xtask package --as-tests`", folder.display())
    });
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.file_name().unwrap().to_str().unwrap().starts_with(name));
    // Names end with version and architecture: the newest build of one version is there once.
    files.sort();
    files.pop().unwrap_or_else(|| panic!("there is no package of {name} in {}", folder.display()))
}

/// The same package as somebody may have had it before: of a smaller version, with other settings and without a comment in
/// the unit.
fn previous(package: &Path, place: &Path) -> PathBuf {
    let tree = place.join("previous");
    let deb = |words: &[&str]| {
        assert!(Command::new("dpkg-deb").args(words).status().unwrap().success(), "{words:?}");
    };
    let (from, to) = (package.to_str().unwrap(), tree.to_str().unwrap());
    deb(&["--raw-extract", from, to]);
    let control = tree.join("DEBIAN/control");
    let text = fs::read_to_string(&control).unwrap();
    let version = text.lines().find(|line| line.starts_with("Version: ")).unwrap();
    fs::write(&control, text.replace(version, "Version: 0.0.1-1")).unwrap();
    fs::write(tree.join(SETTINGS.trim_start_matches('/')), "# Of an older package.\n").unwrap();
    let built = place.join("previous.deb");
    deb(&["--build", "-Zgzip", "-z1", to, built.to_str().unwrap()]);
    built
}

/// The lines of the unit with this key.
fn unit(chroot: &Chroot, key: &str) -> Vec<String> {
    let text = fs::read_to_string(chroot.path(UNIT)).unwrap();
    let prefix = format!("{key}=");
    text.lines().filter_map(|line| line.strip_prefix(&prefix)).map(str::to_owned).collect()
}

/// Does what systemd would do: as the unit's user, with the unit's environment, first what is to be run before, then the
/// program, until it answers.
fn start(chroot: &Chroot) -> Running {
    let user = unit(chroot, "User").pop().unwrap();
    let environment = unit(chroot, "Environment").join(" ");
    let before = unit(chroot, "ExecStartPre").pop().unwrap();
    let as_user = format!(
        "setpriv --reuid {user} --regid {user} --clear-groups env -i PATH=/usr/bin:/bin {environment}"
    );
    chroot.run(&format!("{as_user} {before}"));
    let words = format!("{as_user} {}", unit(chroot, "ExecStart").pop().unwrap());
    let words: Vec<_> = words.split(' ').map(str::to_owned).collect();
    let running = chroot.start(&words);
    until("the broker answers", || {
        chroot.try_run(&format!("{CTL} clusters list")).status.success().then_some(())
    });
    running
}

/// Says as an agent what a cluster has.
fn advertise(chroot: &Chroot, cluster: &str) {
    let certificates = chroot.path(&format!("/var/lib/rear/issued/{cluster}"));
    let file = |name: &str| certificates.join(name).display().to_string();
    let amounts = r#"{"cpu":"8","memory":"16Gi"}"#;
    let nothing = r#"{"cpu":"0","memory":"0"}"#;
    let now = Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]).output().unwrap();
    let now = String::from_utf8(now.stdout).unwrap();
    let body = format!(
        r#"{{"clusterID":"{cluster}","clusterName":"{cluster}","timestamp":"{}","resources":{{"capacity":{amounts},
        "allocatable":{amounts},"allocated":{nothing},"available":{amounts}}}}}"#,
        now.trim()
    );
    let output = chroot
        .beside("curl")
        .args(["--silent", "--show-error", "--fail", "--cacert", &file("ca.crt")])
        .args(["--cert", &file("tls.crt"), "--key", &file("tls.key"), "--data", &body])
        .arg("https://localhost:8443/api/v1/advertisements")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Certificates by the command that the package names, and for two clusters.
fn let_clusters_in(chroot: &Chroot) {
    let as_user = "runuser -u rear-broker --";
    chroot
        .run(&format!("{as_user} rear-broker init --data /var/lib/rear --name broker.example.org"));
    for cluster in ["rome", "paris"] {
        chroot.run(&format!("{as_user} rear-broker certs issue {cluster} --data /var/lib/rear"));
    }
}

#[test]
fn data_and_settings_outlive_upgrade_removal_and_purge() {
    let place = tempfile::tempdir().unwrap();
    let chroot = Chroot::new();
    let broker = package("rear-broker_");
    chroot.bring(&previous(&broker, place.path()), "/packages/previous.deb");
    chroot.bring(&broker, "/packages/broker.deb");
    chroot.bring(&package("rearctl_"), "/packages/rearctl.deb");

    let told = chroot.run("dpkg --install /packages/previous.deb /packages/rearctl.deb");
    assert!(told.contains("runuser -u rear-broker -- rear-broker init"), "{told}");
    let_clusters_in(&chroot);
    let running = start(&chroot);
    advertise(&chroot, "rome");
    let reserve = CTL.replace("issued/admin", "issued/paris");
    let id = chroot.run(&format!("{reserve} reserve --cpu 2 --memory 4Gi -o name 2>/dev/null"));
    let id = id.trim();
    running.stop();
    chroot.run(&format!("echo 'max-duration = \"720h\"' >> {SETTINGS}"));

    chroot.run("dpkg --force-confdef --force-confold --install /packages/broker.deb");
    let settings = fs::read_to_string(chroot.path(SETTINGS)).unwrap();
    assert!(settings.starts_with("# Of an older package.\nmax-duration"), "{settings}");
    assert!(chroot.path("/etc/rear/broker.toml.dpkg-dist").exists(), "the new settings are beside");
    let running = start(&chroot);
    let still = chroot.run(&format!("{reserve} reservations describe {id}"));
    assert!(still.contains("Reserved"), "{still}");
    running.stop();

    chroot.run("dpkg --remove rear-broker");
    assert!(!chroot.path("/usr/bin/rear-broker").exists() && !chroot.path(UNIT).exists());
    assert!(chroot.path(SETTINGS).exists());
    assert!(chroot.path("/var/lib/rear/ledger.redb").exists());
    chroot.run("getent passwd rear-broker");

    chroot.run("dpkg --install /packages/broker.deb");
    let verified = chroot.run("runuser -u rear-broker -- rear-broker verify --data /var/lib/rear");
    assert!(verified.contains("all is well"), "{verified}");

    let told = chroot.run("dpkg --purge rear-broker");
    assert!(told.contains("in /var/lib/rear are kept; to delete them: rm -r"), "{told}");
    assert!(!chroot.path(SETTINGS).exists());
    assert!(chroot.path("/var/lib/rear/ledger.redb").exists());
    assert!(chroot.path("/var/lib/rear/ca/ca.key").exists());
}

/// Every file, except what package managers and their tools keep for themselves.
fn files(chroot: &Chroot) -> String {
    chroot.run(
        "find / -xdev \\( -path /proc -o -path /packages -o -path /var/lib/dpkg -o -path /var/cache -o -path /var/log \
         -o -path /tmp -o -path /run \\) -prune -o -not -name '*-' -not -name '.pwd.lock' -print | sort; cat /etc/passwd /etc/group",
    )
}

#[test]
fn a_package_that_was_never_used_leaves_nothing_when_it_is_purged() {
    let chroot = Chroot::new();
    let before = files(&chroot);
    for name in ["rear-broker", "rearctl"] {
        chroot.bring(&package(&format!("{name}_")), &format!("/packages/{name}.deb"));
    }
    chroot.run("dpkg --install /packages/rear-broker.deb /packages/rearctl.deb");
    chroot.run("dpkg --purge rear-broker rearctl");
    let after = files(&chroot);
    let left: Vec<_> =
        after.lines().filter(|line| !before.lines().any(|had| had == *line)).collect();
    assert!(left.is_empty() && before == after, "left: {left:#?}");
}

#[test]
fn a_package_brings_what_administrators_expect() {
    let chroot = Chroot::new();
    for name in ["rear-broker", "rearctl"] {
        chroot.bring(&package(&format!("{name}_")), &format!("/packages/{name}.deb"));
    }
    chroot.run("dpkg --install /packages/rear-broker.deb /packages/rearctl.deb");
    let user = chroot.run("getent passwd rear-broker");
    assert!(user.contains(":/var/lib/rear:") && user.trim().ends_with("/nologin"), "{user}");
    let owner = chroot.run("stat --format '%U:%G %a' /var/lib/rear");
    assert_eq!(owner.trim(), "rear-broker:rear-broker 700");
    let conffiles = chroot.run("dpkg-query --show --showformat '${Conffiles}' rear-broker");
    assert!(conffiles.contains(SETTINGS), "{conffiles}");
    for program in ["rear-broker", "rearctl"] {
        for file in [
            format!("/usr/share/bash-completion/completions/{program}"),
            format!("/usr/share/fish/vendor_completions.d/{program}.fish"),
            format!("/usr/share/zsh/vendor-completions/_{program}"),
            format!("/usr/share/doc/{program}/copyright"),
        ] {
            assert!(chroot.path(&file).exists(), "{file}");
        }
        chroot.run(&format!("bash -n /usr/share/bash-completion/completions/{program}"));
        chroot.run(&format!("{program} --version"));
    }
    // Without a suffix where they are not compressed, as in a package that was made quickly.
    for page in ["rear-broker", "rear-broker-certs-issue", "rearctl", "rearctl-reserve"] {
        chroot.run(&format!("ls /usr/share/man/man1/{page}.1*"));
    }
    chroot.run("test -f /usr/share/doc/rear-broker/monitoring/rear-alerts.yaml");
}

#[test]
fn a_broker_without_certificates_is_not_started_and_says_what_to_do() {
    let chroot = Chroot::new();
    chroot.bring(&package("rear-broker_"), "/packages/broker.deb");
    chroot.run("dpkg --install /packages/broker.deb");
    let wanted =
        chroot.try_run("test -e /etc/systemd/system/multi-user.target.wants/rear-broker.service");
    assert!(!wanted.status.success(), "it is not enabled");
    let as_user = "setpriv --reuid rear-broker --regid rear-broker --clear-groups";
    let serve =
        format!("{as_user} env REAR_DATA=/var/lib/rear rear-broker serve --config {SETTINGS}");
    let refused = chroot.try_run(&serve);
    let told = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(78), "{told}");
    assert!(told.contains("rear-broker init --data /var/lib/rear"), "{told}");
}
