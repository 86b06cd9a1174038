//! How long a decision takes: request to grant, ledger and index updated, beside the time of summing the same bytes.
// The ratios are printed: that is what the benchmark is for.
#![allow(clippy::print_stdout)]

use std::collections::VecDeque;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use rear_benches::{Sum, Times};
use rear_engine::testing::fleets::{Dice, Load, choose_and_hold, fleet, give_back, request};
use rear_engine::testing::{cluster, id, resources};
use rear_engine::{
    Actor, Ask, Change, ClusterId, Command, Fleet, Refusal, ReservationId, Strategy, Timestamp,
    decide,
};

const SIZES: [usize; 5] = [100, 1_000, 10_000, 100_000, 1_000_000];

/// Fleets of all sizes; where everything runs only once (`--test`), those that are built quickly.
fn sizes() -> impl Iterator<Item = usize> {
    let once = std::env::args().any(|argument| argument == "--test");
    SIZES.into_iter().filter(move |&clusters| !once || clusters <= 10_000)
}

/// Promises that live at once: the oldest is given back for each new one, so that the fleet stays as it is.
const LIVE: usize = 64;

fn now() -> Timestamp {
    Timestamp::from_seconds(1_800_000_000)
}

struct Case {
    name: &'static str,
    load: Load,
    dimensions: usize,
    strategy: Strategy,
}

const CASES: [Case; 9] = [
    Case { name: "mixed/2d", load: Load::Mixed, dimensions: 2, strategy: Strategy::Headroom },
    Case { name: "mixed/4d", load: Load::Mixed, dimensions: 4, strategy: Strategy::Headroom },
    Case { name: "mixed/2d+cost", load: Load::Mixed, dimensions: 2, strategy: Strategy::Balanced },
    Case { name: "mixed/4d+cost", load: Load::Mixed, dimensions: 4, strategy: Strategy::Balanced },
    Case { name: "levelled/2d", load: Load::Levelled, dimensions: 2, strategy: Strategy::Headroom },
    Case { name: "levelled/4d", load: Load::Levelled, dimensions: 4, strategy: Strategy::Headroom },
    Case {
        name: "levelled/2d+cost",
        load: Load::Levelled,
        dimensions: 2,
        strategy: Strategy::Balanced,
    },
    Case {
        name: "levelled/4d+cost",
        load: Load::Levelled,
        dimensions: 4,
        strategy: Strategy::Balanced,
    },
    Case { name: "uniform/2d", load: Load::Uniform, dimensions: 2, strategy: Strategy::Headroom },
];

/// A fleet under a steady load of requests.
struct Traffic {
    fleet: Fleet,
    dice: Dice,
    dimensions: usize,
    live: VecDeque<ReservationId>,
    held: VecDeque<(ClusterId, Ask)>,
    next: u128,
}

impl Traffic {
    fn new(case: &Case, clusters: usize) -> Self {
        Self {
            fleet: fleet(clusters, case.load, case.strategy, now()),
            dice: Dice::new(7),
            dimensions: case.dimensions,
            live: VecDeque::new(),
            held: VecDeque::new(),
            next: 0,
        }
    }

    /// Choose a provider and update its ledger and the index; the oldest promise is given back untimed.
    fn decide_and_update(&mut self, measured: &mut Measured) -> Duration {
        let ask = request(&mut self.dice, self.dimensions);
        let choose = || choose_and_hold(&mut self.fleet, &ask, now()).expect("there is room");
        let (provider, time) = measured.decision.time(choose);
        self.held.push_back((provider, ask));
        if self.held.len() > LIVE
            && let Some((provider, ask)) = self.held.pop_front()
        {
            give_back(&mut self.fleet, &provider, &ask);
        }
        time
    }

    /// The same with everything around it: rights, key, record, timeline, events.
    fn grant(&mut self, measured: &mut Measured) {
        self.next += 1;
        let ask = request(&mut self.dice, self.dimensions);
        let by = Actor::Cluster(ask.requester().clone());
        let reserve = Command::Reserve { id: id(self.next), ask: Box::new(ask), key: None, by };
        let grant = || {
            let decision = decide(&self.fleet, reserve, now()).expect("there is room");
            self.fleet.apply_all(decision).expect("the decision fits");
        };
        measured.grant.time(grant);
        self.live.push_back(id(self.next));
        if self.live.len() > LIVE
            && let Some(oldest) = self.live.pop_front()
        {
            let by = Actor::Administrator(cluster("operator"));
            let release = Command::Release { id: oldest, by };
            let decision = decide(&self.fleet, release, now()).expect("it lives");
            self.fleet.apply_all(decision).expect("the decision fits");
            self.fleet.apply(Change::Dropped(oldest)).expect("it has ended");
        }
    }
}

fn grants(criterion: &mut Criterion) {
    for case in &CASES {
        let cost = usize::from(case.strategy == Strategy::Balanced);
        let mut group = criterion.benchmark_group(case.name);
        for clusters in sizes() {
            let mut measured = Measured::default();
            // Built when the benchmark is really run: a filter may leave it out.
            let mut built = None;
            group.bench_function(BenchmarkId::from_parameter(clusters), |bencher| {
                let (traffic, sum) = built.get_or_insert_with(|| {
                    (Traffic::new(case, clusters), Sum::new(clusters, case.dimensions + cost))
                });
                bencher.iter_custom(|iterations| {
                    let mut total = Duration::ZERO;
                    for _ in 0..iterations {
                        total += traffic.decide_and_update(&mut measured);
                        traffic.grant(&mut measured);
                        sum.sum();
                    }
                    total
                });
            });
            if let Some((_, sum)) = built {
                measured.report(case.name, clusters, &sum);
            }
        }
        group.finish();
    }
}

fn refusals(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("refusal");
    let ask = rear_engine::testing::ask("requester", resources("513", "1Gi"));
    let by = Actor::Cluster(ask.requester().clone());
    let command = Command::Reserve { id: id(1), ask: Box::new(ask), key: None, by };
    for clusters in sizes() {
        let mut measured = Measured::default();
        let mut built = None;
        group.bench_function(BenchmarkId::from_parameter(clusters), |bencher| {
            let (fleet, sum) = built.get_or_insert_with(|| {
                (fleet(clusters, Load::Mixed, Strategy::Headroom, now()), Sum::new(clusters, 2))
            });
            bencher.iter_custom(|iterations| {
                let mut total = Duration::ZERO;
                for _ in 0..iterations {
                    let command = command.clone();
                    let (refused, time) = measured.decision.time(|| decide(fleet, command, now()));
                    assert!(matches!(refused, Err(Refusal::NoRoom(_))), "nobody has 513 cores");
                    sum.sum();
                    total += time;
                }
                total
            });
        });
        if let Some((_, sum)) = built {
            measured.report("refusal", clusters, &sum);
        }
    }
    group.finish();
}

/// The times of one benchmark.
#[derive(Default)]
struct Measured {
    decision: Times,
    grant: Times,
}

impl Measured {
    /// With its raw limit, which was taken in turns with it.
    #[allow(clippy::cast_precision_loss)] // shown with two digits
    fn report(&self, name: &str, clusters: usize, sum: &Sum) {
        let (p50, p99) = (self.decision.percentile(50), self.decision.percentile(99));
        let (limit, (least, most)) = (sum.limit(), sum.range());
        let ratio = p50 as f64 / limit.max(1) as f64;
        print!("{name:<17} {clusters:>8} clusters: p50 {p50:>8} ns, p99 {p99:>8} ns, ");
        print!("sum of the same bytes {limit:>8} ns ({least} to {most}), ratio {ratio:.2}");
        match self.grant.percentile(50) {
            0 => println!(),
            grant => println!("; whole grant p50 {grant} ns"),
        }
    }
}

fn quick() -> Criterion {
    Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_millis(700))
        .without_plots()
}

criterion_group! { name = benches; config = quick(); targets = grants, refusals }
criterion_main!(benches);
