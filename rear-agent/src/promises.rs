//! Keeps promises as custom resources: what the agent loop is told to keep or give back.
//!
//! The API server is the memory: what is kept is what is there. So a restart, an edit or a deletion by hand are all the
//! same case, a difference from what the broker wants.

mod names;
pub mod translate;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use k8s_openapi::NamespaceResourceScope;
use kube::api::{DeleteParams, ListParams};
use kube::core::DeserializeGuard;
use kube::runtime::events::EventType;
use kube::{Api, Resource, ResourceExt};
use rear_agent_sdk::communicator::{ClusterId, Reservation, Role};
use rear_agent_sdk::{Doing, InstructionHandler, Keeping, NotKept, Resources, Source};
use rear_api::reservation::PhaseName;
use tokio::sync::{Mutex, Notify};

use crate::collect::watch::Collected;
use crate::context::{Context, ReconcileError, apply_alone};
use crate::controllers::provider_instruction::reserved_by_requester;
use crate::resources::{ProviderInstruction, ReservationInstruction};
use crate::steps::step;
use translate::{Instruction, as_promise, provider_instruction, reservation_instruction};

/// The name under which instructions are written.
const MANAGER: &str = "rear-agent-promises";

/// Whether a provider may say no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acceptance {
    /// What the broker has promised is kept.
    Always,
    /// What does not fit any more, because the cluster has filled up since it was advertised, is rejected.
    UnlessFull,
}

/// Told when instructions may have been changed by others than the agent.
#[derive(Default)]
pub struct Disturbance {
    /// Of those for requesters.
    pub requester: Notify,
    /// Of those for providers.
    pub provider: Notify,
}

/// Keeps promises as custom resources.
pub struct Promises {
    context: Arc<Context>,
    collected: Arc<Collected>,
    acceptance: Acceptance,
    disturbance: Arc<Disturbance>,
    /// Held while a name is chosen and used.
    naming: Mutex<()>,
}

impl Promises {
    /// In the namespace of the context.
    #[must_use]
    pub fn new(
        context: Arc<Context>,
        collected: Arc<Collected>,
        acceptance: Acceptance,
        disturbance: Arc<Disturbance>,
    ) -> Self {
        Self { context, collected, acceptance, disturbance, naming: Mutex::default() }
    }

    async fn kept_as(&self, role: Role) -> Result<Vec<Reservation>, Source> {
        let cluster = &self.context.cluster;
        Ok(match role {
            Role::Requester => {
                let all = list::<ReservationInstruction>(&self.context).await?;
                all.iter().map(|instruction| as_promise(cluster, instruction)).collect()
            }
            Role::Provider => {
                let all = list::<ProviderInstruction>(&self.context).await?;
                all.iter().map(|instruction| as_promise(cluster, instruction)).collect()
            }
        })
    }

    async fn keep_as_provider(&self, promise: &Reservation) -> Result<(), NotKept> {
        step!("promise-seen");
        let api = self.context.instructions::<ProviderInstruction>();
        if self.acceptance == Acceptance::UnlessFull && !is_active(promise) {
            let known: Vec<ProviderInstruction> = list(&self.context).await.map_err(failed)?;
            if !known.iter().any(|known| known.reservation() == promise.id) {
                self.room_for(promise, &known)?;
            }
        }
        let kept = self.apply_named(&api, promise).await.map_err(failed)?;
        step!("promise-kept");
        if kept.status.is_none() {
            let note = kept.spec.message.clone().unwrap_or_default();
            self.context.tell(&kept, EventType::Normal, "Promised", &note);
        }
        Ok(())
    }

    /// Under the name that its user gave it, apart from others who gave theirs the same.
    async fn apply_named(
        &self,
        api: &Api<ProviderInstruction>,
        promise: &Reservation,
    ) -> Result<ProviderInstruction, kube::Error> {
        if promise.name.is_none() {
            return apply_alone(api, MANAGER, &provider_instruction(promise, None)).await;
        }
        let _one_at_a_time = self.naming.lock().await;
        let all = self.context.instructions::<DeserializeGuard<ProviderInstruction>>();
        let all = all.list(&ListParams::default()).await?.items;
        let taken: Vec<_> = all.iter().map(ResourceExt::name_any).collect();
        let mut known = self.context.unreadable.readable(all);
        known.retain(is_ours);
        let name = names::choose(promise, &known, &taken);
        apply_alone(api, MANAGER, &provider_instruction(promise, name)).await
    }

    /// Whether it still fits beside what is promised already.
    fn room_for(
        &self,
        promise: &Reservation,
        known: &[ProviderInstruction],
    ) -> Result<(), NotKept> {
        let now = rear_agent_sdk::now();
        let totals = self.collected.totals().map_err(failed)?;
        let reserved = reserved_by_requester(known, now);
        let free = totals.available(&reserved);
        let asked = promise.requested_resources.resources();
        let asked: Resources = asked.map_err(|error| NotKept::Refused(error.to_string()))?;
        match asked.first_beyond(free) {
            None => Ok(()),
            Some(dimension) => Err(NotKept::Refused(format!(
                "this cluster has filled up: {dimension} {} is asked for, {} is left",
                dimension.quantity(asked.get(dimension)),
                dimension.quantity(free.get(dimension)),
            ))),
        }
    }

    async fn give_back_as(&self, role: Role, promise: &Reservation) -> Result<(), Source> {
        match role {
            Role::Requester => {
                let api = self.context.instructions::<ReservationInstruction>();
                let withdrawn = self.withdraw(&api, &reservation_instruction(promise)).await;
                step!("instruction-withdrawn");
                withdrawn
            }
            Role::Provider => {
                step!("promise-ended");
                let api = self.context.instructions::<ProviderInstruction>();
                let mut known: Vec<ProviderInstruction> = list(&self.context).await?;
                known.retain(|known| known.reservation() == promise.id);
                for instruction in &known {
                    self.withdraw(&api, instruction).await?;
                }
                step!("promise-withdrawn");
                Ok(())
            }
        }
    }

    async fn withdraw<K>(&self, api: &Api<K>, instruction: &K) -> Result<(), Source>
    where
        K: Resource<DynamicType = ()> + Clone + serde::de::DeserializeOwned + std::fmt::Debug,
    {
        let name = instruction.meta().name.as_deref().unwrap_or_default();
        match api.delete(name, &DeleteParams::default()).await {
            Ok(deleted) => {
                let mut known = instruction.clone();
                known.meta_mut().namespace = Some(self.context.namespace.clone());
                // While something holds it back, the object itself is the answer.
                known.meta_mut().uid = deleted.either(
                    |object| object.meta().uid.clone(),
                    |status| status.details.map(|details| details.uid),
                );
                let note = "The reservation has ended.";
                self.context.tell(&known, EventType::Normal, "Withdrawn", note);
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Writes the instruction to use another cluster; whoever knows of the reservation first does it.
///
/// While an earlier one of the same name is being withdrawn, it waits: that one still says which peering is to be undone.
pub async fn deliver(context: &Context, promise: &Reservation) -> Result<(), ReconcileError> {
    let api = context.instructions::<ReservationInstruction>();
    let known = api.get_metadata_opt(&promise.id).await?;
    if known.is_some_and(|known| known.metadata.deletion_timestamp.is_some()) {
        return Err(ReconcileError::BeingWithdrawn);
    }
    apply_alone(&api, MANAGER, &reservation_instruction(promise)).await?;
    Ok(())
}

/// Whether the agent wrote it, under its own name, and it says what an instruction can say. Anything else is somebody's
/// own: it does not count, is not told to the broker, and nothing is done about it.
pub fn is_ours<K: Instruction + Resource>(instruction: &K) -> bool {
    let meta = instruction.meta();
    let written = meta.managed_fields.iter().flatten();
    let mut written = written.map(|entry| entry.manager.as_deref());
    let (requester, provider) = instruction.sides("this");
    written.any(|manager| manager == Some(MANAGER))
        && meta.name.as_ref().is_some_and(|name| instruction.names().contains(name))
        && [requester, provider].iter().all(|id| id.parse::<ClusterId>().is_ok())
        && instruction.amounts().resources().is_ok()
}

/// All of ours that can be read and are not being deleted, as the API server has them at this moment.
async fn list<K>(context: &Context) -> Result<Vec<K>, kube::Error>
where
    K: Instruction
        + Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + serde::de::DeserializeOwned
        + std::fmt::Debug,
{
    let api = context.instructions::<DeserializeGuard<K>>();
    let mut all = context.unreadable.readable(api.list(&ListParams::default()).await?.items);
    all.retain(|object| object.meta().deletion_timestamp.is_none() && is_ours(object));
    Ok(all)
}

fn is_active(promise: &Reservation) -> bool {
    promise.status.reservation_phase == Some(PhaseName::Active)
}

fn failed(error: impl Into<Source>) -> NotKept {
    NotKept::Failed(error.into())
}

impl InstructionHandler for Promises {
    fn kept(&self, role: Role) -> Doing<'_, Vec<Reservation>> {
        Box::pin(self.kept_as(role))
    }

    fn keep<'a>(&'a self, role: Role, promise: &'a Reservation) -> Keeping<'a> {
        Box::pin(async move {
            match role {
                Role::Provider => self.keep_as_provider(promise).await,
                Role::Requester => deliver(&self.context, promise).await.map_err(failed),
            }
        })
    }

    fn give_back<'a>(&'a self, role: Role, promise: &'a Reservation) -> Doing<'a, ()> {
        Box::pin(self.give_back_as(role, promise))
    }

    fn disturbed(&self, role: Role) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        match role {
            Role::Requester => Box::pin(self.disturbance.requester.notified()),
            Role::Provider => Box::pin(self.disturbance.provider.notified()),
        }
    }
}
