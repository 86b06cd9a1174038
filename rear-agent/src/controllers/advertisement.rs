//! `Advertisement`: what this cluster says of itself, and whether the broker has it.
//!
//! There is one such object. It is written when what it says has changed, when someone else has changed it, and at the
//! pace at which the broker is told.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kube::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::events::EventType;
use kube::runtime::watcher::watch_object;
use rear_agent_sdk::communicator::Timestamp;
use rear_agent_sdk::{Chain, Resources, Schedule};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::warn;

use super::PAUSE;
use super::provider_instruction::Kept;
use crate::clock::stamp;
use crate::collect::collector::Publication;
use crate::collect::sums::Totals;
use crate::collect::watch::Collected;
use crate::context::{Context, ReconcileError, apply, apply_status};
use crate::resources::{
    Advertisement, AdvertisementSpec, AdvertisementStatus, Condition, CostTexts, OwnResources,
    Truth, set_condition,
};
use crate::steps::step;

const MANAGER: &str = "rear-agent-advertisement";

const PUBLISHED: &str = "Published";
const NOT_PUBLISHED: &str = "NotPublished";

/// Changes that come together are written together.
const DEBOUNCE: Duration = Duration::from_secs(1);

/// Where the object is, and how often it is written at least.
#[derive(Debug, Clone)]
pub struct Place {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// How often its time is brought up to date.
    pub every: Duration,
}

/// What the object is made from.
pub struct Sources {
    /// The sums.
    pub collected: Arc<Collected>,
    /// What is kept aside.
    pub kept: Kept,
    /// What it charges.
    pub cost: Option<CostTexts>,
    /// How it stands with the broker.
    pub publication: watch::Receiver<Publication>,
}

struct Writer {
    context: Arc<Context>,
    place: Place,
    sources: Sources,
    api: Api<Advertisement>,
}

/// Keeps the object up to date for as long as it is polled.
pub async fn run(context: Arc<Context>, place: Place, sources: Sources) -> Infallible {
    let api = Api::namespaced(context.client.clone(), &place.namespace);
    Writer { context, place, sources, api }.run().await
}

impl Writer {
    async fn run(mut self) -> Infallible {
        let mut seen = pin!(watch_object(self.api.clone(), &self.place.name).default_backoff());
        let mut known: Option<Advertisement> = None;
        let mut progress = self.sources.collected.progress();
        let mut kept = self.sources.kept.changes();
        // Before that, the sums are not those of the cluster.
        while !progress.borrow_and_update().is_complete() {
            if progress.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
        let mut refresh = Instant::now();
        loop {
            let due = refresh <= Instant::now();
            if due {
                let schedule = Schedule::aligned(self.place.every);
                refresh = Instant::now() + schedule.until_next(rear_agent_sdk::now(), 0);
            }
            if let Err(error) = self.write(&mut known, due).await {
                warn!(error = %Chain(&error), "the advertisement is written again later");
                sleep(PAUSE).await;
                refresh = Instant::now();
                continue;
            }
            tokio::select! {
                () = sleep_until(refresh) => {}
                Some(object) = seen.next() => match object {
                    Ok(object) => known = object,
                    Err(error) => warn!(error = %Chain(&error), "watching was interrupted"),
                },
                Ok(()) = self.sources.publication.changed() => {}
                Ok(()) = kept.changed() => {}
                Ok(()) = progress.changed() => {
                    sleep(DEBOUNCE).await;
                    progress.mark_unchanged();
                }
            }
        }
    }

    async fn write(
        &self,
        known: &mut Option<Advertisement>,
        due: bool,
    ) -> Result<(), ReconcileError> {
        let now = rear_agent_sdk::now();
        let resources = match self.sources.collected.totals() {
            Ok(totals) => self.resources(&totals, now),
            Err(error) => {
                warn!(error = %Chain(&error), "the advertisement stays as it is");
                return Ok(());
            }
        };
        let is_so = known.as_ref().is_some_and(|known| {
            known.spec.resources == resources
                && shows(known.spec.cost.as_ref(), self.sources.cost.as_ref())
                && known.spec.cluster_id == self.context.cluster.as_str()
        });
        if due || !is_so {
            let mut written = apply(&self.api, MANAGER, &self.object(resources, now)).await?;
            written.metadata.managed_fields = None;
            *known = Some(written);
            step!("advertisement-written");
        }
        let Some(object) = known else { return Ok(()) };
        let publication = self.sources.publication.borrow().clone();
        self.context.metrics.published(publication == Publication::Done);
        if let Some(status) = decide(object, &publication, now) {
            apply_status(&self.api, MANAGER, object, &status).await?;
            self.tell(object, &status);
            object.status = Some(status);
            step!("advertisement-shown");
        }
        Ok(())
    }

    /// Tells people how it stands with the broker, when that has changed.
    fn tell(&self, object: &Advertisement, new: &AdvertisementStatus) {
        let known = object.status.as_ref().and_then(|known| known.phase.as_deref());
        let Some(condition) = new.conditions.iter().find(|condition| condition.kind == PUBLISHED)
        else {
            return;
        };
        if known != new.phase.as_deref() {
            let failed = condition.reason == NOT_PUBLISHED;
            let severity = if failed { EventType::Warning } else { EventType::Normal };
            self.context.tell(object, severity, &condition.reason, &condition.message);
        }
    }

    fn resources(&self, totals: &Totals, now: Timestamp) -> OwnResources {
        let by_requester = self.sources.kept.reserved(now);
        let sum = |sum: Resources, next: &Resources| sum.checked_add(*next).unwrap_or(sum);
        let reserved = by_requester.values().fold(Resources::NONE, sum);
        let available = totals.available(&by_requester);
        self.context.metrics.has(totals, reserved, available);
        OwnResources {
            capacity: totals.capacity.into(),
            allocatable: totals.allocatable.into(),
            allocated: totals.allocated.into(),
            available: available.into(),
            reserved: (!reserved.is_none()).then(|| reserved.into()),
            used: None,
        }
    }

    fn object(&self, resources: OwnResources, now: Timestamp) -> Advertisement {
        let spec = AdvertisementSpec {
            cluster_id: self.context.cluster.to_string(),
            timestamp: stamp(now),
            resources,
            cost: self.sources.cost.clone(),
        };
        Advertisement::new(&self.place.name, spec)
    }
}

/// Whether the price is shown. What others have written beside it is theirs.
fn shows(known: Option<&CostTexts>, ours: Option<&CostTexts>) -> bool {
    let Some(ours) = ours else { return true };
    let is_so = |known: &Option<String>, ours: &Option<String>| ours.is_none() || known == ours;
    known.is_some_and(|known| {
        is_so(&known.cpu_cost, &ours.cpu_cost)
            && is_so(&known.memory_cost, &ours.memory_cost)
            && is_so(&known.gpu_cost, &ours.gpu_cost)
            && is_so(&known.currency, &ours.currency)
    })
}

/// The status that it should have, if it has another.
fn decide(
    object: &Advertisement,
    publication: &Publication,
    now: Timestamp,
) -> Option<AdvertisementStatus> {
    let (phase, truth, reason, message) = match publication {
        Publication::NoBroker => {
            ("Local", Truth::False, "NoBroker", "No broker is configured (--broker-transport).")
        }
        Publication::NotYet => {
            ("Pending", Truth::Unknown, "NotYet", "The broker has not been told yet.")
        }
        Publication::Done => ("Active", Truth::True, "Published", "The broker has been told."),
        Publication::Failed(why) => ("Failed", Truth::False, NOT_PUBLISHED, why.as_str()),
    };
    let known = object.status.clone().unwrap_or_default();
    let mut new = known.clone();
    // The generation grows with every refreshment: it alone is no news.
    let observed = known.observed_generation;
    new.phase = Some(phase.to_owned());
    new.published = Some(truth == Truth::True);
    new.message = Some(message.to_owned());
    set_condition(
        &mut new.conditions,
        Condition {
            kind: PUBLISHED.to_owned(),
            status: truth,
            reason: reason.to_owned(),
            message: message.to_owned(),
            last_transition_time: stamp(now),
            observed_generation: observed,
        },
    );
    (new != known).then(|| {
        new.observed_generation = object.metadata.generation;
        for condition in &mut new.conditions {
            condition.observed_generation = object.metadata.generation;
        }
        new.last_update_time = Some(stamp(now));
        new
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_written_once_for_each_change() {
        let spec = serde_json::from_str(
            r#"{"clusterID":"rome","timestamp":"","resources":{
            "capacity":{"cpu":"1","memory":"1"},"allocatable":{"cpu":"1","memory":"1"},
            "allocated":{"cpu":0,"memory":"0"},"available":{"cpu":"1","memory":"1"}}}"#,
        );
        let mut object = Advertisement::new("a", spec.unwrap());
        object.metadata.generation = Some(7);
        let (early, late) = (Timestamp::from_seconds(1), Timestamp::from_seconds(2));
        let status = decide(&object, &Publication::NotYet, early).unwrap();
        assert_eq!((status.phase.as_deref(), status.published), (Some("Pending"), Some(false)));
        assert_eq!(status.conditions[0].observed_generation, Some(7));
        object.status = Some(status);
        object.metadata.generation = Some(8);
        assert_eq!(decide(&object, &Publication::NotYet, late), None);
        let failed = decide(&object, &Publication::Failed("why".into()), late).unwrap();
        assert_eq!(failed.message.as_deref(), Some("why"));
        let status = decide(&object, &Publication::Done, late).unwrap();
        assert_eq!((status.phase.as_deref(), status.published), (Some("Active"), Some(true)));
        object.status = Some(status);
        assert_eq!(decide(&object, &Publication::Done, late), None);
    }
}
