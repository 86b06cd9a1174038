//! Recovery: the broker is killed under load, again and again, and nothing that it acknowledged is lost.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rear_agent_sdk::communicator::{BrokerCommunicator, ReservationRequest, Role};
use rear_agent_sdk::{Error, HttpCommunicator, Intent};
use rear_engine::Dimension;
use rear_fleet::{Latencies, name};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::broker::Broker;
use crate::checks::{Kept, kept};
use crate::offer::publish_huge;
use crate::outcome::{Cell, Outcome, Table};
use crate::raw::Limits;
use crate::stage::{Size, Stage, Trouble};

pub(super) const CALLERS: usize = 8;

/// Before each kill so many more have been granted.
const BETWEEN: usize = 50;

/// Whatever takes longer is stuck.
const PATIENCE: Duration = Duration::from_mins(1);

pub(super) fn clusters(_: Size) -> usize {
    CALLERS + 1
}

pub(super) async fn run(stage: &Stage, limits: &Limits) -> Result<Outcome, Trouble> {
    let mut outcome = Outcome::default();
    let kills = stage.pick(100, 3);
    let progress = stage.progress("recovery", kills);
    let mut broker = Broker::start(stage)?;
    let provider = broker.connect(name(0).as_str())?;
    publish_huge(&*provider, name(0).as_str()).await?;
    let mut crowd = Crowd::start(&broker)?;
    let (mut serving, mut success) = (Latencies::default(), Latencies::default());
    for _ in 0..kills {
        crowd.granted(BETWEEN).await?;
        let killed = Instant::now();
        broker.kill()?;
        tokio::task::block_in_place(|| broker.restart())?;
        let up = Instant::now();
        serving.record(up - killed);
        success.record(crowd.first_after(up).await? - killed);
        progress.done();
    }
    crowd.granted(BETWEEN).await?;
    let answered = crowd.stop().await?;
    let seen = look(&broker, &provider, answered).await?;
    outcome.breaks(kept(&seen));
    outcome.breaks(broker.verify()?);
    outcome.count("kills", kills);
    outcome.count("granted", seen.found.len());
    outcome.tables.push(table(&serving, &success, &seen, limits));
    outcome.note("After a kill without a word (SIGKILL) the broker is started again at once, on the same file. The first success includes the pauses of the callers, which try again after 125 to 250 ms and then later each time.");
    Ok(outcome)
}

pub(super) fn table(
    serving: &Latencies,
    success: &Latencies,
    seen: &Kept,
    limits: &Limits,
) -> Table {
    let (kills, granted) = (serving.count(), seen.found.len());
    let mut table = Table::new(
        &format!(
            "{kills} kills while {CALLERS} callers reserve, {granted} reservations, all of them there in the end, once"
        ),
        &["from the kill until", "p50", "p95", "max", "p50 in writes to the disk"],
    );
    for (until, times) in
        [("the broker serves again", serving), ("a caller's first success", success)]
    {
        let p50 = times.percentile(50);
        table.row([
            Cell::text(until),
            Cell::ms(p50),
            Cell::ms(times.percentile(95)),
            Cell::ms(times.max()),
            Cell::times(p50.as_secs_f64() * 1000.0, limits.sync_ms),
        ]);
    }
    table
}

/// What everyone has in the end.
pub(super) async fn look(
    broker: &Broker<'_>,
    provider: &HttpCommunicator,
    answered: Vec<(String, String)>,
) -> Result<Kept, Trouble> {
    let mut found = BTreeSet::new();
    for number in 1..=CALLERS {
        let caller = broker.connect(name(number).as_str())?;
        found.extend(caller.reservations(Role::Requester).await?.into_iter().map(|made| made.id));
    }
    let shown = provider.advertisement(&name(0)).await?;
    let reserved = shown.and_then(|shown| shown.resources.reserved?.resources().ok());
    // A thousandth of a core each.
    let booked = reserved.unwrap_or_default().get(Dimension::Cpu);
    Ok(Kept { answered, found, booked })
}

/// An intent, the reservation that it was answered with, and when.
struct Granted {
    intent: String,
    id: String,
    at: Instant,
}

/// Callers that never give up an intent.
pub(super) struct Crowd {
    stop: watch::Sender<bool>,
    asking: JoinSet<Result<(), Error>>,
    heard: UnboundedReceiver<Granted>,
    answered: Vec<(String, String)>,
}

impl Crowd {
    pub(super) fn start(broker: &Broker<'_>) -> Result<Self, Trouble> {
        let (stop, stopped) = watch::channel(false);
        let (tell, heard) = unbounded_channel();
        let mut asking = JoinSet::new();
        for number in 1..=CALLERS {
            let caller = broker.connect(name(number).as_str())?;
            asking.spawn(ask(caller, tell.clone(), stopped.clone()));
        }
        Ok(Self { stop, asking, heard, answered: Vec::new() })
    }

    async fn next(&mut self) -> Result<Instant, Trouble> {
        let next = timeout(PATIENCE, self.heard.recv()).await.ok().flatten();
        let Some(Granted { intent, id, at }) = next else {
            let why = self.asking.try_join_next();
            return Err(Trouble::Other(format!("nobody is granted anything any more: {why:?}")));
        };
        self.answered.push((intent, id));
        Ok(at)
    }

    /// Until so many more were granted.
    async fn granted(&mut self, many: usize) -> Result<(), Trouble> {
        for _ in 0..many {
            self.next().await?;
        }
        Ok(())
    }

    /// The first success after a moment.
    async fn first_after(&mut self, moment: Instant) -> Result<Instant, Trouble> {
        loop {
            let at = self.next().await?;
            if at >= moment {
                return Ok(at);
            }
        }
    }

    /// Every intent is brought to its answer. What was answered with what.
    pub(super) async fn stop(mut self) -> Result<Vec<(String, String)>, Trouble> {
        self.stop.send_replace(true);
        while let Some(ended) = self.asking.join_next().await {
            ended.map_err(std::io::Error::other)??;
        }
        while let Ok(Granted { intent, id, .. }) = self.heard.try_recv() {
            self.answered.push((intent, id));
        }
        Ok(self.answered)
    }
}

/// The same intent until there is an answer, however often the broker dies meanwhile.
async fn ask(
    caller: Arc<HttpCommunicator>,
    tell: UnboundedSender<Granted>,
    stopped: watch::Receiver<bool>,
) -> Result<(), Error> {
    let duration = Some("10h".to_owned());
    let request = ReservationRequest { duration, ..rear_agent_sdk::request("1m", "1Mi") };
    while !*stopped.borrow() {
        let intent = Intent::new();
        let made = loop {
            match caller.reserve(&request, &intent).await {
                Ok(made) => break made,
                Err(error) if error.is_transient() => {}
                Err(error) => return Err(error),
            }
        };
        // Nobody listens any more at the end.
        drop(tell.send(Granted { intent: intent.to_string(), id: made.id, at: Instant::now() }));
    }
    Ok(())
}
