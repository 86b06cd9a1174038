//! `ProviderInstruction`: counted as reserved from when it is there until it expires or is withdrawn.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use kube::runtime::controller::Action;
use kube::runtime::events::EventType;
use kube::runtime::reflector::{self, Store};
use kube::runtime::watcher::Event;
use kube::runtime::{Controller, PredicateConfig, WatchStreamExt, predicates};
use rear_agent_sdk::Resources;
use rear_agent_sdk::communicator::{ClusterId, Timestamp};
use tokio::sync::watch;

use super::{again, drive, watched};
use crate::clock::{has_passed, stamp, until};
use crate::context::{Context, ReconcileError, apply_status};
use crate::promises::translate::Instruction;
use crate::promises::{Disturbance, is_ours};
use crate::resources::{
    Condition, ProviderInstruction, ProviderInstructionStatus, Truth, set_condition,
};
use crate::steps::step;

const MANAGER: &str = "rear-agent-provider-instruction";

const ENFORCED: &str = "Enforced";

/// What providers keep aside, as it is known here.
#[derive(Clone)]
pub struct Kept {
    store: Store<ProviderInstruction>,
    changes: watch::Sender<u64>,
}

impl Kept {
    /// By requester, of those that count at this moment.
    #[must_use]
    pub fn reserved(&self, now: Timestamp) -> BTreeMap<ClusterId, Resources> {
        let all = self.store.state();
        reserved_by_requester(all.iter().map(AsRef::as_ref).filter(|known| is_ours(*known)), now)
    }

    /// To wait for changes.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

/// The sums of instructions by requester. Expired ones do not count, nor those whose texts cannot be read, which only a
/// hand can have written and which the next comparison with the broker repairs.
pub fn reserved_by_requester<'a>(
    instructions: impl IntoIterator<Item = &'a ProviderInstruction>,
    now: Timestamp,
) -> BTreeMap<ClusterId, Resources> {
    let mut reserved = BTreeMap::new();
    for instruction in instructions {
        let requester = instruction.spec.requester_cluster_id.parse::<ClusterId>();
        let amounts = instruction.amounts().resources();
        let (Ok(requester), Ok(amounts)) = (requester, amounts) else { continue };
        if !has_expired(instruction, now) && instruction.metadata.deletion_timestamp.is_none() {
            let sum: &mut Resources = reserved.entry(requester).or_default();
            *sum = sum.checked_add(amounts).unwrap_or(*sum);
        }
    }
    reserved
}

fn has_expired(instruction: &ProviderInstruction, now: Timestamp) -> bool {
    instruction.spec.expires_at.as_deref().is_some_and(|end| has_passed(end, now))
}

/// The controller, and what it knows.
pub fn controller(
    context: Arc<Context>,
    disturbance: Arc<Disturbance>,
) -> (Kept, impl Future<Output = ()>) {
    let (store, writer) = reflector::store();
    let kept = Kept { store: store.clone(), changes: watch::Sender::default() };
    let changes = kept.changes.clone();
    let news = move |event: &Event<ProviderInstruction>| {
        if is_by_others(event) {
            disturbance.provider.notify_one();
        }
        if !matches!(event, Event::Init | Event::InitApply(_)) {
            changes.send_modify(|changes| *changes += 1);
        }
    };
    let stream = watched(context.instructions(), writer)
        .inspect_ok(news)
        .applied_objects()
        .predicate_filter(predicates::generation, PredicateConfig::default());
    let running = Controller::for_stream(stream, store).run(reconcile, again, context);
    (kept, drive(running))
}

/// Deleted, or changed after it was made: mostly by hand. What others make does not count anyway.
pub(super) fn is_by_others<K: kube::Resource>(event: &Event<K>) -> bool {
    match event {
        Event::Delete(_) => true,
        Event::Apply(object) => object.meta().generation.is_some_and(|generation| generation > 1),
        Event::Init | Event::InitApply(_) | Event::InitDone => false,
    }
}

async fn reconcile(
    instruction: Arc<ProviderInstruction>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    let now = rear_agent_sdk::now();
    if let Some(status) = decide(&instruction, is_ours(&*instruction), now) {
        let api = context.instructions::<ProviderInstruction>();
        apply_status(&api, MANAGER, &*instruction, &status).await?;
        step!("promise-enforced");
        let condition = status.conditions.iter().find(|condition| condition.kind == ENFORCED);
        if let Some(Condition { reason, message, .. }) = condition {
            context.tell(&*instruction, EventType::Normal, reason, message);
        }
    }
    Ok(next_look(instruction.spec.expires_at.as_deref(), now))
}

/// At its end, if it has one.
pub(super) fn next_look(expires_at: Option<&str>, now: Timestamp) -> Action {
    match expires_at.and_then(|end| until(end, now)) {
        Some(left) => Action::requeue(left + Duration::from_millis(1)),
        None => Action::await_change(),
    }
}

/// The status that it should have, if it has another.
fn decide(
    instruction: &ProviderInstruction,
    is_ours: bool,
    now: Timestamp,
) -> Option<ProviderInstructionStatus> {
    if instruction.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let expired = has_expired(instruction, now);
    let (status, reason, message) = if !is_ours {
        (Truth::False, "NotOurs", "The agent did not write it: it does not count.".to_owned())
    } else if expired {
        (Truth::False, "Expired", "Its time is over: it does not count any more.".to_owned())
    } else {
        (Truth::True, "Enforced", instruction.spec.message.clone().unwrap_or_default())
    };
    let known = instruction.status.clone().unwrap_or_default();
    let mut new = known.clone();
    new.enforced = Some(status == Truth::True);
    new.observed_generation = instruction.metadata.generation;
    set_condition(
        &mut new.conditions,
        Condition {
            kind: ENFORCED.to_owned(),
            status,
            reason: reason.to_owned(),
            message,
            last_transition_time: stamp(now),
            observed_generation: instruction.metadata.generation,
        },
    );
    (new != known).then(|| {
        new.last_update_time = Some(stamp(now));
        new
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::translate::provider_instruction;
    use rear_agent_sdk::communicator::Reservation;

    fn instruction(id: &str, requester: &str, cpu: &str, end: &str) -> ProviderInstruction {
        let text = format!(
            r#"{{"id":"{id}","requesterID":"{requester}","targetClusterID":"paris",
            "requestedResources":{{"cpu":"{cpu}","memory":"1Gi"}},
            "status":{{"phase":"Reserved","expiresAt":"{end}"}}}}"#
        );
        provider_instruction(&serde_json::from_str::<Reservation>(&text).unwrap(), None)
    }

    #[test]
    fn it_is_enforced_until_it_expires_and_written_once_for_each() {
        let end = "1970-01-01T00:01:00Z";
        let mut held = instruction("a", "rome", "2", end);
        let before = decide(&held, true, Timestamp::from_seconds(1)).unwrap();
        assert_eq!(before.enforced, Some(true));
        held.status = Some(before);
        assert_eq!(decide(&held, true, Timestamp::from_seconds(59)), None);
        let after = decide(&held, true, Timestamp::from_seconds(60)).unwrap();
        assert_eq!((after.enforced, after.conditions[0].reason.as_str()), (Some(false), "Expired"));
        held.status = Some(after);
        assert_eq!(decide(&held, true, Timestamp::from_seconds(61)), None);
        let invented = decide(&held, false, Timestamp::from_seconds(1)).unwrap();
        assert_eq!(invented.enforced, Some(false));
    }

    #[test]
    fn what_is_reserved_is_summed_by_requester_without_what_has_expired() {
        let late = "1970-01-01T00:01:00Z";
        let all = [
            instruction("a", "rome", "2", late),
            instruction("b", "rome", "1", late),
            instruction("c", "oslo", "4", "1970-01-01T00:00:01Z"),
        ];
        let reserved = reserved_by_requester(&all, Timestamp::from_seconds(30));
        let shown: Vec<_> = reserved.iter().map(|(who, sum)| format!("{who}: {sum}")).collect();
        assert_eq!(shown, ["rome: cpu 3, memory 2Gi"]);
    }
}
