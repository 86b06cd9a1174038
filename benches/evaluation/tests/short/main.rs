//! Every test of the evaluation in its short version: counts and invariants hold, times are not looked at.
// A test that is surprised should fail at once.
#![allow(clippy::unwrap_used)]

#[cfg(feature = "clusters")]
mod clusters;
mod soak;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rear_evaluation::experiments::Experiment;
use rear_evaluation::outcome::{Outcome, Results};
use rear_evaluation::raw::Limits;
use rear_evaluation::run::record;
use rear_evaluation::stage::{Programs, Size, Stage};
use rear_testbed::programs::{example, program};

/// Built once.
pub(crate) fn programs() -> Programs {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        example("host_agent");
        program("rear-broker").parent().unwrap().to_owned()
    });
    let own = Path::new(env!("CARGO_BIN_EXE_rear-evaluation")).to_owned();
    Programs { own, folder: folder.clone() }
}

/// Runs one, keeps its results, and has nothing broken.
pub(crate) async fn short(name: &str) -> Outcome {
    let experiment = Experiment::named(name).unwrap();
    let clusters = (experiment.clusters)(Size::Short).max(1);
    let stage = Stage::new(Size::Short, 7, programs(), &std::env::temp_dir(), clusters).unwrap();
    let record = record(experiment, &stage, Limits::default()).await.unwrap();
    assert_eq!(record.outcome.broken, Vec::<String>::new(), "{name}");
    let results = Results::new(stage.folder().join("results"));
    results.keep(&record).unwrap();
    let kept = results.read(name).unwrap().unwrap().outcome;
    // Floats may lose their last digit on the way.
    assert_eq!(
        (kept.counts, kept.notes),
        (record.outcome.counts.clone(), record.outcome.notes.clone())
    );
    for table in &record.outcome.tables {
        let columns = table.columns.len();
        assert!(table.rows.iter().all(|row| row.len() == columns), "{}", table.title);
        assert!(!table.rows.is_empty(), "{}", table.title);
    }
    record.outcome
}

#[tokio::test(flavor = "multi_thread")]
async fn the_machine_has_raw_limits() {
    let stage = Stage::new(Size::Short, 7, programs(), &std::env::temp_dir(), 1).unwrap();
    let Limits { sync_ms, echo_ms, echoes_per_second, echo_cpu_ms, summed_per_second } =
        Limits::measure(&stage).await.unwrap();
    for limit in [sync_ms, echo_ms, echoes_per_second, echo_cpu_ms, summed_per_second] {
        assert!(limit > 0.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_agent_is_connected_and_advertises() {
    let outcome = short("scale").await;
    assert_eq!(outcome.counted("agents"), 11);
    assert!(outcome.counted("advertisements") >= 11);
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_granted_to_the_last_unit_and_given_back() {
    let outcome = short("exhaustion").await;
    assert!(outcome.counted("granted") > outcome.counted("providers"));
}

#[tokio::test(flavor = "multi_thread")]
async fn both_sides_are_told_of_every_reservation_and_of_its_end() {
    let outcome = short("latency").await;
    for until in [
        "decision",
        "requester's instruction",
        "provider's instruction",
        "given back on both sides",
    ] {
        assert_eq!(outcome.counted(until), 40, "{until}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_callers_get_all_that_there_is_and_no_more() {
    let outcome = short("concurrency").await;
    assert!(outcome.counted("granted of plenty") > 0);
    assert_eq!(outcome.counted("granted of the last"), (1 + 8) * 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_broker_chooses_as_the_oracle_does() {
    let outcome = short("accuracy").await;
    assert_eq!(outcome.counted("scenarios"), 17);
    assert!(outcome.counted("requests") > 36 && outcome.counted("granted") > 0);
    assert!(outcome.counted("candidates") > outcome.counted("requests"));
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_are_counted_on_their_way() {
    let outcome = short("bandwidth").await;
    assert_eq!(outcome.counted("connections"), 30);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_advertises_and_has_a_cost() {
    assert!(short("footprint").await.counted("agents") >= 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_start_warm_and_cold() {
    let outcome = short("startup").await;
    assert_eq!((outcome.counted("warm"), outcome.counted("cold")), (2, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_killed_under_load_loses_nothing() {
    let outcome = short("recovery").await;
    assert_eq!(outcome.counted("kills"), 3);
    assert!(outcome.counted("granted") >= 4 * 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_takes_no_more_loses_nothing() {
    let outcome = short("failing-disk").await;
    assert_eq!(outcome.counted("rounds"), 1);
    assert!(outcome.counted("acknowledged") > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_end_in_one_second_end_once_and_in_time() {
    let outcome = short("expiry-storm").await;
    assert_eq!(outcome.counted("granted"), outcome.counted("expired"));
    assert!(outcome.counted("granted") > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_agents_come_back() {
    assert_eq!(short("reconnect-storm").await.counted("agents"), 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_step_of_a_life_with_faults_passes_the_audit() {
    let outcome = short("day").await;
    assert_eq!(outcome.counted("audits"), 40);
    assert_eq!((outcome.counted("restarts"), outcome.counted("clock set back")), (3, 6));
    for what in ["granted", "released", "messages lost", "asked again under the same key"] {
        assert!(outcome.counted(what) > 0, "{what}: {:?}", outcome.counts);
    }
}
