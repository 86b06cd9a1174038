//! What every way to the broker shares: HTTP, custom resources, and those who watch over it.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use rear_api::problem::{Code, Names, Problem};
use rear_engine::{ClusterId, Command};
use rear_store::{Answer, Store, SubmitError};
use tokio::sync::{Semaphore, oneshot, watch};

use crate::answer::Failure;
use crate::audit::{Audit, Record};
use crate::caller::Caller;
use crate::certificates::Certificates;
use crate::limits::{RateLimit, TurnedAway};
use crate::metrics::Metrics;
use crate::refusals::Refusals;
use crate::room::Room;
use crate::routes::{MAX_SNAPSHOTS, RequestIds};
use crate::tally::Tally;

/// Signs of life that whoever waits gives before it would be taken for gone: one may be late.
const SIGNS_WHILE_WAITING: u32 = 4;

/// Nobody looks more often whether it was heard.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);

/// Also where silence is borne for hours: a shorter limit may be set while they wait.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// The ledger, and what stands around it.
pub struct Broker {
    /// The ledger.
    pub store: Store,
    /// What is told to whom, at the moment.
    telling: ArcSwap<Telling>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// Turns true when it is time to stop.
    pub stopping: watch::Receiver<bool>,
    /// How often each cluster may ask, at the moment.
    rate: ArcSwap<RateLimit>,
    /// What was refused lately.
    pub refusals: Refusals,
    /// How many of those who are turned away are told of.
    pub turned_away: TurnedAway,
    /// Until when the certificates of clusters count.
    pub certificates: Certificates,
    /// Streams of events that are open.
    pub(crate) streams: Arc<Tally<ClusterId>>,
    /// Requests that may change something or bring a body, and are not answered yet.
    pub(crate) changing: Arc<Tally<ClusterId>>,
    /// What of requests and answers is on its way.
    pub(crate) room: Room,
    /// Signs of life that wait for the ledger.
    hearing: Arc<Tally<ClusterId>>,
    pub(crate) snapshots: Arc<Semaphore>,
    pub(crate) audit: Audit,
    pub(crate) request_ids: RequestIds,
    /// Clusters speak through another interface.
    for_administrators_only: bool,
}

/// What is told to whom, as the operator wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Telling {
    /// Whether requesters learn the names of clusters that they do not get.
    pub names: Names,
    /// Whether each cluster has series of metrics of its own.
    pub each_cluster: bool,
}

impl Broker {
    /// A broker on this ledger.
    #[must_use]
    pub fn new(
        store: Store,
        telling: Telling,
        metrics: Arc<Metrics>,
        stopping: watch::Receiver<bool>,
        rate: RateLimit,
        audit: Audit,
    ) -> Self {
        let rate = ArcSwap::from_pointee(rate);
        let snapshots = Arc::new(Semaphore::new(MAX_SNAPSHOTS));
        Self {
            store,
            telling: ArcSwap::from_pointee(telling),
            metrics,
            stopping,
            rate,
            streams: Arc::default(),
            changing: Arc::default(),
            room: Room::default(),
            hearing: Arc::default(),
            refusals: Refusals::default(),
            turned_away: TurnedAway::default(),
            certificates: Certificates::default(),
            snapshots,
            audit,
            request_ids: RequestIds::default(),
            for_administrators_only: false,
        }
    }

    /// Whether clusters speak through another interface: then only administrators are answered over HTTP.
    #[must_use]
    pub fn for_administrators_only(self, only: bool) -> Self {
        Self { for_administrators_only: only, ..self }
    }

    /// Lets a caller in: not too often, and as a sign of its life.
    pub fn admit(&self, caller: &Caller) -> Result<(), Failure> {
        self.rate.load().check(caller.id()).map_err(|wait| {
            self.metrics.rate_limited();
            Failure::later(Problem::new(Code::TooMany, "too many requests: slow down"), wait)
        })?;
        if self.for_administrators_only && !caller.is_administrator() {
            let detail = "this broker speaks to clusters through custom resources on its Kubernetes cluster, not over \
                          HTTP: use --broker-transport=kubernetes, or have it started with --broker-interface=http,kubernetes";
            return Err(Problem::new(Code::OtherInterface, detail).into());
        }
        self.hear(caller);
        Ok(())
    }

    /// Notes a sign of life of a cluster.
    pub fn hear(&self, caller: &Caller) {
        if self.is_a_cluster(caller) {
            self.hear_of_requester(caller);
        }
    }

    /// The same of whoever has asked for itself, also an administrator that was no cluster before.
    pub fn hear_of_requester(&self, caller: &Caller) {
        if self.heard_lately(caller) {
            return;
        }
        let cluster = caller.id().clone();
        self.certificates.shown(&cluster, caller.validity());
        // Nobody waits for it, the next sign will do if this one is lost, and one that waits is as good as many.
        let sign = self.hearing.take(cluster.clone());
        if sign.own == 1 {
            self.store.submit_with(Command::Hear { cluster }, move |_| drop(sign));
        }
    }

    /// How often whoever waits gives a sign of life, so that it is not taken for gone meanwhile.
    #[must_use]
    pub fn sign_every(&self) -> Duration {
        let gone_after = self.store.view().fleet().policy().requester_gone_after.as_nanos();
        let gone_after = Duration::from_nanos(u64::try_from(gone_after).unwrap_or_default());
        (gone_after / SIGNS_WHILE_WAITING).clamp(SHORTEST_PAUSE, LONGEST_PAUSE)
    }

    /// An administrator is one only if it has something to lend, or has borrowed.
    fn is_a_cluster(&self, caller: &Caller) -> bool {
        let known = || {
            let view = self.store.view();
            let (fleet, id) = (view.fleet(), caller.id());
            fleet.cluster(id).is_some() || fleet.reservations_of(id) > 0
        };
        !caller.is_administrator() || known()
    }

    fn heard_lately(&self, caller: &Caller) -> bool {
        let view = self.store.view();
        let known = view.fleet().cluster(caller.id());
        let heard = known.and_then(|known| known.record().heard_at);
        let exact_to = view.fleet().policy().presence_exact_to();
        heard.is_some_and(|heard| view.now().since(heard) < exact_to)
    }

    /// Decides a command and waits until the decision is durable.
    pub async fn submit(&self, command: Command) -> Result<Answer, Failure> {
        self.decide(command).await.map_err(|error| Failure::of(&error, self.telling().names))
    }

    /// The same, with the store's own words for what went wrong.
    pub async fn decide(&self, command: Command) -> Result<Answer, SubmitError> {
        // What clusters say of themselves has no line in it.
        let has_a_line = !matches!(command, Command::Advertise { .. } | Command::Hear { .. });
        if has_a_line && let Some(trouble) = self.audit.trouble() {
            return Err(SubmitError::CutOff(trouble.to_string()));
        }
        let (reply, answer) = oneshot::channel();
        self.store.submit_with(command, move |outcome| {
            // Whoever asked may be gone by now; what was decided stays.
            drop(reply.send(outcome));
        });
        let stopped = |_| Err(SubmitError::Stopped("its writer is gone".to_owned()));
        answer.await.unwrap_or_else(stopped)
    }

    /// Tells the audit log who wanted what by another way than a request.
    pub fn tell_audit(&self, record: &Record) {
        self.audit.tell(record);
    }

    /// Takes an advertisement. Most say nothing new: nobody waits for these.
    pub async fn advertise(&self, advertisement: Command) -> Result<(), Failure> {
        match self.store.refresh(advertisement) {
            Ok(()) => Ok(()),
            Err(news) => self.submit(news).await.map(drop),
        }
    }

    /// What is told to whom.
    #[must_use]
    pub fn telling(&self) -> Telling {
        **self.telling.load()
    }

    /// From now on so much is told.
    pub fn tell(&self, telling: Telling) {
        self.telling.store(Arc::new(telling));
    }

    /// From now on clusters may ask so often; what they have asked before is forgotten.
    pub fn limit_to(&self, rate: RateLimit) {
        self.rate.store(Arc::new(rate));
    }

    /// Forgets who has not asked for long, or is not known any more.
    pub fn tidy(&self) {
        self.rate.load().tidy();
        let view = self.store.view();
        self.certificates.retain(|cluster| view.fleet().cluster(cluster).is_some());
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::num::NonZeroU32;
    use std::sync::atomic::{AtomicI64, Ordering};

    use axum::response::IntoResponse;
    use rear_engine::Timestamp;
    use rear_store::clock::Clock;
    use rear_store::timekeeper::Clocks;
    use rear_store::{Memory, Settings};

    use super::*;

    /// Hours, as the test says.
    #[derive(Clone, Default)]
    pub(crate) struct Hours(Arc<AtomicI64>);

    impl Clock for Hours {
        fn read(&self) -> Clocks {
            let seconds = self.0.load(Ordering::SeqCst) * 60 * 60;
            let wall = Timestamp::from_seconds(1_800_000_000 + seconds);
            Clocks { wall, monotonic: rear_engine::Duration::from_seconds(seconds) }
        }
    }

    /// A broker in memory, and its clock.
    pub(crate) fn broker() -> (Broker, Hours) {
        let hours = Hours::default();
        let journal = Memory::new(9, 1, 1).unwrap();
        let store = Store::start(journal, Settings::default(), hours.clone()).unwrap();
        let rate = RateLimit::new(NonZeroU32::MAX, NonZeroU32::MAX);
        let (metrics, audit) = (Arc::new(Metrics::new()), Audit::open(None).unwrap());
        let stopping = watch::channel(false).1;
        (Broker::new(store, Telling::default(), metrics, stopping, rate, audit), hours)
    }

    /// Since when each of these was heard last, in hours, once everything before is done.
    async fn heard(broker: &Broker, callers: &[&Caller]) -> Vec<Option<i64>> {
        let cluster = "someone-else".parse().unwrap();
        broker.decide(Command::Hear { cluster }).await.unwrap();
        let view = broker.store.view();
        let hour = |at: Timestamp| (at.as_nanos() / 1_000_000_000 - 1_800_000_000) / (60 * 60);
        let last = |caller: &&Caller| view.fleet().cluster(caller.id())?.record().heard_at;
        callers.iter().map(|caller| last(caller).map(hour)).collect()
    }

    #[tokio::test]
    async fn whoever_asks_is_heard_and_an_administrator_only_as_a_cluster_that_is_known() {
        let (broker, hours) = broker();
        let paris = Caller::believed("paris", false);
        let (operator, oslo) = (Caller::believed("operator", true), Caller::believed("oslo", true));
        let everyone = [&paris, &operator, &oslo];
        broker.decide(Command::Hear { cluster: oslo.id().clone() }).await.unwrap();
        for hour in 0..3 {
            hours.0.store(hour, Ordering::SeqCst);
            // The broker has seen what time it is.
            heard(&broker, &[]).await;
            for caller in everyone {
                broker.admit(caller).unwrap();
            }
            assert_eq!(heard(&broker, &everyone).await, [Some(hour), None, Some(hour)]);
        }
        assert_eq!(broker.certificates.ending_soon(i64::MAX).len(), 2);
    }

    #[tokio::test]
    async fn a_sign_of_life_that_waits_is_as_good_as_many() {
        let (broker, _) = broker();
        let paris = Caller::believed("paris", false);
        let waiting = broker.hearing.take(paris.id().clone());
        broker.admit(&paris).unwrap();
        assert_eq!(heard(&broker, &[&paris]).await, [None], "another one waits");
        drop(waiting);
        broker.admit(&paris).unwrap();
        assert_eq!(heard(&broker, &[&paris]).await, [Some(0)]);
        assert_eq!(broker.hearing.take(paris.id().clone()).own, 1, "nothing waits any more");
    }

    #[tokio::test]
    async fn an_administrator_that_asks_for_itself_is_heard_from_then_on() {
        let (broker, hours) = broker();
        let operator = Caller::believed("operator", true);
        broker.hear_of_requester(&operator);
        assert_eq!(heard(&broker, &[&operator]).await, [Some(0)]);
        hours.0.store(1, Ordering::SeqCst);
        heard(&broker, &[]).await;
        broker.admit(&operator).unwrap();
        assert_eq!(heard(&broker, &[&operator]).await, [Some(1)]);
    }

    #[tokio::test]
    async fn whoever_waits_gives_signs_of_life_before_it_would_be_gone() {
        let (broker, _) = broker();
        let pace = |seconds: i64| {
            let requester_gone_after = rear_engine::Duration::from_seconds(seconds);
            let policy = rear_engine::Policy { requester_gone_after, ..Default::default() };
            broker.store.reconfigure(Settings::from(policy)).unwrap();
            broker.sign_every()
        };
        assert_eq!(pace(24 * 60 * 60), LONGEST_PAUSE);
        assert_eq!(pace(10), Duration::from_millis(2500));
        assert_eq!(pace(0), SHORTEST_PAUSE);
    }

    #[tokio::test]
    async fn certificates_of_those_who_are_not_known_any_more_are_forgotten() {
        let (broker, _) = broker();
        let paris = Caller::believed("paris", false);
        broker.admit(&paris).unwrap();
        heard(&broker, &[]).await;
        let oslo = "oslo".parse().unwrap();
        broker.certificates.shown(&oslo, paris.validity());
        broker.tidy();
        assert_eq!(broker.certificates.ending_soon(i64::MAX), [paris.id().clone()]);
    }

    #[tokio::test]
    async fn clusters_that_speak_through_another_interface_are_told_so() {
        let broker = broker().0.for_administrators_only(true);
        let refused = broker.admit(&Caller::believed("paris", false)).unwrap_err();
        assert_eq!(refused.into_response().status(), Code::OtherInterface.status());
        broker.admit(&Caller::believed("operator", true)).unwrap();
    }
}
