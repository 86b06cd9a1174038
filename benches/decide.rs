//! How long a decision takes: request to grant, ledger and index updated, beside the time of summing the same bytes.

use std::collections::VecDeque;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use rear_benches::{Sum, Times};
use rear_engine::testing::fleets::{Dice, Load, fleet, request};
use rear_engine::testing::id;
use rear_engine::{Actor, Command, Fleet, Refusal, ReservationId, Strategy, Timestamp, decide};

const SIZES: [usize; 5] = [100, 1_000, 10_000, 100_000, 1_000_000];

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

const CASES: [Case; 7] = [
    Case { name: "mixed/2d", load: Load::Mixed, dimensions: 2, strategy: Strategy::Headroom },
    Case { name: "mixed/4d", load: Load::Mixed, dimensions: 4, strategy: Strategy::Headroom },
    Case { name: "mixed/2d+cost", load: Load::Mixed, dimensions: 2, strategy: Strategy::Balanced },
    Case { name: "levelled/2d", load: Load::Levelled, dimensions: 2, strategy: Strategy::Headroom },
    Case { name: "levelled/4d", load: Load::Levelled, dimensions: 4, strategy: Strategy::Headroom },
    Case { name: "levelled/2d+cost", load: Load::Levelled, dimensions: 2, strategy: Strategy::Balanced },
    Case { name: "uniform/2d", load: Load::Uniform, dimensions: 2, strategy: Strategy::Headroom },
];

/// A fleet under a steady load of requests.
struct Traffic {
    fleet: Fleet,
    dice: Dice,
    dimensions: usize,
    live: VecDeque<ReservationId>,
    next: u128,
}

impl Traffic {
    fn new(case: &Case, clusters: usize) -> Self {
        let fleet = fleet(clusters, case.load, case.strategy, now());
        let live = VecDeque::new();
        Self { fleet, dice: Dice::new(7), dimensions: case.dimensions, live, next: 0 }
    }

    fn next_command(&mut self) -> Command {
        self.next += 1;
        let ask = request(&mut self.dice, self.dimensions);
        let by = Actor::Cluster(ask.requester().clone());
        Command::Reserve { id: id(self.next), ask: Box::new(ask), key: None, by }
    }

    /// What is measured: decide and make it true.
    fn grant(&mut self, command: Command) {
        let decision = decide(&self.fleet, command, now()).expect("there is room");
        self.fleet.apply_all(decision).expect("the decision fits");
    }

    /// What is not: giving the oldest promise back.
    fn give_back(&mut self) {
        self.live.push_back(id(self.next));
        if self.live.len() > LIVE
            && let Some(oldest) = self.live.pop_front()
        {
            let by = Actor::Administrator(rear_engine::testing::cluster("operator"));
            let release = Command::Release { id: oldest, by };
            let decision = decide(&self.fleet, release, now()).expect("it lives");
            self.fleet.apply_all(decision).expect("the decision fits");
            let dropped = rear_engine::Change::Dropped(oldest);
            self.fleet.apply(dropped).expect("it has ended");
        }
    }
}

fn grants(criterion: &mut Criterion) {
    println!("{:<20} {:>9} {:>10} {:>10} {:>10} {:>7}", "decision + update", "clusters", "p50", "p99", "sum p50", "ratio");
    for case in &CASES {
        let cost = usize::from(case.strategy == Strategy::Balanced);
        let mut group = criterion.benchmark_group(case.name);
        for clusters in SIZES {
            let mut traffic = Traffic::new(case, clusters);
            let mut sum = Sum::new(clusters, case.dimensions + cost);
            let mut times = Times::default();
            group.bench_function(BenchmarkId::from_parameter(clusters), |bencher| {
                bencher.iter_custom(|iterations| {
                    let mut total = Duration::ZERO;
                    for _ in 0..iterations {
                        let command = traffic.next_command();
                        total += times.time(|| traffic.grant(command)).1;
                        traffic.give_back();
                        sum.sum();
                    }
                    total
                });
            });
            report(case.name, clusters, &times, &sum);
        }
        group.finish();
    }
}

fn refusals(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("refusal");
    for clusters in SIZES {
        let fleet = fleet(clusters, Load::Mixed, Strategy::Headroom, now());
        let mut sum = Sum::new(clusters, 2);
        let mut times = Times::default();
        let too_much = rear_engine::testing::resources("513", "1Gi");
        let ask = rear_engine::testing::ask("requester", too_much);
        let by = Actor::Cluster(ask.requester().clone());
        let command = Command::Reserve { id: id(1), ask: Box::new(ask), key: None, by };
        group.bench_function(BenchmarkId::from_parameter(clusters), |bencher| {
            bencher.iter_custom(|iterations| {
                let mut total = Duration::ZERO;
                for _ in 0..iterations {
                    let command = command.clone();
                    let (refused, time) = times.time(|| decide(&fleet, command, now()));
                    assert!(matches!(refused, Err(Refusal::NoRoom(_))), "nobody has 513 cores");
                    total += time;
                    sum.sum();
                }
                total
            });
        });
        report("refusal explained", clusters, &times, &sum);
    }
    group.finish();
}

#[allow(clippy::cast_precision_loss)] // shown with two digits
fn report(name: &str, clusters: usize, times: &Times, sum: &Sum) {
    let (p50, p99) = (times.percentile(50), times.percentile(99));
    let ratio = p50 as f64 / sum.p50().max(1) as f64;
    println!("{name:<20} {clusters:>9} {p50:>7} ns {p99:>7} ns {:>7} ns {ratio:>7.2}", sum.p50());
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
