//! One cluster of the fleet: agents that speak for it, one after the other.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rear_agent_sdk::communicator::BrokerCommunicator;
use rear_agent_sdk::{Agent, Chain, Error, HttpCommunicator, Schedule};
use tokio::sync::{Semaphore, watch};
use tokio::time::sleep;

use crate::chance::Chance;
use crate::cluster::{Cluster, Half};
use crate::watched::Watched;
use crate::witness::Witness;

/// How long an agent is away after a crash: as long as a process takes to start.
const AWAY: Duration = Duration::from_millis(500);

/// Changes that come together are published together.
const DEBOUNCE: Duration = Duration::from_millis(100);

/// How a cluster is to be reached while its agents come and go.
pub(crate) type Line = watch::Receiver<Option<Arc<dyn BrokerCommunicator>>>;

pub(crate) struct Member {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) address: String,
    pub(crate) certificates: PathBuf,
    pub(crate) schedule: Schedule,
    pub(crate) crashes: Option<Duration>,
    pub(crate) chance: Chance,
    pub(crate) witness: Arc<Witness>,
    /// So many may greet the broker at once.
    pub(crate) starting: Arc<Semaphore>,
    pub(crate) line: watch::Sender<Option<Arc<dyn BrokerCommunicator>>>,
}

/// What a fleet may do at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// All that was planned.
    Running,
    /// Nothing new: neither wishes nor faults.
    Quiet,
    Over,
}

impl Stage {
    /// Ends when the fleet has come so far, or is gone.
    pub(crate) async fn reached(self, mut stage: watch::Receiver<Self>) {
        drop(stage.wait_for(|stage| *stage >= self).await);
    }
}

impl Member {
    /// Agent after agent until the fleet is over.
    pub(crate) async fn live(mut self, stage: watch::Receiver<Stage>) {
        loop {
            let crash = self.crashes.map(|every| self.chance.around(every));
            tokio::select! {
                ended = self.one_agent() => {
                    if let Err(error) = ended {
                        let what = format!("agent of {}: {}", self.cluster.id, Chain(&error));
                        self.witness.gives_up(what);
                    }
                    return;
                }
                () = crash_in(crash, stage.clone()) => {
                    self.witness.count(|report| report.crashes += 1);
                    self.line.send_replace(None);
                    sleep(self.chance.around(AWAY)).await;
                }
                () = Stage::Over.reached(stage.clone()) => return,
            }
        }
    }

    async fn one_agent(&self) -> Result<(), Error> {
        // Nobody closes it.
        let Ok(starting) = self.starting.clone().acquire_owned().await else { return Ok(()) };
        let http = HttpCommunicator::new(&self.address, &self.certificates)?;
        let watched: Arc<dyn BrokerCommunicator> =
            Arc::new(Watched::new(http, self.witness.clone(), starting));
        self.line.send_replace(Some(watched.clone()));
        let half = Half(self.cluster.clone());
        Agent::builder(self.cluster.id.clone(), watched, half.clone(), half)
            .schedule(self.schedule)
            .debounce(DEBOUNCE)
            .build()
            .run(std::future::pending())
            .await
    }
}

/// Ends when it is time for a crash: never without one, and not when the fleet is quiet.
async fn crash_in(crash: Option<Duration>, stage: watch::Receiver<Stage>) {
    if let Some(crash) = crash {
        tokio::select! {
            () = sleep(crash) => return,
            () = Stage::Quiet.reached(stage) => {}
        }
    }
    std::future::pending::<()>().await;
}
