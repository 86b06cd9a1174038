//! What an operator sees of a journal: entries, conflicts, retries, lag, the age of the snapshot.

use rear_testbed::eventually;

use super::load::Load;
use super::trio::{SNAPSHOT_EVERY, Trio};
use crate::tools::advertise;

#[test]
fn a_journal_is_counted_while_it_is_used() {
    let trio = Trio::start();
    advertise(&trio.cluster(0, "rome"), "rome", "100000", "100Ti");
    let metrics = |name| trio.brokers.iter().map(|broker| broker.metric(name)).collect::<Vec<_>>();
    eventually(|| (metrics("journal_brokers") == [3, 3, 3]).then_some(())).unwrap();
    assert!(!trio.brokers[0].has_metric("journal_snapshot_age_seconds"), "there is none yet");
    let load = Load::start(&trio);
    let entries = || (metrics("journal_entry")[0] > 2 * SNAPSHOT_EVERY).then_some(());
    eventually(entries).expect("entries are counted");
    let sum = |name| metrics(name).iter().sum::<u64>();
    assert!(sum("commits_total") > SNAPSHOT_EVERY, "{:?}", metrics("commits_total"));
    assert!(metrics("journal_followed_total").iter().any(|followed| *followed > 0));
    // Several contend at first, then one decides for all.
    let avoided =
        || (sum("journal_conflicts_total") + sum("journal_handed_over_total") > 0).then_some(());
    eventually(avoided).expect("conflicts are counted, or what avoided them");
    eventually(|| trio.brokers[0].has_metric("journal_snapshot_age_seconds").then_some(()))
        .expect("the snapshot has an age");
    // No node answers, whichever it asked last: it asks each of them.
    let before = trio.brokers[0].metric("journal_retries_total");
    trio.brokers[0].cut_off();
    let retried = || (trio.brokers[0].metric("journal_retries_total") > before).then_some(());
    eventually(retried).expect("what is asked again is counted");
    trio.brokers[0].connect_again();
    load.check(&trio);
    drop(load);
    eventually(|| (metrics("journal_lag") == [0, 0, 0]).then_some(())).unwrap();
    // Cut off, what it shows grows old.
    trio.brokers[1].cut_off();
    eventually(|| (trio.brokers[1].metric("journal_age_seconds") >= 3).then_some(())).unwrap();
}
