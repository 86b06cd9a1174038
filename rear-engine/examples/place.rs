//! Places a few requests on a small fleet and explains each choice: the engine in one screen.
//!
//! ```text
//! cargo run -p rear-engine --example place
//! ```

// A program for a terminal.
#![allow(clippy::print_stdout)]

use std::error::Error;

use rear_engine::advertisement::{Advertisement, Consumed};
use rear_engine::labels::Labels;
use rear_engine::resources::Dimension;
use rear_engine::text::Line;
use rear_engine::{
    Actor, Ask, ClusterId, Command, Fleet, Policy, Refusal, ReservationId, Resources, Subject,
    Terms, Timestamp, decide, dry_run,
};

/// Name, allocatable CPU, memory and GPU, allocated CPU and memory.
const FLEET: [(&str, [&str; 3], [&str; 2]); 3] = [
    ("rome", ["16", "64Gi", "0"], ["12", "40Gi"]),
    ("paris", ["8", "32Gi", "2"], ["1", "4Gi"]),
    ("oslo", ["32", "64Gi", "0"], ["10", "20Gi"]),
];

/// Requester, CPU, memory, GPU.
const REQUESTS: [(&str, &str, &str, &str); 4] = [
    ("rome", "2", "4Gi", "0"),
    ("oslo", "4", "8Gi", "1"),
    ("rome", "1", "2Gi", "2"),
    ("paris", "24", "8Gi", "0"),
];

fn main() -> Result<(), Box<dyn Error>> {
    // The engine never reads a clock: any moment will do.
    let now = Timestamp::from_seconds(1_800_000_000);
    let mut fleet = Fleet::new(Policy::default());
    for (name, size, used) in FLEET {
        let advertisement = Box::new(advertisement(size, used, now)?);
        let cluster = name.parse()?;
        let advertise = Command::Advertise { cluster, advertisement, holding: None };
        fleet.apply_all(decide(&fleet, advertise, now)?)?;
    }
    print_fleet(&fleet);
    for (number, (requester, cpu, memory, gpu)) in (1..).zip(REQUESTS) {
        let resources = Resources::parse(cpu, memory, Some(gpu), None)?;
        let ask = Ask::new(requester.parse()?, resources, Terms::default())?;
        println!("\n{requester} asks for {resources}");
        explain(&fleet, &ask, now);
        place(&mut fleet, ask, ReservationId::from_bits(number), now)?;
    }
    println!();
    print_fleet(&fleet);
    Ok(())
}

fn advertisement(
    [cpu, memory, gpu]: [&str; 3],
    [used_cpu, used_memory]: [&str; 2],
    now: Timestamp,
) -> Result<Advertisement, Box<dyn Error>> {
    let size = Resources::parse(cpu, memory, Some(gpu), None)?;
    Ok(Advertisement {
        name: Line::default(),
        timestamp: now,
        order: None,
        capacity: size,
        allocatable: size,
        allocated: Resources::parse(used_cpu, used_memory, None, None)?,
        consumed: Consumed::default(),
        cost: None,
        labels: Labels::default(),
        endpoint: None,
    })
}

/// Who would get it, and why the others would not: nothing is locked.
fn explain(fleet: &Fleet, ask: &Ask, now: Timestamp) {
    let ranking = dry_run(fleet, ask, now);
    for ranked in &ranking.fitting {
        let part = |dimension: Dimension| {
            let score = ranked.parts.room[dimension.index()]?;
            Some(format!("{dimension} {score}"))
        };
        let parts: Vec<String> = Dimension::ALL.into_iter().filter_map(part).collect();
        println!("  {:<6} scores {} ({})", ranked.cluster, ranked.score, parts.join(", "));
    }
    for other in &ranking.others {
        println!("  {:<6} {}", other.cluster, other.reason);
    }
}

/// Decide, then make it true.
fn place(
    fleet: &mut Fleet,
    ask: Ask,
    id: ReservationId,
    now: Timestamp,
) -> Result<(), Box<dyn Error>> {
    let by = Actor::Cluster(ask.requester().clone());
    match decide(fleet, Command::Reserve { id, ask: Box::new(ask), key: None, by }, now) {
        Ok(decision) => {
            fleet.apply_all(decision.clone())?;
            if let Subject::Reservation(made) = decision.subject
                && let Some(reservation) = fleet.reservation(made)
            {
                println!("  granted on {} as {made}", reservation.provider);
            }
            Ok(())
        }
        Err(Refusal::NoRoom(why)) => {
            println!("  refused: {why}");
            Ok(())
        }
        Err(refusal) => Err(refusal.into()),
    }
}

fn print_fleet(fleet: &Fleet) {
    let mut clusters: Vec<_> = fleet.clusters().collect();
    clusters.sort_by_key(|cluster| &cluster.record().id);
    for cluster in clusters {
        let id: &ClusterId = &cluster.record().id;
        let reserved = cluster.ledger().total();
        if let Some(available) = cluster.available() {
            println!("{:<6} free: {:<38} reserved: {reserved}", id, available.shown().to_string());
        }
    }
}
