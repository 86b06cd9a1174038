//! Starts and ends the peering that an instruction needs, one at a time for each cluster and any number at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use kube::ResourceExt;
use kube::runtime::controller::Action;
use kube::runtime::events::EventType;
use rear_agent_sdk::communicator::Reservation;
use rear_agent_sdk::{Chain, Error, Resources};
use rear_api::reservation::PhaseName;
use serde_json::json;
use tracing::{info, warn};

use super::status::{ACTIVE, Finding, PEERED, decide, is_so};
use super::{Delivered, is_over, named};
use crate::context::{Context, ReconcileError, apply_metadata, apply_status, let_go};
use crate::liqo::Liqo;
use crate::promises::translate::Instruction;
use crate::resources::{Condition, ReservationInstruction, ReservationInstructionStatus, Truth};
use crate::steps::step;

const MANAGER: &str = "rear-agent-reservation-instruction";

/// Undoes the peering before the last instruction towards a cluster goes.
pub(super) const FINALIZER: &str = "rear.fluidos.eu/peering";

/// After a first failure; each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(10);

/// A provider that is repaired is noticed in this time.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// After so many attempts to undo a peering the instruction goes all the same: a provider that is gone for good must not
/// keep it. With the pauses, these are about a quarter of an hour.
const MOST_DISSOLUTIONS: u32 = 6;

/// All peerings.
pub(super) struct Peerings {
    context: Arc<Context>,
    pub(super) delivered: Delivered,
    /// How often it failed in a row, by instruction.
    failures: Mutex<HashMap<(String, bool), u32>>,
}

impl Peerings {
    pub(super) fn new(context: Arc<Context>, delivered: Delivered) -> Self {
        Self { context, delivered, failures: Mutex::default() }
    }

    /// Peers and activates as far as that is not so yet; when to try again, if something failed.
    pub(super) async fn settle(
        &self,
        instruction: &ReservationInstruction,
    ) -> Result<Option<Duration>, ReconcileError> {
        let Some(liqo) = &self.context.liqo else {
            let hint =
                "No peering is configured (--liqo-kubeconfig-dir or --liqo-kubeconfig-secrets).";
            let skipped = Finding::new(PEERED, Truth::False, "NotConfigured", hint);
            self.show(instruction, &[skipped]).await?;
            return Ok(None);
        };
        let is_peered = is_so(instruction, PEERED) && is_held(instruction);
        if is_peered && is_so(instruction, ACTIVE) {
            self.show(instruction, &[]).await?;
            return Ok(None);
        }
        if !is_peered && self.has_ended(instruction).await {
            self.show(instruction, &[]).await?;
            // It goes with the broker's next level, unless the broker comes back and knows better.
            return Ok(Some(LONGEST_PAUSE));
        }
        let mut findings = Vec::new();
        if !is_peered {
            match self.peer(liqo, instruction).await? {
                None => return Ok(Some(FIRST_PAUSE)),
                Some(Ok(said)) => findings.push(Finding::new(PEERED, Truth::True, "Peered", said)),
                Some(Err(why)) => {
                    let failed = Finding::new(PEERED, Truth::False, "Failed", why);
                    self.show(instruction, &[failed]).await?;
                    return Ok(Some(self.pause(instruction)));
                }
            }
        }
        self.succeeded(instruction);
        let again = match self.activate(instruction).await {
            Ok((activated, again)) => {
                findings.push(activated);
                again
            }
            Err(error) => {
                // It is not peered again for that.
                self.show(instruction, &findings).await?;
                return Err(error);
            }
        };
        step!("peering-active");
        self.show(instruction, &findings).await?;
        step!("peering-shown");
        Ok(again)
    }

    /// What the provider keeps for this cluster is asked for as a whole: there is one peering for all reservations.
    /// Nothing, if the instruction has gone meanwhile, or its time is over when it is its turn.
    async fn peer(
        &self,
        liqo: &Liqo,
        instruction: &ReservationInstruction,
    ) -> Result<Option<Result<String, String>>, ReconcileError> {
        let api = self.context.instructions::<ReservationInstruction>();
        let held = apply_metadata(&api, MANAGER, instruction, &[FINALIZER], &json!({})).await?;
        if held.is_none() {
            return Ok(None);
        }
        step!("peering-held");
        let started = Finding::new(PEERED, Truth::Unknown, "Peering", "liqoctl is running.");
        self.show(instruction, &[started]).await?;
        step!("peering-announced");
        let target = &instruction.spec.target_cluster_id;
        let outcome = liqo.peer(target, async || self.wanted_of(target).await).await;
        step!("peering-done");
        let Some(outcome) = outcome.transpose() else { return Ok(None) };
        self.context.metrics.peered(outcome.is_ok());
        Ok(Some(outcome.map_err(|error| Chain(&error).to_string())))
    }

    /// All that is reserved on a cluster and has not ended; nothing if there is none.
    async fn wanted_of(&self, target: &str) -> Option<Resources> {
        let wanted = self.delivered.towards(target).map(async |known| {
            let has_ended = self.has_ended(&known).await;
            known.amounts().resources().ok().filter(|_| !has_ended)
        });
        let wanted = join_all(wanted).await.into_iter().flatten();
        wanted.reduce(|sum, next| sum.checked_add(next).unwrap_or(sum))
    }

    /// Whether its time is over. This cluster's clock may be ahead: while the broker says that it lives, it does.
    async fn has_ended(&self, instruction: &ReservationInstruction) -> bool {
        is_over(instruction, rear_agent_sdk::now()) && !self.lives_on(instruction).await
    }

    /// What came of it, and when to try again.
    async fn activate(
        &self,
        instruction: &ReservationInstruction,
    ) -> Result<(Finding, Option<Duration>), ReconcileError> {
        let id = &instruction.spec.reservation_name;
        let not_so = |reason, why| Finding::new(ACTIVE, Truth::False, reason, why);
        let Some(broker) = &self.context.broker else {
            return Ok((not_so("NoBroker", "No broker is configured.".to_owned()), None));
        };
        match broker.activate(id).await {
            Ok(_) => Ok((Finding::new(ACTIVE, Truth::True, "Active", "The broker knows."), None)),
            Err(error @ (Error::Unsupported { .. } | Error::Refused(_))) => {
                Ok((not_so("NotActivated", Chain(&error).to_string()), None))
            }
            // A ledger that was restored may learn of it from its provider. If it has ended, the instruction goes.
            Err(error @ Error::NotFound { .. }) => {
                Ok((not_so("NotActivated", Chain(&error).to_string()), Some(FIRST_PAUSE)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Undoes the peering if no other instruction needs it, and lets the instruction go.
    pub(super) async fn dissolve(
        &self,
        instruction: &ReservationInstruction,
    ) -> Result<Action, ReconcileError> {
        if !is_held(instruction) {
            return Ok(Action::await_change());
        }
        if let Some(liqo) = &self.context.liqo
            && !self.lives_on(instruction).await
            && let Err(error) = self.shrink(liqo, &instruction.spec.target_cluster_id).await
        {
            let why = Chain(&error).to_string();
            warn!(instruction = named(instruction), error = why, "the peering is not undone");
            self.context.tell(instruction, EventType::Warning, "NotUnpeered", &why);
            let pause = self.pause(instruction);
            if self.failures_of(instruction) < MOST_DISSOLUTIONS {
                return Ok(Action::requeue(pause));
            }
        }
        step!("peering-undone");
        self.succeeded(instruction);
        let api = self.context.instructions::<ReservationInstruction>();
        let_go(&api, MANAGER, instruction, FINALIZER).await?;
        step!("instruction-let-go");
        Ok(Action::await_change())
    }

    /// Whether the broker says that it lives: one that was deleted by hand comes back, and the peering is needed.
    async fn lives_on(&self, instruction: &ReservationInstruction) -> bool {
        let Some(broker) = &self.context.broker else { return false };
        let known = broker.reservation(&instruction.spec.reservation_name).await;
        known.is_ok_and(|known| needs_peering(&known, instruction))
    }

    async fn shrink(&self, liqo: &Liqo, target: &str) -> Result<(), crate::liqo::PeeringError> {
        let said = liqo.shrink(target, async || self.wanted_of(target).await).await?;
        info!(target, said, "the peering is smaller, or has ended");
        Ok(())
    }

    async fn show(
        &self,
        instruction: &ReservationInstruction,
        findings: &[Finding],
    ) -> Result<(), ReconcileError> {
        let Some(status) = decide(instruction, findings, rear_agent_sdk::now()) else {
            return Ok(());
        };
        let api = self.context.instructions::<ReservationInstruction>();
        apply_status(&api, MANAGER, instruction, &status).await?;
        self.tell(instruction, &status);
        Ok(())
    }

    /// Tells people of each transition.
    fn tell(&self, instruction: &ReservationInstruction, new: &ReservationInstructionStatus) {
        let known = instruction.status.as_ref();
        if known.and_then(|known| known.delivered) != new.delivered {
            let message = instruction.spec.message.as_deref().unwrap_or_default();
            self.context.tell(instruction, EventType::Normal, "Delivered", message);
        }
        for Condition { kind, status, reason, message, .. } in &new.conditions {
            let is_known = known.iter().flat_map(|known| &known.conditions).any(|known| {
                known.kind == *kind && known.reason == *reason && known.status == *status
            });
            if !is_known {
                let warns = reason == "Failed" || reason == "NotActivated";
                let severity = if warns { EventType::Warning } else { EventType::Normal };
                self.context.tell(instruction, severity, reason, message);
            }
        }
    }

    /// How long to wait after one more failure.
    fn pause(&self, instruction: &ReservationInstruction) -> Duration {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let failures = failures.entry(counted_as(instruction)).or_default();
        *failures += 1;
        FIRST_PAUSE.saturating_mul(1 << (*failures - 1).min(10)).min(LONGEST_PAUSE)
    }

    fn failures_of(&self, instruction: &ReservationInstruction) -> u32 {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.get(&counted_as(instruction)).copied().unwrap_or(0)
    }

    fn succeeded(&self, instruction: &ReservationInstruction) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.retain(|(name, _), _| *name != instruction.name_any());
    }
}

/// Making a peering and undoing it are counted apart: one that never came up is worth as many attempts to undo it.
fn counted_as(instruction: &ReservationInstruction) -> (String, bool) {
    (instruction.name_any(), instruction.metadata.deletion_timestamp.is_some())
}

/// Whether a reservation lives on the cluster that an instruction of its name is about: the name may have come again, for another.
fn needs_peering(known: &Reservation, instruction: &ReservationInstruction) -> bool {
    known.target_cluster_id == instruction.spec.target_cluster_id
        && matches!(known.status.phase, PhaseName::Reserved | PhaseName::Active)
}

/// Whether the instruction stays until its peering is undone. One that says that it is peered, and is not held, has that from
/// another one of the same name.
fn is_held(instruction: &ReservationInstruction) -> bool {
    instruction.finalizers().iter().any(|known| known == FINALIZER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::translate::reservation_instruction;

    #[test]
    fn a_name_that_has_come_again_for_another_cluster_does_not_keep_the_peering() {
        let promise = |target: &str, phase: &str| -> Reservation {
            let text = format!(
                r#"{{"id":"db","requesterID":"rome","targetClusterID":"{target}",
                "requestedResources":{{"cpu":"1","memory":"1Gi"}},"status":{{"phase":"{phase}"}}}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        let instruction = reservation_instruction(&promise("paris", "Reserved"));
        assert!(needs_peering(&promise("paris", "Active"), &instruction));
        assert!(!needs_peering(&promise("paris", "Released"), &instruction));
        assert!(!needs_peering(&promise("oslo", "Reserved"), &instruction));
    }
}
