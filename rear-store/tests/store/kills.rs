//! A process killed at any moment: whatever it had acknowledged is there.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use rear_engine::audit::{Books, books};
use rear_engine::testing::fleets::Dice;
use rear_engine::testing::{advertisement, cluster, id, resources};
use rear_engine::{Actor, Ask, Command, Policy, ReservationId, Terms};
use rear_store::clock::{Clock, SystemClock};
use rear_store::{Commit, Journal, RedbJournal, Store};

/// How often the process is killed in the test command; `REAR_KILLS` sets another number.
const KILLS: u64 = 100;

/// Tells the child where its ledger is, and with which number its ids begin.
const LEDGER: &str = "REAR_TEST_LEDGER";
const FIRST_ID: &str = "REAR_TEST_FIRST_ID";

/// Tells the child at which step of a commit it dies, and at which time that it gets there.
const STEP: &str = "REAR_TEST_STEP";
const TIMES: &str = "REAR_TEST_TIMES";

/// Every step of the writer, in order.
const STEPS: [&str; 6] = ["taken", "decided", "written", "committed", "shown", "answered"];

/// Not a claim of its own: what the killed process does. Without the environment it has nothing to do.
#[test]
fn the_process_that_is_killed() {
    let (Some(path), Ok(first)) = (std::env::var_os(LEDGER), std::env::var(FIRST_ID)) else {
        return;
    };
    die_where_told();
    let journal = RedbJournal::open(Path::new(&path), Commit::TwoPhase).unwrap();
    let clock = SystemClock::default();
    let now = clock.read().wall;
    let store = Store::start(journal, Policy::default(), clock).unwrap();
    let advertise = Command::Advertise {
        cluster: cluster("p"),
        advertisement: Box::new(advertisement("1000000", "1000Gi", now)),
        holding: None,
    };
    store.submit(advertise).unwrap();
    let next = AtomicU64::new(first.parse().unwrap());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| write_until_killed(&store, &next));
        }
    });
}

/// Dies at the n-th time that a step is reached, if the environment says so.
fn die_where_told() {
    let (Ok(step), Ok(times)) = (std::env::var(STEP), std::env::var(TIMES)) else { return };
    let left = AtomicU64::new(times.parse().unwrap());
    fail::cfg_callback(step, move || {
        if left.fetch_sub(1, Ordering::SeqCst) == 1 {
            std::process::abort();
        }
    })
    .unwrap();
}

fn write_until_killed(store: &Store, next: &AtomicU64) {
    loop {
        let made = id(next.fetch_add(1, Ordering::SeqCst).into());
        let ask = Ask::new(cluster("r"), resources("1m", "1Mi"), Terms::default()).unwrap();
        let by = Actor::Cluster(cluster("r"));
        store
            .submit(Command::Reserve { id: made, ask: Box::new(ask), key: None, by: by.clone() })
            .unwrap();
        say(&format!("reserved {made}"));
        if made.to_bits().is_multiple_of(3) {
            store.submit(Command::Release { id: made, by }).unwrap();
            say(&format!("released {made}"));
        }
    }
}

/// One write for a line, so that a kill cannot mix lines.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

#[derive(Default)]
struct Acknowledged {
    reserved: Vec<ReservationId>,
    released: Vec<ReservationId>,
}

#[test]
fn whatever_was_acknowledged_survives_a_kill() {
    let kills = std::env::var("REAR_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(KILLS);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.redb");
    drop(RedbJournal::create(&path, 9, Commit::TwoPhase).unwrap());
    let mut dice = Dice::new(kills);
    let mut acknowledged = Acknowledged::default();
    for round in 1..=kills {
        run_and_kill(&path, round * 1_000_000, &mut dice, &mut acknowledged);
        check(&path, &acknowledged, round);
    }
    println!("{} reservations acknowledged over {kills} kills", acknowledged.reserved.len());
    assert!(acknowledged.reserved.len() as u64 > kills, "the processes did something");
}

#[test]
fn a_process_that_dies_between_any_two_steps_keeps_what_it_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.redb");
    drop(RedbJournal::create(&path, 9, Commit::TwoPhase).unwrap());
    let mut acknowledged = Acknowledged::default();
    let mut round = 0;
    for step in STEPS {
        for times in [1, 2, 3, 7, 20] {
            round += 1;
            let mut child = child(&path, round * 1_000_000)
                .env(STEP, step)
                .env(TIMES, times.to_string())
                .spawn()
                .unwrap();
            let lines = BufReader::new(child.stdout.take().unwrap()).lines();
            lines.map_while(Result::ok).for_each(|line| {
                acknowledged.hear(&line);
            });
            let ended = child.wait().unwrap();
            assert_eq!(ended.code(), None, "{step}: it was to die, and it ended with {ended}");
            check(&path, &acknowledged, round);
        }
    }
    assert!(acknowledged.reserved.len() > STEPS.len() * 5, "the processes did something");
}

/// This program again, as the process that dies.
fn child(path: &Path, first: u64) -> Process {
    let mut child = Process::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "kills::the_process_that_is_killed", "--nocapture"])
        .env(LEDGER, path)
        .env(FIRST_ID, first.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    child
}

fn run_and_kill(path: &Path, first: u64, dice: &mut Dice, acknowledged: &mut Acknowledged) {
    let mut child = child(path, first).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let lines_before_the_kill = dice.below(40);
    let mut heard = 0;
    // Some are killed while they start, some after many acknowledgements.
    while heard < lines_before_the_kill
        && let Some(Ok(line)) = lines.next()
    {
        heard += u64::from(acknowledged.hear(&line));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // What it had said before it died counts too.
    lines.map_while(Result::ok).for_each(|line| {
        acknowledged.hear(&line);
    });
}

impl Acknowledged {
    fn hear(&mut self, line: &str) -> bool {
        let known = [("reserved ", &mut self.reserved), ("released ", &mut self.released)];
        for (word, list) in known {
            if let Some(made) = line.split(word).nth(1).and_then(|text| text.trim().parse().ok()) {
                list.push(made);
                return true;
            }
        }
        false
    }
}

fn check(path: &Path, acknowledged: &Acknowledged, round: u64) {
    let contents = RedbJournal::open(path, Commit::TwoPhase).unwrap().load().unwrap();
    let found = |wanted: &ReservationId| {
        contents.reservations.binary_search_by_key(wanted, |kept| kept.id).ok()
    };
    for wanted in &acknowledged.reserved {
        assert!(found(wanted).is_some(), "{wanted} is lost after kill {round}");
    }
    for wanted in &acknowledged.released {
        let kept = found(wanted).map(|at| &contents.reservations[at]);
        assert!(kept.is_some_and(|kept| !kept.phase.is_live()), "{wanted} lives again");
    }
    let now = contents.meta.time_mark;
    let fleet = contents.into_fleet(Policy::default(), now).unwrap();
    assert_eq!(books(&Books::of(&fleet)), []);
}
