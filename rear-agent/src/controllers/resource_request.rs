//! `ResourceRequest`: one reservation for each generation of its spec, released when the spec changes or the object goes.
//!
//! In this order, so that a crash anywhere loses nothing: remember on the object what will be asked, with a finalizer;
//! ask; show the answer. What is remembered and not shown is asked again under the same key.

mod answer;
mod asked;
mod ending;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::{Stream, StreamExt};
use kube::runtime::controller::Action;
use kube::runtime::events::EventType;
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::{Controller, PredicateConfig, WatchStreamExt, predicates};
use kube::{Api, ResourceExt};
use rear_agent_sdk::Error;
use rear_agent_sdk::communicator::{BrokerCommunicator, Role};
use tracing::info;

use super::reservation_instruction::{Delivered, Touched};
use super::{again, drive, watched};
use crate::clock::has_passed;
use crate::context::{Context, ReconcileError, apply_metadata, apply_status};
use crate::promises::deliver;
use crate::resources::{RequestPhase, ResourceRequest};
use crate::steps::step;
use answer::Answer;
use asked::Asked;
pub(super) use ending::{Release, release};

const MANAGER: &str = "rear-agent-resource-request";

/// Releases the reservation before the object goes.
pub const FINALIZER: &str = "rear.fluidos.eu/release";

/// What the controller works with.
struct Requests {
    context: Arc<Context>,
    delivered: Delivered,
    /// The generation of each object, by its UID, that this run of the agent has asked for: it knows what became of that.
    begun: Mutex<HashMap<String, i64>>,
}

/// Runs the controller; `touched` names the reservations whose instructions have changed.
pub async fn run(
    context: Arc<Context>,
    delivered: Delivered,
    touched: impl Stream<Item = Touched> + Send + 'static,
) {
    let (store, writer) = reflector::store();
    let stream = watched(Api::all(context.client.clone()), writer)
        .applied_objects()
        .predicate_filter(what_matters, PredicateConfig::default());
    let of_reservations = requests_of(store.clone(), touched);
    let begun = Mutex::default();
    let requests = Arc::new(Requests { context: context.clone(), delivered, begun });
    let reconcile = move |request, _| {
        let requests = requests.clone();
        async move { requests.reconcile(request).await }
    };
    let running = Controller::for_stream(stream, store)
        .reconcile_on(of_reservations)
        .run(reconcile, again, context);
    drive(running).await;
}

/// What a change must touch to be looked at: the spec, or what holds a reservation on its object, which `kubectl replace` takes
/// away.
fn what_matters(request: &ResourceRequest) -> Option<u64> {
    let phase = request.status.as_ref().and_then(|status| status.phase);
    let is_lost = phase == Some(RequestPhase::Reserved) && !is_held(request);
    Some(predicates::generation(request)? ^ u64::from(is_lost))
}

/// Whether the object stays until its reservation is released.
fn is_held(request: &ResourceRequest) -> bool {
    request.finalizers().iter().any(|known| known == FINALIZER)
}

/// The requests that reservations were made for.
fn requests_of(
    store: Store<ResourceRequest>,
    touched: impl Stream<Item = Touched> + Send + 'static,
) -> impl Stream<Item = ObjectRef<ResourceRequest>> + Send + 'static {
    touched.flat_map(move |touched| {
        let of_it = |request: &ResourceRequest| match (&touched, reservation_name(request)) {
            (Touched::One(id), Some(name)) => id == name,
            (Touched::Any, name) => name.is_some(),
            (Touched::One(_), None) => false,
        };
        let found = store.state_filter(of_it);
        futures::stream::iter(found.into_iter().map(|request| ObjectRef::from_obj(&*request)))
    })
}

fn reservation_name(request: &ResourceRequest) -> Option<&str> {
    request.status.as_ref()?.reservation_name.as_deref()
}

/// What the status says about what was asked.
enum Shown<'a> {
    /// The broker has granted it.
    Granted(&'a str),
    /// The broker has refused it, or it has ended.
    Over,
    /// Nothing yet.
    Nothing,
}

fn shown<'a>(request: &'a ResourceRequest, asked: &Asked) -> Shown<'a> {
    let status = request.status.as_ref();
    // Agents of the earlier system do not say which generation they answered.
    let of_it = |observed: Option<i64>| observed.is_none_or(|it| it == asked.generation);
    let of_it = status.filter(|status| of_it(status.observed_generation));
    match of_it.and_then(|status| status.phase) {
        Some(RequestPhase::Reserved) => {
            reservation_name(request).map_or(Shown::Nothing, Shown::Granted)
        }
        Some(RequestPhase::Released | RequestPhase::Failed) => Shown::Over,
        Some(RequestPhase::Pending) | None => Shown::Nothing,
    }
}

impl Requests {
    async fn reconcile(&self, request: Arc<ResourceRequest>) -> Result<Action, ReconcileError> {
        let Some(broker) = self.context.broker.clone() else {
            return self.without_broker(&request).await;
        };
        let remembered = Asked::remembered(&request);
        let is_remembered = remembered.is_some();
        let before = remembered.or_else(|| Asked::by_status(&request, rear_agent_sdk::now()));
        if request.metadata.deletion_timestamp.is_some() {
            return self.finish(&*broker, &request, before).await;
        }
        if let Some(asked) = &before
            && !(is_remembered && is_held(&request))
            && !self.remember(&request, asked).await?
        {
            return Ok(Action::await_change());
        }
        match before {
            Some(asked) if Some(asked.generation) == request.metadata.generation => {
                match shown(&request, &asked) {
                    Shown::Granted(id) => self.look_after(&*broker, &request, &asked, id).await,
                    Shown::Over => Ok(Action::await_change()),
                    Shown::Nothing => self.ask(&*broker, &request, &asked).await,
                }
            }
            Some(older) => {
                self.release(&*broker, &request, &older).await?;
                self.begin(&*broker, &request).await
            }
            None => self.begin(&*broker, &request).await,
        }
    }

    fn api(&self, request: &ResourceRequest) -> Api<ResourceRequest> {
        let namespace = request.namespace().unwrap_or_default();
        Api::namespaced(self.context.client.clone(), &namespace)
    }

    /// Nothing can be asked, and nothing that was asked can be released.
    async fn without_broker(&self, request: &ResourceRequest) -> Result<Action, ReconcileError> {
        if request.metadata.deletion_timestamp.is_some() {
            self.let_go(request).await?;
        } else if reservation_name(request).is_none() {
            self.show(request, None, &Answer::no_broker()).await?;
        }
        Ok(Action::await_change())
    }

    /// Remembers what will be asked, and asks.
    async fn begin(
        &self,
        broker: &dyn BrokerCommunicator,
        request: &ResourceRequest,
    ) -> Result<Action, ReconcileError> {
        step!("request-seen");
        let asked = Asked::now(request, rear_agent_sdk::now());
        if !self.remember(request, &asked).await? {
            // Nobody would release it.
            return Ok(Action::await_change());
        }
        step!("request-noted");
        self.begins(request, &asked);
        self.ask(broker, request, &asked).await
    }

    fn begins(&self, request: &ResourceRequest, asked: &Asked) {
        self.begun().insert(request.uid().unwrap_or_default(), asked.generation);
    }

    fn begun(&self) -> MutexGuard<'_, HashMap<String, i64>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was noted by an agent that has ended since may have been granted. A broker that knows the key gives the same again;
    /// one of the earlier system would grant it a second time.
    async fn may_ask(
        &self,
        broker: &dyn BrokerCommunicator,
        request: &ResourceRequest,
        asked: &Asked,
    ) -> Result<(), Error> {
        let uid = request.uid().unwrap_or_default();
        if self.begun().get(&uid) == Some(&asked.generation) {
            return Ok(());
        }
        if !knows_keys(broker).await? {
            let source = "an agent that has ended since asked for it".into();
            return Err(Error::OutcomeUnknown { source });
        }
        self.begins(request, asked);
        Ok(())
    }

    /// Writes down on the object what is asked, so that it is released before the object goes; whether it is still there.
    async fn remember(
        &self,
        request: &ResourceRequest,
        asked: &Asked,
    ) -> Result<bool, ReconcileError> {
        let annotations = asked.annotations();
        let noted =
            apply_metadata(&self.api(request), MANAGER, request, &[FINALIZER], &annotations)
                .await?;
        Ok(noted.is_some())
    }

    async fn ask(
        &self,
        broker: &dyn BrokerCommunicator,
        request: &ResourceRequest,
        asked: &Asked,
    ) -> Result<Action, ReconcileError> {
        let outcome = match self.may_ask(broker, request, asked).await {
            Ok(()) => broker.reserve(&asked.request, &asked.intent(request)).await,
            Err(error) => Err(error),
        };
        let answer = match outcome {
            Ok(reservation) => Answer::granted(reservation),
            Err(error) => {
                let (wait_for, now) = (request.spec.wait_for.as_deref(), rear_agent_sdk::now());
                Answer::refused(&error, asked, wait_for, now)
            }
        };
        step!("request-answered");
        self.show(request, Some(asked), &answer).await?;
        let ends = answer.reservation.as_ref().and_then(|made| made.status.expires_at.as_deref());
        Ok(match answer.again {
            Some(pause) => Action::requeue(pause),
            None => super::provider_instruction::next_look(ends, rear_agent_sdk::now()),
        })
    }

    /// Writes the answer down, and the instruction with it.
    async fn show(
        &self,
        request: &ResourceRequest,
        asked: Option<&Asked>,
        answer: &Answer,
    ) -> Result<(), ReconcileError> {
        let Some(status) = answer.status(request, asked, rear_agent_sdk::now()) else {
            return Ok(());
        };
        apply_status(&self.api(request), MANAGER, request, &status).await?;
        step!("request-shown");
        if let Some(reservation) =
            answer.reservation.as_ref().filter(|_| answer.phase == RequestPhase::Reserved)
        {
            deliver(&self.context, reservation).await?;
            step!("request-delivered");
        }
        let known = request.status.as_ref().and_then(|status| status.phase);
        if known != Some(answer.phase) {
            let kind = match answer.phase {
                RequestPhase::Failed => EventType::Warning,
                _ => EventType::Normal,
            };
            info!(request = request.name_any(), phase = answer.phase.name(), answer.message);
            self.context.tell(request, kind, answer.reason, &answer.message);
        }
        Ok(())
    }

    /// A reservation whose instruction is there lives. Otherwise the broker knows.
    async fn look_after(
        &self,
        broker: &dyn BrokerCommunicator,
        request: &ResourceRequest,
        asked: &Asked,
        id: &str,
    ) -> Result<Action, ReconcileError> {
        let now = rear_agent_sdk::now();
        let ends = request.status.as_ref().and_then(|status| status.expires_at.as_deref());
        let is_over = ends.is_some_and(|end| has_passed(end, now));
        if self.delivered.is_there(id) && !is_over {
            return Ok(super::provider_instruction::next_look(ends, now));
        }
        let answer = match broker.reservation(id).await {
            Ok(reservation) => Answer::granted(reservation),
            Err(Error::NotFound { .. }) if is_over => Answer::expired(),
            Err(Error::NotFound { .. }) => {
                self.must_have_ended(broker, request, asked).await?;
                Answer::expired()
            }
            // A broker of the earlier system: only the time is known.
            Err(Error::Unsupported { .. }) if is_over => {
                self.delivered.remove(&self.context, id).await?;
                Answer::expired()
            }
            Err(Error::Unsupported { .. }) => {
                return Ok(super::provider_instruction::next_look(ends, now));
            }
            Err(error) => return Err(error.into()),
        };
        self.show(request, Some(asked), &answer).await?;
        match answer {
            // Deleted by hand, or not written yet.
            Answer { phase: RequestPhase::Reserved, reservation: Some(reservation), .. } => {
                deliver(&self.context, &reservation).await?;
                let ends = reservation.status.expires_at.as_deref();
                // The broker's clock decides, which may be behind this one.
                Ok(if is_over {
                    Action::requeue(super::PAUSE)
                } else {
                    super::provider_instruction::next_look(ends, now)
                })
            }
            _ => Ok(Action::await_change()),
        }
    }
}

/// Whether the broker knows what a key was used for: one of the earlier system has neither keys nor this question.
async fn knows_keys(broker: &dyn BrokerCommunicator) -> Result<bool, Error> {
    match broker.instructions(Role::Requester, None).await {
        Ok(_) => Ok(true),
        Err(Error::Unsupported { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use kube::runtime::watcher::Event;

    use super::*;
    use crate::resources::{ResourceRequestSpec, ResourceRequestStatus};

    fn request(name: &str, reservation: Option<&str>) -> ResourceRequest {
        let mut request = ResourceRequest::new(name, ResourceRequestSpec::default());
        request.metadata.namespace = Some("default".to_owned());
        let reservation_name = reservation.map(Into::into);
        let phase = Some(RequestPhase::Reserved);
        request.status =
            Some(ResourceRequestStatus { phase, reservation_name, ..Default::default() });
        request
    }

    #[tokio::test]
    async fn whoever_may_have_lost_a_reservation_is_looked_at() {
        let (store, mut writer) = reflector::store();
        for (name, reservation) in [("a", Some("rsv-1")), ("b", Some("rsv-2")), ("c", None)] {
            writer.apply_watcher_event(&Event::Apply(request(name, reservation)));
        }
        let found = async |touched: Touched| {
            let found = requests_of(store.clone(), stream::iter([touched]));
            let mut names: Vec<_> = found.map(|request| request.name).collect().await;
            names.sort_unstable();
            names
        };
        assert_eq!(found(Touched::One("rsv-2".to_owned())).await, ["b"]);
        assert_eq!(found(Touched::Any).await, ["a", "b"]);
    }

    #[test]
    fn the_loss_of_what_holds_a_reservation_matters() {
        let mut held = request("a", Some("rsv-1"));
        held.metadata.generation = Some(1);
        let lost = what_matters(&held);
        held.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
        assert_ne!(what_matters(&held), lost);
        let mut waiting = ResourceRequest { status: None, ..held.clone() };
        assert_eq!(what_matters(&waiting), what_matters(&held), "a status alone does not matter");
        waiting.metadata.finalizers = None;
        assert_eq!(what_matters(&waiting), what_matters(&held), "nor what the agent adds");
    }
}
