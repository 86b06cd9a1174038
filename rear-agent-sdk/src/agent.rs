//! The agent loop: collects and publishes, receives instructions and has them acted on, until it is told to stop.
//!
//! Nothing is remembered here that a restart would lose: what is promised is the broker's to say, what is in effect the
//! [handler's](crate::InstructionHandler), and the order of advertisements begins with the epoch after the one that the
//! broker shows.

mod backoff;
mod follow;
mod publish;
mod schedule;

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::collector::ResourceCollector;
use crate::communicator::{BrokerCommunicator, ClusterId, Role};
use crate::error::Error;
use crate::handler::InstructionHandler;
use follow::Follower;
use publish::Publisher;
pub use schedule::Schedule;

/// After the first failure of several; later ones are waited for longer.
const PAUSE: Duration = Duration::from_secs(5);

/// Changes that come together are published together.
const DEBOUNCE: Duration = Duration::from_secs(1);

/// Wishes to publish that wait: each side has one at most.
const WISHES: usize = 4;

/// Speaks for one cluster.
pub struct Agent {
    parts: Arc<Parts>,
    schedule: Schedule,
    debounce: Duration,
    pause: Duration,
}

/// What an agent is made of.
struct Parts {
    cluster: ClusterId,
    communicator: Arc<dyn BrokerCommunicator>,
    collector: Box<dyn ResourceCollector>,
    handler: Box<dyn InstructionHandler>,
}

/// How an agent should be.
#[must_use]
pub struct Builder {
    agent: Agent,
}

/// A wish that the cluster's state be published now; whoever wants to know is told when it has been.
type Wish = Option<oneshot::Sender<()>>;

impl Agent {
    /// An agent for the cluster that the communicator's certificate names.
    pub fn builder(
        cluster: ClusterId,
        communicator: Arc<dyn BrokerCommunicator>,
        collector: impl ResourceCollector,
        handler: impl InstructionHandler,
    ) -> Builder {
        let (collector, handler) = (Box::new(collector), Box::new(handler));
        let parts = Arc::new(Parts { cluster, communicator, collector, handler });
        let schedule = Schedule::default();
        Builder { agent: Self { parts, schedule, debounce: DEBOUNCE, pause: PAUSE } }
    }

    /// Runs until `stop` ends, and then closes the communicator.
    ///
    /// What cannot work, such as a certificate of another cluster, is returned at once while nothing has been published
    /// yet; later it is logged and tried again, as certificates and brokers come back. A newer copy of the agent ends
    /// this one with [`Error::Replaced`].
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), Error> {
        let communicator = self.parts.communicator.clone();
        let ended = tokio::select! {
            () = stop => Ok(()),
            Err(error) = self.work() => Err(error),
        };
        communicator.close();
        ended
    }

    async fn work(self) -> Result<Infallible, Error> {
        let (wish, wishes) = mpsc::channel(WISHES);
        let mut publisher = Publisher::start(&self, wishes).await?;
        let mut provider = Follower::new(&self, Role::Provider, wish.clone());
        let mut requester = Follower::new(&self, Role::Requester, wish);
        tokio::select! {
            ended = publisher.run() => ended,
            ended = provider.run() => ended,
            ended = requester.run() => ended,
        }
    }
}

impl Builder {
    /// When the state is published without a change.
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.agent.schedule = schedule;
        self
    }

    /// How long changes are gathered before they are published; a second if not given.
    pub fn debounce(mut self, debounce: Duration) -> Self {
        self.agent.debounce = debounce;
        self
    }

    /// How long to wait after a failure, five seconds if not given: twice as long after each that follows, up to six times.
    pub fn pause(mut self, pause: Duration) -> Self {
        self.agent.pause = pause;
        self
    }

    /// The agent.
    #[must_use]
    pub fn build(self) -> Agent {
        self.agent
    }
}
