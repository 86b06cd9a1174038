//! Sums over nodes and pods that follow each change: the cost of one does not depend on how many there are.
//!
//! Each node has the sums of its own pods, so that a node that stops counting takes its pods along in one step. Changes
//! of pods may arrive before their node is known. A list that is read anew replaces what was known: what it does not
//! name is gone.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use rear_agent_sdk::Resources;
use rear_agent_sdk::communicator::ClusterId;
use thiserror::Error;

use super::node::NodeFacts;
use super::pod::PodFacts;

const DIMENSIONS: usize = 4;

/// Which nodes count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NodesThatCount {
    /// Those that are ready and take pods.
    #[default]
    Usable,
    /// All that are not virtual, as the earlier system had it.
    All,
}

/// What the cluster has, at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Totals {
    /// All of the nodes that count.
    pub capacity: Resources,
    /// What pods may have of it.
    pub allocatable: Resources,
    /// What the pods on them ask for.
    pub allocated: Resources,
    /// The part of it that pods of other clusters ask for.
    pub consumed: BTreeMap<ClusterId, Resources>,
    /// How many nodes count.
    pub nodes: usize,
    /// How many pods are on them.
    pub pods: usize,
}

impl Totals {
    /// What is left: allocatable, less allocated, less what each requester reserved and does not use yet.
    #[must_use]
    pub fn available(&self, reserved: &BTreeMap<ClusterId, Resources>) -> Resources {
        let unused = |(requester, reserved): (&ClusterId, &Resources)| {
            reserved.saturating_sub(self.consumed.get(requester).copied().unwrap_or_default())
        };
        let free = self.allocatable.saturating_sub(self.allocated);
        reserved.iter().map(unused).fold(free, Resources::saturating_sub)
    }
}

/// A sum that cannot be represented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the sums of this cluster are too large to be represented")]
pub struct TooLarge;

/// The sums.
#[derive(Debug, Default)]
pub struct Sums {
    that_count: NodesThatCount,
    nodes: HashMap<Box<str>, OnNode>,
    pods: HashMap<Box<str>, KnownPod>,
    counted: Counted,
    /// Count the lists, to know what the last one has not named.
    node_lists: u32,
    pod_lists: u32,
}

#[derive(Debug, Default)]
struct Counted {
    capacity: Wide,
    allocatable: Wide,
    pods: OfPods,
    nodes: usize,
}

#[derive(Debug, Default)]
struct OnNode {
    facts: Option<NodeFacts>,
    pods: OfPods,
    seen_in: u32,
}

#[derive(Debug)]
struct KnownPod {
    facts: PodFacts,
    seen_in: u32,
}

/// What pods ask for, ours and others'.
#[derive(Debug, Default, Clone)]
struct OfPods {
    allocated: Wide,
    consumed: BTreeMap<ClusterId, (Wide, usize)>,
    number: usize,
}

/// So wide that no number of nodes overflows it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Wide([u128; DIMENSIONS]);

impl Wide {
    fn add(&mut self, amounts: Self) {
        for (mine, theirs) in self.0.iter_mut().zip(amounts.0) {
            *mine += theirs;
        }
    }

    /// What is taken away was added before.
    fn take(&mut self, amounts: Self) {
        for (mine, theirs) in self.0.iter_mut().zip(amounts.0) {
            *mine -= theirs;
        }
    }

    fn narrow(self) -> Result<Resources, TooLarge> {
        let mut amounts = [0; DIMENSIONS];
        for (narrow, wide) in amounts.iter_mut().zip(self.0) {
            *narrow = u64::try_from(wide).map_err(|_| TooLarge)?;
        }
        Resources::from_amounts(amounts).map_err(|_| TooLarge)
    }
}

impl From<Resources> for Wide {
    fn from(resources: Resources) -> Self {
        Self(resources.amounts().map(u128::from))
    }
}

impl OfPods {
    fn add(&mut self, pod: &PodFacts) {
        self.allocated.add(pod.demand.into());
        self.number += 1;
        if let Some(requester) = &pod.requester {
            let (sum, number) = self.consumed.entry(requester.clone()).or_default();
            sum.add(pod.demand.into());
            *number += 1;
        }
    }

    fn take(&mut self, pod: &PodFacts) {
        self.allocated.take(pod.demand.into());
        self.number -= 1;
        if let Some(requester) = &pod.requester {
            self.take_consumed(requester, pod.demand.into(), 1);
        }
    }

    fn add_all(&mut self, others: &Self) {
        self.allocated.add(others.allocated);
        self.number += others.number;
        for (requester, (sum, number)) in &others.consumed {
            let (mine, pods) = self.consumed.entry(requester.clone()).or_default();
            mine.add(*sum);
            *pods += number;
        }
    }

    fn take_all(&mut self, others: &Self) {
        self.allocated.take(others.allocated);
        self.number -= others.number;
        for (requester, (sum, number)) in &others.consumed {
            self.take_consumed(requester, *sum, *number);
        }
    }

    fn take_consumed(&mut self, requester: &ClusterId, sum: Wide, number: usize) {
        let Some((mine, pods)) = self.consumed.get_mut(requester) else { return };
        mine.take(sum);
        *pods -= number;
        if *pods == 0 {
            self.consumed.remove(requester);
        }
    }
}

impl Sums {
    /// Nothing is known yet.
    #[must_use]
    pub fn new(that_count: NodesThatCount) -> Self {
        Self { that_count, ..Self::default() }
    }

    /// A list of nodes begins.
    pub fn listing_nodes(&mut self) {
        self.node_lists += 1;
    }

    /// A list of pods begins.
    pub fn listing_pods(&mut self) {
        self.pod_lists += 1;
    }

    /// The list of nodes has ended: nodes that it did not name are gone.
    pub fn nodes_are_listed(&mut self) {
        let unnamed = |node: &OnNode| node.facts.is_some() && node.seen_in < self.node_lists;
        let gone: Vec<_> = self
            .nodes
            .iter()
            .filter(|(_, node)| unnamed(node))
            .map(|(name, _)| name.clone())
            .collect();
        for name in gone {
            self.node_is_gone(&name);
        }
    }

    /// The list of pods has ended: pods that it did not name are gone.
    pub fn pods_are_listed(&mut self) {
        let unnamed = |pod: &KnownPod| pod.seen_in < self.pod_lists;
        let gone: Vec<_> =
            self.pods.iter().filter(|(_, pod)| unnamed(pod)).map(|(id, _)| id.clone()).collect();
        for id in gone {
            self.pod_is_gone(&id);
        }
    }

    /// A node is so now. Whether that is news: most changes of nodes are signs of life.
    pub fn node_is(&mut self, name: &str, facts: NodeFacts) -> bool {
        if let Some(known) = self.nodes.get_mut(name).filter(|known| known.facts == Some(facts)) {
            known.seen_in = self.node_lists;
            return false;
        }
        self.set_node(name, Some(facts));
        true
    }

    /// A node is no more. Its pods count again if it comes back before they go.
    pub fn node_is_gone(&mut self, name: &str) {
        if self.nodes.contains_key(name) {
            self.set_node(name, None);
            self.forget_if_empty(name);
        }
    }

    /// A pod is so now; nothing if it does not count. Whether that is news: most changes of pods are about other things.
    pub fn pod_is(&mut self, id: &str, facts: Option<PodFacts>) -> bool {
        let Some(facts) = facts else { return self.pod_is_gone(id) };
        if let Some(known) = self.pods.get_mut(id).filter(|known| known.facts == facts) {
            known.seen_in = self.pod_lists;
            return false;
        }
        self.pod_is_gone(id);
        self.on_node(&facts.node, |pods| pods.add(&facts));
        self.pods.insert(id.into(), KnownPod { facts, seen_in: self.pod_lists });
        true
    }

    /// A pod is no more. Whether it was known.
    pub fn pod_is_gone(&mut self, id: &str) -> bool {
        let Some(KnownPod { facts, .. }) = self.pods.remove(id) else { return false };
        self.on_node(&facts.node, |pods| pods.take(&facts));
        self.forget_if_empty(&facts.node);
        true
    }

    /// The sums of this moment.
    pub fn totals(&self) -> Result<Totals, TooLarge> {
        let Counted { capacity, allocatable, pods, nodes } = &self.counted;
        let consumed = pods
            .consumed
            .iter()
            .map(|(requester, (sum, _))| sum.narrow().map(|sum| (requester.clone(), sum)));
        Ok(Totals {
            capacity: capacity.narrow()?,
            allocatable: allocatable.narrow()?,
            allocated: pods.allocated.narrow()?,
            consumed: consumed.collect::<Result<_, _>>()?,
            nodes: *nodes,
            pods: pods.number,
        })
    }

    fn counts(&self, facts: &NodeFacts) -> bool {
        let usable = facts.takes_pods || self.that_count == NodesThatCount::All;
        usable && !facts.is_virtual
    }

    /// Takes the node out of the sums, changes it, and puts it back.
    fn set_node(&mut self, name: &str, facts: Option<NodeFacts>) {
        let list = self.node_lists;
        let mut node = self.nodes.remove(name).unwrap_or_default();
        if let Some(known) = node.facts.filter(|known| self.counts(known)) {
            self.counted.capacity.take(known.capacity.into());
            self.counted.allocatable.take(known.allocatable.into());
            self.counted.pods.take_all(&node.pods);
            self.counted.nodes -= 1;
        }
        if let Some(new) = facts.filter(|new| self.counts(new)) {
            self.counted.capacity.add(new.capacity.into());
            self.counted.allocatable.add(new.allocatable.into());
            self.counted.pods.add_all(&node.pods);
            self.counted.nodes += 1;
        }
        node.facts = facts;
        node.seen_in = list;
        self.nodes.insert(name.into(), node);
    }

    /// Changes the pods of a node, and the sums if it counts.
    fn on_node(&mut self, name: &str, change: impl Fn(&mut OfPods)) {
        let node = match self.nodes.entry(name.into()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(OnNode::default()),
        };
        change(&mut node.pods);
        let facts = node.facts;
        if facts.is_some_and(|facts| self.counts(&facts)) {
            change(&mut self.counted.pods);
        }
    }

    fn forget_if_empty(&mut self, name: &str) {
        let empty = |node: &OnNode| node.facts.is_none() && node.pods.number == 0;
        if self.nodes.get(name).is_some_and(empty) {
            self.nodes.remove(name);
        }
    }
}

#[cfg(test)]
mod tests;
