//! The container files, followed step by step in a chroot: there is no container engine here.

use std::collections::BTreeMap;
use std::path::Path;

use rear_packaging::container_file::{Stage, Step, stages};

use super::chroot::Chroot;
use super::patience::until;
use super::programs;
use super::tree::text;

/// The stages of one of our files; the base is whatever the chroot has.
fn read(name: &str) -> [Stage; 2] {
    let given = BTreeMap::from([("BASE_IMAGE".to_owned(), "chroot".to_owned())]);
    let stages = stages(&text(&format!("deploy/images/{name}.Dockerfile")), &given).unwrap();
    let stages: [Stage; 2] = stages.try_into().unwrap();
    assert_eq!(stages[1].from, "chroot", "the base image is an argument");
    stages
}

/// What a container of the image would run, and as whom.
struct Image {
    chroot: Chroot,
    user: String,
    entrypoint: Vec<String>,
    command: Vec<String>,
}

/// Does the steps of the last stage. What the first stage builds is taken as tests build it.
fn build(name: &str, program: &Path) -> Image {
    let [first, last] = read(name);
    assert!(first.steps.iter().any(|step| builds(step, name)), "it builds {name}: {first:?}");
    let chroot = Chroot::new();
    let mut image =
        Image { chroot, user: "0:0".to_owned(), entrypoint: Vec::new(), command: Vec::new() };
    for step in last.steps {
        match step {
            Step::Run(line) => drop(image.chroot.run(&line)),
            Step::Copy { stage, source, target } => {
                assert_eq!(stage.as_deref(), first.name.as_deref());
                assert!(source.ends_with(&format!("/target/release/{name}")), "{source}");
                image.chroot.bring(program, &target);
            }
            Step::Workdir(folder) => drop(image.chroot.run(&format!("mkdir -p {folder}"))),
            Step::User(user) => image.user = user,
            Step::Entrypoint(words) => image.entrypoint = words,
            Step::Command(words) => image.command = words,
            Step::Said(_) => {}
        }
    }
    image
}

/// Whether a step builds the program, as it is released.
fn builds(step: &Step, name: &str) -> bool {
    let build = format!("cargo build --locked --release --package {name} --bin {name}");
    matches!(step, Step::Run(line) if line.starts_with(&build))
}

impl Image {
    /// As a container engine would start it, with these arguments.
    fn words(&self, arguments: &[String]) -> Vec<String> {
        let (user, group) = self.user.split_once(':').expect("a user and a group");
        let before = ["setpriv", "--reuid", user, "--regid", group, "--clear-groups"];
        let before = before.iter().map(ToString::to_string);
        before.chain(self.entrypoint.iter().cloned()).chain(arguments.iter().cloned()).collect()
    }

    fn run(&self, arguments: &str) -> String {
        let arguments: Vec<_> = arguments.split(' ').map(str::to_owned).collect();
        self.chroot.run(&self.words(&arguments).join(" "))
    }
}

#[test]
fn the_image_of_the_broker_serves_as_nobody_in_particular() {
    let image = build("rear-broker", programs::broker());
    assert_eq!(image.user, "65532:65532");
    image.run("init --data /var/lib/rear");
    let running = image.chroot.start(&image.words(&image.command));
    let authority = image.chroot.path("/var/lib/rear/tls/ca.crt");
    until("the image answers", || {
        let mut curl = image.chroot.beside("curl");
        curl.args(["--silent", "--fail", "--cacert"]).arg(&authority);
        curl.arg("https://localhost:8443/readyz").output().unwrap().status.success().then_some(())
    });
    running.stop();
}

#[test]
fn the_image_of_the_agent_has_the_agent_and_what_it_needs() {
    let image = build("rear-agent", programs::agent());
    assert_eq!(image.user, "65532:65532");
    assert!(image.run("crds").contains("resourcerequests.rear.fluidos.eu"));
    let refused = image.chroot.try_run(&image.words(&image.command).join(" "));
    let told = String::from_utf8_lossy(&refused.stderr);
    // There is no cluster in a chroot: it says so, and ends.
    assert!(!refused.status.success() && told.contains("rear-agent: "), "{told}");
}
