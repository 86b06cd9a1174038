//! `ReservationInstruction`: the capacity of another cluster, peered with and then active.
//!
//! The peering is undone when the last instruction towards a cluster goes; a finalizer holds that instruction until then.

mod peer;
mod status;

use std::sync::Arc;

use futures::channel::mpsc;
use futures::{Stream, TryStreamExt};
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::runtime::controller::Action;
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::watcher::Event;
use kube::runtime::{Controller, Predicate, PredicateConfig, WatchStreamExt, predicates};
use rear_agent_sdk::communicator::Timestamp;
use serde_json::json;

use super::provider_instruction::{is_by_others, next_look};
use super::resource_request::{Release, release};
use super::{PAUSE, again, drive, watched};
use crate::clock::has_passed;
use crate::context::{Context, ReconcileError};
use crate::promises::{Disturbance, is_ours};
use crate::resources::ReservationInstruction;
use peer::Peerings;

/// On an instruction whose request is gone while the broker could not be told: it is to be released.
pub const RELEASE: &str = "rear.fluidos.eu/release";

const RELEASE_MANAGER: &str = "rear-agent-release";

/// What requesters have, as it is known here.
#[derive(Clone)]
pub struct Delivered {
    store: Store<ReservationInstruction>,
}

impl Delivered {
    /// Whether the instruction of a reservation is there.
    #[must_use]
    pub fn is_there(&self, reservation: &str) -> bool {
        self.live().any(|known| known.spec.reservation_name == reservation)
    }

    /// Removes an instruction, as the reservation is known to have ended.
    pub async fn remove(&self, context: &Context, reservation: &str) -> Result<(), kube::Error> {
        let api = context.instructions::<ReservationInstruction>();
        match api.delete(reservation, &DeleteParams::default()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Notes on the instruction that its reservation is to be released as soon as the broker answers; whether there is one.
    pub async fn release_later(
        &self,
        context: &Context,
        reservation: &str,
    ) -> Result<bool, kube::Error> {
        let api = context.instructions::<ReservationInstruction>();
        let note = json!({ "metadata": { "annotations": { RELEASE: "wanted" } } });
        let params =
            PatchParams { field_manager: Some(RELEASE_MANAGER.into()), ..Default::default() };
        match api.patch(reservation, &params, &Patch::Merge(note)).await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn live(&self) -> impl Iterator<Item = Arc<ReservationInstruction>> {
        let live = |known: &Arc<ReservationInstruction>| {
            known.metadata.deletion_timestamp.is_none() && is_ours(&**known)
        };
        self.store.state().into_iter().filter(live)
    }

    /// What is reserved on a cluster, by instructions that live.
    fn towards(&self, target: &str) -> impl Iterator<Item = Arc<ReservationInstruction>> {
        self.live().filter(move |known| known.spec.target_cluster_id == target)
    }
}

/// Whose instruction has changed, or has gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touched {
    /// That of one reservation.
    One(String),
    /// Nobody knows which.
    Any,
}

/// The controller, what it knows, and the reservations whose instructions change.
pub fn controller(
    context: Arc<Context>,
    disturbance: Arc<Disturbance>,
) -> (Delivered, impl Stream<Item = Touched>, impl Future<Output = ()>) {
    let (store, writer) = reflector::store();
    let delivered = Delivered { store: store.clone() };
    let (touching, touched) = mpsc::unbounded();
    let news = move |event: &Event<ReservationInstruction>| {
        if is_by_others(event) {
            disturbance.requester.notify_one();
        }
        let touched = match event {
            Event::Apply(object) | Event::Delete(object) => {
                Touched::One(object.spec.reservation_name.clone())
            }
            // After a break nobody tells what went meanwhile.
            Event::InitDone => Touched::Any,
            Event::Init | Event::InitApply(_) => return,
        };
        // Nobody listens any more when the program ends.
        let _ = touching.unbounded_send(touched);
    };
    let stream = watched(context.instructions(), writer)
        .inspect_ok(news)
        .applied_objects()
        .predicate_filter(
            predicates::generation.combine(predicates::annotations),
            PredicateConfig::default(),
        );
    let peerings = Arc::new(Peerings::new(context.clone(), delivered.clone()));
    let reconcile = move |instruction, context| {
        let peerings = peerings.clone();
        async move { reconcile(&peerings, instruction, context).await }
    };
    let running = Controller::for_stream(stream, store).run(reconcile, again, context);
    (delivered, touched, drive(running))
}

async fn reconcile(
    peerings: &Peerings,
    instruction: Arc<ReservationInstruction>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    if instruction.metadata.deletion_timestamp.is_some() {
        return peerings.dissolve(&instruction).await;
    }
    // Nobody else can have the agent peer, or release.
    if !is_ours(&*instruction) {
        return Ok(Action::await_change());
    }
    if instruction.annotations().contains_key(RELEASE)
        && let Some(broker) = &context.broker
    {
        let id = &instruction.spec.reservation_name;
        // One that was restored may learn of it from the provider.
        if release(&**broker, id).await? == Release::Unknown {
            return Ok(Action::requeue(PAUSE));
        }
        // The broker's next level says the same; one of the earlier system does not.
        peerings.delivered.remove(&context, id).await?;
        return Ok(Action::await_change());
    }
    if let Some(pause) = peerings.settle(&instruction).await? {
        return Ok(Action::requeue(pause));
    }
    Ok(next_look(instruction.spec.expires_at.as_deref(), rear_agent_sdk::now()))
}

/// Whether its time is over by this cluster's clock.
fn is_over(instruction: &ReservationInstruction, now: Timestamp) -> bool {
    instruction.spec.expires_at.as_deref().is_some_and(|end| has_passed(end, now))
}

/// For logs and errors.
fn named(instruction: &ReservationInstruction) -> String {
    ObjectRef::from_obj(instruction).to_string()
}
