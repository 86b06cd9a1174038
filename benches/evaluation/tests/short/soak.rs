//! The soak in its short version: everything happens once, and nothing is broken.

use std::time::Duration;

use rear_evaluation::soak::{Soak, keep};
use rear_evaluation::stage::Size;

use crate::programs;

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_killed_stopped_restored_and_given_certificates_keeps_every_promise() {
    let soak = Soak {
        length: Duration::from_secs(30),
        seed: 7,
        size: Size::Short,
        programs: programs(),
        work: std::env::temp_dir(),
    };
    let record = soak.run().await.unwrap();
    let outcome = &record.outcome;
    assert_eq!(outcome.broken, Vec::<String>::new());
    for (what, many) in
        [("kills", 1), ("stops", 1), ("rotations", 1), ("backups", 1), ("restores", 1)]
    {
        assert_eq!(outcome.counted(what), many, "{what}");
    }
    // One after each of the six things, one more after the kill, and one in the end.
    assert_eq!(outcome.counted("audits"), 8);
    for what in ["granted", "released", "expired", "advertisements"] {
        assert!(outcome.counted(what) > 0, "{what}: {:?}", outcome.counts);
    }
    let folder = tempfile::tempdir().unwrap();
    keep(&record, folder.path()).unwrap();
    let page = std::fs::read_to_string(folder.path().join("soak.md")).unwrap();
    assert!(page.contains("| kills | 1 |") && page.contains("--seed 7"), "{page}");
    assert!(folder.path().join("charts/soak-memory.svg").is_file());
}
