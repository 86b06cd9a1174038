//! What an object says of a cluster, whether that is news, and what it should say: pure.

use std::sync::Arc;

use rear_api::advertisement::Advertisement as Shown;
use rear_api::moment;
use rear_api::problem::Code;
use rear_api::resources::names::advertisement_name;
use rear_api::resources::{
    Amounts, ClusterAdvertisement as Object, ClusterAdvertisementSpec, ClusterAdvertisementStatus,
    Mark,
};
use rear_engine::{Advertisement, ClusterId, Command, Fleet, Timestamp};

use super::super::MANAGER;
use super::super::shelf::Place;
use super::super::speakers::Speaker;
use super::status::status;

/// Why what an object says does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) code: String,
    pub(crate) message: String,
}

/// What an object says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Telling {
    /// Nothing that is not known, or nobody has said it.
    Nothing,
    /// Something that cannot be.
    Wrong(Answer),
    /// Something to be decided.
    News(Box<Command>),
}

/// An object of a cluster.
#[derive(Debug)]
pub(super) struct Sighting {
    pub(super) place: Place,
    pub(super) object: Arc<Object>,
    pub(super) speaker: Speaker,
    pub(super) answer: Option<Answer>,
}

/// What is to be written.
#[derive(Debug)]
pub(super) enum Write {
    /// An object for a cluster that has none.
    Create { namespace: String, object: Box<Object>, status: Box<ClusterAdvertisementStatus> },
    /// What the broker adds to what the cluster says, then the status of that.
    Update {
        place: Place,
        object: Arc<Object>,
        spec: Option<serde_json::Value>,
        status: Box<ClusterAdvertisementStatus>,
    },
}

/// When someone other than the broker last wrote of the cluster; never, of the broker's own objects.
pub(super) fn written_at(object: &Object) -> Option<Timestamp> {
    let entries = object.metadata.managed_fields.iter().flatten();
    let others = entries.filter(|entry| {
        entry.subresource.as_deref().unwrap_or_default().is_empty()
            && entry.manager.as_deref() != Some(MANAGER)
    });
    let seconds = others.filter_map(|entry| Some(entry.time.as_ref()?.0.as_second()));
    seconds.max().map(Timestamp::from_seconds)
}

/// What an object says.
pub(super) fn telling(
    fleet: &Fleet,
    cluster: &ClusterId,
    object: &Object,
    speaker: &Speaker,
    now: Timestamp,
) -> Telling {
    let Some(written_at) = written_at(object) else { return Telling::Nothing };
    let wrong = |code: Code, message: String| {
        Telling::Wrong(Answer { code: code.name().to_owned(), message })
    };
    match speaker {
        Speaker::Cluster(bound) if bound != cluster => {
            let message = format!("this namespace is {bound}'s, not {cluster}'s");
            return wrong(Code::OtherCluster, message);
        }
        Speaker::Nobody(_) => return Telling::Nothing,
        Speaker::Cluster(_) | Speaker::Everyone => {}
    }
    let command = match object.spec.request(written_at).into_command() {
        Ok(command) => command,
        Err(error) => return wrong(Code::Invalid, error.to_string()),
    };
    let Command::Advertise { advertisement, holding, .. } = &command else {
        return Telling::Nothing;
    };
    let record = fleet.cluster(cluster).map(rear_engine::fleet::Cluster::record);
    let kept = record.and_then(|record| record.advertisement());
    let recovers = holding.is_some() && record.is_some_and(|record| fleet.is_recovering(record));
    // What was last written long ago says nothing of today: the broker was away, and so may be the cluster.
    let is_recent = now.since(written_at) < fleet.policy().stale_after;
    if is_recent && (recovers || is_news(kept, advertisement)) {
        Telling::News(Box::new(command))
    } else {
        Telling::Nothing
    }
}

fn is_news(kept: Option<&Advertisement>, told: &Advertisement) -> bool {
    kept.is_none_or(|kept| {
        kept.timestamp != told.timestamp
            || (told.order.is_some() && told.order != kept.order)
            || !told.says_the_same_as(kept)
    })
}

/// What the objects of a cluster should say, if they say something else.
pub(super) fn writes(
    cluster: &ClusterId,
    shown: Option<&Shown>,
    sightings: &[Sighting],
    home: Option<&str>,
    mark: Mark,
    now: Timestamp,
) -> Vec<Write> {
    let written = |known: Option<&ClusterAdvertisementStatus>, sighting: Option<&Sighting>| {
        let status = status(cluster, shown, sighting, now);
        let is_known = known.is_some_and(|known| known.says_the_same_as(&status));
        let (at, mark) = (Some(moment::text(now)), Some(mark.to_string()));
        (!is_known).then_some(ClusterAdvertisementStatus {
            last_update_time: at,
            ledger: mark,
            ..status
        })
    };
    let mut writes = Vec::new();
    for sighting in sightings {
        let object = &sighting.object;
        let speaks = sighting.speaker.speaks_for(cluster);
        let spec = shown.filter(|_| speaks).and_then(|shown| added(object, shown));
        let known = object.status.as_ref();
        // A spec that is written gets a new generation, of which the status has to tell.
        if spec.is_some() || written(known, Some(sighting)).is_some() {
            let fresh = written(None, Some(sighting)).unwrap_or_default();
            let place = sighting.place.clone();
            writes.push(Write::Update {
                place,
                object: object.clone(),
                spec,
                status: fresh.into(),
            });
        }
    }
    if let (Some(namespace), Some(shown), [], Some(status)) =
        (home, shown, sightings, written(None, None))
    {
        let name = advertisement_name(cluster.as_str());
        let object = Object::new(&name, whole_spec(shown)).into();
        writes.push(Write::Create {
            namespace: namespace.to_owned(),
            object,
            status: status.into(),
        });
    }
    writes
}

/// What differs in the spec: what is reserved and available, or all of an object that only the broker writes.
fn added(object: &Object, shown: &Shown) -> Option<serde_json::Value> {
    let mut wanted = object.spec.clone();
    if written_at(object).is_none() {
        wanted = whole_spec(shown);
    }
    wanted.resources.reserved = shown.resources.reserved.clone().map(Amounts::from);
    wanted.resources.available = Some(shown.resources.available.clone().into());
    if wanted == object.spec {
        return None;
    }
    serde_json::to_value(&wanted).ok()
}

fn whole_spec(shown: &Shown) -> ClusterAdvertisementSpec {
    let resources = &shown.resources;
    let told = rear_api::advertisement::AdvertisementRequest {
        cluster_id: shown.cluster_id.clone(),
        cluster_name: Some(shown.cluster_name.clone()),
        timestamp: shown.timestamp.clone(),
        resources: rear_api::advertisement::OfferedResources {
            capacity: resources.capacity.clone(),
            allocatable: resources.allocatable.clone(),
            allocated: resources.allocated.clone(),
            reserved: None,
            available: None,
        },
        cost: shown.cost.clone(),
        labels: shown.labels.clone(),
        endpoint_url: shown.endpoint_url.clone(),
        consumed: shown.consumed.clone(),
        holding: None,
        epoch: shown.epoch,
        sequence: shown.sequence,
    };
    let mut spec = ClusterAdvertisementSpec::telling(&told);
    spec.resources.reserved = resources.reserved.clone().map(Amounts::from);
    spec.resources.available = Some(resources.available.clone().into());
    spec
}

#[cfg(test)]
mod tests {
    use rear_api::advertisement::Seen;
    use rear_api::resources::is_true;
    use rear_api::resources::names::{OVERCOMMITTED, READY, STALE};
    use rear_engine::{Policy, Position};
    use serde_json::json;

    use super::*;

    const SECONDS: i64 = 1_800_000_000;

    fn id(text: &str) -> ClusterId {
        text.parse().unwrap()
    }

    /// As someone wrote it so many seconds after the beginning.
    fn object(manager: &str, at: i64) -> Object {
        let time = moment::text(Timestamp::from_seconds(SECONDS + at));
        let object = json!({
            "apiVersion": "broker.fluidos.eu/v1alpha1", "kind": "ClusterAdvertisement",
            "metadata": { "name": "rome-adv", "namespace": "rome", "generation": 1,
                "managedFields": [{ "manager": manager, "time": time }] },
            "spec": { "clusterID": "rome", "resources": { "capacity": { "cpu": "8", "memory": "1Gi" } } },
        });
        serde_json::from_value(object).unwrap()
    }

    fn told(fleet: &Fleet, object: &Object, speaker: &str, now: i64) -> Telling {
        let speaker = Speaker::Cluster(id(speaker));
        telling(fleet, &id("rome"), object, &speaker, Timestamp::from_seconds(SECONDS + now))
    }

    #[test]
    fn what_a_cluster_writes_is_news_once() {
        let mut fleet = Fleet::new(Policy::default());
        let Telling::News(command) = told(&fleet, &object("kubectl", 0), "rome", 1) else {
            panic!("it is not news")
        };
        let now = Timestamp::from_seconds(SECONDS + 1);
        for change in rear_engine::decide(&fleet, *command, now).unwrap().changes {
            fleet.apply(change).unwrap();
        }
        assert_eq!(told(&fleet, &object("kubectl", 0), "rome", 2), Telling::Nothing);
        assert!(matches!(told(&fleet, &object("kubectl", 30), "rome", 31), Telling::News(_)));
    }

    #[test]
    fn the_brokers_own_words_and_old_ones_say_nothing_and_others_are_wrong() {
        let fleet = Fleet::new(Policy::default());
        assert_eq!(told(&fleet, &object(MANAGER, 0), "rome", 1), Telling::Nothing);
        assert_eq!(told(&fleet, &object("kubectl", 0), "rome", 10 * 60), Telling::Nothing);
        assert!(matches!(told(&fleet, &object("kubectl", 0), "paris", 1), Telling::Wrong(_)));
    }

    #[test]
    fn where_nobody_has_written_of_a_cluster_it_is_shown_if_it_has_a_home() {
        let mark = Mark { ledger: 1, position: Position { incarnation: 1, number: 1 } };
        let now = Timestamp::from_seconds(SECONDS);
        assert!(writes(&id("rome"), None, &[], Some("rome"), mark, now).is_empty());
        let sighting = Sighting {
            place: Place { namespace: "oslo".into(), name: "rome-adv".into() },
            object: Arc::new(object("kubectl", 0)),
            speaker: Speaker::Nobody("bound to no cluster".into()),
            answer: None,
        };
        let writes = writes(&id("rome"), None, &[sighting], None, mark, now);
        let [Write::Update { spec: None, status, .. }] = &writes[..] else { panic!("{writes:?}") };
        assert_eq!(status.message.as_deref(), Some("bound to no cluster"));
    }

    /// What is decided of it, one after the other.
    fn fleet_that_was_told(objects: &[Object]) -> Fleet {
        let mut fleet = Fleet::new(Policy::default());
        for object in objects {
            let Telling::News(command) = told(&fleet, object, "rome", 1) else { panic!("known") };
            let now = Timestamp::from_seconds(SECONDS + 1);
            for change in rear_engine::decide(&fleet, *command, now).unwrap().changes {
                fleet.apply(change).unwrap();
            }
        }
        fleet
    }

    #[test]
    fn what_a_cluster_holds_and_in_which_order_it_speaks_is_news_once() {
        let mut object = object("kubectl", 0);
        (object.spec.epoch, object.spec.sequence) = (Some(1), Some(1));
        object.spec.holding = Some(Vec::new());
        let fleet = fleet_that_was_told(&[object.clone()]);
        assert_eq!(told(&fleet, &object, "rome", 2), Telling::Nothing);
        object.spec.sequence = Some(2);
        assert!(matches!(told(&fleet, &object, "rome", 2), Telling::News(_)));
        (object.spec.epoch, object.spec.sequence) = (None, None);
        assert_eq!(told(&fleet, &object, "rome", 2), Telling::Nothing);
    }

    /// How rome stands so many seconds after it has told of itself.
    fn rome_after(seconds: i64) -> Shown {
        let fleet = fleet_that_was_told(&[object("kubectl", 0)]);
        let now = Timestamp::from_seconds(SECONDS + seconds);
        let known = fleet.cluster(&id("rome")).unwrap();
        Seen::of(&fleet, known, now).and_then(Shown::of).unwrap()
    }

    /// What is written to an object of rome's.
    fn updated(object: &Object, shown: &Shown, answer: Option<Answer>) -> Vec<Write> {
        let mark = Mark { ledger: 1, position: Position { incarnation: 1, number: 1 } };
        let sighting = Sighting {
            place: Place { namespace: "rome".into(), name: "rome-adv".into() },
            object: Arc::new(object.clone()),
            speaker: Speaker::Cluster(id("rome")),
            answer,
        };
        let now = Timestamp::from_seconds(SECONDS + 2);
        writes(&id("rome"), Some(shown), &[sighting], Some("rome"), mark, now)
    }

    #[test]
    fn an_object_says_what_is_left_and_how_its_cluster_stands_and_that_is_all() {
        let mut object = object("kubectl", 0);
        let stands = |writes: &[Write]| {
            let [Write::Update { status, .. }] = writes else { panic!("{writes:?}") };
            let says = |kind| is_true(&status.conditions, kind);
            assert_eq!(status.conditions.len(), 3);
            (status.message.clone().unwrap(), [READY, STALE, OVERCOMMITTED].map(says))
        };
        let first = updated(&object, &rome_after(2), None);
        assert_eq!(stands(&first), ("it can get reservations".to_owned(), [true, false, false]));
        let [Write::Update { spec: Some(spec), status, .. }] = &first[..] else {
            panic!("{first:?}")
        };
        assert_eq!(spec["resources"]["available"]["cpu"], "8");
        object.spec = serde_json::from_value(spec.clone()).unwrap();
        object.status = Some(ClusterAdvertisementStatus::clone(status));
        assert!(updated(&object, &rome_after(2), None).is_empty());
        let silent = stands(&updated(&object, &rome_after(60 * 60), None));
        assert_eq!(
            silent,
            ("nothing was heard of it for too long".to_owned(), [false, true, false])
        );
        let mut shown = rome_after(2);
        shown.status.as_mut().unwrap().overcommitted = true;
        let overcommitted = stands(&updated(&object, &shown, None));
        let message = "it has promised or used more than it has".to_owned();
        assert_eq!(overcommitted, (message, [false, false, true]));
        shown.status.as_mut().unwrap().recovering = true;
        assert!(stands(&updated(&object, &shown, None)).0.starts_with("the ledger was restored"));
        let answer = Answer { code: "invalid".to_owned(), message: "no such unit".to_owned() };
        let refused = stands(&updated(&object, &rome_after(2), Some(answer)));
        assert_eq!(refused, ("no such unit".to_owned(), [false, false, false]));
    }
}
