//! One cluster: what it says of itself is taken, and how the broker sees it is written back.

mod apply;
mod decide;
mod hearing;
mod status;

use rear_api::advertisement::{Advertisement as Shown, Seen as SeenCluster};
use rear_api::problem::Problem;
use rear_api::resources::ClusterAdvertisement as Object;
use rear_engine::{ClusterId, Command};
use rear_store::SubmitError;

use super::TryAgain;
use super::desk::Desk;
use super::queue::{Left, Turn};
use super::shelf::Place;
use super::steps::step;
use decide::{Answer, Sighting, Telling, telling, writes};

pub(super) use decide::Answer as Answered;
pub(super) use hearing::{Hearing, hear_all};

/// The cluster that an object speaks of.
pub(super) fn cluster_of(object: &Object) -> Option<ClusterId> {
    object.spec.cluster_id.parse().ok()
}

/// Takes what the objects of a cluster say, and writes back how the broker sees it.
pub(super) async fn reconcile(
    desk: &Desk,
    cluster: ClusterId,
    turn: Turn,
) -> Result<Left, TryAgain> {
    let objects = desk.mirror().advertisements.at(&cluster);
    for (place, object) in &objects {
        hear(desk, &cluster, place, object).await?;
    }
    let (shown, is_wanted) = shown(desk, &cluster);
    let (sightings, home, mark, now) = {
        let mirror = desk.mirror();
        let objects = mirror.advertisements.at(&cluster).into_iter();
        let sightings = objects.map(|(place, object)| Sighting {
            speaker: mirror.speakers.of(&place.namespace),
            answer: desk.advertisement_answer(&place, &object),
            place,
            object,
        });
        let sightings: Vec<_> = sightings.collect();
        let view = desk.broker.store.view();
        let home = mirror.speakers.home(&cluster).filter(|_| is_wanted).map(str::to_owned);
        (sightings, home, desk.mark(&view), view.now())
    };
    let writes = writes(&cluster, shown.as_ref(), &sightings, home.as_deref(), mark, now);
    let is_awaited = sightings.iter().any(is_awaited);
    if turn == Turn::Answer && !is_awaited && !writes.is_empty() {
        // Only what is reserved has changed: many changes of that are written as one.
        return Ok(Left::Rest);
    }
    for write in writes {
        apply::apply(desk, write).await?;
    }
    Ok(Left::Nothing)
}

/// Whether somebody has written something that the broker has not answered yet.
fn is_awaited(sighting: &Sighting) -> bool {
    let answered = sighting.object.status.as_ref().and_then(|status| status.observed_generation);
    answered < sighting.object.metadata.generation
}

/// How the broker sees a cluster; and whether people should see it although nobody has written of it here.
fn shown(desk: &Desk, cluster: &ClusterId) -> (Option<Shown>, bool) {
    let view = desk.broker.store.view();
    let fleet = view.fleet();
    let seen = fleet.cluster(cluster).and_then(|known| SeenCluster::of(fleet, known, view.now()));
    let lends = fleet.live_of_provider(cluster).next().is_some();
    let is_wanted = lends || seen.as_ref().is_some_and(|seen| seen.fresh);
    (seen.and_then(Shown::of), is_wanted)
}

/// Takes what one object says, if that is news.
async fn hear(
    desk: &Desk,
    cluster: &ClusterId,
    place: &Place,
    object: &Object,
) -> Result<(), TryAgain> {
    if desk.advertisement_answer(place, object).is_some() {
        return Ok(());
    }
    let told = {
        let mirror = desk.mirror();
        let view = desk.broker.store.view();
        telling(view.fleet(), cluster, object, &mirror.speakers.of(&place.namespace), view.now())
    };
    match told {
        Telling::Nothing => Ok(()),
        Telling::Wrong(answer) => {
            desk.answer_advertisement(place, object, answer);
            Ok(())
        }
        Telling::News(command) => match take(desk, *command).await {
            Ok(()) => Ok(()),
            Err(SubmitError::Refused(refusal)) => {
                let problem = Problem::refused(&refusal, desk.broker.telling().names);
                let answer = Answer { code: problem.code, message: problem.detail };
                desk.answer_advertisement(place, object, answer);
                Ok(())
            }
            Err(error) => Err(TryAgain::Store(error)),
        },
    }
}

async fn take(desk: &Desk, command: Command) -> Result<(), SubmitError> {
    match desk.broker.store.refresh(command) {
        Ok(()) => Ok(()),
        Err(news) => {
            let heard = desk.broker.decide(news).await.map(drop);
            step!("advertisement-heard");
            heard
        }
    }
}
