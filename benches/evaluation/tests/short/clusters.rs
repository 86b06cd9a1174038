//! The tests that need API servers and etcd.

use rear_testbed::programs::{example, program};

use super::short;

#[tokio::test(flavor = "multi_thread")]
async fn the_kubernetes_agent_tells_both_clusters() {
    program("rear-agent");
    example("figures");
    let outcome = short("kubernetes").await;
    assert_eq!((outcome.counted("reserved"), outcome.counted("instructed")), (3, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_put_on_etcd_is_a_version_of_its_key() {
    let outcome = short("etcd").await;
    assert!(outcome.counted("puts") > 0 && outcome.counted("granted on etcd") > 0);
}
