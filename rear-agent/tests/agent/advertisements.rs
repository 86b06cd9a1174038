//! What the cluster has is in its `Advertisement`, whatever happens to nodes and pods.

use super::agent::Start;
use super::site::{Site, node, pods};

const OBJECT: &str = "advertisement/cluster-advertisement";

fn names(prefix: &str, number: usize) -> Vec<String> {
    (0..number).map(|index| format!("{prefix}-{index}")).collect()
}

#[test]
fn sums_stay_exact_while_two_hundred_pods_come_and_go() {
    let site = Site::with_nodes(&[("a", "64", "256Gi"), ("b", "32", "128Gi")]);
    site.apply(&pods(&names("early", 3), "a", "500m", "1Gi", ""));
    let _agent = Start::alone(&site).run();
    site.until(OBJECT, ".spec.resources.allocated.cpu", "1500m");
    site.until(OBJECT, ".spec.resources.allocatable.cpu", "96");
    site.apply(&pods(&names("x", 100), "a", "100m", "10Mi", ""));
    site.apply(&pods(&names("y", 100), "b", "10m", "1Mi", ""));
    site.until(OBJECT, ".spec.resources.allocated.cpu", "12500m");
    // Every other one goes, in two ways: deleted, or finished.
    let gone: Vec<_> = names("x", 100).into_iter().step_by(2).collect();
    let mut delete = vec!["delete", "pod", "--force", "--grace-period=0"];
    delete.extend(gone.iter().map(String::as_str));
    site.ask(&delete);
    for pod in names("y", 100).iter().step_by(10) {
        let done = r#"{"status":{"phase":"Succeeded"}}"#;
        site.ask(&["patch", "pod", pod, "--subresource=status", "--type=merge", "-p", done]);
    }
    // 3 × 500m + 50 × 100m + 90 × 10m; 3 GiB + 500 MiB + 90 MiB.
    site.until(OBJECT, ".spec.resources.allocated.cpu", "7400m");
    site.until(OBJECT, ".spec.resources.allocated.memory", "3662Mi");
    site.until(OBJECT, ".spec.resources.available.cpu", "88600m");
    site.until(OBJECT, ".status.phase", "Local");
    site.until(OBJECT, ".status.published", "false");
}

#[test]
fn nodes_that_take_no_pods_or_are_virtual_do_not_count_with_their_pods() {
    let site = Site::with_nodes(&[("good", "8", "8Gi"), ("cordoned", "4", "4Gi")]);
    site.apply(&node("unready", "2", "2Gi", "False", ""));
    site.apply(&node("virtual", "100", "100Gi", "True", "liqo.io/type: virtual-node"));
    for name in ["good", "cordoned", "unready", "virtual"] {
        site.apply(&pods(&[format!("on-{name}")], name, "1", "1Gi", ""));
    }
    site.ask(&["cordon", "cordoned"]);
    let agent = Start::alone(&site).run();
    site.until(OBJECT, ".spec.resources.capacity.cpu", "8");
    site.until(OBJECT, ".spec.resources.allocated.cpu", "1");
    site.ask(&["uncordon", "cordoned"]);
    site.until(OBJECT, ".spec.resources.capacity.cpu", "12");
    site.until(OBJECT, ".spec.resources.allocated.cpu", "2");
    agent.kill();
    let _all = Start::alone(&site).flag("--count-unready-nodes").run();
    site.until(OBJECT, ".spec.resources.capacity.cpu", "14");
    site.until(OBJECT, ".spec.resources.allocated.cpu", "3");
}

#[test]
fn an_advertisement_that_was_edited_or_deleted_is_written_again() {
    let site = Site::with_nodes(&[("a", "8", "8Gi")]);
    let _agent = Start::alone(&site).flag("--advertisement-requeue-interval=1h").run();
    site.until(OBJECT, ".spec.resources.capacity.cpu", "8");
    let edit = r#"{"spec":{"resources":{"capacity":{"cpu":"80"}}}}"#;
    site.ask(&["patch", OBJECT, "-n", "rear-agent", "--type=merge", "-p", edit]);
    site.until(OBJECT, ".spec.resources.capacity.cpu", "8");
    site.ask(&["delete", OBJECT, "-n", "rear-agent"]);
    site.until(OBJECT, ".spec.resources.capacity.cpu", "8");
    site.until(OBJECT, ".status.phase", "Local");
}

#[test]
fn without_a_flag_or_certificate_the_id_is_that_of_kube_system() {
    let site = Site::start();
    let _agent = Start::alone(&site).run();
    let uid = site.field_in("default", "namespace/kube-system", ".metadata.uid").unwrap();
    site.until(OBJECT, ".spec.clusterID", &uid);
}
