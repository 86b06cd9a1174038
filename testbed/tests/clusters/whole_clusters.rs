//! Clusters in which something happens: pods are made, scheduled and said to run.

use rear_testbed::{Cluster, Kubectl, Node, eventually};

fn deployment(name: &str, replicas: u32, cpu: &str) -> String {
    format!(
        "
apiVersion: apps/v1
kind: Deployment
metadata: {{ name: {name} }}
spec:
  replicas: {replicas}
  selector: {{ matchLabels: {{ app: {name} }} }}
  template:
    metadata: {{ labels: {{ app: {name} }} }}
    spec:
      containers:
      - name: main
        image: registry.example/nothing-is-pulled
        resources: {{ requests: {{ cpu: {cpu}, memory: 1Gi }} }}
"
    )
}

/// The node, phase and requested cores of every pod of the Deployment.
fn pods(kubectl: &Kubectl, app: &str) -> Vec<[String; 3]> {
    let fields = "{.spec.nodeName} {.status.phase} {.spec.containers[0].resources.requests.cpu}";
    let output = format!("--output=jsonpath={{range .items[*]}}{fields}{{\"\\n\"}}{{end}}");
    let listed = kubectl.run(&["get", "pods", &format!("--selector=app={app}"), &output]).unwrap();
    let pod = |line: &str| {
        let mut fields = line.split(' ').map(str::to_owned);
        [(); 3].map(|()| fields.next().unwrap())
    };
    listed.lines().map(pod).collect()
}

fn in_phase(pods: &[[String; 3]], wanted: &str) -> usize {
    pods.iter().filter(|[_, phase, _]| phase == wanted).count()
}

#[test]
fn the_pods_of_a_deployment_are_scheduled_and_run_as_far_as_the_nodes_reach() {
    let mut cluster = Cluster::start().unwrap();
    let kubectl = cluster.api_server().kubectl();
    cluster.add_nodes(&["a", "b", "c"].map(|name| Node::new(name).cpu("4"))).unwrap();

    kubectl.apply(&deployment("fits", 20, "500m")).unwrap();
    let running = eventually(|| {
        let pods = pods(&kubectl, "fits");
        (in_phase(&pods, "Running") == 20).then_some(pods)
    });
    let running = running.expect("20 pods of half a core fit on three nodes of four cores");
    for node in ["a", "b", "c"] {
        let here = running.iter().filter(|[on, ..]| on == node).count();
        assert!((1..=8).contains(&here), "{here} halves of a core on {node}");
    }
    assert!(running.iter().all(|[.., cpu]| cpu == "500m"), "{running:?}");

    // 2 cores are left of 12, spread over the nodes.
    kubectl.apply(&deployment("waits", 5, "1")).unwrap();
    let settled = eventually(|| {
        let unschedulable = kubectl.run(&[
            "get",
            "pods",
            "--selector=app=waits",
            "--output=jsonpath={.items[*].status.conditions[?(@.reason==\"Unschedulable\")].reason}",
        ]);
        let waiting = unschedulable.unwrap().split_whitespace().count();
        let pods = pods(&kubectl, "waits");
        (waiting + in_phase(&pods, "Running") == 5).then_some(waiting)
    });
    assert!(settled.expect("each pod runs or is said not to fit") >= 3);
}

#[test]
fn without_its_scheduler_a_cluster_leaves_pods_where_they_are() {
    let mut cluster = Cluster::start().unwrap();
    let kubectl = cluster.api_server().kubectl();
    cluster.add_nodes(&[Node::new("a").resource("nvidia.com/gpu", "2")]).unwrap();
    let offered = "--output=jsonpath={.status.allocatable.nvidia\\.com/gpu}";
    assert_eq!(kubectl.run(&["get", "node", "a", offered]).unwrap(), "2");

    cluster.scheduler().kill().unwrap();
    kubectl.apply(&deployment("late", 3, "1")).unwrap();
    eventually(|| (pods(&kubectl, "late").len() == 3).then_some(())).expect("the pods are made");
    assert_eq!(in_phase(&pods(&kubectl, "late"), "Pending"), 3);

    cluster.scheduler().start().unwrap();
    let running = eventually(|| (in_phase(&pods(&kubectl, "late"), "Running") == 3).then_some(()));
    running.expect("the scheduler is back");

    cluster.controller_manager().pause().unwrap();
    kubectl.run(&["delete", "deployment", "late"]).unwrap();
    assert_eq!(in_phase(&pods(&kubectl, "late"), "Running"), 3, "nobody clears up");
    cluster.controller_manager().resume().unwrap();
    let cleared = eventually(|| pods(&kubectl, "late").is_empty().then_some(()));
    cleared.expect("what the Deployment owned goes, and kwok's kubelet lets its pods go");
}
