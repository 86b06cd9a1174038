//! The sums against a plain recomputation, after any changes in any order.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Change {
    Node(u8, NodeFacts),
    NodeGone(u8),
    Pod(u8, Option<PodFacts>),
    PodGone(u8),
    /// The lists are read anew, and these are no longer in them.
    ListsWithout {
        nodes: Vec<u8>,
        pods: Vec<u8>,
    },
}

/// What is there, and nothing else.
#[derive(Debug, Default)]
struct Plain {
    nodes: BTreeMap<u8, NodeFacts>,
    pods: BTreeMap<u8, PodFacts>,
}

fn resources() -> impl Strategy<Value = Resources> {
    prop::array::uniform4(0u64..1000).prop_map(|amounts| Resources::from_amounts(amounts).unwrap())
}

fn node() -> impl Strategy<Value = NodeFacts> {
    let facts = |(is_virtual, takes_pods, capacity, allocatable)| NodeFacts {
        is_virtual,
        takes_pods,
        capacity,
        allocatable,
    };
    (prop::bool::weighted(0.2), prop::bool::weighted(0.7), resources(), resources()).prop_map(facts)
}

fn pod() -> impl Strategy<Value = Option<PodFacts>> {
    let requester = prop::option::of((0..3u8).prop_map(|n| format!("c{n}").parse().unwrap()));
    let facts = |(node, demand, requester): (u8, _, _)| PodFacts {
        node: node.to_string(),
        demand,
        requester,
    };
    prop::option::weighted(0.8, (0..6u8, resources(), requester).prop_map(facts))
}

fn change() -> impl Strategy<Value = Change> {
    let some = || prop::collection::vec(0..20u8, 0..4);
    prop_oneof![
        3 => (0..6u8, node()).prop_map(|(name, facts)| Change::Node(name, facts)),
        1 => (0..6u8).prop_map(Change::NodeGone),
        6 => (0..20u8, pod()).prop_map(|(id, facts)| Change::Pod(id, facts)),
        2 => (0..20u8).prop_map(Change::PodGone),
        1 => (some(), some()).prop_map(|(nodes, pods)| Change::ListsWithout { nodes, pods }),
    ]
}

impl Plain {
    fn take(&mut self, change: &Change) {
        match change {
            Change::Node(name, facts) => drop(self.nodes.insert(*name, *facts)),
            Change::NodeGone(name) => drop(self.nodes.remove(name)),
            Change::Pod(id, Some(facts)) => drop(self.pods.insert(*id, facts.clone())),
            Change::Pod(id, None) | Change::PodGone(id) => drop(self.pods.remove(id)),
            Change::ListsWithout { nodes, pods } => {
                self.nodes.retain(|name, _| !nodes.contains(name));
                self.pods.retain(|id, _| !pods.contains(id));
            }
        }
    }

    fn totals(&self, all: bool) -> Totals {
        let counts = |facts: &&NodeFacts| !facts.is_virtual && (facts.takes_pods || all);
        let sum = |amounts: &mut dyn Iterator<Item = Resources>| {
            amounts.fold(Resources::NONE, |sum, next| sum.checked_add(next).unwrap())
        };
        let on_counted = |pod: &&PodFacts| {
            self.nodes.get(&pod.node.parse().unwrap()).as_ref().is_some_and(counts)
        };
        let mut consumed = BTreeMap::new();
        for pod in self.pods.values().filter(on_counted) {
            if let Some(requester) = &pod.requester {
                let known = consumed.entry(requester.clone()).or_insert(Resources::NONE);
                *known = known.checked_add(pod.demand).unwrap();
            }
        }
        Totals {
            capacity: sum(&mut self.nodes.values().filter(counts).map(|node| node.capacity)),
            allocatable: sum(&mut self.nodes.values().filter(counts).map(|node| node.allocatable)),
            allocated: sum(&mut self.pods.values().filter(on_counted).map(|pod| pod.demand)),
            consumed,
            nodes: self.nodes.values().filter(counts).count(),
            pods: self.pods.values().filter(on_counted).count(),
        }
    }
}

fn tell(sums: &mut Sums, change: &Change, plain: &Plain) {
    match change {
        Change::Node(name, facts) => _ = sums.node_is(&name.to_string(), *facts),
        Change::NodeGone(name) => sums.node_is_gone(&name.to_string()),
        Change::Pod(id, facts) => _ = sums.pod_is(&id.to_string(), facts.clone()),
        Change::PodGone(id) => _ = sums.pod_is_gone(&id.to_string()),
        Change::ListsWithout { .. } => {
            // The two lists overlap in time.
            sums.listing_nodes();
            for (name, facts) in &plain.nodes {
                sums.node_is(&name.to_string(), *facts);
            }
            sums.listing_pods();
            for (id, facts) in &plain.pods {
                sums.pod_is(&id.to_string(), Some(facts.clone()));
            }
            sums.nodes_are_listed();
            sums.pods_are_listed();
        }
    }
}

proptest! {
    #[test]
    fn sums_that_follow_changes_are_the_sums_of_what_is_there(
        changes in prop::collection::vec(change(), 1..80),
        all in any::<bool>(),
    ) {
        let that_count = if all { NodesThatCount::All } else { NodesThatCount::Usable };
        let (mut sums, mut plain) = (Sums::new(that_count), Plain::default());
        for change in &changes {
            plain.take(change);
            tell(&mut sums, change, &plain);
            prop_assert_eq!(sums.totals().unwrap(), plain.totals(all));
        }
    }

    #[test]
    fn nothing_is_remembered_of_what_is_gone(changes in prop::collection::vec(change(), 1..80)) {
        let mut sums = Sums::default();
        let mut plain = Plain::default();
        for change in &changes {
            plain.take(change);
            tell(&mut sums, change, &plain);
        }
        for id in 0..20u8 {
            sums.pod_is_gone(&id.to_string());
        }
        (0..6u8).for_each(|name| sums.node_is_gone(&name.to_string()));
        prop_assert!(sums.nodes.is_empty() && sums.pods.is_empty(), "{sums:?}");
        prop_assert_eq!(sums.totals().unwrap(), Totals::default());
        prop_assert!(sums.counted.pods.consumed.is_empty());
    }
}

#[test]
fn a_cordoned_node_takes_its_pods_along_and_brings_them_back() {
    let amounts = Resources::from_amounts([1000, 10, 0, 0]).unwrap();
    let usable =
        NodeFacts { is_virtual: false, takes_pods: true, capacity: amounts, allocatable: amounts };
    let mut sums = Sums::default();
    let pod = PodFacts { node: "n".into(), demand: amounts, requester: None };
    sums.pod_is("p", Some(pod));
    assert_eq!(sums.totals().unwrap().pods, 0);
    sums.node_is("n", usable);
    assert_eq!(sums.totals().unwrap().allocated, amounts);
    sums.node_is("n", NodeFacts { takes_pods: false, ..usable });
    assert_eq!(sums.totals().unwrap(), Totals::default());
    sums.node_is("n", usable);
    assert_eq!(sums.totals().unwrap().allocated, amounts);
}

#[test]
fn what_is_too_large_is_said() {
    let most = Resources::from_amounts([i64::MAX as u64; 4]).unwrap();
    let node = NodeFacts { is_virtual: false, takes_pods: true, capacity: most, allocatable: most };
    let mut sums = Sums::default();
    sums.node_is("a", node);
    assert!(sums.totals().is_ok());
    sums.node_is("b", node);
    assert_eq!(sums.totals(), Err(TooLarge));
}

#[test]
fn what_a_requester_uses_already_is_not_taken_away_twice() {
    let cores = |cores: u64| Resources::from_amounts([cores * 1000, 0, 0, 0]).unwrap();
    let totals = Totals {
        allocatable: cores(10),
        allocated: cores(4),
        consumed: [("rome".parse().unwrap(), cores(3))].into(),
        ..Totals::default()
    };
    let reserved = |rome: u64, oslo: u64| {
        [("rome".parse().unwrap(), cores(rome)), ("oslo".parse().unwrap(), cores(oslo))].into()
    };
    assert_eq!(totals.available(&reserved(5, 0)), cores(4));
    assert_eq!(totals.available(&reserved(2, 1)), cores(5));
    assert_eq!(totals.available(&reserved(0, 9)), cores(0));
}
