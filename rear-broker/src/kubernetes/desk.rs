//! Where everything comes together that is known, and everything that is to be looked at; and the loop that looks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Client, ResourceExt};
use rear_api::moment;
use rear_api::problem::code_of_refusal;
use rear_api::resources::{ClusterAdvertisement, ClusterAdvertisementSpec, Mark, Reservation};
use rear_engine::{ClusterId, Command, ReservationId, Subject};
use rear_store::{EventId, FeedError, SubmitError, View};
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tracing::{debug, warn};

use super::advertisement::{self, Answered, cluster_of};
use super::queue::{Key, Queue};
use super::reservation::{self, Answers, Seen, Wish, id_of, was_made_as_resource};
use super::shelf::{Place, Shelf};
use super::speakers::Speakers;
use crate::audit::Record;
use crate::routes::Broker;

/// How many are worked on at once: an API server answers so many writes side by side, and more would only wait there.
const AT_ONCE: usize = 32;

/// How often everything is looked at, changed or not: what nobody told of, such as a memory that has faded.
const LOOK_AGAIN_EVERY: Duration = Duration::from_mins(5);

/// How many events are taken at once.
const STRETCH: usize = 512;

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
    mirror: Mutex<Mirror>,
    queue: Mutex<Queue>,
    woken: Notify,
    answers: Mutex<BTreeMap<ReservationId, Answers>>,
    refused: Mutex<BTreeMap<Place, (ClusterAdvertisementSpec, Answered)>>,
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
            namespaces: Shelf::new(|namespace| Some(namespace.name_any())),
            advertisements: Shelf::new(cluster_of),
            reservations: Shelf::new(id_of),
        };
        Self {
            client,
            broker,
            ledger,
            mirror: Mutex::new(mirror),
            queue: Mutex::default(),
            woken: Notify::new(),
            answers: Mutex::default(),
            refused: Mutex::default(),
        }
    }

    pub(super) fn mirror(&self) -> MutexGuard<'_, Mirror> {
        lock(&self.mirror)
    }

    /// The ledger, as far as it is in a view.
    pub(super) fn mark(&self, view: &View) -> Mark {
        Mark { ledger: self.ledger, position: view.position() }
    }

    /// These should be looked at.
    pub(super) fn touch(&self, keys: impl IntoIterator<Item = Key>) {
        let mut queue = lock(&self.queue);
        keys.into_iter().for_each(|key| queue.push(key));
        self.woken.notify_one();
    }

    /// What a reservation's wishes were answered; forgotten with its last object.
    pub(super) fn answers_of(&self, id: ReservationId, is_gone: bool) -> Answers {
        let mut answers = lock(&self.answers);
        if is_gone {
            answers.remove(&id);
        }
        answers.get(&id).cloned().unwrap_or_default()
    }

    pub(super) fn answered(&self, id: ReservationId, wish: Wish, answer: reservation::Answer) {
        lock(&self.answers).entry(id).or_default().0.insert(wish, answer);
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
    fn everything(&self) -> (Vec<Key>, Vec<Key>) {
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

    /// Clusters are heard first, so that no wish is refused for want of them.
    pub(super) async fn hear_clusters(&self) {
        for key in self.everything().0 {
            self.look(key.clone()).await.unwrap_or_else(|error| {
                debug!(%error, "looked at again later");
                self.touch([key]);
            });
        }
    }

    async fn look(&self, key: Key) -> Result<(), super::TryAgain> {
        match key {
            Key::Cluster(cluster) => advertisement::reconcile(self, cluster).await,
            Key::Reservation(id) => reservation::reconcile(self, id).await,
        }
    }

    /// Looks at whatever changes, for ever.
    pub(super) async fn work(self: Arc<Self>, mut seen: EventId) {
        let mut news = self.broker.store.subscribe(None);
        let mut again = interval(LOOK_AGAIN_EVERY);
        again.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut running = FuturesUnordered::new();
        loop {
            while running.len() < AT_ONCE
                && let Some(key) = self.next()
            {
                let desk = self.clone();
                running.push(async move { (key.clone(), desk.look(key).await) });
            }
            let due = lock(&self.queue).next_time();
            tokio::select! {
                Some((key, outcome)) = running.next() => {
                    if let Err(error) = &outcome {
                        debug!(?key, %error, "looked at again later");
                    }
                    lock(&self.queue).done(key, outcome.is_ok(), Instant::now());
                }
                () = self.woken.notified() => {}
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
                changed = news.changed() => {
                    if changed.is_err() { return; }
                    seen = self.follow_ledger(seen);
                }
                _ = again.tick() => {
                    self.touch_everything();
                    self.keep_alive();
                }
            }
        }
    }

    fn next(&self) -> Option<Key> {
        lock(&self.queue).next(Instant::now())
    }

    /// What has happened since in the ledger is looked at.
    fn follow_ledger(&self, mut seen: EventId) -> EventId {
        loop {
            match self.broker.store.events_after(seen, None, STRETCH) {
                Ok(stretch) => {
                    for told in &stretch.events {
                        let concerned = told.concerns.iter().cloned().map(Key::Cluster);
                        let subject = match &told.event.subject {
                            Subject::Reservation(id) => Some(Key::Reservation(*id)),
                            Subject::Cluster(id) => Some(Key::Cluster(id.clone())),
                            Subject::Fleet => None,
                        };
                        self.touch(subject.into_iter().chain(concerned));
                    }
                    seen = stretch.through;
                    if stretch.complete {
                        return seen;
                    }
                }
                Err(error) => {
                    if !matches!(error, FeedError::Gone(_)) {
                        warn!(%error, "the ledger's events cannot be followed");
                    }
                    self.touch_everything();
                    return self.broker.store.view().position().into();
                }
            }
        }
    }

    /// A wish that is still there is a sign of life of whoever asked, if it was ever heard otherwise.
    fn keep_alive(&self) {
        let view = self.broker.store.view();
        let fleet = view.fleet();
        let lasts = |kept: &&rear_engine::Reservation| {
            kept.phase.is_live() && kept.expires_at.is_none() && was_made_as_resource(kept)
        };
        let requesters = fleet.reservations().filter(lasts).map(|kept| kept.requester().clone());
        let was_heard = |cluster: &ClusterId| {
            fleet.cluster(cluster).is_some_and(|known| known.record().heard_at.is_some())
        };
        let heard: std::collections::BTreeSet<_> = requesters.filter(was_heard).collect();
        drop(view);
        for cluster in heard {
            // Nobody waits for it, and the next sign will do if this one is lost.
            self.broker.store.submit_with(Command::Hear { cluster }, |_| {});
        }
    }
}

/// What an object says without what the broker adds to it.
fn own_words(object: &ClusterAdvertisement) -> ClusterAdvertisementSpec {
    let mut spec = object.spec.clone();
    (spec.resources.reserved, spec.resources.available) = (None, None);
    spec
}
