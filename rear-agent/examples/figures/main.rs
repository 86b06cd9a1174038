//! Measures the agent on two API servers with a broker, by watches: `cargo run --release -p rear-agent --features clusters --example figures`.
//!
//! It runs the programs `rear-agent` and `rear-broker` from the folder above its own, which
//! `cargo build --release -p rear-agent -p rear-broker` fills.

#[allow(dead_code, reason = "the playground uses more of it")]
mod programs;
mod site;

use std::error::Error;
use std::io::Write;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use rear_agent::resources::{
    Advertisement, ProviderInstruction, RequestPhase, ResourceRequest, ResourceRequestSpec,
};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use programs::{Broker, Running};
use site::Site;

/// What the provider has, as the issue asks.
const NODES: usize = 100;
const PODS: usize = 3000;

/// How many requests are timed, after a few that warm up.
const REQUESTS: usize = 100;
const WARM_UP: usize = 10;

/// Between two requests, so that giving one back is not timed with the next.
const APART: Duration = Duration::from_millis(300);

/// How long the idle agent is looked at.
const IDLE: Duration = Duration::from_mins(2);

/// Whatever takes longer is stuck.
const PATIENCE: Duration = Duration::from_mins(2);

const NAMESPACE: &str = "rear-agent";

type Outcome<T> = Result<T, Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let broker = Broker::start(&["rome", "paris"])?;
    let (rome, paris) = (Site::start()?, Site::start()?);
    let (at_rome, at_paris) = (rome.client().await?, paris.client().await?);
    site::fill(at_paris.clone(), NODES, PODS).await?;
    say(&format!("the provider has {NODES} nodes and {PODS} pods"))?;

    let mut advertised = seen::<Advertisement>(&at_paris, |object| Some(object.name_any()));
    let started = Instant::now();
    let of_paris = broker.agent(&paris.kubeconfig, "paris")?;
    let first = next(&mut advertised).await?.1 - started;
    say(&format!("start to first advertisement: {first:.1?}"))?;
    let _of_rome = broker.agent(&rome.kubeconfig, "rome")?;
    until_published(&at_rome).await?;
    until_published(&at_paris).await?;

    let (mut reserved, mut instructed, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    let mut answers = seen::<ResourceRequest>(&at_rome, is_reserved);
    let mut kept =
        seen::<ProviderInstruction>(&at_paris, |object| Some(object.spec.reservation_name.clone()));
    for index in 0..WARM_UP + REQUESTS {
        let name = format!("r{index}");
        let (asked, id, answered) = ask(&at_rome, &name, &mut answers).await?;
        let promised = until_named(&mut kept, &id).await?;
        let written = write(&at_rome).await?;
        if index >= WARM_UP {
            reserved.push(answered - asked);
            instructed.push(promised - asked);
            bare.push(written);
        }
        Api::<ResourceRequest>::namespaced(at_rome.clone(), "default")
            .delete(&name, &DeleteParams::default())
            .await?;
        sleep(APART).await;
    }
    report("one bare status write", &mut bare)?;
    report("ResourceRequest created to Reserved in its status", &mut reserved)?;
    report("ResourceRequest created to the provider's instruction", &mut instructed)?;
    let ratio = median(&mut reserved).as_secs_f64() / median(&mut bare).as_secs_f64();
    say(&format!("Reserved in bare status writes: {ratio:.2}"))?;
    idle(&of_paris).await
}

/// What the idle agent of the provider costs.
async fn idle(agent: &Running) -> Outcome<()> {
    sleep(Duration::from_secs(10)).await;
    let before = agent.processor_time()?;
    sleep(IDLE).await;
    let used = agent.processor_time()?.saturating_sub(before);
    let share = used.as_secs_f64() / IDLE.as_secs_f64() * 100.0;
    let (now, most) = agent.memory()?;
    say(&format!("idle agent: {now} kB resident (at most {most} kB), {share:.3} % of a core"))
}

/// Creates a request; when it was seen, its reservation, and when the status was seen to say so.
async fn ask(
    client: &Client,
    name: &str,
    answers: &mut mpsc::UnboundedReceiver<(String, Instant)>,
) -> Outcome<(Instant, String, Instant)> {
    let api = Api::<ResourceRequest>::namespaced(client.clone(), "default");
    let spec = ResourceRequestSpec {
        requested_cpu: "100m".into(),
        requested_memory: "64Mi".into(),
        ..ResourceRequestSpec::default()
    };
    api.create(&PostParams::default(), &ResourceRequest::new(name, spec)).await?;
    // A watch that has just begun may see the answer first.
    let mut created = None;
    loop {
        let (told, at) = next(answers).await?;
        match told.split_once(' ') {
            None if told == name => created = created.or(Some(at)),
            Some((of, id)) if of == name => return Ok((created.unwrap_or(at), id.to_owned(), at)),
            _ => {}
        }
    }
}

/// Its name when it is new, and with its reservation when it has one.
fn is_reserved(request: &ResourceRequest) -> Option<String> {
    let Some(status) = &request.status else { return Some(request.name_any()) };
    let id = status.reservation_name.as_ref()?;
    (status.phase == Some(RequestPhase::Reserved)).then(|| format!("{} {id}", request.name_any()))
}

/// One status write of an object that nobody acts on.
async fn write(client: &Client) -> Outcome<Duration> {
    let api = Api::<Advertisement>::namespaced(client.clone(), "default");
    if api.get_opt("bare").await?.is_none() {
        let none = json!({ "cpu": "0", "memory": "0" });
        let spec = json!({ "clusterID": "bare", "timestamp": "", "resources": {
            "capacity": none, "allocatable": none, "allocated": none, "available": none } });
        let object = Advertisement::new("bare", serde_json::from_value(spec)?);
        api.create(&PostParams::default(), &object).await?;
    }
    let started = Instant::now();
    let message = format!("{started:?}");
    let status = json!({ "status": { "message": message } });
    api.patch_status("bare", &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(started.elapsed())
}

/// What a watch sees, and when.
fn seen<K>(
    client: &Client,
    told: fn(&K) -> Option<String>,
) -> mpsc::UnboundedReceiver<(String, Instant)>
where
    K: kube::Resource<DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned
        + Send
        + 'static,
{
    let (tell, heard) = mpsc::unbounded_channel();
    let api = Api::<K>::all(client.clone());
    tokio::spawn(async move {
        let stream = watcher(api, watcher::Config::default()).applied_objects();
        let each = stream.try_for_each(|object| {
            if let Some(told) = told(&object) {
                // Nobody listens any more at the end.
                let _ = tell.send((told, Instant::now()));
            }
            futures::future::ready(Ok(()))
        });
        each.await
    });
    heard
}

async fn next(
    heard: &mut mpsc::UnboundedReceiver<(String, Instant)>,
) -> Outcome<(String, Instant)> {
    Ok(timeout(PATIENCE, heard.recv()).await?.ok_or("a watch ended")?)
}

async fn until_named(
    heard: &mut mpsc::UnboundedReceiver<(String, Instant)>,
    name: &str,
) -> Outcome<Instant> {
    loop {
        let (told, at) = next(heard).await?;
        if told == name {
            return Ok(at);
        }
    }
}

async fn until_published(client: &Client) -> Outcome<()> {
    let api = Api::<Advertisement>::namespaced(client.clone(), NAMESPACE);
    let stream = watcher(api, watcher::Config::default()).applied_objects();
    let published = |object: &Advertisement| {
        object.status.as_ref().and_then(|status| status.published) == Some(true)
    };
    let mut stream = std::pin::pin!(stream);
    while let Some(object) = timeout(PATIENCE, stream.next()).await? {
        if published(&object?) {
            return Ok(());
        }
    }
    Err("a watch ended".into())
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
