//! Accuracy: whom the broker chooses, how it scores and what it says of the others, against the oracle.

mod generated;
mod told;

use rear_agent_sdk::communicator::BrokerCommunicator;
use rear_agent_sdk::{Error, Intent};
use rear_fleet::name;

use super::exhaustion::is_no_room;
use crate::broker::Broker;
use crate::oracle::{Live, Offer, Texts, Wish, World, compare, compare_refusal, judge};
use crate::outcome::{Cell, Outcome, Table};
use crate::raw::Limits;
use crate::stage::{Size, Stage, Trouble};

/// For requests that name no currency.
const CURRENCY: &str = "EUR";

/// Who takes part: those of one fleet, and one that only asks.
const CLUSTERS: usize = 16;

pub(super) fn clusters(_: Size) -> usize {
    CLUSTERS
}

/// A fleet and what is asked of it, one after the other.
struct Scenario {
    offers: Vec<Offer>,
    wishes: Vec<Wish>,
}

pub(super) async fn run(stage: &Stage, _: &Limits) -> Result<Outcome, Trouble> {
    let mut outcome = Outcome::default();
    let broker = Broker::start_with(stage, &["--currency", CURRENCY])?;
    let many = stage.pick(400, 12);
    let progress = stage.progress("accuracy", many + 5);
    let mut table = Table::new(
        "The five scenarios of the earlier suite: equal providers of 8 cores and 16Gi with 6, 3 and 0 pods of 500m/256Mi",
        &[
            "scenario",
            "request",
            "should get it",
            "got it",
            "candidates with the right score or reason",
        ],
    );
    for (number, wanted) in EARLIER.iter().enumerate() {
        let scenario = earlier(wanted);
        let seen = play(stage, &broker, &scenario, &mut outcome).await?;
        for (at, seen) in seen.iter().enumerate() {
            outcome.expect(seen.got.as_deref() == wanted.gets, || {
                format!(
                    "scenario {}: {:?} got it instead of {:?}",
                    number + 1,
                    seen.got,
                    wanted.gets
                )
            });
            table.row(earlier_row(number, at, wanted, seen));
        }
        progress.done();
    }
    let mut sum = Sum::default();
    for number in 0..many {
        let scenario = generated::scenario(stage.seed(), number);
        for seen in play(stage, &broker, &scenario, &mut outcome).await? {
            sum.add(&seen);
        }
        progress.done();
    }
    outcome.breaks(broker.verify()?);
    outcome.count("scenarios", many + EARLIER.len());
    outcome.count("requests", sum.requests);
    outcome.count("granted", sum.granted);
    outcome.count("candidates", sum.candidates);
    outcome.tables.extend([table, sum.table(many)]);
    outcome.note("Each request is asked as a dry run, whose target, scores, reasons, amounts and order are compared, then as a reservation, whose target or refusal is compared; what was granted counts for the next one. The oracle (`benches/evaluation/src/oracle`) reads the same texts and shares no code with the engine.");
    Ok(outcome)
}

/// A request of the earlier suite.
struct Earlier {
    cpu: &'static str,
    memory: &'static str,
    /// How often in a row.
    times: usize,
    /// By hand: the provider without pods, or nobody.
    gets: Option<&'static str>,
}

const EARLIER: [Earlier; 5] = [
    Earlier { cpu: "200m", memory: "128Mi", times: 1, gets: Some("oslo") },
    Earlier { cpu: "1", memory: "512Mi", times: 1, gets: Some("oslo") },
    Earlier { cpu: "2", memory: "1Gi", times: 1, gets: Some("oslo") },
    Earlier { cpu: "1", memory: "512Mi", times: 2, gets: Some("oslo") },
    Earlier { cpu: "100", memory: "500Gi", times: 1, gets: None },
];

fn texts(cpu: &str, memory: &str) -> Texts {
    Texts { cpu: cpu.to_owned(), memory: memory.to_owned(), ..Texts::default() }
}

fn earlier(wanted: &Earlier) -> Scenario {
    let pods = [("rome", "3", "1536Mi"), ("paris", "1500m", "768Mi"), ("oslo", "0", "0")];
    let offers = pods.map(|(id, cpu, memory)| Offer {
        id: id.to_owned(),
        allocatable: texts("8", "16Gi"),
        allocated: texts(cpu, memory),
        ..Offer::default()
    });
    let requester = "milan".to_owned();
    let wish = Wish { requester, amounts: texts(wanted.cpu, wanted.memory), ..Wish::default() };
    Scenario { offers: offers.into(), wishes: vec![wish; wanted.times] }
}

fn earlier_row(number: usize, at: usize, wanted: &Earlier, seen: &Seen) -> Vec<Cell> {
    let Earlier { cpu, memory, times, gets } = wanted;
    let which = if *times > 1 { format!(", {} of {times}", at + 1) } else { String::new() };
    let whom = |target: Option<&str>| Cell::text(target.unwrap_or("nobody: refused"));
    vec![
        Cell::count(number + 1),
        Cell::text(format!("{cpu}/{memory}{which}")),
        whom(*gets),
        whom(seen.got.as_deref()),
        Cell::text(format!("{} of {}", seen.right, seen.candidates)),
    ]
}

/// What came of one request.
struct Seen {
    got: Option<String>,
    candidates: usize,
    right: usize,
}

#[derive(Default)]
struct Sum {
    requests: usize,
    granted: usize,
    candidates: usize,
    right: usize,
}

impl Sum {
    fn add(&mut self, seen: &Seen) {
        self.requests += 1;
        self.granted += usize::from(seen.got.is_some());
        self.candidates += seen.candidates;
        self.right += seen.right;
    }

    fn table(&self, scenarios: usize) -> Table {
        let mut table = Table::new(
            "Generated scenarios: GPUs, storage, labels, prices, all strategies, targets, borrowers that use what they were promised",
            &["scenarios", "requests", "granted", "refused", "candidates", "of them right"],
        );
        let cells = [
            scenarios,
            self.requests,
            self.granted,
            self.requests - self.granted,
            self.candidates,
            self.right,
        ];
        table.row(cells.map(Cell::count));
        table
    }
}

/// Plays a scenario on a broker that knows nobody, and compares everything that it says.
async fn play(
    stage: &Stage,
    broker: &Broker<'_>,
    scenario: &Scenario,
    outcome: &mut Outcome,
) -> Result<Vec<Seen>, Trouble> {
    forget_everyone(broker).await?;
    for offer in &scenario.offers {
        broker.connect(&offer.id)?.publish(&told::offer(offer)).await?;
    }
    let mut world = World {
        offers: scenario.offers.clone(),
        promises: Vec::new(),
        currency: CURRENCY.to_owned(),
    };
    let mut seen = Vec::new();
    for wish in &scenario.wishes {
        seen.push(ask(stage, broker, &mut world, wish, outcome).await?);
    }
    Ok(seen)
}

async fn ask(
    stage: &Stage,
    broker: &Broker<'_>,
    world: &mut World,
    wish: &Wish,
    outcome: &mut Outcome,
) -> Result<Seen, Trouble> {
    let verdict = judge(world, wish);
    let requester = stage.connect(&broker.address(), &wish.requester)?;
    let request = told::request(wish);
    let explained = requester.dry_run(&request).await?;
    let mut differ = compare(&verdict, &explained);
    let got = match requester.reserve(&request, &Intent::new()).await {
        Ok(made) => Some(made.target_cluster_id),
        Err(Error::Refused(refused)) if is_no_room(&Error::Refused(refused.clone())) => {
            differ.extend(compare_refusal(&verdict, &refused.candidates));
            None
        }
        Err(error) => return Err(error.into()),
    };
    if got != verdict.target {
        differ.push(format!("granted on {got:?} instead of {:?}", verdict.target));
    }
    let candidates = explained.candidates.len();
    let right = if differ.is_empty() { candidates } else { 0 };
    outcome.breaks(differ.into_iter().map(|differs| format!("{wish:?}: {differs}")));
    if let Some(provider) = got.clone() {
        let (requester, amounts) = (wish.requester.clone(), wish.amounts.clone());
        world.promises.push(Live { requester, provider, amounts });
    }
    Ok(Seen { got, candidates, right })
}

async fn forget_everyone(broker: &Broker<'_>) -> Result<(), Trouble> {
    let administrator = broker.administrator()?;
    for number in 0..CLUSTERS {
        match administrator.forget(&name(number)).await {
            Ok(()) | Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
