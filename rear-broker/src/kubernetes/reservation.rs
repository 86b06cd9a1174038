//! One reservation: observe, decide, apply, until nothing differs.

mod apply;
mod decide;
mod seen;
mod status;
#[cfg(test)]
mod tests;

use std::time::Duration;

use kube::Api;
use kube::api::ListParams;
use kube::core::DeserializeGuard;
use kube::runtime::watcher::Event;
use rear_api::dry_run::DryRun;
use rear_api::problem::{Code, Problem};
use rear_api::resources::Reservation as Object;
use rear_engine::{Ask, Command, Refusal, Reservation, ReservationId};
use rear_store::SubmitError;
use serde_json::json;
use tracing::{debug, info};

use super::TryAgain;
use super::desk::Desk;
use super::queue::{Left, Turn};
use super::steps::step;
use crate::freshness::catch_up;
use decide::{Next, Write, decide};
pub(super) use seen::{
    Answer, Answers, Seen, Sighting, Wish, id_of, id_of_wish, is_awaited, was_made_as_resource,
};

/// A reservation has few wishes at once: more steps than this are a mistake.
const MAX_STEPS: usize = 12;

/// How long a provider that a restored ledger has never heard of may take to introduce itself, since this broker serves: as
/// long as agents wait for it.
const PATIENCE: Duration = Duration::from_mins(10);

/// Brings the objects of a reservation to what the ledger says, and the ledger to what its sides want.
pub(super) async fn reconcile(
    desk: &Desk,
    id: ReservationId,
    turn: Turn,
) -> Result<Left, TryAgain> {
    let (mut heard, mut caught_up, mut looked_for) = (false, false, false);
    for _ in 0..MAX_STEPS {
        if desk.mirror().reservations.is_aside(&id) {
            // What it wants is not known: nothing is done about it, and above all it is not given back.
            return Ok(Left::Nothing);
        }
        let seen = observe(desk, id);
        if !caught_up && seen.is_behind() {
            caught_up = true;
            catch_up(&desk.broker.store).await.map_err(TryAgain::Behind)?;
            continue;
        }
        match decide(&seen) {
            Next::Submit(Wish::Release, _)
                if !looked_for && seen.requesters().is_none() && is_shared(desk) =>
            {
                looked_for = true;
                look_for(desk, id).await?;
            }
            Next::Write(writes) => {
                return match turn {
                    Turn::Answer => answer(desk, &writes).await,
                    Turn::Rest => apply_all(desk, &seen, &writes).await.map(|()| Left::Nothing),
                };
            }
            Next::Explain(ask) => desk.answered(id, Wish::Explain, explain(desk, &ask)),
            Next::Submit(wish, command) => {
                let Some(refusal) = submit(desk, &seen, &wish, *command).await? else {
                    if matches!(wish, Wish::Renew(_)) {
                        desk.answered(id, wish, taken());
                    }
                    continue;
                };
                if matches!(refusal, Refusal::NoRoom(_)) && !heard {
                    // What was written before the wish counts, also if its watch is behind.
                    heard = true;
                    super::advertisement::hear_all(desk).await?;
                } else if !matches!(refusal, Refusal::IdTaken(_)) {
                    desk.answered(id, wish, refused(desk, &refusal));
                }
            }
        }
    }
    Err(TryAgain::Unsettled)
}

/// Whether others decide in the same ledger: what they have decided may be known before the object that it is about.
fn is_shared(desk: &Desk) -> bool {
    desk.broker.store.standing().is_some()
}

/// Looks whether the API server has an object of a reservation, whatever the watch has told: one that is only missing here
/// is not to be given back.
async fn look_for(desk: &Desk, id: ReservationId) -> Result<(), TryAgain> {
    let api = Api::<DeserializeGuard<Object>>::all(desk.client.clone());
    let all = api.list(&ListParams::default()).await?;
    let mut mirror = desk.mirror();
    let is_it = |object: &DeserializeGuard<Object>| match &object.0 {
        Ok(object) => id_of(object) == Some(id),
        Err(invalid) => id_of_wish(&invalid.metadata) == Some(id),
    };
    for object in all.items.into_iter().filter(is_it) {
        mirror.reservations.take(Event::Apply(object));
    }
    Ok(())
}

/// Everything that is known at this moment.
fn observe(desk: &Desk, id: ReservationId) -> Seen {
    let mirror = desk.mirror();
    let objects = mirror.reservations.at(&id).into_iter().map(|(place, object)| {
        let speaker = mirror.speakers.of(&place.namespace);
        Sighting { place, object, speaker }
    });
    let objects: Vec<_> = objects.collect();
    let view = desk.broker.store.view();
    let fleet = view.fleet();
    let record = fleet.reservation(id).cloned();
    let home = |cluster| mirror.speakers.home(cluster).map(str::to_owned);
    let is_waited_for = |record: &Reservation| {
        fleet.cluster(&record.provider).is_some_and(|known| fleet.is_recovering(known.record()))
    };
    Seen {
        id,
        requesters_home: record.as_ref().and_then(|record| home(record.requester())),
        providers_home: record.as_ref().and_then(|record| home(&record.provider)),
        recovering: is_awaited(fleet, &objects, desk.since.elapsed() < PATIENCE)
            || record.as_ref().is_some_and(is_waited_for),
        answers: desk.answers_of(id, &objects),
        mark: desk.mark(&view),
        now: view.now(),
        record,
        objects,
    }
}

/// Has it decided: nothing if it was granted, else why not.
async fn submit(
    desk: &Desk,
    seen: &Seen,
    wish: &Wish,
    command: Command,
) -> Result<Option<Refusal>, TryAgain> {
    let outcome = desk.broker.decide(command).await;
    step!("wish-decided");
    debug!(id = %seen.id, ?wish, ok = outcome.is_ok(), "decided");
    desk.tell_audit(seen, wish, outcome.as_ref().err());
    match outcome {
        Ok(_) => Ok(None),
        Err(SubmitError::Refused(refusal)) => Ok(Some(refusal)),
        Err(error) => {
            apply::say_pending(desk, seen, &error.to_string()).await?;
            Err(TryAgain::Store(error))
        }
    }
}

fn refused(desk: &Desk, refusal: &Refusal) -> Answer {
    let problem = Problem::refused(refusal, desk.broker.telling().names);
    let candidates = problem.candidates.as_ref().map(|all| json!({ "candidates": all }));
    Answer { code: Some(problem.code), message: problem.detail, explanation: candidates }
}

/// What was wanted is so.
fn taken() -> Answer {
    Answer { code: None, message: String::new(), explanation: None }
}

fn invalid(message: String) -> Answer {
    Answer { code: Some(Code::Invalid.name().to_owned()), message, explanation: None }
}

fn explain(desk: &Desk, ask: &Ask) -> Answer {
    let view = desk.broker.store.view();
    let ranking = match rear_engine::explain(view.fleet(), ask, view.now()) {
        Ok(ranking) => ranking,
        Err(refusal) => return refused(desk, &refusal),
    };
    let shown = DryRun::of(&ranking, view.position(), desk.broker.telling().names);
    let message = match &shown.target {
        Some(target) => format!("{target} would get it"),
        None => "nobody would get it".to_owned(),
    };
    Answer { code: None, message, explanation: serde_json::to_value(&shown).ok() }
}

/// Writes the status that the requester waits for, and nothing else.
async fn answer(desk: &Desk, writes: &[Write]) -> Result<Left, TryAgain> {
    let others = match writes {
        [first @ Write::Status { .. }, others @ ..] => {
            apply::apply(desk, first).await?;
            others
        }
        others => others,
    };
    Ok(if others.is_empty() { Left::Nothing } else { Left::Rest })
}

/// Writes in order. That the provider cannot be told keeps nobody from being released, and nobody is said to be held
/// before the provider is told.
async fn apply_all(desk: &Desk, seen: &Seen, writes: &[Write]) -> Result<(), TryAgain> {
    let mut failed = None;
    for write in writes {
        if failed.is_some() && !matches!(write, Write::Hold { held: false, .. }) {
            continue;
        }
        if let Err(error) = apply::apply(desk, write).await {
            info!(id = %seen.id, %error, "not written");
            failed = Some(error);
        }
    }
    failed.map_or(Ok(()), Err)
}
