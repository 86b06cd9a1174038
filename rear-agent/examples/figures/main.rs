//! Measures the agent on two API servers with a broker, by watches: `cargo run --release -p rear-agent --features clusters --example figures`.
//!
//! It runs the programs `rear-agent` and `rear-broker` from the folder above its own, which
//! `cargo build --release -p rear-agent -p rear-broker` fills. With `--json` it tells everything in the end, for programs; with
//! `--short` it does little of it, to see that it works. `cargo xtask evaluate --test kubernetes` uses both.

#[allow(dead_code, reason = "the playground uses more of it")]
mod programs;
mod report;
mod site;

use std::error::Error;
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
use report::Report;
use site::Site;

/// How much is done.
struct Size {
    /// What the provider has.
    nodes: usize,
    pods: usize,
    /// How many requests are timed, after a few that warm up.
    requests: usize,
    warm_up: usize,
    /// How long the idle agent is looked at.
    idle: Duration,
}

/// As the issue about the agent asks.
const FULL: Size =
    Size { nodes: 100, pods: 3000, requests: 100, warm_up: 10, idle: Duration::from_mins(2) };
const SHORT: Size =
    Size { nodes: 3, pods: 20, requests: 3, warm_up: 1, idle: Duration::from_secs(2) };

/// Between two requests, so that giving one back is not timed with the next.
const APART: Duration = Duration::from_millis(300);

/// An API server that was not asked for a kind yet has the first watch wait for a second.
const UNTIL_WATCHED: Duration = Duration::from_secs(2);

/// Whatever takes longer is stuck.
const PATIENCE: Duration = Duration::from_mins(2);

const NAMESPACE: &str = "rear-agent";

type Outcome<T> = Result<T, Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let asked = |flag: &str| std::env::args().any(|argument| argument == flag);
    let size = if asked("--short") { SHORT } else { FULL };
    let mut report = Report::new(asked("--json"));
    let broker = Broker::start(&["rome", "paris"])?;
    let (rome, paris) = (Site::start()?, Site::start()?);
    let (at_rome, at_paris) = (rome.client().await?, paris.client().await?);
    let Size { nodes, pods, .. } = size;
    site::fill(at_paris.clone(), nodes, pods).await?;
    site::fill(at_rome.clone(), SHORT.nodes, SHORT.pods).await?;
    let has = json!({ "nodes": nodes, "pods": pods });
    report.put("provider", has, &format!("the provider has {nodes} nodes and {pods} pods"))?;

    let of_paris = start(&broker, &paris, "paris", &at_paris, &mut report).await?;
    let _of_rome = start(&broker, &rome, "rome", &at_rome, &mut report).await?;
    until_published(&at_rome).await?;
    until_published(&at_paris).await?;
    time_requests(&size, &at_rome, &at_paris, &mut report).await?;
    idle(&of_paris, size.idle, &mut report).await?;
    report.end()
}

/// Starts an agent, and times its first advertisement: of the provider with all its pods, of the requester with a few.
async fn start(
    broker: &Broker,
    site: &Site,
    cluster: &str,
    client: &Client,
    report: &mut Report,
) -> Outcome<Running> {
    let (name, what) = match cluster {
        "paris" => ("first_advertisement_ms", "of the provider"),
        _ => ("first_advertisement_of_small_ms", "of a cluster with three nodes and 20 pods"),
    };
    let mut advertised = seen::<Advertisement>(client, |object| Some(object.name_any()));
    sleep(UNTIL_WATCHED).await;
    let started = Instant::now();
    let agent = broker.agent(&site.kubeconfig, cluster)?;
    let first = next(&mut advertised).await?.1 - started;
    let ms = json!(first.as_secs_f64() * 1000.0);
    report.put(name, ms, &format!("start to first advertisement {what}: {first:.1?}"))?;
    Ok(agent)
}

/// One request after the other, until both sides' objects say so.
async fn time_requests(
    size: &Size,
    at_rome: &Client,
    at_paris: &Client,
    report: &mut Report,
) -> Outcome<()> {
    let (mut reserved, mut instructed, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    let mut answers = seen::<ResourceRequest>(at_rome, is_reserved);
    let mut kept =
        seen::<ProviderInstruction>(at_paris, |object| Some(object.spec.reservation_name.clone()));
    for index in 0..size.warm_up + size.requests {
        let name = format!("r{index}");
        let (asked, id, answered) = ask(at_rome, &name, &mut answers).await?;
        let promised = until_named(&mut kept, &id).await?;
        let written = write(at_rome).await?;
        if index >= size.warm_up {
            reserved.push(answered - asked);
            instructed.push(promised - asked);
            bare.push(written);
        }
        Api::<ResourceRequest>::namespaced(at_rome.clone(), "default")
            .delete(&name, &DeleteParams::default())
            .await?;
        sleep(APART).await;
    }
    let whole = "ResourceRequest created to";
    let write = report.times("status_write", "one bare status write", &mut bare)?;
    let what = format!("{whole} Reserved in its status");
    let answer = report.times("reserved", &what, &mut reserved)?;
    let what = format!("{whole} the provider's instruction");
    report.times("instructed", &what, &mut instructed)?;
    let ratio = answer.as_secs_f64() / write.as_secs_f64();
    report.put("writes", json!(ratio), &format!("Reserved in bare status writes: {ratio:.2}"))
}

/// What the idle agent of the provider costs.
async fn idle(agent: &Running, span: Duration, report: &mut Report) -> Outcome<()> {
    // What it still does for the last request is not part of it.
    sleep(span / 12).await;
    let before = agent.processor_time()?;
    sleep(span).await;
    let used = agent.processor_time()?.saturating_sub(before);
    let share = used.as_secs_f64() / span.as_secs_f64() * 100.0;
    let (now, most) = agent.memory()?;
    let line = format!("idle agent: {now} kB resident (at most {most} kB), {share:.3} % of a core");
    let figure = json!({ "percent": share, "resident_kb": now, "most_kb": most });
    report.put("idle", figure, &line)
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
