//! A communicator that answers from a script and remembers what was said.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rear_api::advertisement::ShownResources;
use tokio::sync::watch;

use crate::communicator::{
    Advertisement, AdvertisementAnswer, AdvertisementRequest, Answering, BrokerCommunicator,
    BrokerEvent, ClusterId, DryRun, EventId, EventStream, Intent, Level, Reservation,
    ReservationRequest, Role, Timestamp, Wait,
};
use crate::error::Error;

/// Answers from a script.
///
/// Each operation takes the first answer in the script that is for it. Without one, a ping is answered, an
/// advertisement is taken as it is and not shown later, instructions are held until there is an answer, and everything
/// else is [`Error::Unsupported`].
///
/// ```
/// use rear_agent_sdk::testing::{Answer, Said, Scripted};
/// use rear_agent_sdk::{BrokerCommunicator, Error};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let broker = Scripted::default();
/// broker.will(Answer::Ping(Err(Error::TimedOut { seconds: 30 })));
/// assert!(broker.ping().await.is_err());
/// assert!(broker.ping().await.is_ok());
/// assert!(matches!(broker.said()[..], [Said::Ping, Said::Ping]));
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Default)]
pub struct Scripted {
    state: Mutex<State>,
    /// Changes when the script does, or when it is closed.
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    script: VecDeque<Answer>,
    said: Vec<Said>,
    closed: bool,
}

/// An answer for one operation.
#[derive(Debug)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each is the answer of the operation of its name")]
pub enum Answer {
    Ping(Result<(), Error>),
    Publish(Result<AdvertisementAnswer, Error>),
    Advertisement(Result<Option<Advertisement>, Error>),
    Reserve(Result<Reservation, Error>),
    DryRun(Result<DryRun, Error>),
    Reservations(Result<Vec<Reservation>, Error>),
    Reservation(Result<Reservation, Error>),
    Activate(Result<Reservation, Error>),
    Renew(Result<Reservation, Error>),
    Reject(Result<Reservation, Error>),
    Release(Result<Reservation, Error>),
    /// For one side.
    Instructions(Role, Result<Level, Error>),
    /// A stream of these, and then its end.
    Events(Result<Vec<BrokerEvent>, Error>),
}

/// What was said.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each is the operation of its name, with what it was given")]
pub enum Said {
    Ping,
    Publish(Box<AdvertisementRequest>),
    Advertisement(ClusterId),
    Reserve(ReservationRequest, Intent),
    DryRun(ReservationRequest),
    Reservations(Role),
    Reservation(String),
    Activate(String),
    Renew(String, Timestamp),
    Reject(String, String),
    Release(String),
    Instructions(Role, Option<Wait>),
    Events(Option<EventId>),
    Close,
}

/// Notes what was said, and takes the first answer of the script that is for it.
macro_rules! scripted {
    ($self:ident, $said:expr, $answer:ident) => {{
        let mut state = $self.lock();
        state.said.push($said);
        state.take(
            |answer| matches!(answer, Answer::$answer(_)),
            |answer| match answer {
                Answer::$answer(outcome) => Some(outcome),
                _ => None,
            },
        )
    }};
}

impl Scripted {
    /// Adds an answer to the script.
    pub fn will(&self, answer: Answer) {
        self.lock().script.push_back(answer);
        self.changed.send_replace(());
    }

    /// All that was said so far, in order.
    #[must_use]
    pub fn said(&self) -> Vec<Said> {
        self.lock().said.clone()
    }

    async fn level(&self, role: Role, wait: Option<Wait>) -> Result<Level, Error> {
        let mut changed = self.changed.subscribe();
        self.lock().said.push(Said::Instructions(role, wait));
        loop {
            let answer = self.lock().take(
                |answer| matches!(answer, Answer::Instructions(side, _) if *side == role),
                |answer| match answer {
                    Answer::Instructions(_, outcome) => Some(outcome),
                    _ => None,
                },
            );
            if let Some(outcome) = answer {
                return outcome;
            }
            // Its sender lives as long as this.
            drop(changed.changed().await);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take<T>(
        &mut self,
        fits: impl Fn(&Answer) -> bool,
        outcome: impl FnOnce(Answer) -> Option<Result<T, Error>>,
    ) -> Option<Result<T, Error>> {
        if self.closed {
            return Some(Err(Error::Closed));
        }
        let place = self.script.iter().position(fits)?;
        self.script.remove(place).and_then(outcome)
    }
}

/// What was scripted, else that there is no such operation.
fn must<'a, T: Send + 'a>(
    scripted: Option<Result<T, Error>>,
    operation: &'static str,
) -> Answering<'a, T> {
    or(scripted, Err(Error::Unsupported { operation }))
}

fn or<'a, T: Send + 'a>(
    scripted: Option<Result<T, Error>>,
    otherwise: Result<T, Error>,
) -> Answering<'a, T> {
    let outcome = scripted.unwrap_or(otherwise);
    Box::pin(async { outcome })
}

impl BrokerCommunicator for Scripted {
    fn ping(&self) -> Answering<'_, ()> {
        or(scripted!(self, Said::Ping, Ping), Ok(()))
    }

    fn publish<'a>(
        &'a self,
        advertisement: &'a AdvertisementRequest,
    ) -> Answering<'a, AdvertisementAnswer> {
        let said = Said::Publish(Box::new(advertisement.clone()));
        let taken = AdvertisementAnswer {
            advertisement: as_shown(advertisement),
            provider_instructions: None,
        };
        or(scripted!(self, said, Publish), Ok(taken))
    }

    fn advertisement<'a>(&'a self, cluster: &'a ClusterId) -> Answering<'a, Option<Advertisement>> {
        let said = Said::Advertisement(cluster.clone());
        or(scripted!(self, said, Advertisement), Ok(None))
    }

    fn reserve<'a>(
        &'a self,
        request: &'a ReservationRequest,
        intent: &'a Intent,
    ) -> Answering<'a, Reservation> {
        let said = Said::Reserve(request.clone(), intent.clone());
        must(scripted!(self, said, Reserve), "reservations")
    }

    fn dry_run<'a>(&'a self, request: &'a ReservationRequest) -> Answering<'a, DryRun> {
        let said = Said::DryRun(request.clone());
        must(scripted!(self, said, DryRun), "dry run")
    }

    fn reservations(&self, role: Role) -> Answering<'_, Vec<Reservation>> {
        let said = Said::Reservations(role);
        must(scripted!(self, said, Reservations), "lists")
    }

    fn reservation<'a>(&'a self, id: &'a str) -> Answering<'a, Reservation> {
        let said = Said::Reservation(id.to_owned());
        must(scripted!(self, said, Reservation), "reservations")
    }

    fn activate<'a>(&'a self, id: &'a str) -> Answering<'a, Reservation> {
        let said = Said::Activate(id.to_owned());
        must(scripted!(self, said, Activate), "activation")
    }

    fn renew<'a>(&'a self, id: &'a str, until: Timestamp) -> Answering<'a, Reservation> {
        let said = Said::Renew(id.to_owned(), until);
        must(scripted!(self, said, Renew), "renewal")
    }

    fn reject<'a>(&'a self, id: &'a str, reason: &'a str) -> Answering<'a, Reservation> {
        let said = Said::Reject(id.to_owned(), reason.to_owned());
        must(scripted!(self, said, Reject), "rejection")
    }

    fn release<'a>(&'a self, id: &'a str) -> Answering<'a, Reservation> {
        let said = Said::Release(id.to_owned());
        must(scripted!(self, said, Release), "release")
    }

    fn instructions(&self, role: Role, wait: Option<Wait>) -> Answering<'_, Level> {
        Box::pin(self.level(role, wait))
    }

    fn events(&self, after: Option<EventId>) -> Answering<'_, Box<dyn EventStream>> {
        let said = Said::Events(after);
        let scripted = scripted!(self, said, Events);
        let stream = |events: Vec<_>| Box::new(Recorded(events.into())) as Box<dyn EventStream>;
        must(scripted.map(|outcome| outcome.map(stream)), "stream of events")
    }

    fn close(&self) {
        let mut state = self.lock();
        state.said.push(Said::Close);
        state.closed = true;
        self.changed.send_replace(());
    }
}

struct Recorded(VecDeque<BrokerEvent>);

impl EventStream for Recorded {
    fn next(&mut self) -> Answering<'_, Option<BrokerEvent>> {
        let next = self.0.pop_front();
        Box::pin(async { Ok(next) })
    }
}

/// How a broker that has promised nothing shows it.
fn as_shown(told: &AdvertisementRequest) -> Advertisement {
    let told = told.clone();
    Advertisement {
        cluster_name: told.cluster_name.unwrap_or_else(|| told.cluster_id.clone()),
        cluster_id: told.cluster_id,
        timestamp: told.timestamp,
        resources: ShownResources {
            available: told.resources.allocatable.clone(),
            capacity: told.resources.capacity,
            allocatable: told.resources.allocatable,
            allocated: told.resources.allocated,
            reserved: told.resources.reserved,
        },
        cost: told.cost,
        labels: told.labels,
        endpoint_url: told.endpoint_url,
        consumed: told.consumed,
        epoch: told.epoch,
        sequence: told.sequence,
        status: None,
    }
}
