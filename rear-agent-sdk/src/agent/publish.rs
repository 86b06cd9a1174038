//! Says what the cluster has: on the schedule, when it has changed, and when a promise was put into effect.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use rear_api::advertisement::{AdvertisementRequest, HoldingBody};
use rear_api::body::MAX_BODY_LENGTH;
use rear_api::problem::Code;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{debug, warn};

use super::backoff::Backoff;
use super::{Agent, Parts, Schedule, Wish};
use crate::clock::now;
use crate::collector::{Order, Snapshot};
use crate::communicator::{Reservation, Role};
use crate::error::{Chain, Error, Source};

/// So many promises always fit into an advertisement.
const SURELY_FITS: usize = 1000;

pub(super) struct Publisher {
    parts: Arc<Parts>,
    schedule: Schedule,
    debounce: Duration,
    backoff: Backoff,
    /// The broker did not answer the last time.
    lost: bool,
    wishes: mpsc::Receiver<Wish>,
    order: Order,
    /// What was published last.
    said: Option<(Snapshot, Vec<Reservation>)>,
    unreadable: Unreadable,
}

/// Why it is time to look.
enum Due {
    Schedule,
    Changed,
    Wished(Wish),
}

/// Whether the broker was told.
enum Said {
    Something,
    Nothing,
}

impl Publisher {
    /// Takes the next epoch and publishes for the first time.
    pub(super) async fn start(agent: &Agent, wishes: mpsc::Receiver<Wish>) -> Result<Self, Error> {
        let mut publisher = Self {
            parts: agent.parts.clone(),
            schedule: agent.schedule,
            debounce: agent.debounce,
            backoff: Backoff::new(agent.pause),
            lost: false,
            wishes,
            order: Order::starting(0),
            said: None,
            unreadable: Unreadable::default(),
        };
        while let Err(error) = publisher.begin().await {
            publisher.parts.collector.told(Err(&error));
            if !error.is_transient() {
                return Err(error);
            }
            let pause = publisher.failed(&error);
            sleep(pause).await;
        }
        Ok(publisher)
    }

    async fn begin(&mut self) -> Result<(), Error> {
        let theirs = self.shown_epoch().await?;
        self.order = Order::starting(theirs.saturating_add(1));
        self.publish(true).await.map(drop)
    }

    async fn shown_epoch(&self) -> Result<u64, Error> {
        let shown = self.parts.communicator.advertisement(&self.parts.cluster).await?;
        Ok(shown.and_then(|shown| shown.epoch).unwrap_or(0))
    }

    /// Until a newer agent takes over, or the communicator is closed.
    pub(super) async fn run(&mut self) -> Result<Infallible, Error> {
        let mut next = self.next_time();
        loop {
            let due = self.due(next).await;
            if matches!(due, Due::Changed) {
                sleep(self.debounce).await;
            }
            let must = !matches!(due, Due::Changed) || Instant::now() >= next;
            let outcome = self.attempt(must).await;
            if let Err(error) = &outcome {
                self.parts.collector.told(Err(error));
            }
            match outcome {
                Ok(Said::Something) => next = self.next_time(),
                // What turned out to be no change puts nothing off.
                Ok(Said::Nothing) => {}
                Err(error @ (Error::Replaced { .. } | Error::Closed)) => return Err(error),
                Err(error) => {
                    next = Instant::now() + self.failed(&error);
                    continue;
                }
            }
            if let Due::Wished(Some(told)) = due {
                // Whoever wished it may have stopped waiting.
                let _ = told.send(());
            }
        }
    }

    fn next_time(&self) -> Instant {
        let (_, chance) = uuid::Uuid::new_v4().as_u64_pair();
        Instant::now() + self.schedule.until_next(now(), chance)
    }

    /// While the broker does not answer, neither changes nor wishes make it come sooner.
    async fn due(&mut self, next: Instant) -> Due {
        if self.lost {
            sleep_until(next).await;
            return Due::Schedule;
        }
        tokio::select! {
            () = sleep_until(next) => Due::Schedule,
            () = self.parts.collector.changed() => Due::Changed,
            Some(wish) = self.wishes.recv() => Due::Wished(wish),
        }
    }

    /// Publishes; after a failure only once a ping is answered, which costs neither side a look at the cluster.
    async fn attempt(&mut self, must: bool) -> Result<Said, Error> {
        if self.lost {
            self.parts.communicator.ping().await?;
        }
        let said = self.publish(must).await?;
        self.lost = false;
        self.backoff.worked();
        Ok(said)
    }

    /// Collects, and publishes if it must be or if something is new.
    async fn publish(&mut self, must: bool) -> Result<Said, Error> {
        let found = self.look().await.map_err(|source| Error::Local { source })?;
        if !must && self.said.as_ref() == Some(&found) {
            return Ok(Said::Nothing);
        }
        match self.tell(&found).await {
            Err(Error::Refused(refused)) if refused.code == Some(Code::Outdated) => {
                self.overtake().await?;
                self.tell(&found).await?;
            }
            outcome => outcome?,
        }
        self.said = Some(found);
        self.parts.collector.told(Ok(()));
        Ok(Said::Something)
    }

    /// What the cluster has and keeps.
    async fn look(&self) -> Result<(Snapshot, Vec<Reservation>), Source> {
        let snapshot = self.parts.collector.collect().await?;
        Ok((snapshot, self.parts.handler.kept(Role::Provider).await?))
    }

    async fn tell(&mut self, (snapshot, kept): &(Snapshot, Vec<Reservation>)) -> Result<(), Error> {
        self.order.sequence += 1;
        let mut told = snapshot.told(&self.parts.cluster, kept, self.order, now());
        told.holding = told.holding.map(|kept| self.unreadable.leave_out(kept));
        let told = fitting(told);
        let answer = self.parts.communicator.publish(&told).await?;
        debug!(sequence = self.order.sequence, "published");
        self.still_ours(answer.advertisement.epoch.unwrap_or(0))
    }

    /// Another advertisement is newer. An agent with a higher epoch has taken over; one with the same epoch started in
    /// the same moment as this one, which takes the next, so that the other stops.
    async fn overtake(&mut self) -> Result<(), Error> {
        self.still_ours(self.shown_epoch().await?)?;
        warn!(epoch = self.order.epoch, "another agent speaks for this cluster: taking over");
        self.order = Order::starting(self.order.epoch.saturating_add(1));
        Ok(())
    }

    fn still_ours(&self, theirs: u64) -> Result<(), Error> {
        let ours = self.order.epoch;
        if theirs > ours { Err(Error::Replaced { ours, theirs }) } else { Ok(()) }
    }

    /// How long to wait after it.
    fn failed(&mut self, error: &Error) -> Duration {
        warn!(cluster = %self.parts.cluster, error = %Chain(error), remedy = error.remedy(), "not published");
        self.lost = true;
        self.backoff.failed(error)
    }
}

/// What is kept and cannot be told: a broker would refuse the whole advertisement because of it. It is of another broker, or
/// somebody has changed it by hand.
#[derive(Default)]
struct Unreadable(BTreeSet<String>);

impl Unreadable {
    /// The others. Each that is left out is named once.
    fn leave_out(&mut self, mut kept: Vec<HoldingBody>) -> Vec<HoldingBody> {
        let mut left_out = BTreeSet::new();
        kept.retain(|promise| {
            let Err(why) = promise.holding() else { return true };
            let id = promise.reservation_id.clone();
            // Ids of the earlier system are nothing unusual, as long as its broker is there.
            if why.path == "reservationID" {
                debug!(id, "a promise of another system is not told");
            } else if !self.0.contains(&id) {
                warn!(id, error = %Chain(&why), "what is kept for it is not told: no broker could read it");
            }
            left_out.insert(id);
            false
        });
        self.0 = left_out;
        kept
    }
}

/// What a broker accepts: one that keeps very many promises says what it has all the same, and leaves out which they are. Only a
/// broker that was restored needs that.
fn fitting(told: AdvertisementRequest) -> AdvertisementRequest {
    let may_be_long = told.holding.as_ref().is_some_and(|kept| kept.len() > SURELY_FITS);
    let length = |told| serde_json::to_vec(told).map_or(0, |body| body.len());
    if !may_be_long || length(&told) <= MAX_BODY_LENGTH {
        return told;
    }
    warn!(
        "more promises are kept than can be told: a broker that is restored will not know all of them"
    );
    AdvertisementRequest { holding: None, ..told }
}

#[cfg(test)]
mod tests {
    use rear_api::amounts::ResourceList;

    use super::*;

    fn keeping(many: usize) -> AdvertisementRequest {
        let kept = HoldingBody {
            reservation_id: "rsv-0123456789abcdef0123456789abcdef".to_owned(),
            requester_id: "rome".to_owned(),
            resources: ResourceList {
                cpu: "1m".into(),
                memory: "1".into(),
                gpu: None,
                storage: None,
            },
            expires_at: Some("2026-01-02T15:04:05Z".to_owned()),
        };
        let snapshot = Snapshot::default();
        let told = snapshot.told(&"paris".parse().unwrap(), &[], Order::starting(1), now());
        AdvertisementRequest { holding: Some(vec![kept; many]), ..told }
    }

    #[test]
    fn one_promise_that_no_broker_can_read_is_left_out_and_the_others_are_told() {
        type Change = fn(&mut HoldingBody);
        let kept = keeping(3).holding.unwrap();
        let of_another_broker: Change =
            |kept| kept.reservation_id = "rsv-rome-1736000000000".to_owned();
        let edited_end: Change = |kept| kept.expires_at = Some("tomorrow".to_owned());
        let nothing: Change =
            |kept| (kept.resources.cpu, kept.resources.memory) = ("0".into(), "0".into());
        for change in [of_another_broker, edited_end, nothing] {
            let mut unreadable = Unreadable::default();
            let mut with_one = kept.clone();
            change(&mut with_one[1]);
            assert_eq!(unreadable.leave_out(with_one).len(), 2);
            assert_eq!(unreadable.0.len(), 1, "it is remembered, and named no second time");
            assert_eq!(unreadable.leave_out(kept.clone()).len(), 3);
            assert!(unreadable.0.is_empty());
        }
    }

    #[test]
    fn very_many_promises_do_not_silence_a_provider() {
        for fits in [0, 1, SURELY_FITS, SURELY_FITS + 1] {
            let told = fitting(keeping(fits));
            assert_eq!(told.holding.map(|kept| kept.len()), Some(fits));
        }
        assert_eq!(fitting(keeping(20_000)).holding, None);
    }
}
