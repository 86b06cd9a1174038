//! A fleet that runs: its members, their wishes, and the end in which everything is looked at.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rear_agent_sdk::{Error, HttpCommunicator};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::chance::Chance;
use crate::cluster::Cluster;
use crate::demand::{Asking, Wish};
use crate::member::{Member, Stage};
use crate::names::name;
use crate::plan::Builder;
use crate::report::Report;
use crate::settle;
use crate::witness::Witness;

/// So many agents greet the broker at once: as many as two cores can shake hands with in a second or two.
const STARTING: usize = 256;

/// How often what has ended is forgotten.
const TIDY_EVERY: Duration = Duration::from_secs(10);

/// How often it is looked whether everyone has advertised.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Streams of chance that are no cluster's.
const CHURN: u64 = u64::MAX;
const DEMAND: u64 = u64::MAX - 1;
const CRASHES: u64 = 1 << 62;

/// Simulated clusters that speak to a broker. They end with it.
pub struct Fleet {
    witness: Arc<Witness>,
    stage: watch::Sender<Stage>,
    /// Whether nobody is to wish for anything new at the moment.
    pause: watch::Sender<bool>,
    clusters: Vec<(Arc<Cluster>, Asking)>,
    tasks: JoinSet<()>,
    demand: JoinSet<()>,
}

impl Fleet {
    /// A fleet for the broker at `https://HOST:PORT`, with the certificate of each cluster in a folder of its name.
    pub fn builder(address: impl Into<String>, certificates: impl Into<PathBuf>) -> Builder {
        Builder::new(address.into(), certificates.into())
    }

    pub(crate) fn start(plan: &Builder) -> Result<Self, Error> {
        // Whether address and certificates are what they should be is told at once, not by each cluster.
        HttpCommunicator::new(&plan.address, plan.certificates.join(name(0).as_str()))?;
        let mut fleet = Self {
            witness: Arc::default(),
            stage: watch::Sender::new(Stage::Running),
            pause: watch::Sender::new(false),
            clusters: Vec::with_capacity(plan.clusters),
            tasks: JoinSet::new(),
            demand: JoinSet::new(),
        };
        let starting = Arc::new(Semaphore::new(STARTING));
        for number in 0..plan.clusters {
            fleet.join(plan, number, &starting);
        }
        fleet.tasks.spawn(tidy(fleet.witness.clone()));
        if let Some(every) = plan.churn {
            let clusters = fleet.clusters.iter().map(|(cluster, _)| cluster.clone()).collect();
            let chance = Chance::new(plan.seed, CHURN);
            fleet.tasks.spawn(churn(clusters, every, chance, fleet.stage.subscribe()));
        }
        if let Some((size, every)) = plan.bursts {
            let bursts = Bursts {
                asking: fleet.clusters.iter().skip(plan.bystanders).cloned().collect(),
                among_themselves: plan.bystanders > 0,
                size,
                every,
                chance: Chance::new(plan.seed, DEMAND),
                lasting: plan.lasting,
                lost_answers: plan.lost_answers,
            };
            fleet.demand.spawn(bursts.run(fleet.stage.subscribe(), fleet.pause.subscribe()));
        }
        Ok(fleet)
    }

    fn join(&mut self, plan: &Builder, number: usize, starting: &Arc<Semaphore>) {
        let id = name(number);
        let certificates = plan.certificates.join(id.as_str());
        let cluster = Arc::new(Cluster::new(id, number, plan.seed, self.witness.clone()));
        let (line, receiver) = watch::channel(None);
        let member = Member {
            cluster: cluster.clone(),
            address: plan.address.clone(),
            certificates,
            schedule: plan.schedule,
            crashes: plan.crashes,
            chance: Chance::new(plan.seed, CRASHES | number as u64),
            witness: self.witness.clone(),
            starting: starting.clone(),
            line,
        };
        self.tasks.spawn(member.live(self.stage.subscribe()));
        let asking = Asking { line: receiver, witness: self.witness.clone() };
        self.clusters.push((cluster, asking));
    }

    /// Ends when every cluster has advertised, or its agent has given up, which the report tells.
    pub async fn advertised(&self) {
        while self.witness.advertised() + self.witness.gave_up() < self.clusters.len() {
            sleep(LOOK_EVERY).await;
        }
    }

    /// What has been seen so far.
    #[must_use]
    pub fn report(&self) -> Report {
        self.witness.report()
    }

    /// Nobody wishes for anything new until [`resume`](Self::resume); what was wished for goes on. Ends when every request has its
    /// answer and both sides of every promise agree, also with the broker's ledger; what does not after `patience` is a
    /// broken promise.
    pub async fn pause(&self, patience: Duration) -> Report {
        self.pause.send_replace(true);
        let answered = async {
            while self.witness.asking() > 0 {
                sleep(LOOK_EVERY).await;
            }
        };
        // A broker that does not answer is told of below.
        drop(timeout(patience, answered).await);
        settle::agree(&self.witness, &self.clusters, patience).await;
        self.report()
    }

    /// The end of a [`pause`](Self::pause).
    pub fn resume(&self) {
        self.pause.send_replace(false);
    }

    /// After a restore of the ledger, while nobody wishes for anything: promises that were given back after the backup live
    /// again, and whoever gave them back does so once more. Ends when all sides agree again; what does not after `patience` is a
    /// broken promise.
    pub async fn give_back_again(&self, patience: Duration) -> Report {
        let deadline = Instant::now() + patience;
        loop {
            let again = self.witness.kept_after_release();
            if again.is_empty() && settle::agrees(&self.witness, &self.clusters).await {
                break;
            }
            if Instant::now() >= deadline {
                settle::agree(&self.witness, &self.clusters, Duration::ZERO).await;
                break;
            }
            settle::release(&self.clusters, &again).await;
            sleep(LOOK_EVERY).await;
        }
        self.report()
    }

    /// Stops churn, wishes and faults; waits until both sides of every promise agree; gives everything back; and waits
    /// until nobody keeps anything any more. What is not so after `patience`, each time, is a broken promise.
    ///
    /// Only for a fleet that is alone with its broker: what others ask for would look like a promise to nobody.
    pub async fn settle(&mut self, patience: Duration) -> Report {
        self.stage.send_replace(Stage::Quiet);
        let answered = async { while self.demand.join_next().await.is_some() {} };
        // A broker that does not answer is told of below.
        drop(timeout(patience, answered).await);
        if settle::agree(&self.witness, &self.clusters, patience).await {
            drop(timeout(patience, settle::give_back(&self.witness, &self.clusters)).await);
            settle::agree(&self.witness, &self.clusters, patience).await;
        }
        self.report()
    }

    /// Ends every agent. What they were promised stays until it expires.
    pub async fn stop(mut self) -> Report {
        self.stage.send_replace(Stage::Over);
        self.demand.abort_all();
        self.tasks.shutdown().await;
        self.report()
    }
}

async fn tidy(witness: Arc<Witness>) {
    loop {
        sleep(TIDY_EVERY).await;
        witness.tidy();
    }
}

/// Changes the load of one cluster after the other, each about once in a time.
async fn churn(
    clusters: Vec<Arc<Cluster>>,
    every: Duration,
    mut chance: Chance,
    stage: watch::Receiver<Stage>,
) {
    let pause = every / u32::try_from(clusters.len()).unwrap_or(u32::MAX).max(1);
    while *stage.borrow() == Stage::Running {
        sleep(chance.around(pause)).await;
        chance.one_of(&clusters).churn();
    }
}

/// Wishes that come together.
struct Bursts {
    asking: Vec<(Arc<Cluster>, Asking)>,
    /// Whether they lend to each other alone; otherwise the broker chooses among all.
    among_themselves: bool,
    size: usize,
    every: Duration,
    chance: Chance,
    lasting: Duration,
    lost_answers: u8,
}

impl Bursts {
    /// Until the fleet is to be quiet, and everyone who asked has an answer.
    async fn run(mut self, stage: watch::Receiver<Stage>, pause: watch::Receiver<bool>) {
        let mut wishes = JoinSet::new();
        loop {
            let next = self.chance.around(self.every);
            tokio::select! {
                () = sleep(next) => {}
                () = Stage::Quiet.reached(stage.clone()) => break,
            }
            if *pause.borrow() {
                continue;
            }
            let (cluster, asking) = self.chance.one_of(&self.asking).clone();
            for _ in 0..self.size {
                let wish = self.wish(&cluster, asking.clone());
                wishes.spawn(wish.fulfil(Stage::Quiet.reached(stage.clone())));
            }
            while wishes.try_join_next().is_some() {}
        }
        while wishes.join_next().await.is_some() {}
    }

    fn wish(&mut self, of: &Cluster, asking: Asking) -> Wish {
        let chance = Chance::new(self.chance.next(), 0);
        let target = self.among_themselves.then(|| self.another(of)).flatten();
        Wish { asking, target, chance, lasting: self.lasting, lost_answers: self.lost_answers }
    }

    fn another(&mut self, than: &Cluster) -> Option<String> {
        let others = self.asking.iter().map(|(cluster, _)| cluster.id.to_string());
        let others: Vec<String> = others.filter(|id| id != than.id.as_str()).collect();
        (!others.is_empty()).then(|| self.chance.one_of(&others).clone())
    }
}
