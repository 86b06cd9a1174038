//! The tests that need API servers and etcd.

use super::{process, programs, short};

#[tokio::test(flavor = "multi_thread")]
async fn the_kubernetes_agent_tells_both_clusters() {
    for example in [&["--bin", "rear-agent"], &["--example", "figures"]] {
        process::built(
            &[&["--package", "rear-agent", "--features", "clusters"], &example[..]].concat(),
        );
    }
    let outcome = short("kubernetes").await;
    assert_eq!((outcome.counted("reserved"), outcome.counted("instructed")), (3, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_put_on_etcd_is_a_version_of_its_key() {
    // The broker of the other tests first: this one takes its place. Features as in the suite of brokers that share a ledger.
    programs();
    process::built(&[
        "--package",
        "rear-broker",
        "--features",
        "clusters,etcd-tests",
        "--bin",
        "rear-broker",
    ]);
    let outcome = short("etcd").await;
    assert!(outcome.counted("puts") > 0 && outcome.counted("granted on etcd") > 0);
}
