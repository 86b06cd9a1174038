//! The clauses.

use std::time::Duration;

use rear_api::moment;
use rear_api::reservation::PhaseName;
use tokio::time::timeout;

use super::scene::{CORES, Scene};
use super::{Clause, Ended, ensure};
use crate::communicator::{Intent, Level, Role, Wait};
use crate::error::Error;

/// Long enough for any news to come.
const LONG: Duration = Duration::from_secs(30);

/// Long enough to be held, short enough to be waited for.
const SHORT: Duration = Duration::from_secs(1);

/// An id that is well formed and nobody's.
const NOBODYS: &str = "rsv-00000000000000000000000000000000";

/// Each check by its claim.
macro_rules! clauses {
    ($($claim:literal => $check:ident,)+) => {
        /// The contract.
        pub const CLAUSES: &[Clause] =
            &[$(Clause { claim: $claim, check: |scene| Box::pin($check(scene)) }),+];
    };
}

clauses! {
    "a ping is answered" => ping,
    "what is published is shown" => publish,
    "one intent is one reservation" => one_intent,
    "a refusal says why, and is not transient" => refusal,
    "a dry run explains and locks nothing" => dry_run,
    "a reservation is confirmed, prolonged and given back" => whole_life,
    "a rejection reaches the requester with its reason" => rejection,
    "instructions are a level: the same ones each time, for both sides" => level,
    "instructions are held until there is news" => news,
    "instructions are held no longer than was asked for" => no_news,
    "events go on after the last one that was seen" => events,
    "what is not there is said to be not there" => missing,
    "a question that is abandoned leaves the transport usable, and is executed once" => abandoned,
    "closing ends what waits and what comes later" => closing,
}

async fn ping(scene: Scene) -> Result<(), Ended> {
    Ok(scene.lender.ping().await?)
}

async fn publish(scene: Scene) -> Result<(), Ended> {
    let lender = scene.lender_id()?;
    let before = scene.lender.advertisement(&lender).await?;
    ensure(before.is_none(), &before)?;
    let answer = scene.lender.publish(&scene.offer()).await?;
    ensure(answer.advertisement.cluster_id == lender.as_str(), &answer)?;
    let shown = scene.lender.advertisement(&lender).await?;
    let cores = shown.as_ref().map(|shown| shown.resources.allocatable.cpu.0.as_str());
    ensure(cores == Some(CORES), &shown)
}

async fn one_intent(scene: Scene) -> Result<(), Ended> {
    scene.advertised().await?;
    let intent = Intent::new();
    let made = scene.borrower.reserve(&scene.request("1"), &intent).await?;
    let again = scene.borrower.reserve(&scene.request("1"), &intent).await?;
    ensure(made.id == again.id, (&made, &again))?;
    let other = scene.borrower.reserve(&scene.request("2"), &intent).await;
    ensure(matches!(other, Err(Error::Refused(_))), &other)?;
    let all = scene.borrower.reservations(Role::Requester).await?;
    ensure(all.len() == 1 && all[0].id == made.id, &all)
}

async fn refusal(scene: Scene) -> Result<(), Ended> {
    scene.advertised().await?;
    let refused = scene.borrower.reserve(&scene.request("9"), &Intent::new()).await;
    match refused {
        Err(Error::Refused(why)) => ensure(!why.text.is_empty(), &why),
        other => Err(Ended::Broken(format!("{other:?}"))),
    }
}

async fn dry_run(scene: Scene) -> Result<(), Ended> {
    scene.advertised().await?;
    let explained = scene.borrower.dry_run(&scene.request("1")).await?;
    let lender = scene.lender_id()?;
    ensure(explained.target.as_deref() == Some(lender.as_str()), &explained)?;
    let shown = scene.lender.advertisement(&lender).await?;
    let left = shown.as_ref().map(|shown| shown.resources.available.cpu.0.as_str());
    ensure(left == Some(CORES), &shown)
}

async fn whole_life(scene: Scene) -> Result<(), Ended> {
    let made = scene.granted().await?;
    let id = made.id.as_str();
    let active = scene.borrower.activate(id).await?;
    ensure(active.status.phase == PhaseName::Active, &active)?;
    let end = made.status.expires_at.as_deref().and_then(|end| moment::read(end).ok());
    let end = end.ok_or_else(|| Ended::Broken(format!("no end: {made:?}")))?;
    let later = end.plus(rear_engine::Duration::from_seconds(60));
    let renewed = scene.borrower.renew(id, later).await?;
    ensure(renewed.status.expires_at == Some(moment::text(later)), &renewed)?;
    let released = scene.borrower.release(id).await?;
    ensure(released.status.phase == PhaseName::Released, &released)?;
    let again = scene.borrower.release(id).await?;
    ensure(again == released, &again)?;
    let found = scene.borrower.reservation(id).await?;
    ensure(found == released, &found)
}

async fn rejection(scene: Scene) -> Result<(), Ended> {
    let made = scene.granted().await?;
    scene.lender.reject(&made.id, "the disks are full").await?;
    let ended = scene.borrower.reservation(&made.id).await?;
    let told = ended.status.message.contains("the disks are full");
    ensure(ended.status.phase == PhaseName::Failed && told, &ended)
}

async fn level(scene: Scene) -> Result<(), Ended> {
    let empty = scene.lender.instructions(Role::Provider, None).await?;
    ensure(empty.instructions.is_empty(), &empty)?;
    let made = scene.granted().await?;
    for _ in 0..2 {
        let level = scene.lender.instructions(Role::Provider, None).await?;
        ensure(ids(&level) == [made.id.as_str()], &level)?;
    }
    let requesters = scene.borrower.instructions(Role::Requester, None).await?;
    ensure(ids(&requesters) == [made.id.as_str()], &requesters)?;
    scene.borrower.release(&made.id).await?;
    let level = scene.lender.instructions(Role::Provider, None).await?;
    ensure(level.instructions.is_empty(), &level)
}

fn ids(level: &Level) -> Vec<&str> {
    level.instructions.iter().map(|told| told.id.as_str()).collect()
}

/// What to wait after; without a revision nobody can wait.
async fn wait_after(scene: &Scene, at_most: Duration) -> Result<Wait, Ended> {
    let level = scene.lender.instructions(Role::Provider, None).await?;
    let after = level.revision.ok_or(Ended::Unsupported)?;
    Ok(Wait { after, at_most })
}

async fn news(scene: Scene) -> Result<(), Ended> {
    scene.advertised().await?;
    let wait = wait_after(&scene, LONG).await?;
    let (told, made) = tokio::join!(
        scene.lender.instructions(Role::Provider, Some(wait)),
        // After the question, as far as can be said; before it, the answer would be the same.
        scene.reserved(),
    );
    let (told, made) = (told?, made?);
    ensure(ids(&told) == [made.id.as_str()], &told)
}

async fn no_news(scene: Scene) -> Result<(), Ended> {
    let made = scene.granted().await?;
    let wait = wait_after(&scene, SHORT).await?;
    let told = scene.lender.instructions(Role::Provider, Some(wait)).await?;
    ensure(ids(&told) == [made.id.as_str()], &told)
}

async fn events(scene: Scene) -> Result<(), Ended> {
    scene.advertised().await?;
    let mut stream = scene.borrower.events(None).await?;
    let made = scene.reserved().await?;
    let first = stream.next().await?.ok_or_else(|| Ended::Broken("no event".to_owned()))?;
    let about = first.data.reservation.as_ref().map(|told| told.id.as_str());
    ensure(about == Some(made.id.as_str()), &first)?;
    drop(stream);
    scene.borrower.release(&made.id).await?;
    let mut stream = scene.borrower.events(Some(first.id)).await?;
    let second = stream.next().await?.ok_or_else(|| Ended::Broken("no event".to_owned()))?;
    let phase = second.data.reservation.as_ref().map(|told| &told.status.phase);
    ensure(phase == Some(&PhaseName::Released), &second)
}

async fn missing(scene: Scene) -> Result<(), Ended> {
    let found = scene.borrower.reservation(NOBODYS).await;
    ensure_not_found(found)?;
    let released = scene.borrower.release(NOBODYS).await;
    ensure_not_found(released)
}

fn ensure_not_found<T: std::fmt::Debug>(answer: Result<T, Error>) -> Result<(), Ended> {
    match answer {
        Err(Error::NotFound { .. }) => Ok(()),
        Err(Error::Unsupported { .. }) => Err(Ended::Unsupported),
        other => Err(Ended::Broken(format!("{other:?}"))),
    }
}

async fn abandoned(scene: Scene) -> Result<(), Ended> {
    scene.advertised().await?;
    let wait = wait_after(&scene, LONG).await.ok();
    let held = scene.lender.instructions(Role::Provider, wait);
    if wait.is_some() {
        let held = timeout(Duration::from_millis(50), held).await;
        ensure(held.is_err(), &held)?;
    }
    let (request, intent) = (scene.request("1"), Intent::new());
    for millis in [0, 1, 2, 4, 8] {
        let asking = scene.borrower.reserve(&request, &intent);
        // In time or not: both are fine.
        drop(timeout(Duration::from_millis(millis), asking).await);
    }
    let made = scene.borrower.reserve(&request, &intent).await?;
    let level = scene.lender.instructions(Role::Provider, None).await?;
    ensure(ids(&level) == [made.id.as_str()], &level)
}

async fn closing(scene: Scene) -> Result<(), Ended> {
    scene.advertised().await?;
    if let Ok(wait) = wait_after(&scene, LONG).await {
        let close = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            scene.lender.close();
        };
        let (held, ()) = tokio::join!(scene.lender.instructions(Role::Provider, Some(wait)), close);
        ensure(matches!(held, Err(Error::Closed)), &held)?;
    }
    scene.lender.close();
    scene.lender.close();
    let later = scene.lender.ping().await;
    ensure(matches!(later, Err(Error::Closed)), &later)
}
