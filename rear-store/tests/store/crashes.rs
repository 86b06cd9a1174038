//! Crashes that really crash: power cuts at any operation, torn sectors, also while repairing, and disks that fail or lie.

use rear_engine::testing::fleets::Dice;
use rear_store::{Commit, Contents, Journal, JournalError, Memory, RedbJournal};

use super::disk::Disk;
use super::history::History;

const LEDGER: u128 = 77;

/// How many crashes the test command goes through; `REAR_CRASHES` sets another number, `REAR_SEED` the first seed.
const CRASHES: u64 = 150;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn commit_mode(seed: u64) -> Commit {
    if seed.is_multiple_of(2) { Commit::TwoPhase } else { Commit::OnePhase }
}

/// What must be found: everything that was acknowledged, and the batch in flight whole or not at all.
struct Expected {
    acknowledged: Contents,
    in_flight: Option<Contents>,
}

impl Expected {
    fn is_met_by(&self, found: &Contents) -> bool {
        *found == self.acknowledged || Some(found) == self.in_flight.as_ref()
    }
}

/// Commits until the power goes; returns what must be found afterwards.
fn write_until_the_power_goes(disk: &Disk, seed: u64, dice: &mut Dice) -> Option<Expected> {
    let mut model = Memory::new(LEDGER, 1, 1).unwrap();
    let mut journal =
        RedbJournal::on_backend(disk.clone(), LEDGER, commit_mode(seed)).expect("a new disk");
    disk.cut_power_after(dice.below(400));
    let mut history = History::new(seed);
    for _ in 0..200 {
        let batch = history.next_batch();
        let acknowledged = model.load().unwrap();
        model.commit(&batch).unwrap();
        if journal.commit(&batch).is_err() {
            return Some(Expected { acknowledged, in_flight: model.load().ok() });
        }
    }
    None
}

/// Opens what is left, with the power going again a few times while it is repaired.
fn reopen(mut disk: Disk, seed: u64, dice: &mut Dice) -> Result<Contents, String> {
    for _ in 0..dice.below(3) {
        disk.cut_power_after(dice.below(40));
        drop(RedbJournal::on_backend(disk.clone(), LEDGER, commit_mode(seed)));
        disk = disk.after_power_cut(dice);
    }
    let journal = RedbJournal::on_backend(disk, LEDGER, commit_mode(seed));
    let journal = journal.map_err(|error| format!("{error:?}"))?;
    journal.load().map_err(|error| format!("{error:?}"))
}

/// Whether a crash is survived; `None` where the power did not go.
fn survives(disk: &Disk, seed: u64) -> Option<Result<(), String>> {
    let mut dice = Dice::new(seed);
    let expected = write_until_the_power_goes(disk, seed, &mut dice)?;
    let found = match reopen(disk.after_power_cut(&mut dice), seed, &mut dice) {
        Ok(found) => found,
        Err(error) => return Some(Err(error)),
    };
    if expected.is_met_by(&found) {
        return Some(Ok(()));
    }
    let number = |contents: &Contents| contents.meta.position.number;
    Some(Err(format!("acknowledged {}, found {}", number(&expected.acknowledged), number(&found))))
}

#[test]
fn whatever_was_acknowledged_survives_a_power_cut() {
    let first = setting("REAR_SEED", 1);
    let crashes = setting("REAR_CRASHES", CRASHES);
    println!("{crashes} power cuts from seed {first}");
    let mut survived = 0;
    for seed in first..first + crashes {
        if let Some(outcome) = survives(&Disk::new(), seed) {
            assert_eq!(
                outcome,
                Ok(()),
                "seed {seed}: run again with REAR_SEED={seed} REAR_CRASHES=1"
            );
            survived += 1;
        }
    }
    assert!(survived > crashes / 2, "the power went in {survived} of {crashes} runs");
}

#[test]
fn a_disk_that_lies_about_syncing_is_noticed() {
    // redb may also panic over a file that no honest disk could have left.
    let noticed = |seed| {
        let outcome = std::panic::catch_unwind(|| survives(&Disk::that_lies(), seed));
        outcome.map_or(true, |outcome| outcome.is_some_and(|outcome| outcome.is_err()))
    };
    let caught = (1..=30).any(noticed);
    assert!(caught, "these tests would not notice a lost sync");
}

#[test]
fn an_error_of_the_disk_at_any_operation_loses_nothing_that_was_acknowledged() {
    let operations = {
        let disk = Disk::new();
        script(&disk, None);
        disk.operations()
    };
    assert!(operations > 30, "the script does something: {operations}");
    for n in 0..operations {
        let disk = Disk::new();
        let Some(expected) = script(&disk, Some(n)) else { continue };
        let journal = RedbJournal::on_backend(disk, LEDGER, Commit::TwoPhase).unwrap();
        let found = journal.load().unwrap();
        assert!(expected.is_met_by(&found), "operation {n} of {operations}");
    }
}

/// Five batches; the n-th operation of the disk fails. `None` if that was before there was a ledger.
fn script(disk: &Disk, n: Option<u64>) -> Option<Expected> {
    if let Some(n) = n {
        disk.fail_once_after(n);
    }
    let mut model = Memory::new(LEDGER, 1, 1).unwrap();
    let mut journal = RedbJournal::on_backend(disk.clone(), LEDGER, Commit::TwoPhase).ok()?;
    let mut history = History::new(5);
    for _ in 0..5 {
        let batch = history.next_batch();
        let acknowledged = model.load().unwrap();
        model.commit(&batch).unwrap();
        if journal.commit(&batch).is_err() {
            // After an error nothing more is accepted before the ledger is opened again.
            return Some(Expected { acknowledged, in_flight: model.load().ok() });
        }
    }
    Some(Expected { acknowledged: model.load().unwrap(), in_flight: None })
}

#[test]
fn a_commit_in_two_phases_is_synced_twice() {
    let syncs = |commit| {
        let disk = Disk::new();
        let mut journal = RedbJournal::on_backend(disk.clone(), LEDGER, commit).unwrap();
        let before = disk.syncs();
        journal.commit(&History::new(5).next_batch()).unwrap();
        disk.syncs() - before
    };
    assert_eq!((syncs(Commit::TwoPhase), syncs(Commit::OnePhase)), (2, 1));
}

#[test]
fn an_error_of_the_disk_is_told_as_one_and_not_as_damage() {
    let disk = Disk::new();
    let mut journal = RedbJournal::on_backend(disk.clone(), LEDGER, Commit::TwoPhase).unwrap();
    disk.fail_once_after(0);
    let refused = journal.commit(&History::new(5).next_batch()).unwrap_err();
    assert!(matches!(refused, JournalError::Disk(_)), "{refused:?}");
}
