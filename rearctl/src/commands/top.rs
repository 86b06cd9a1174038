//! `rearctl top`: how full each cluster is. Live on a terminal; elsewhere one picture.

mod frame;
mod keys;

use std::io;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use rear_agent_sdk::Length as Duration;
use rear_agent_sdk::communicator::Advertisement;
use rear_agent_sdk::{Error, HttpCommunicator};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{Sender, channel};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::failure::Failure;
use crate::output::{Format, Restored, is_terminal, put, size};
use crate::session::Session;
use frame::{Bars, Frame};
use keys::{Key, Keys};

/// The largest page: all clusters are read before any is drawn.
const PAGE: Option<usize> = Some(1000);

/// The width of a picture that is not on a terminal.
const PICTURE: usize = 120;

/// Reading ten thousand clusters more often than this is load without use.
const SHORTEST: std::time::Duration = std::time::Duration::from_millis(200);

/// The flags of `top`.
#[derive(Debug, Args)]
pub(crate) struct Top {
    /// How often the clusters are looked at
    #[arg(long, value_name = "DURATION", default_value = "2s")]
    interval: Duration,
    /// What comes first
    #[arg(long, value_enum, default_value_t)]
    sort: Order,
    /// One picture, also on a terminal
    #[arg(long)]
    once: bool,
}

/// What comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Order {
    /// The fullest in any dimension
    #[default]
    Full,
    /// The most CPU in use
    Cpu,
    /// The most memory in use
    Memory,
    /// The most GPUs in use
    Gpu,
    /// By name
    Name,
}

impl Top {
    pub(crate) async fn run(self, session: Session) -> Result<(), Failure> {
        is_drawn(session.output.format)?;
        let live = !self.once && is_terminal(io::stdout()) && is_terminal(io::stdin());
        if live { self.live(&session).await } else { self.picture(&session).await }
    }

    async fn picture(&self, session: &Session) -> Result<(), Failure> {
        let reading = session.output.progress.during("reading the clusters", read(&session.broker));
        let mut frame = Frame::new(&session.context.broker, self.sort);
        frame.learn(Ok(reading.await?));
        frame.sort();
        let columns = if is_terminal(io::stdout()) { size(io::stdout()).0 } else { PICTURE };
        put(&frame.lines(columns, None, session.output.colours).concat())
    }

    /// Until `q` or Ctrl-C. A broker that goes away is said so in the picture, and asked again.
    async fn live(&self, session: &Session) -> Result<(), Failure> {
        let failed = |source| Failure::Io { what: "the terminal cannot be used".into(), source };
        let mut resized = signal(SignalKind::window_change()).map_err(failed)?;
        let screen = Restored::take().map_err(failed)?;
        let mut keys = Keys::listen();
        let mut frame = Frame::new(&session.context.broker, self.sort);
        // Apart, so that keys are obeyed while the broker lets one wait.
        let (told, mut readings) = channel(1);
        let mut reading = JoinSet::new();
        reading.spawn(keep_reading(session.broker.clone(), self.pace(), told));
        loop {
            frame.sort();
            let (columns, lines) = size(io::stdout());
            put(&frame.screen(columns, lines, session.output.colours))?;
            tokio::select! {
                Some(read) = readings.recv() => frame.learn(read),
                _ = resized.recv() => {}
                key = keys.next() => match key {
                    Some(Key::Quit) | None => break,
                    Some(Key::Sort(order)) => frame.order = order,
                    Some(Key::Move(lines)) => frame.scroll(lines),
                },
            }
        }
        drop(screen);
        Ok(())
    }

    fn pace(&self) -> std::time::Duration {
        let nanos = u64::try_from(self.interval.as_nanos()).unwrap_or(0);
        std::time::Duration::from_nanos(nanos).max(SHORTEST)
    }
}

/// A program that asks for data must not be given a picture; the data is what `clusters list` prints.
fn is_drawn(format: Format) -> Result<(), Failure> {
    match format {
        Format::Table | Format::Wide => Ok(()),
        Format::Json | Format::Yaml | Format::Name => Err(Failure::Usage(
            "`top` draws a picture: `rearctl clusters list` prints the clusters as json, yaml or names"
                .to_owned(),
        )),
    }
}

/// Reads again and again, until nobody looks any more.
async fn keep_reading(
    broker: Arc<HttpCommunicator>,
    pace: std::time::Duration,
    told: Sender<Result<Vec<Bars>, Error>>,
) {
    let mut tick = interval(pace);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        if told.send(read(&broker).await).await.is_err() {
            return;
        }
    }
}

/// Every cluster; of each, only what is drawn is kept.
async fn read(broker: &HttpCommunicator) -> Result<Vec<Bars>, Error> {
    let mut page = broker.clusters_page(PAGE).await?;
    let mut bars: Vec<Bars> = Vec::new();
    loop {
        let drawn = page.items.iter().map(|cluster: &Advertisement| Bars::of(cluster));
        bars.extend(drawn.collect::<Result<Vec<_>, _>>()?);
        let Some(next) = page.next else { return Ok(bars) };
        page = broker.next_page(&next).await?;
    }
}
