//! All that is known of one reservation at one moment: the ledger's record, its objects, and whose words they are.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::core::ObjectMeta;
use rear_api::resources::names::{PROVIDERS_VIEW, REQUESTERS_VIEW, VIEW_LABEL};
use rear_api::resources::{Mark, Reservation as Object, ReservationStatus};
use rear_engine::fleet::ClusterRecord;
use rear_engine::{ClusterId, Fleet, Reservation, ReservationId, Timestamp};
use serde_json::Value;

use super::super::shelf::Place;
use super::super::speakers::Speaker;

/// How the key begins of reservations that were made as resources, before their id: when the object is gone, they are given back.
const KEY: &str = "kubernetes:";

/// What is known of one reservation.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) id: ReservationId,
    pub(crate) record: Option<Reservation>,
    pub(crate) objects: Vec<Sighting>,
    /// Where its requester is told, if anywhere.
    pub(crate) requesters_home: Option<String>,
    /// Where its provider is told, if anywhere.
    pub(crate) providers_home: Option<String>,
    pub(crate) answers: Answers,
    /// Its provider has not said yet what it holds: the ledger was restored.
    pub(crate) recovering: bool,
    pub(crate) mark: Mark,
    pub(crate) now: Timestamp,
}

/// One of its objects.
#[derive(Debug, Clone)]
pub(crate) struct Sighting {
    pub(crate) place: Place,
    pub(crate) object: Arc<Object>,
    pub(crate) speaker: Speaker,
}

/// What an object is to its reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The wish itself.
    Original,
    /// The broker's, for a requester that asked over HTTP.
    RequestersView,
    /// The broker's, for the provider.
    ProvidersView,
}

/// What was answered to the wishes of an object, as far as the ledger does not remember it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Answers(BTreeMap<Wish, Answer>);

/// What an object can want.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wish {
    Reserve,
    Explain,
    Activate,
    /// Until then, as it was written.
    Renew(String),
    Reject,
    Release,
}

/// The answer to a wish: no, with a code; or an explanation, or that an end was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) code: Option<String>,
    pub(crate) message: String,
    pub(crate) explanation: Option<Value>,
}

/// What an object is.
fn kind_of(meta: &ObjectMeta) -> Kind {
    let is_named = named_id(meta).is_some();
    let view = meta.labels.as_ref().and_then(|labels| labels.get(VIEW_LABEL));
    match view.map(String::as_str) {
        Some(REQUESTERS_VIEW) if is_named => Kind::RequestersView,
        Some(PROVIDERS_VIEW) if is_named => Kind::ProvidersView,
        _ => Kind::Original,
    }
}

/// The reservation that an object is about: a view says so by its name, a wish has the id that Kubernetes gave it.
pub(crate) fn id_of(object: &Object) -> Option<ReservationId> {
    match kind_of(&object.metadata) {
        Kind::Original => id_of_wish(&object.metadata),
        Kind::RequestersView | Kind::ProvidersView => named_id(&object.metadata),
    }
}

/// The reservation that an object is the wish for, whatever else can be read of it.
pub(crate) fn id_of_wish(meta: &ObjectMeta) -> Option<ReservationId> {
    let uid = meta.uid.as_deref().filter(|_| kind_of(meta) == Kind::Original)?;
    Some(ReservationId::from_bits(uuid::Uuid::parse_str(uid).ok()?.as_u128()))
}

fn named_id(meta: &ObjectMeta) -> Option<ReservationId> {
    meta.name.as_deref()?.parse().ok()
}

/// The key under which a wish is asked, which says that it is one.
pub(crate) fn key_of(id: ReservationId) -> String {
    format!("{KEY}{id}")
}

/// Whether a reservation was made as a resource.
pub(crate) fn was_made_as_resource(record: &Reservation) -> bool {
    // The whole key: whoever speaks HTTP chooses keys, and no ids.
    record.key.as_ref().is_some_and(|key| key.as_str() == key_of(record.id))
}

/// Whether a provider that these objects name may still remember the promise, and a restored ledger not: it has yet to say what
/// it holds, or, as long as there is `patience`, the ledger has yet to hear of it (it joined after the backup).
pub(crate) fn is_awaited(fleet: &Fleet, objects: &[Sighting], patience: bool) -> bool {
    let named = objects.iter().flat_map(Sighting::named_providers);
    named.filter_map(|name| name.parse::<ClusterId>().ok()).any(|provider| {
        match fleet.cluster(&provider) {
            Some(known) => fleet.is_recovering(known.record()),
            None => patience && fleet.is_recovering(&ClusterRecord::new(provider)),
        }
    })
}

impl Sighting {
    /// Who has promised it, as far as the object says: the broker has written so into its status, and into the spec before it
    /// held it. In a spec that is not held it is only somebody's wish.
    fn named_providers(&self) -> impl Iterator<Item = &str> {
        let status = self.object.status.as_ref();
        let told = status.and_then(|status| status.target_cluster_id.as_deref());
        let is_granted = self.kind() == Kind::Original && self.object.is_held();
        let chosen = self.object.spec.target_cluster_id.as_deref().filter(|_| is_granted);
        told.into_iter().chain(chosen)
    }

    pub(crate) fn kind(&self) -> Kind {
        kind_of(&self.object.metadata)
    }

    /// Whether someone has deleted it.
    pub(crate) fn is_deleted(&self) -> bool {
        self.object.metadata.deletion_timestamp.is_some()
    }
}

impl Seen {
    /// The object through which the requester speaks.
    pub(crate) fn requesters(&self) -> Option<&Sighting> {
        let original = self.objects.iter().find(|seen| seen.kind() == Kind::Original);
        let at_home = |seen: &&Sighting| {
            seen.kind() == Kind::RequestersView
                && Some(&seen.place.namespace) == self.requesters_home.as_ref()
        };
        original.or_else(|| self.objects.iter().find(at_home))
    }

    /// As a user has named the reservation, if it is a wish of one.
    pub(crate) fn users_name(&self) -> Option<String> {
        let original = self.objects.iter().find(|seen| seen.kind() == Kind::Original)?;
        original.object.users_name()
    }

    /// The provider's own copy.
    pub(crate) fn providers(&self) -> Option<&Sighting> {
        self.objects.iter().find(|seen| {
            seen.kind() == Kind::ProvidersView
                && Some(&seen.place.namespace) == self.providers_home.as_ref()
        })
    }

    /// Whether one of its objects was written from a newer state of this ledger: by a broker that led before.
    pub(crate) fn is_behind(&self) -> bool {
        let marks = self.objects.iter().filter_map(|seen| seen.object.status.as_ref());
        let mut marks = marks.filter_map(|status| status.ledger.as_deref()?.parse::<Mark>().ok());
        marks.any(|mark| mark.ledger == self.mark.ledger && mark.position > self.mark.position)
    }

    /// Whether this is the life of the ledger that a status was written in: what was agreed on in another may be forgotten.
    pub(crate) fn is_of_this_life(&self, status: &ReservationStatus) -> bool {
        let mark = status.ledger.as_deref().and_then(|text| text.parse::<Mark>().ok());
        let life = |mark: &Mark| (mark.ledger, mark.position.incarnation);
        mark.is_none_or(|mark| life(&mark) == life(&self.mark))
    }

    /// Where the requester is told, or would be.
    pub(crate) fn requesters_namespace(&self) -> Option<&str> {
        let actual = self.requesters().map(|seen| seen.place.namespace.as_str());
        actual.or(self.requesters_home.as_deref())
    }
}

impl Wish {
    /// Its word in the audit log.
    pub(crate) fn action(&self) -> &'static str {
        match self {
            Self::Reserve => "reserve",
            Self::Explain => "explain",
            Self::Activate => "activate",
            Self::Renew(_) => "renew",
            Self::Reject => "reject",
            Self::Release => "release",
        }
    }
}

impl Answers {
    /// Of several ends that were wanted one after the other, the last one is remembered: an earlier one may be wanted again.
    pub(crate) fn add(&mut self, wish: Wish, answer: Answer) {
        if matches!(wish, Wish::Renew(_)) {
            self.forget_ends();
        }
        self.0.insert(wish, answer);
    }

    /// No end is wanted any more.
    pub(crate) fn forget_ends(&mut self) {
        self.0.retain(|known, _| !matches!(known, Wish::Renew(_)));
    }

    pub(crate) fn to(&self, wish: &Wish) -> Option<&Answer> {
        self.0.get(wish)
    }
}
