//! The loop that looks at whatever changes, on the API server or in the ledger.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use rear_engine::{ClusterId, Command, Event, Happening, Subject};
use rear_store::{EventId, FeedError};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tracing::{debug, warn};

use super::desk::Desk;
use super::queue::{Key, Left, Turn};
use super::reservation::was_made_as_resource;
use super::{TryAgain, advertisement, reservation};

/// How often everything is looked at, changed or not: what nobody told of, such as a memory that has faded.
const LOOK_AGAIN_EVERY: Duration = Duration::from_mins(5);

/// How many events are taken at once.
const STRETCH: usize = 512;

impl Desk {
    /// Clusters are heard first, so that no wish is refused for want of them.
    pub(super) async fn hear_clusters(&self) {
        for key in self.everything().0 {
            if let Err(error) = self.look(key.clone(), Turn::Rest).await {
                debug!(%error, "looked at again later");
                self.touch([key]);
            }
        }
    }

    async fn look(&self, key: Key, turn: Turn) -> Result<Left, TryAgain> {
        match key {
            Key::Cluster(cluster) => advertisement::reconcile(self, cluster, turn).await,
            Key::Reservation(id) => reservation::reconcile(self, id, turn).await,
        }
    }

    /// Looks at whatever changes, for ever.
    pub(super) async fn work(self: Arc<Self>, mut seen: EventId) {
        let mut news = self.broker.store.subscribe(None);
        let mut again = interval(LOOK_AGAIN_EVERY);
        again.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut running = FuturesUnordered::new();
        loop {
            while let Some((key, turn)) = self.queue().next(Instant::now()) {
                let desk = self.clone();
                running.push(async move { (key.clone(), desk.look(key, turn).await) });
            }
            let due = self.queue().next_time();
            tokio::select! {
                Some((key, outcome)) = running.next() => {
                    if let Err(error) = &outcome {
                        debug!(?key, %error, "looked at again later");
                    }
                    self.queue().done(key, outcome.ok(), Instant::now());
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
                        self.touch_recovered(&told.event);
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

    /// What waited until it was known what a cluster holds.
    fn touch_recovered(&self, event: &Event) {
        match (&event.what, &event.subject) {
            (Happening::Recovered, Subject::Cluster(provider)) => {
                let waiting: Vec<_> = {
                    let (mirror, view) = (self.mirror(), self.broker.store.view());
                    let fleet = view.fleet();
                    let promised = fleet.live_of_provider(provider).map(|kept| kept.id);
                    let objects = mirror.reservations.indexed().copied();
                    let unknown = objects.filter(|id| fleet.reservation(*id).is_none());
                    promised.chain(unknown).collect()
                };
                self.touch(waiting.into_iter().map(Key::Reservation));
            }
            (Happening::Recovered, _) => self.touch_everything(),
            _ => {}
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
        let heard: BTreeSet<_> = requesters.filter(was_heard).collect();
        drop(view);
        for cluster in heard {
            // Nobody waits for it, and the next sign will do if this one is lost.
            self.broker.store.submit_with(Command::Hear { cluster }, |_| {});
        }
    }
}
