//! Wishes for capacity: asked in bursts, used for a while, given back or left to expire.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use rear_agent_sdk::communicator::{BrokerCommunicator, Reservation, ReservationRequest};
use rear_agent_sdk::{Error, Intent};
use tokio::time::{Instant, sleep, timeout};

use crate::chance::Chance;
use crate::member::Line;
use crate::report::Operation;
use crate::witness::{Broken, Witness};

/// An answer that is abandoned is abandoned within this time: before, while and after the broker decides.
const ABANDON_WITHIN_MICROS: u64 = 20_000;

/// Before something is tried again.
const PAUSE: Duration = Duration::from_millis(200);

/// Tries to have an answer, after which it counts as failed: with the transport's own, minutes.
const ATTEMPTS: usize = 20;

/// So many of a hundred are not released, but left to expire.
const LEFT_TO_EXPIRE: u8 = 20;

/// So many of a hundred are confirmed.
const ACTIVATED: u8 = 50;

/// One wish of one cluster.
pub(crate) struct Wish {
    pub(crate) asking: Asking,
    /// Whom it asks; without it, the broker chooses.
    pub(crate) target: Option<String>,
    pub(crate) chance: Chance,
    pub(crate) lasting: Duration,
    pub(crate) lost_answers: u8,
}

impl Wish {
    /// From the request to the end. Once `quiet` has ended, the end is left to others.
    pub(crate) async fn fulfil(mut self, quiet: impl Future<Output = ()>) {
        let lasting = self.chance.around(self.lasting);
        let expires = self.chance.percent(LEFT_TO_EXPIRE);
        // What is released must not expire before, however slow everything is.
        let duration = if expires { lasting } else { lasting + Duration::from_hours(1) };
        let target_cluster_id = self.target.clone();
        let request = self.chance.clone().request(duration);
        let request = ReservationRequest { target_cluster_id, ..request };
        let Some(made) = self.reserve(&request).await else { return };
        if self.chance.percent(ACTIVATED) {
            self.asking.activate(&made.id).await;
        }
        if expires {
            return;
        }
        tokio::select! {
            () = sleep(lasting) => self.asking.release(&made.id).await,
            () = quiet => {}
        }
    }

    /// Asks until there is an answer, always for the same intent.
    async fn reserve(&mut self, request: &ReservationRequest) -> Option<Reservation> {
        let (intent, asked) = (Intent::new(), Instant::now());
        let _asking = self.asking.witness.asks();
        if self.chance.percent(self.lost_answers) {
            self.abandon(request, &intent).await;
        }
        let made = self.asking.reserve(request, &intent).await?;
        let witness = &self.asking.witness;
        witness.took(Operation::Reserve, asked.elapsed());
        witness.granted(request, &made, asked);
        if self.chance.percent(self.lost_answers)
            && let Some(again) = self.asking.reserve(request, &intent).await
            && again.id != made.id
        {
            let before = made.id.clone();
            self.asking.witness.found([Broken::GrantedTwice { id: again.id, before }]);
        }
        Some(made)
    }

    /// Asks, and is gone before the answer: whether it was executed is not known.
    async fn abandon(&mut self, request: &ReservationRequest, intent: &Intent) {
        let patience = Duration::from_micros(self.chance.between(0, ABANDON_WITHIN_MICROS));
        let asking = self.asking.once(|broker| {
            let intent = intent.clone();
            async move { broker.reserve(request, &intent).await }
        });
        if timeout(patience, asking).await.is_err() {
            self.asking.witness.count(|report| report.lost_answers += 1);
        }
    }
}

impl Chance {
    fn request(&mut self, duration: Duration) -> ReservationRequest {
        let cpu = format!("{}m", self.between(100, 2000));
        let memory = format!("{}Mi", self.between(128, 4096));
        let duration = Some(format!("{}s", duration.as_secs().max(1)));
        let priority = i32::try_from(self.between(0, 10)).ok();
        ReservationRequest { duration, priority, ..rear_agent_sdk::request(&cpu, &memory) }
    }
}

/// How a cluster asks while its agents come and go.
#[derive(Clone)]
pub(crate) struct Asking {
    pub(crate) line: Line,
    pub(crate) witness: Arc<Witness>,
}

impl Asking {
    async fn reserve(
        &mut self,
        request: &ReservationRequest,
        intent: &Intent,
    ) -> Option<Reservation> {
        self.until_answered("reserve", |broker| {
            let intent = intent.clone();
            async move { broker.reserve(request, &intent).await }
        })
        .await
    }

    async fn activate(&mut self, id: &str) {
        let start = Instant::now();
        let answer = self
            .until_answered("activate", |broker| async move { broker.activate(id).await })
            .await;
        if answer.is_some() {
            self.witness.took(Operation::Activate, start.elapsed());
        }
    }

    pub(crate) async fn release(&mut self, id: &str) {
        let start = Instant::now();
        self.witness.ending(id);
        let answer =
            self.until_answered("release", |broker| async move { broker.release(id).await }).await;
        if answer.is_some() {
            self.witness.took(Operation::Release, start.elapsed());
        }
    }

    /// The answer; nothing if the broker refused or could not be asked, which is counted.
    async fn until_answered<T, F>(
        &mut self,
        what: &str,
        ask: impl Fn(Arc<dyn BrokerCommunicator>) -> F,
    ) -> Option<T>
    where
        F: Future<Output = Result<T, Error>>,
    {
        for _ in 0..ATTEMPTS {
            let why = match self.once(&ask).await {
                Ok(answer) => return Some(answer),
                Err(Error::Refused(refused)) => {
                    let code = refused.code.map_or("no code", |code| code.name());
                    self.witness.count(|report| report.refused(format!("{what}: {code}")));
                    return None;
                }
                // Its agent has crashed; the next one will have a connection.
                Err(Error::Closed) => continue,
                Err(error) => error,
            };
            self.witness.count(|report| report.failed(format!("{what}: {why}")));
            sleep(PAUSE).await;
        }
        None
    }

    /// With the connection of this time. When its agent crashes, it is gone together with the question.
    pub(crate) async fn once<T, F>(
        &mut self,
        ask: impl FnOnce(Arc<dyn BrokerCommunicator>) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let open = self.line.wait_for(Option::is_some).await.map_err(|_| Error::Closed)?.clone();
        let broker = open.ok_or(Error::Closed)?;
        tokio::select! {
            answer = ask(broker) => answer,
            _ = self.line.changed() => Err(Error::Closed),
        }
    }
}
