//! What a fleet is to do.

use std::path::PathBuf;
use std::time::Duration;

use rear_agent_sdk::Schedule;

use crate::fleet::Fleet;

/// How often agents publish without a change, as real ones do; not all in the same second.
const PUBLISH_EVERY: Duration = Duration::from_secs(30);

/// How long a promise lives that is not left to expire.
const LASTING: Duration = Duration::from_secs(10);

/// What a fleet is to do: what is not said does not happen.
#[derive(Debug, Clone)]
#[must_use]
pub struct Builder {
    pub(crate) address: String,
    pub(crate) certificates: PathBuf,
    pub(crate) clusters: usize,
    pub(crate) seed: u64,
    pub(crate) schedule: Schedule,
    pub(crate) churn: Option<Duration>,
    pub(crate) bursts: Option<(usize, Duration)>,
    pub(crate) bystanders: usize,
    pub(crate) lasting: Duration,
    pub(crate) crashes: Option<Duration>,
    pub(crate) lost_answers: u8,
}

impl Builder {
    pub(crate) fn new(address: String, certificates: PathBuf) -> Self {
        Self {
            address,
            certificates,
            clusters: 1,
            seed: 0,
            schedule: Schedule::jittered(PUBLISH_EVERY),
            churn: None,
            bursts: None,
            bystanders: 0,
            lasting: LASTING,
            crashes: None,
            lost_answers: 0,
        }
    }

    /// How many clusters: those that [`name`](crate::name) calls 0 and on. One if not given.
    pub fn clusters(mut self, clusters: usize) -> Self {
        self.clusters = clusters;
        self
    }

    /// The same seed makes the same clusters and the same wishes; when they meet is up to the machine.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// When agents publish without a change; within every 30 s if not given.
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = schedule;
        self
    }

    /// The own load of each cluster changes about once in this time.
    pub fn churn(mut self, every: Duration) -> Self {
        self.churn = Some(every);
        self
    }

    /// About once in this time, some cluster asks for so many reservations at once.
    pub fn bursts(mut self, size: usize, every: Duration) -> Self {
        self.bursts = Some((size, every));
        self
    }

    /// The first so many clusters advertise and nothing else: the others ask and lend among themselves, so that there is
    /// someone left for a person to play.
    pub fn bystanders(mut self, clusters: usize) -> Self {
        self.bystanders = clusters;
        self
    }

    /// About how long a promise lives; ten seconds if not given. Most are released, some are left to expire.
    pub fn lasting(mut self, lasting: Duration) -> Self {
        self.lasting = lasting;
        self
    }

    /// Each agent ends without warning about once in this time, with all its connections and whatever it was asking,
    /// and is started again.
    pub fn crashes(mut self, every: Duration) -> Self {
        self.crashes = Some(every);
        self
    }

    /// So many of a hundred requests for capacity are abandoned before their answer, and asked again.
    pub fn lost_answers(mut self, percent: u8) -> Self {
        self.lost_answers = percent.min(100);
        self
    }

    /// Starts it, within a runtime of Tokio.
    pub fn start(&self) -> Result<Fleet, rear_agent_sdk::Error> {
        Fleet::start(self)
    }
}
