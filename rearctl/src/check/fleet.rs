//! The fleet as the broker shows it: who is silent, who promised too much, whose clock is wrong; and the books.

use rear_agent_sdk::communicator::{Advertisement, Timestamp};
use rear_agent_sdk::{Chain, Error};
use rear_api::moment;

use super::books::{self, Books};
use super::{Finding, Verdict};
use crate::output::printable;
use crate::session::Session;

/// As many clusters are named; of the others, how many there are.
const NAMED: usize = 5;

/// An advertisement is on its way for less than this.
const AGENT_CLOCK: i64 = 60 * 1_000_000_000;

/// What is wrong with some clusters: which, and how many.
#[derive(Default)]
struct Few {
    named: Vec<String>,
    count: usize,
}

/// What the clusters are like.
#[derive(Default)]
struct Census {
    all: usize,
    stale: Few,
    overcommitted: Few,
    recovering: Few,
    off_time: Few,
}

pub(super) async fn examine(session: &Session, clock: Timestamp, findings: &mut Vec<Finding>) {
    let broken = |error: &Error| {
        let found = format!("the lists cannot be read: {}", Chain(error));
        Finding::trouble("fleet", found, error.remedy())
    };
    match census(session).await {
        Ok(census) => findings.extend(census.findings()),
        Err(error) => {
            findings.push(broken(&error));
            return;
        }
    }
    match books::examine(session, clock).await {
        Ok(found) => findings.extend(found),
        Err(error) => findings.push(broken(&error)),
    }
}

async fn census(session: &Session) -> Result<Census, Error> {
    let mut census = Census::default();
    Books::each_cluster(session, |cluster| census.count(cluster)).await?;
    Ok(census)
}

impl Census {
    fn count(&mut self, cluster: &Advertisement) {
        self.all += 1;
        let Some(status) = &cluster.status else { return };
        let name = &cluster.cluster_id;
        self.stale.note(name, !status.active);
        self.overcommitted.note(name, status.overcommitted);
        self.recovering.note(name, status.recovering);
        self.off_time.note(name, is_off_time(&cluster.timestamp, &status.received_at));
    }

    fn findings(&self) -> Vec<Finding> {
        if self.all == 0 {
            let remedy =
                "Start agents; with a cluster's certificate only that cluster is seen here.";
            return vec![Finding::careful("fleet", "no cluster advertises", remedy)];
        }
        let mut findings = vec![Finding::good("fleet", format!("{} clusters are seen", self.all))];
        let judged = [
            (
                "staleness",
                Verdict::Careful,
                &self.stale,
                "every cluster is heard of",
                "silent for too long, and gets no new reservations",
                "Look at the agent there: is it running, does it reach the broker, is its certificate valid? Forget a cluster that is gone (`rearctl forget`).",
            ),
            (
                "overcommit",
                Verdict::Trouble,
                &self.overcommitted,
                "no cluster has promised more than it has",
                "used or promised beyond what it has",
                "Free capacity there, or release reservations (`rearctl reservations list`); nothing new is granted on it meanwhile.",
            ),
            (
                "recovery",
                Verdict::Careful,
                &self.recovering,
                "no cluster is recovering",
                "not said yet, after a restore, what it holds, and gets no new reservations",
                "Wait for its next advertisement; an agent that never says what it holds has to be updated.",
            ),
            (
                "agents",
                Verdict::Careful,
                &self.off_time,
                "the agents' clocks are right",
                "advertising with a clock that is more than a minute off",
                "Synchronise the clock of the machine that the agent runs on (NTP).",
            ),
        ];
        findings.extend(judged.into_iter().map(|(check, verdict, some, good, bad, remedy)| {
            match some.text() {
                None => Finding::good(check, good),
                Some(who) => {
                    let found = format!("{who}: {bad}");
                    Finding { verdict, ..Finding::careful(check, found, remedy) }
                }
            }
        }));
        findings
    }
}

fn is_off_time(said: &str, received: &str) -> bool {
    match (moment::read(said), moment::read(received)) {
        (Ok(said), Ok(received)) => received.since(said).as_nanos().abs() > AGENT_CLOCK,
        _ => false,
    }
}

impl Few {
    fn note(&mut self, name: &str, is_so: bool) {
        if is_so {
            self.count += 1;
            if self.named.len() < NAMED {
                self.named.push(printable(name).into_owned());
            }
        }
    }

    fn text(&self) -> Option<String> {
        let more = self.count.saturating_sub(self.named.len());
        let names = self.named.join(", ");
        match (self.count, more) {
            (0, _) => None,
            (_, 0) => Some(names),
            (_, more) => Some(format!("{names} and {more} more")),
        }
    }
}
