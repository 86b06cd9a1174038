//! Where everything comes together that is known, and everything that is to be looked at.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_openapi::api::core::v1::Namespace;
use kube::{Client, ResourceExt};
use rear_api::moment;
use rear_api::problem::code_of_refusal;
use rear_api::resources::{ClusterAdvertisement, ClusterAdvertisementSpec, Mark, Reservation};
use rear_engine::{ClusterId, ReservationId};
use rear_store::{SubmitError, View};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::advertisement::{Answered, Hearing, cluster_of};
use super::queue::{Key, Queue};
use super::reservation::{Answer, Answers, Seen, Sighting, Wish, id_of, id_of_wish};
use super::shelf::{Place, Shelf};
use super::speakers::Speakers;
use crate::audit::Record;
use crate::broker::Broker;

/// What the API server has, as its watches tell it.
pub(super) struct Mirror {
    pub(super) speakers: Speakers,
    pub(super) namespaces: Shelf<Namespace, String>,
    pub(super) advertisements: Shelf<ClusterAdvertisement, ClusterId>,
    pub(super) reservations: Shelf<Reservation, ReservationId>,
}

/// All that a look needs.
pub(super) struct Desk {
    pub(super) client: Client,
    pub(super) broker: Arc<Broker>,
    pub(super) ledger: u128,
    /// When this broker began to serve.
    pub(super) since: Instant,
    mirror: Mutex<Mirror>,
    queue: Mutex<Queue>,
    pub(super) woken: Notify,
    answers: Mutex<BTreeMap<ReservationId, Answers>>,
    refused: Mutex<BTreeMap<Place, (ClusterAdvertisementSpec, Answered)>>,
    pub(super) hearing: Hearing,
}

impl Mirror {
    /// Whether everything has been listed once: before, nothing can be said to be gone.
    pub(super) fn is_complete(&self) -> bool {
        self.namespaces.is_complete()
            && self.advertisements.is_complete()
            && self.reservations.is_complete()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Desk {
    pub(super) fn new(
        client: Client,
        broker: Arc<Broker>,
        ledger: u128,
        shared: Option<String>,
    ) -> Self {
        let mirror = Mirror {
            speakers: Speakers::new(shared),
            namespaces: Shelf::new(|namespace| Some(namespace.name_any()), |_| None),
            advertisements: Shelf::new(cluster_of, |_| None),
            reservations: Shelf::new(id_of, id_of_wish),
        };
        Self {
            client,
            broker,
            ledger,
            since: Instant::now(),
            mirror: Mutex::new(mirror),
            queue: Mutex::default(),
            woken: Notify::new(),
            answers: Mutex::default(),
            refused: Mutex::default(),
            hearing: Hearing::default(),
        }
    }

    pub(super) fn mirror(&self) -> MutexGuard<'_, Mirror> {
        lock(&self.mirror)
    }

    /// The ledger, as far as it is in a view.
    pub(super) fn mark(&self, view: &View) -> Mark {
        Mark { ledger: self.ledger, position: view.position() }
    }

    pub(super) fn queue(&self) -> MutexGuard<'_, Queue> {
        lock(&self.queue)
    }

    /// These should be looked at.
    pub(super) fn touch(&self, keys: impl IntoIterator<Item = Key>) {
        let mut queue = self.queue();
        keys.into_iter().for_each(|key| queue.push(key));
        self.woken.notify_one();
    }

    /// What a reservation's wishes were answered; forgotten with its last object, and with the wish.
    pub(super) fn answers_of(&self, id: ReservationId, objects: &[Sighting]) -> Answers {
        let mut answers = lock(&self.answers);
        if objects.is_empty() {
            answers.remove(&id);
        } else if let Some(known) = answers.get_mut(&id)
            && objects.iter().all(|seen| seen.object.spec.expires_at.is_none())
        {
            known.forget_ends();
        }
        answers.get(&id).cloned().unwrap_or_default()
    }

    pub(super) fn answered(&self, id: ReservationId, wish: Wish, answer: Answer) {
        lock(&self.answers).entry(id).or_default().add(wish, answer);
    }

    /// Why what an object says does not count, if it has said the same before.
    pub(super) fn advertisement_answer(
        &self,
        place: &Place,
        object: &ClusterAdvertisement,
    ) -> Option<Answered> {
        let refused = lock(&self.refused);
        let (said, answer) = refused.get(place)?;
        (*said == own_words(object)).then(|| answer.clone())
    }

    pub(super) fn answer_advertisement(
        &self,
        place: &Place,
        object: &ClusterAdvertisement,
        answer: Answered,
    ) {
        lock(&self.refused).insert(place.clone(), (own_words(object), answer));
    }

    /// Tells the audit log who wanted what as a resource.
    pub(super) fn tell_audit(&self, seen: &Seen, wish: &Wish, error: Option<&SubmitError>) {
        let by = seen.objects.first().map(|object| object.place.clone());
        let by = by.map(|place| format!("{}/{}", place.namespace, place.name));
        let (status, code) = match error {
            None => (200, None),
            Some(SubmitError::Refused(refusal)) => {
                let code = code_of_refusal(refusal);
                (code.status(), Some(code.name().to_owned()))
            }
            Some(_) => (503, Some("not-ready".to_owned())),
        };
        self.broker.tell_audit(&Record {
            at: moment::text(seen.now),
            request: "kubernetes".to_owned(),
            by,
            administrator: false,
            on_behalf_of: None,
            action: wish.action(),
            object: Some(seen.id.to_string()),
            status,
            code,
        });
    }

    /// Everything that there is to look at.
    pub(super) fn everything(&self) -> (Vec<Key>, Vec<Key>) {
        let mirror = self.mirror();
        let view = self.broker.store.view();
        let fleet = view.fleet();
        let known = fleet.clusters().map(|cluster| cluster.record().id.clone());
        let clusters = mirror.advertisements.indexed().cloned().chain(known);
        // What is over and has no object needs nothing.
        let live = fleet.reservations().filter(|kept| kept.phase.is_live());
        let promised = live.map(|kept| kept.id);
        lock(&self.refused).retain(|place, _| mirror.advertisements.get(place).is_some());
        let reservations = mirror.reservations.indexed().copied().chain(promised);
        (clusters.map(Key::Cluster).collect(), reservations.map(Key::Reservation).collect())
    }

    /// Looks at everything again.
    pub(super) fn touch_everything(&self) {
        let (clusters, reservations) = self.everything();
        self.touch(clusters.into_iter().chain(reservations));
    }
}

/// What an object says without what the broker adds to it.
fn own_words(object: &ClusterAdvertisement) -> ClusterAdvertisementSpec {
    let mut spec = object.spec.clone();
    (spec.resources.reserved, spec.resources.available) = (None, None);
    spec
}
