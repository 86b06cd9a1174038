//! What an object says of a cluster, whether that is news, and what it should say: pure.

use std::sync::Arc;

use rear_api::advertisement::Advertisement as Shown;
use rear_api::moment;
use rear_api::problem::Code;
use rear_api::resources::names::{OVERCOMMITTED, READY, STALE, advertisement_name};
use rear_api::resources::{
    Amounts, ClusterAdvertisement as Object, ClusterAdvertisementSpec, ClusterAdvertisementStatus,
    Condition, Mark, Truth, set_condition,
};
use rear_engine::{Advertisement, ClusterId, Command, Fleet, Timestamp};

use super::super::MANAGER;
use super::super::shelf::Place;
use super::super::speakers::Speaker;

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
    let status = |known: Option<&ClusterAdvertisementStatus>, sighting: Option<&Sighting>| {
        let status = status(cluster, shown, known, sighting, now);
        let is_known = known.is_some_and(|known| known.says_the_same_as(&status));
        let (at, mark) = (Some(moment::text(now)), Some(mark.to_string()));
        (!is_known).then(|| ClusterAdvertisementStatus {
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
        if spec.is_some() || status(known, Some(sighting)).is_some() {
            let fresh = status(None, Some(sighting)).unwrap_or_default();
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
        (home, shown, sightings, status(None, None))
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

fn status(
    cluster: &ClusterId,
    shown: Option<&Shown>,
    known: Option<&ClusterAdvertisementStatus>,
    sighting: Option<&Sighting>,
    now: Timestamp,
) -> ClusterAdvertisementStatus {
    let before = known.or_else(|| sighting.and_then(|seen| seen.object.status.as_ref()));
    let mut conditions = before.map(|known| known.conditions.clone()).unwrap_or_default();
    let refused = sighting.and_then(|seen| match &seen.speaker {
        Speaker::Nobody(why) => Some(("not-bound".to_owned(), why.clone())),
        _ => seen.answer.clone().map(|Answer { code, message }| (code, message)),
    });
    let speaks = sighting.is_none_or(|seen| seen.speaker.speaks_for(cluster));
    let stands = shown.filter(|_| speaks).and_then(|shown| shown.status.as_ref());
    let is_active = stands.is_some_and(|stands| stands.active);
    let is_overcommitted = stands.is_some_and(|stands| stands.overcommitted);
    let message = match (&refused, stands) {
        (Some((_, why)), _) => why.clone(),
        (None, Some(stands)) if stands.recovering => {
            "the ledger was restored: the cluster has not said yet what it holds".to_owned()
        }
        (None, _) if is_overcommitted => "it has promised or used more than it has".to_owned(),
        (None, _) if is_active => "it can get reservations".to_owned(),
        (None, _) => "nothing was heard of it for too long".to_owned(),
    };
    let truth = |so: bool| if so { Truth::True } else { Truth::False };
    let ready = is_active && !is_overcommitted && refused.is_none();
    let reason =
        refused.as_ref().map_or(if is_active { "Active" } else { "Inactive" }, |(code, _)| code);
    let mut set = |kind: &str, so: bool, reason: &str, message: &str| {
        set_condition(
            &mut conditions,
            Condition {
                kind: kind.to_owned(),
                status: truth(so),
                reason: reason.to_owned(),
                message: message.to_owned(),
                last_transition_time: moment::text(now),
                observed_generation: None,
            },
        );
    };
    set(READY, ready, reason, &message);
    set(STALE, !is_active, if is_active { "Fresh" } else { "Stale" }, "");
    set(
        OVERCOMMITTED,
        is_overcommitted,
        if is_overcommitted { "Overcommitted" } else { "Fits" },
        "",
    );
    let base = match shown.filter(|_| speaks) {
        Some(shown) => ClusterAdvertisementStatus::of(shown, conditions),
        None => ClusterAdvertisementStatus {
            active: Some(false),
            phase: Some("Inactive".to_owned()),
            conditions,
            ..ClusterAdvertisementStatus::default()
        },
    };
    ClusterAdvertisementStatus {
        message: Some(message),
        code: refused.map(|(code, _)| code),
        observed_generation: sighting.and_then(|seen| seen.object.metadata.generation),
        ..base
    }
}
