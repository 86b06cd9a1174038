//! A pod, as far as it counts: what it asks for is computed as the scheduler computes it.
//!
//! That is: the sum of its containers; at least what any init container needs beside the sidecars that started before
//! it; in the place of both what the pod as a whole asks for; and the overhead of its runtime. While a container is
//! resized in place, the largest of what is wanted, allocated and in effect counts.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use rear_agent_sdk::Resources;
use rear_agent_sdk::communicator::ClusterId;
use serde::{Deserialize, Serialize};

use super::amounts::{Amounts, ResourceList, Tracked, Uncountable};
use super::metadata::what_counts;
use super::node::Condition;

/// Who offloaded the pod to this cluster, if anybody did.
const ORIGIN: &str = "offloading.liqo.io/origin";

/// A resize that the node will never do: what it wanted does not count.
const INFEASIBLE: (&str, &str) = ("PodResizePending", "Infeasible");

/// An init container with this policy is a sidecar: it starts first and stays.
const SIDECAR: &str = "Always";

/// The part of a pod that is read.
#[derive(Resource, Serialize, Deserialize, Debug, Clone, Default)]
#[resource(inherit = Pod)]
pub struct PodView {
    /// Its name and labels.
    #[serde(default, deserialize_with = "what_counts")]
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[serde(default)]
    pub spec: PodSpec,
    /// What is so.
    #[serde(default)]
    pub status: PodStatus,
}

/// What is wanted.
#[derive(Serialize, Deserialize, Debug, Clone, Default)]
#[serde(rename_all = "camelCase")]
pub struct PodSpec {
    /// Where it runs.
    pub node_name: Option<String>,
    /// What runs at once.
    #[serde(default)]
    pub containers: Vec<Container>,
    /// What runs before, one after the other; sidecars stay.
    #[serde(default)]
    pub init_containers: Vec<Container>,
    /// What the pod asks for as a whole.
    #[serde(default)]
    pub resources: Requirements,
    /// What its runtime costs.
    #[serde(default)]
    pub overhead: ResourceList,
}

/// A container.
#[derive(Serialize, Deserialize, Debug, Clone, Default)]
#[serde(rename_all = "camelCase")]
pub struct Container {
    /// Its name, by which its status is found.
    #[serde(default)]
    pub name: String,
    /// What it asks for.
    #[serde(default)]
    pub resources: Requirements,
    /// Of init containers: whether it is a sidecar.
    pub restart_policy: Option<String>,
}

/// Requests; limits do not count.
#[derive(Serialize, Deserialize, Debug, Clone, Default)]
pub struct Requirements {
    /// What is asked for.
    #[serde(default)]
    pub requests: ResourceList,
}

/// What is so.
#[derive(Serialize, Deserialize, Debug, Clone, Default)]
#[serde(rename_all = "camelCase")]
pub struct PodStatus {
    /// `Succeeded` and `Failed` are the ends.
    #[serde(default)]
    pub phase: String,
    /// Of these, whether a resize is infeasible counts.
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// Of containers.
    #[serde(default)]
    pub container_statuses: Vec<ContainerStatus>,
    /// Of init containers.
    #[serde(default)]
    pub init_container_statuses: Vec<ContainerStatus>,
    /// What the pod as a whole has in effect.
    pub resources: Option<Requirements>,
    /// What its node has admitted for the pod as a whole.
    #[serde(default)]
    pub allocated_resources: ResourceList,
}

/// What a container has.
#[derive(Serialize, Deserialize, Debug, Clone, Default)]
#[serde(rename_all = "camelCase")]
pub struct ContainerStatus {
    /// Which container.
    #[serde(default)]
    pub name: String,
    /// What is in effect.
    pub resources: Option<Requirements>,
    /// What its node has admitted.
    #[serde(default)]
    pub allocated_resources: ResourceList,
}

/// What a pod brings to the sums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodFacts {
    /// Where it runs.
    pub node: String,
    /// What it asks for.
    pub demand: Resources,
    /// Whose it is, if another cluster offloaded it.
    pub requester: Option<ClusterId>,
}

impl PodView {
    /// What counts of it; nothing if it is not bound to a node or has finished.
    pub fn facts(&self, tracked: &Tracked) -> Result<Option<PodFacts>, Uncountable> {
        let finished = matches!(self.status.phase.as_str(), "Succeeded" | "Failed");
        let node = self.spec.node_name.as_deref().filter(|name| !name.is_empty() && !finished);
        let Some(node) = node else { return Ok(None) };
        let demand = self.demand(tracked)?.resources()?;
        Ok(Some(PodFacts { node: node.to_owned(), demand, requester: self.requester() }))
    }

    /// An origin that is no cluster id cannot be told to a broker; the pod then counts as one of ours.
    fn requester(&self) -> Option<ClusterId> {
        self.metadata.labels.as_ref()?.get(ORIGIN)?.parse().ok()
    }

    fn demand(&self, tracked: &Tracked) -> Result<Amounts, Uncountable> {
        let mut demand = self.of_containers(tracked)?;
        let whole = &self.spec.resources.requests;
        if !whole.is_empty() {
            demand.replace_named(&self.of_whole_pod(tracked)?, whole);
        }
        demand.add(&tracked.read(&self.spec.overhead)?);
        Ok(demand)
    }

    fn of_whole_pod(&self, tracked: &Tracked) -> Result<Amounts, Uncountable> {
        let wanted = &self.spec.resources.requests;
        match &self.status.resources {
            Some(actual) => self.while_resized(
                tracked,
                wanted,
                &actual.requests,
                &self.status.allocated_resources,
            ),
            None => tracked.read(wanted),
        }
    }

    fn of_containers(&self, tracked: &Tracked) -> Result<Amounts, Uncountable> {
        let statuses: BTreeMap<&str, &ContainerStatus> = self
            .status
            .container_statuses
            .iter()
            .chain(&self.status.init_container_statuses)
            .map(|status| (status.name.as_str(), status))
            .collect();
        let effective = |container: &Container| match statuses.get(container.name.as_str()) {
            Some(ContainerStatus { resources: Some(actual), allocated_resources, .. }) => {
                let wanted = &container.resources.requests;
                self.while_resized(tracked, wanted, &actual.requests, allocated_resources)
            }
            _ => tracked.read(&container.resources.requests),
        };
        let mut together = tracked.none();
        for container in &self.spec.containers {
            together.add(&effective(container)?);
        }
        let (mut sidecars, mut before) = (tracked.none(), tracked.none());
        for container in &self.spec.init_containers {
            if container.restart_policy.as_deref() == Some(SIDECAR) {
                let asked = effective(container)?;
                together.add(&asked);
                sidecars.add(&asked);
                before.raise_to(&sidecars);
            } else {
                let mut beside = tracked.read(&container.resources.requests)?;
                beside.add(&sidecars);
                before.raise_to(&beside);
            }
        }
        together.raise_to(&before);
        Ok(together)
    }

    fn while_resized(
        &self,
        tracked: &Tracked,
        wanted: &ResourceList,
        actual: &ResourceList,
        allocated: &ResourceList,
    ) -> Result<Amounts, Uncountable> {
        let mut largest = tracked.read(actual)?;
        largest.raise_to(&tracked.read(allocated)?);
        if !self.resize_is_infeasible() {
            largest.raise_to(&tracked.read(wanted)?);
        }
        Ok(largest)
    }

    fn resize_is_infeasible(&self) -> bool {
        let pending =
            self.status.conditions.iter().find(|condition| condition.kind == INFEASIBLE.0);
        pending.is_some_and(|condition| condition.reason == INFEASIBLE.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a pod asks for, given as its YAML, on a node.
    fn demand(pod: &str) -> String {
        let pod: PodView = serde_saphyr::from_str(pod).unwrap();
        let tracked = Tracked::with_devices(vec!["nvidia.com/gpu".into(), "amd.com/gpu".into()]);
        pod.demand(&tracked).unwrap().resources().unwrap().to_string()
    }

    #[test]
    fn containers_are_summed() {
        let pod = "spec: {containers: [
            {name: a, resources: {requests: {cpu: 100m, memory: 1Gi, nvidia.com/gpu: '1'}}},
            {name: b, resources: {requests: {cpu: '1', ephemeral-storage: 5Gi, amd.com/gpu: '2'}}},
            {name: c}]}";
        assert_eq!(demand(pod), "cpu 1100m, memory 1Gi, gpu 3, storage 5Gi");
    }

    #[test]
    fn fractions_are_rounded_once_for_the_pod() {
        let pod = "spec: {containers: [
            {name: a, resources: {requests: {memory: 500m}}},
            {name: b, resources: {requests: {memory: 500m}}}]}";
        assert_eq!(demand(pod), "cpu 0, memory 1");
    }

    #[test]
    fn the_largest_init_container_counts_if_it_is_larger_than_the_sum() {
        let pod = "spec: {containers: [{name: a, resources: {requests: {cpu: '1', memory: 2Gi}}}],
            initContainers: [
            {name: i, resources: {requests: {cpu: '3', memory: 1Gi}}},
            {name: j, resources: {requests: {cpu: '2'}}}]}";
        assert_eq!(demand(pod), "cpu 3, memory 2Gi");
    }

    #[test]
    fn sidecars_count_beside_containers_and_beside_later_init_containers() {
        let pod = "spec: {containers: [{name: a, resources: {requests: {cpu: '1'}}}],
            initContainers: [
            {name: i, resources: {requests: {cpu: '4'}}},
            {name: s, restartPolicy: Always, resources: {requests: {cpu: '2'}}},
            {name: j, resources: {requests: {cpu: '3'}}}]}";
        assert_eq!(demand(pod), "cpu 5, memory 0");
    }

    #[test]
    fn requests_of_the_whole_pod_replace_those_of_its_containers_where_they_are_named() {
        let pod = "spec: {resources: {requests: {cpu: '1'}}, overhead: {cpu: 250m, memory: 1Mi},
            containers: [{name: a, resources: {requests: {cpu: '4', memory: 1Mi}}}]}";
        assert_eq!(demand(pod), "cpu 1250m, memory 2Mi");
    }

    #[test]
    fn during_a_resize_the_largest_of_wanted_allocated_and_actual_counts() {
        let pod = |wanted: &str, actual: &str, allocated: &str, reason: &str| {
            format!(
                "spec: {{containers: [{{name: a, resources: {{requests: {{cpu: '{wanted}'}}}}}}]}}
status: {{conditions: [{{type: PodResizePending, status: 'True', reason: {reason}}}],
  containerStatuses: [{{name: a, resources: {{requests: {{cpu: '{actual}'}}}},
    allocatedResources: {{cpu: '{allocated}'}}}}]}}"
            )
        };
        assert_eq!(demand(&pod("4", "1", "2", "Deferred")), "cpu 4, memory 0");
        assert_eq!(demand(&pod("1", "3", "2", "Deferred")), "cpu 3, memory 0");
        assert_eq!(demand(&pod("4", "1", "2", "Infeasible")), "cpu 2, memory 0");
    }

    #[test]
    fn a_whole_pod_is_resized_in_place_too() {
        let pod = "spec: {resources: {requests: {cpu: '1'}}, containers: [{name: a}]}
status: {resources: {requests: {cpu: '2'}}, allocatedResources: {cpu: '3'}}";
        assert_eq!(demand(pod), "cpu 3, memory 0");
    }

    #[test]
    fn only_pods_on_nodes_that_have_not_finished_count() {
        let tracked = Tracked::with_devices(Vec::new());
        let facts =
            |pod: &str| serde_saphyr::from_str::<PodView>(pod).unwrap().facts(&tracked).unwrap();
        assert_eq!(facts("spec: {containers: [{name: a}]}"), None);
        assert_eq!(facts("spec: {nodeName: n, containers: []}\nstatus: {phase: Succeeded}"), None);
        assert_eq!(facts("spec: {nodeName: n, containers: []}\nstatus: {phase: Failed}"), None);
        let bound =
            facts("metadata: {labels: {offloading.liqo.io/origin: paris}}\nspec: {nodeName: n}");
        let bound = bound.unwrap();
        assert_eq!((bound.node.as_str(), bound.requester), ("n", Some("paris".parse().unwrap())));
    }
}
