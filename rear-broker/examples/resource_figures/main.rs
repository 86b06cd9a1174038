//! Measures the Kubernetes interface on one API server, by a watch:
//! `cargo run --release -p rear-broker --features clusters --example resource_figures`.
//!
//! It runs the program `rear-broker` from the folder above its own, which `cargo build --release -p rear-broker` fills.

mod stage;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use rear_api::resources::{Reservation, ReservationSpec};
use serde_json::json;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::time::{Instant, sleep, timeout};

use stage::Stage;

/// How many reservations are timed one after the other, after a few that warm up.
const REQUESTS: usize = 100;
const WARM_UP: usize = 10;

/// Between two of them, so that giving one back is not timed with the next.
const APART: Duration = Duration::from_millis(200);

/// How many are created at once.
const AT_ONCE: usize = 100;

/// Whatever takes longer is stuck.
const PATIENCE: Duration = Duration::from_mins(2);

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A reservation that a watch has seen, with its phase, and when.
type Sight = (String, Option<String>, Instant);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let stage = Stage::start().await?;
    for (namespace, what) in
        [("default", "in a shared namespace"), ("rome", "in its own namespace")]
    {
        say(&format!("-- a requester {what}"))?;
        measure(&stage.client, namespace).await?;
    }
    Ok(())
}

async fn measure(client: &Client, namespace: &str) -> Outcome<()> {
    let mut seen = watch(client, namespace);
    let (mut reserved, mut bare) = (Vec::new(), Vec::new());
    for index in 0..WARM_UP + REQUESTS {
        let name = format!("one-{index}");
        create(client, namespace, &name).await?;
        let (created, answered) = times(&mut seen, 1).await?.remove(&name).ok_or("another one")?;
        let written = write(client).await?;
        if index >= WARM_UP {
            reserved.push(answered - created);
            bare.push(written);
        }
        let api = Api::<Reservation>::namespaced(client.clone(), namespace);
        api.delete(&name, &DeleteParams::default()).await?;
        sleep(APART).await;
    }
    report("one bare status write", &mut bare)?;
    report("Reservation created to Reserved", &mut reserved)?;
    let ratio = median(&mut reserved).as_secs_f64() / median(&mut bare).as_secs_f64();
    say(&format!("Reserved in bare status writes: {ratio:.2}"))?;

    connect(client, namespace).await?;
    let started = Instant::now();
    let creating = (0..AT_ONCE).map(|index| {
        let name = format!("many-{index}");
        async move { create(client, namespace, &name).await }
    });
    let creating = futures::future::try_join_all(creating);
    let (created, times) = tokio::join!(creating, times(&mut seen, AT_ONCE));
    created?;
    let times = times?;
    let last = times.values().map(|(_, answered)| *answered - started).max().unwrap_or_default();
    let mut each: Vec<_> = times.values().map(|(created, answered)| *answered - *created).collect();
    report("of 100 at once, created to Reserved", &mut each)?;
    say(&format!("the last of them was answered {last:.1?} after the first was created"))
}

/// Opens as many connections as will be used: the API server is timed, not its handshakes with this program.
async fn connect(client: &Client, namespace: &str) -> Outcome<()> {
    let api = Api::<Reservation>::namespaced(client.clone(), namespace);
    let asking = (0..AT_ONCE).map(|_| api.get_opt("nobody"));
    futures::future::try_join_all(asking).await?;
    Ok(())
}

async fn create(client: &Client, namespace: &str, name: &str) -> Outcome<()> {
    let spec = json!({ "requestedResources": { "cpu": "100m", "memory": "64Mi" } });
    let spec: ReservationSpec = serde_json::from_value(spec)?;
    let api = Api::<Reservation>::namespaced(client.clone(), namespace);
    api.create(&PostParams::default(), &Reservation::new(name, spec)).await?;
    Ok(())
}

/// When each of so many was seen to be created, and to be reserved.
async fn times(
    seen: &mut UnboundedReceiver<Sight>,
    number: usize,
) -> Outcome<BTreeMap<String, (Instant, Instant)>> {
    let (mut created, mut answered) = (BTreeMap::new(), BTreeMap::new());
    while answered.len() < number {
        let (name, phase, at) = timeout(PATIENCE, seen.recv()).await?.ok_or("a watch ended")?;
        let first = *created.entry(name.clone()).or_insert(at);
        match phase.as_deref() {
            Some("Reserved") => {
                answered.entry(name).or_insert((first, at));
            }
            Some("Failed") => return Err(format!("{name} was refused").into()),
            _ => {}
        }
    }
    Ok(answered)
}

/// What a watch of a namespace sees of reservations that are not being deleted.
fn watch(client: &Client, namespace: &str) -> UnboundedReceiver<Sight> {
    let (tell, heard) = mpsc::unbounded_channel();
    let api = Api::<Reservation>::namespaced(client.clone(), namespace);
    tokio::spawn(async move {
        let stream = watcher(api, watcher::Config::default()).applied_objects().boxed();
        let each = stream.try_for_each(|object| {
            let is_deleted = object.metadata.deletion_timestamp.is_some();
            // A held one was told before.
            if !is_deleted && !object.is_held() {
                let phase = object.status.as_ref().and_then(|status| status.phase.clone());
                // Nobody listens any more at the end.
                let _ = tell.send((object.name_any(), phase, Instant::now()));
            }
            futures::future::ready(Ok(()))
        });
        each.await
    });
    heard
}

/// One status write of an object about which nothing is to be done.
async fn write(client: &Client) -> Outcome<Duration> {
    let api = Api::<Reservation>::namespaced(client.clone(), "kube-public");
    let params = PatchParams::default();
    if api.get_opt("bare").await?.is_none() {
        create(client, "kube-public", "bare").await?;
        let over = json!({ "status": { "phase": "Failed", "message": "" } });
        api.patch_status("bare", &params, &Patch::Merge(over)).await?;
    }
    let started = Instant::now();
    let status = json!({ "status": { "message": format!("{started:?}") } });
    api.patch_status("bare", &params, &Patch::Merge(status)).await?;
    Ok(started.elapsed())
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn report(what: &str, times: &mut [Duration]) -> Outcome<()> {
    let middle = median(times);
    let late = times.get(times.len() * 99 / 100).copied().unwrap_or_default();
    say(&format!("{what}: p50 {middle:.1?}, p99 {late:.1?}, of {}", times.len()))
}

fn say(line: &str) -> Outcome<()> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}
