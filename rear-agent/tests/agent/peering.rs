//! Peering, with a stand-in for `liqoctl` that knows its flags, writes down how it was called, and can fail or hang.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rear_testbed::eventually;

use super::agent::Start;
use super::clock::Clock;
use super::requests::{World, requester};
use super::site::deploy;

const PEERED: &str = ".status.conditions[?(@.type==\"Peered\")].status";
pub(crate) const ACTIVE: &str = ".status.conditions[?(@.type==\"Active\")].status";

/// Refuses every flag that liqoctl does not have, and every kubeconfig that is not a file.
const STAND_IN: &str = r#"#!/bin/sh
here=$(dirname "$0")
what=$1; shift
line=$what
while [ $# -gt 0 ]; do
  case "$what $1" in
    *" --kubeconfig"|*" --remote-kubeconfig")
      [ -s "$2" ] || { echo "no kubeconfig $2" >&2; exit 2; }; shift 2;;
    *" --skip-confirm") shift;;
    *" --timeout") shift 2;;
    "peer --cpu"|"peer --memory"|"peer --resource"|"peer --gw-server-service-type")
      line="$line $1 $2"; shift 2;;
    *) echo "unknown flag: $1" >&2; exit 2;;
  esac
done
echo "$line" >> "$here/calls"
if [ -e "$here/fail" ]; then rm "$here/fail"; echo "the other side is away" >&2; exit 1; fi
while [ -e "$here/wait" ]; do sleep 0.1; done
if [ -e "$here/hang" ]; then rm "$here/hang"; exec sleep 1000; fi
if [ -e "$here/flood" ]; then rm "$here/flood"; head -c 2000000 /dev/zero | tr '\0' 'x'; echo; fi
echo "done"
"#;

pub(crate) struct Liqoctl(PathBuf);

impl Liqoctl {
    /// Beside a folder of kubeconfigs, of which Paris and Oslo have good ones.
    pub(crate) fn new(folder: &Path) -> Self {
        let folder = folder.join("liqo");
        fs::create_dir(&folder).unwrap();
        let program = folder.join("liqoctl");
        fs::write(&program, STAND_IN).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let kubeconfig = "apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: 'https://paris.example:6443'}}]
users: [{name: u, user: {token: abc}}]
";
        for other in ["paris", "oslo"] {
            fs::write(folder.join(format!("{other}.kubeconfig")), kubeconfig).unwrap();
        }
        Self(folder)
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.0.join("calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }

    #[cfg(feature = "failpoints")]
    pub(crate) fn forget_calls(&self) {
        // There may have been none.
        drop(fs::remove_file(self.0.join("calls")));
    }

    fn will(&self, what: &str) {
        fs::write(self.0.join(what), "").unwrap();
    }

    fn will_no_longer(&self, what: &str) {
        fs::remove_file(self.0.join(what)).unwrap();
    }

    /// Starts the agent of Rome anew, with this program.
    fn restart(&self, world: &mut World) {
        drop(world.of_rome.take());
        let agent = self.start(world).run();
        world.of_rome = Some(agent);
    }

    /// The agent of Rome, with this program.
    pub(crate) fn start<'a>(&self, world: &'a World) -> Start<'a> {
        self.peering(Start::with(&world.rome, &world.broker, "rome"))
    }

    /// An agent, with this program.
    pub(crate) fn peering<'a>(&self, start: Start<'a>) -> Start<'a> {
        self.with_kubeconfigs(start, &format!("--liqo-kubeconfig-dir={}", self.0.display()))
    }

    fn with_kubeconfigs<'a>(&self, start: Start<'a>, kubeconfigs: &str) -> Start<'a> {
        start
            .flag(kubeconfigs)
            .flag(&format!("--liqoctl={}", self.0.join("liqoctl").display()))
            .flag("--liqo-timeout=10s")
    }
}

#[test]
fn a_reservation_is_peered_with_its_sizes_and_unpeered_when_the_last_one_ends() {
    let mut world = World::start();
    let liqoctl = Liqoctl::new(world.rome.server.folder());
    liqoctl.will("flood");
    liqoctl.restart(&mut world);
    let first = world.reserved("a", "requestedCPU: '2', requestedMemory: 4Gi");
    world.rome.until(&requester(&first), PEERED, "True");
    world.rome.until(&requester(&first), ACTIVE, "True");
    let second = world.reserved("b", "requestedCPU: 500m, requestedMemory: 1Gi");
    world.rome.until(&requester(&second), ACTIVE, "True");
    world.rome.ask(&["delete", "rr", "a"]);
    world.rome.until_gone(&requester(&first));
    world.rome.ask(&["delete", "rr", "b"]);
    world.rome.until_gone(&requester(&second));
    let peer = "peer --gw-server-service-type NodePort";
    assert_eq!(
        liqoctl.calls(),
        [
            format!("{peer} --cpu 2 --memory 4Gi"),
            format!("{peer} --cpu 2500m --memory 5Gi"),
            format!("{peer} --cpu 500m --memory 1Gi"),
            "unpeer".to_owned(),
        ]
    );
}

#[test]
fn a_peering_that_fails_or_hangs_is_tried_again_and_says_why() {
    let mut world = World::start();
    let liqoctl = Liqoctl::new(world.rome.server.folder());
    liqoctl.will("hang");
    liqoctl.will("fail");
    liqoctl.restart(&mut world);
    let id = world.reserved("a", "requestedCPU: '2', requestedMemory: 4Gi");
    let message = ".status.conditions[?(@.type==\"Peered\")].message";
    let said = |words: &str| {
        eventually(|| {
            let said = world.rome.field(&requester(&id), message)?;
            said.contains(words).then_some(())
        })
    };
    said("the other side is away").expect("its words are in the condition");
    said("did not end within 10 s").expect("the limit is in the condition");
    world.rome.until(&requester(&id), ACTIVE, "True");
    assert_eq!(liqoctl.calls().len(), 3);
}

#[test]
fn what_is_peered_is_so_although_the_broker_cannot_be_told_yet() {
    let mut world = World::start();
    let liqoctl = Liqoctl::new(world.rome.server.folder());
    liqoctl.will("wait");
    liqoctl.restart(&mut world);
    let id = world.reserved("a", "requestedCPU: '2', requestedMemory: 4Gi");
    eventually(|| (liqoctl.calls().len() == 1).then_some(())).expect("it peers");
    world.broker.kill();
    liqoctl.will_no_longer("wait");
    world.rome.until(&requester(&id), PEERED, "True");
    assert_eq!(liqoctl.calls().len(), 1);
}

#[test]
fn what_is_over_is_not_peered_although_the_broker_is_away() {
    let mut world = World::start();
    let liqoctl = Liqoctl::new(world.rome.server.folder());
    let ids = ["a", "b"].map(|name| {
        let id = world.reserved(name, "requestedCPU: '2', requestedMemory: 4Gi, duration: 1h");
        world.rome.until(&requester(&id), ".status.delivered", "true");
        id
    });
    drop(world.of_rome.take());
    world.broker.kill();
    let over = r#"{"spec":{"expiresAt":"2026-01-02T15:04:05Z"}}"#;
    let (ended, lives) = (requester(&ids[0]), requester(&ids[1]));
    world.rome.ask(&["patch", &ended, "-n", "rear-agent", "--type=merge", "-p", over]);
    liqoctl.restart(&mut world);
    world.rome.until(&ended, ".status.conditions[?(@.type==\"Expired\")].status", "True");
    world.rome.until(&lives, PEERED, "True");
    // Nobody has tried, and it is not a part of what is peered for the other.
    assert_eq!(world.rome.field(&ended, PEERED).as_deref(), Some("False"));
    assert_eq!(liqoctl.calls(), ["peer --gw-server-service-type NodePort --cpu 2 --memory 4Gi"]);
}

#[test]
fn what_lives_at_the_broker_is_peered_by_a_cluster_whose_clock_is_ahead() {
    let mut world = World::start();
    let liqoctl = Liqoctl::new(world.rome.server.folder());
    drop(world.of_rome.take());
    let clock = Clock::new(world.rome.server.folder());
    clock.set("+2h");
    let agent = liqoctl.start(&world).by(&clock).run();
    world.of_rome = Some(agent);
    let ids = ["a", "b"].map(|name| {
        let id = world.reserved(name, "requestedCPU: '2', requestedMemory: 4Gi, duration: 1h");
        world.rome.until(&requester(&id), PEERED, "True");
        world.rome.until(&requester(&id), ACTIVE, "True");
        id
    });
    // By its clock, the time of both is over.
    let expired = ".status.conditions[?(@.type==\"Expired\")].status";
    world.rome.until(&requester(&ids[0]), expired, "True");
    let peer = "peer --gw-server-service-type NodePort";
    let (one, both) =
        (format!("{peer} --cpu 2 --memory 4Gi"), format!("{peer} --cpu 4 --memory 8Gi"));
    assert_eq!(liqoctl.calls(), [one, both]);
}

#[test]
fn a_kubeconfig_that_runs_programs_is_not_used() {
    let mut world = World::start();
    let liqoctl = Liqoctl::new(world.rome.server.folder());
    let good = fs::read_to_string(liqoctl.0.join("paris.kubeconfig")).unwrap();
    let bad = good
        .replace("token: abc", "exec: {apiVersion: client.authentication.k8s.io/v1, command: sh}");
    fs::write(liqoctl.0.join("paris.kubeconfig"), bad).unwrap();
    liqoctl.restart(&mut world);
    let id = world.reserved("a", "requestedCPU: '2', requestedMemory: 4Gi");
    world.rome.until(&requester(&id), PEERED, "False");
    let message = ".status.conditions[?(@.type==\"Peered\")].message";
    let why = world.rome.field(&requester(&id), message).unwrap();
    assert!(why.contains("runs a program"), "{why}");
    assert_eq!(liqoctl.calls(), [""; 0]);
}

#[test]
fn kubeconfigs_come_from_secrets_too_and_with_no_more_rights_than_that_takes() {
    let mut world = World::start();
    let liqoctl = Liqoctl::new(world.rome.server.folder());
    let folder = deploy("agent/liqo");
    world.rome.ask(&["apply", "--server-side", "-k", folder.to_str().unwrap()]);
    drop(world.of_rome.take());
    let start = Start::with(&world.rome, &world.broker, "rome");
    let start = liqoctl.with_kubeconfigs(start, "--liqo-kubeconfig-secrets");
    world.of_rome = Some(start.run());
    let id = world.reserved("a", "requestedCPU: '2', requestedMemory: 4Gi");
    let rome = &world.rome;
    // Nobody has brought it yet.
    let message = ".status.conditions[?(@.type==\"Peered\")].message";
    let missing = eventually(|| {
        rome.field(&requester(&id), message).filter(|why| why.contains("paris-kubeconfig"))
    });
    missing.expect("what is missing is named");
    assert_eq!(liqoctl.calls(), [""; 0]);
    let file = format!("--from-file=kubeconfig={}", liqoctl.0.join("paris.kubeconfig").display());
    let secret = ["create", "secret", "generic", "paris-kubeconfig", "-n", "rear-agent", &file];
    rome.ask(&secret);
    rome.until(&requester(&id), PEERED, "True");
    rome.until(&requester(&id), ACTIVE, "True");
    rome.ask(&["delete", "rr", "a"]);
    rome.until_gone(&requester(&id));
    let calls = liqoctl.calls();
    assert!(calls[0].starts_with("peer ") && calls[1] == "unpeer", "{calls:?}");
    let account = "--as=system:serviceaccount:rear-agent:rear-agent";
    for (verb, namespace) in [("get", "default"), ("list", "rear-agent"), ("watch", "rear-agent")] {
        let asked = ["auth", "can-i", verb, "secrets", "-n", namespace, account];
        assert!(rome.kubectl().run(&asked).is_err(), "{verb} secrets in {namespace}");
    }
}

#[test]
fn a_secret_whose_kubeconfig_runs_programs_is_not_used() {
    let mut world = World::start();
    let liqoctl = Liqoctl::new(world.rome.server.folder());
    let folder = deploy("agent/liqo");
    world.rome.ask(&["apply", "--server-side", "-k", folder.to_str().unwrap()]);
    let file = liqoctl.0.join("paris.kubeconfig");
    let good = fs::read_to_string(&file).unwrap();
    fs::write(&file, good.replace("token: abc", "exec: {command: sh}")).unwrap();
    let file = format!("--from-file=kubeconfig={}", file.display());
    let secret = ["create", "secret", "generic", "paris-kubeconfig", "-n", "rear-agent", &file];
    world.rome.ask(&secret);
    drop(world.of_rome.take());
    let start = Start::with(&world.rome, &world.broker, "rome");
    let start = liqoctl.with_kubeconfigs(start, "--liqo-kubeconfig-secrets");
    world.of_rome = Some(start.run());
    let id = world.reserved("a", "requestedCPU: '2', requestedMemory: 4Gi");
    world.rome.until(&requester(&id), PEERED, "False");
    let message = ".status.conditions[?(@.type==\"Peered\")].message";
    let why = world.rome.field(&requester(&id), message).unwrap();
    assert!(why.contains("runs a program"), "{why}");
    assert_eq!(liqoctl.calls(), [""; 0]);
}
