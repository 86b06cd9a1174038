//! After a restore the broker has forgotten promises, and learns of them again from their providers. Until a provider has
//! spoken, a requester cannot tell from a level whether a promise has ended: this file can.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rear_api::amounts::RequestedResources;
use rear_api::dry_run::Candidate;
use tokio::time::Instant;

use crate::communicator::{
    BrokerCommunicator, Level, Reservation, ReservationRequest, Role, request,
};
use crate::error::Error;

/// The life of a ledger that was never restored: it has forgotten nothing.
const FIRST_LIFE: u64 = 1;

/// How long a provider that the restored ledger has never heard of may take to introduce itself. After that it is taken
/// for gone; one that the ledger knows is waited for as long as the broker waits for it.
const PATIENCE: Duration = Duration::from_mins(10);

/// The broker's words for a provider that it waits for, and for one that it has never heard of.
const RECOVERING: &str = "recovering";
const UNKNOWN: &str = "unknown";

/// Promises of a requester that a restored ledger may have forgotten, by id.
#[derive(Default)]
pub(crate) struct Recovery {
    forgotten: BTreeSet<String>,
    since: Option<Instant>,
}

impl Recovery {
    /// Whether a promise that the broker does not name may live all the same.
    pub(crate) fn may_live(&self, promise: &Reservation) -> bool {
        self.forgotten.contains(&promise.id)
    }

    /// Whether there are such promises.
    pub(crate) fn is_over(&self) -> bool {
        self.forgotten.is_empty()
    }

    /// Finds out which of those that a level does not name may live. What the ledger knows has ended if the level does
    /// not name it; of the others, their providers may have to speak first. Whether the broker had to be asked.
    pub(crate) async fn look(
        &mut self,
        broker: &dyn BrokerCommunicator,
        level: &Level,
        kept: &[Reservation],
    ) -> Result<bool, Error> {
        let missing = if was_restored(level) { missing(&level.instructions, kept) } else { vec![] };
        self.forgotten.clear();
        if missing.is_empty() {
            self.since = None;
            return Ok(false);
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        let known: BTreeSet<_> = match broker.reservations(Role::Requester).await {
            Ok(known) => known.into_iter().map(|known| known.id).collect(),
            // A transport that cannot tell: what is not named has ended.
            Err(Error::Unsupported { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        let mut providers: BTreeMap<&str, bool> = BTreeMap::new();
        for promise in missing.into_iter().filter(|promise| !known.contains(&promise.id)) {
            let provider = promise.target_cluster_id.as_str();
            let is_silent = match providers.get(provider) {
                Some(is_silent) => *is_silent,
                None => is_silent(broker, promise, since.elapsed()).await?,
            };
            providers.insert(provider, is_silent);
            if is_silent {
                self.forgotten.insert(promise.id.clone());
            }
        }
        Ok(true)
    }
}

fn was_restored(level: &Level) -> bool {
    level.revision.is_some_and(|revision| revision.incarnation > FIRST_LIFE)
}

/// What is kept and not among the instructions.
fn missing<'a>(named: &[Reservation], kept: &'a [Reservation]) -> Vec<&'a Reservation> {
    let named: BTreeSet<_> = named.iter().map(|promise| promise.id.as_str()).collect();
    kept.iter().filter(|promise| !named.contains(promise.id.as_str())).collect()
}

/// Whether the provider of a promise has yet to say what it holds.
async fn is_silent(
    broker: &dyn BrokerCommunicator,
    promise: &Reservation,
    waited: Duration,
) -> Result<bool, Error> {
    Ok(match standing(broker, &the_same(promise)).await?.as_deref() {
        Some(RECOVERING) => true,
        Some(UNKNOWN) => waited < PATIENCE,
        _ => false,
    })
}

/// Whether the target of a request has yet to say what it holds after a restore of the broker's ledger: until then, a
/// promise of it that the broker does not know may live all the same. Nothing is locked.
///
/// A transport that cannot tell, or a request that the broker refuses to look at, is a no.
pub async fn is_recovering(
    broker: &dyn BrokerCommunicator,
    request: &ReservationRequest,
) -> Result<bool, Error> {
    Ok(standing(broker, request).await?.as_deref() == Some(RECOVERING))
}

/// Why the target of a request gets nothing, if so: a dry run tells.
async fn standing(
    broker: &dyn BrokerCommunicator,
    request: &ReservationRequest,
) -> Result<Option<String>, Error> {
    let found = match broker.dry_run(request).await {
        Ok(found) => found,
        Err(Error::Unsupported { .. } | Error::Refused(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(found.candidates.into_iter().find_map(|candidate| match candidate {
        Candidate::Lacking(lacking) => Some(lacking.obstacle.reason),
        Candidate::Fitting(_) => None,
    }))
}

/// A request for what was promised, of the same provider.
fn the_same(promise: &Reservation) -> ReservationRequest {
    let amounts = promise.requested_resources.clone();
    ReservationRequest {
        requested_resources: RequestedResources {
            cpu: amounts.cpu,
            memory: amounts.memory,
            gpu: amounts.gpu,
            storage: amounts.storage,
        },
        target_cluster_id: Some(promise.target_cluster_id.clone()),
        ..request("", "")
    }
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use rear_api::dry_run::DryRun;
    use rear_api::revision::Position;
    use tokio::time::advance;

    use super::*;
    use crate::testing::{Answer, Scripted};

    /// A dry run in which nobody fits, for this reason.
    fn lacking(reason: &str) -> Answer {
        let text = format!(
            r#"{{"target":null,"revision":"2.1","candidates":[{{"fits":false,"reason":"{reason}"}}]}}"#
        );
        Answer::DryRun(Ok(serde_json::from_str::<DryRun>(&text).unwrap()))
    }

    fn promise() -> Reservation {
        let text = r#"{"id":"rsv-1","requesterID":"paris","targetClusterID":"rome",
            "requestedResources":{"cpu":"1","memory":"1Gi"},"status":{"phase":"Reserved"}}"#;
        serde_json::from_str(text).unwrap()
    }

    #[tokio::test]
    async fn only_a_provider_that_is_waited_for_is_recovering() {
        let broker = Scripted::default();
        for (reason, expected) in [("recovering", true), ("unknown", false), ("stale", false)] {
            broker.will(lacking(reason));
            assert_eq!(is_recovering(&broker, &request("1", "1Gi")).await.ok(), Some(expected));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_provider_that_was_never_heard_of_has_its_time_to_introduce_itself() {
        let (broker, mut recovery) = (Scripted::default(), Recovery::default());
        let level = Level::new(Vec::new(), Some(Position { incarnation: 2, number: 1 }));
        for (later, may_live) in
            [(Duration::ZERO, true), (PATIENCE / 2, true), (PATIENCE / 2, false)]
        {
            advance(later).await;
            broker.will(Answer::Reservations(Ok(Vec::new())));
            broker.will(lacking("unknown"));
            assert_eq!(recovery.look(&broker, &level, &[promise()]).await.ok(), Some(true));
            assert_eq!((recovery.may_live(&promise()), recovery.is_over()), (may_live, !may_live));
        }
    }

    #[tokio::test]
    async fn a_ledger_that_was_never_restored_is_not_asked_what_it_has_forgotten() {
        let (broker, mut recovery) = (Scripted::default(), Recovery::default());
        let level = Level::new(Vec::new(), Some(Position { incarnation: 1, number: 1 }));
        assert_eq!(recovery.look(&broker, &level, &[promise()]).await.ok(), Some(false));
        assert_eq!(broker.said(), []);
    }
}
