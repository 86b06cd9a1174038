//! Whose words count in which namespace: bound by an operator's label, or believed because an operator said so.

use std::collections::{BTreeMap, BTreeSet};

use rear_api::resources::names::NOBODY;
use rear_engine::ClusterId;

/// Whose words are in a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Speaker {
    /// This cluster's, and no other's.
    Cluster(ClusterId),
    /// Everyone's: what they say of themselves is believed.
    Everyone,
    /// Nobody's, for a reason that people are told.
    Nobody(String),
}

/// Namespaces and clusters, as an operator has bound them.
#[derive(Debug, Default)]
pub(super) struct Speakers {
    shared: Option<String>,
    bound: BTreeMap<String, ClusterId>,
    /// Labels that name no cluster.
    unreadable: BTreeMap<String, String>,
    homes: BTreeMap<ClusterId, BTreeSet<String>>,
}

impl Speakers {
    /// With a namespace in which everyone is believed, if the operator wants one.
    pub(super) fn new(shared: Option<String>) -> Self {
        Self { shared, ..Self::default() }
    }

    /// The label of a namespace is so; `None` when it has none, or is gone.
    pub(super) fn bind(&mut self, namespace: &str, label: Option<&str>) {
        self.unreadable.remove(namespace);
        if let Some(before) = self.bound.remove(namespace)
            && let Some(homes) = self.homes.get_mut(&before)
        {
            homes.remove(namespace);
        }
        match label.map(|text| text.parse::<ClusterId>().map_err(|_| text)) {
            None => {}
            Some(Err(text)) => {
                self.unreadable.insert(namespace.to_owned(), text.to_owned());
            }
            Some(Ok(cluster)) => {
                self.homes.entry(cluster.clone()).or_default().insert(namespace.to_owned());
                self.bound.insert(namespace.to_owned(), cluster);
            }
        }
    }

    /// Whose words count in a namespace.
    pub(super) fn of(&self, namespace: &str) -> Speaker {
        if let Some(cluster) = self.bound.get(namespace) {
            return match self.bound_home(cluster) {
                Some(home) if home != namespace => Speaker::Nobody(format!(
                    "cluster {cluster} is bound to the namespace {home} already"
                )),
                _ => Speaker::Cluster(cluster.clone()),
            };
        }
        if self.shared.as_deref() == Some(namespace) {
            return Speaker::Everyone;
        }
        let why = match self.unreadable.get(namespace) {
            Some(label) => format!("its label {label} is no cluster id"),
            None => "an operator binds one with the label broker.fluidos.eu/cluster".to_owned(),
        };
        Speaker::Nobody(format!("the namespace {namespace} is bound to no cluster: {why}"))
    }

    /// Where a cluster is told what concerns it; nowhere for one that no operator has bound.
    pub(super) fn home(&self, cluster: &ClusterId) -> Option<&str> {
        self.bound_home(cluster).or(self.shared.as_deref())
    }

    fn bound_home(&self, cluster: &ClusterId) -> Option<&str> {
        self.homes.get(cluster)?.first().map(String::as_str)
    }

    /// Every namespace that is served, and for whom.
    pub(super) fn served(&self) -> Vec<(String, Speaker)> {
        let names = self.bound.keys().chain(&self.shared).cloned().collect::<BTreeSet<_>>();
        let served = names.into_iter().map(|name| (self.of(&name), name));
        let mut served: Vec<_> = served.map(|(speaker, name)| (name, speaker)).collect();
        served.retain(|(_, speaker)| !matches!(speaker, Speaker::Nobody(_)));
        served
    }
}

impl Speaker {
    /// For whom a reservation is asked here, which names someone or nobody.
    pub(super) fn requester(&self, named: Option<&str>) -> Result<ClusterId, String> {
        let named = named.filter(|name| !name.is_empty());
        match (self, named) {
            (Self::Cluster(cluster), None) => Ok(cluster.clone()),
            (Self::Cluster(cluster), Some(name)) if name == cluster.as_str() => Ok(cluster.clone()),
            (Self::Cluster(cluster), Some(name)) => {
                Err(format!("requesterID: this namespace is {cluster}'s, not {name}'s"))
            }
            (Self::Everyone, name) => {
                let name = name.unwrap_or(NOBODY);
                name.parse().map_err(|error| format!("requesterID: {error}"))
            }
            (Self::Nobody(why), _) => Err(why.clone()),
        }
    }

    /// Whether a cluster may be spoken for here.
    pub(super) fn speaks_for(&self, cluster: &ClusterId) -> bool {
        match self {
            Self::Cluster(bound) => bound == cluster,
            Self::Everyone => true,
            Self::Nobody(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> ClusterId {
        text.parse().unwrap()
    }

    #[test]
    fn a_namespace_speaks_for_the_cluster_of_its_label_and_no_other() {
        let mut speakers = Speakers::new(None);
        speakers.bind("team-a", Some("rome"));
        let speaker = speakers.of("team-a");
        assert_eq!(speaker, Speaker::Cluster(id("rome")));
        assert_eq!(speaker.requester(None), Ok(id("rome")));
        assert_eq!(speaker.requester(Some("rome")), Ok(id("rome")));
        assert!(speaker.requester(Some("paris")).unwrap_err().contains("rome's, not paris's"));
        assert!(speaker.speaks_for(&id("rome")) && !speaker.speaks_for(&id("paris")));
        assert_eq!(speakers.home(&id("rome")), Some("team-a"));
        speakers.bind("team-a", None);
        assert!(matches!(speakers.of("team-a"), Speaker::Nobody(_)));
        assert_eq!(speakers.home(&id("rome")), None);
    }

    #[test]
    fn of_two_namespaces_for_one_cluster_the_first_counts() {
        let mut speakers = Speakers::new(None);
        speakers.bind("b", Some("rome"));
        speakers.bind("a", Some("rome"));
        assert_eq!(speakers.home(&id("rome")), Some("a"));
        let Speaker::Nobody(why) = speakers.of("b") else { panic!("it counts") };
        assert!(why.contains("namespace a already"), "{why}");
    }

    #[test]
    fn in_the_shared_namespace_everyone_is_believed_and_may_stay_unnamed() {
        let mut speakers = Speakers::new(Some("default".to_owned()));
        speakers.bind("team-a", Some("rome"));
        let speaker = speakers.of("default");
        assert_eq!(speaker, Speaker::Everyone);
        assert_eq!(speaker.requester(Some("user-team")), Ok(id("user-team")));
        assert_eq!(speaker.requester(None), Ok(id(NOBODY)));
        assert_eq!(speakers.home(&id("oslo")), Some("default"));
        assert_eq!(speakers.home(&id("rome")), Some("team-a"));
        assert_eq!(speakers.served().len(), 2);
    }
}
