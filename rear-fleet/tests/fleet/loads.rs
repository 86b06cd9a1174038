//! Callers that ask as fast as they are answered: everyone is granted, and the books say the same.

use std::time::Duration;

use rear_fleet::{Load, Polling, make_certificates, name};

use super::fleets::certificates;
use super::process::Broker;

#[tokio::test(flavor = "multi_thread")]
async fn whatever_callers_are_granted_is_on_the_books_once() {
    let broker = Broker::start();
    let load = Load {
        address: format!("https://{}", broker.address),
        certificates: certificates(&broker, 9),
        callers: 8,
        span: Duration::from_secs(1),
    };
    let report = load.clone().run().await.unwrap();
    assert!(report.is_clean() && report.booked > 0, "{report}");
    let again = load.run().await.unwrap();
    assert!(again.is_clean(), "{again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_that_poll_are_answered_as_agents_of_the_earlier_system_need_it() {
    let broker = Broker::start();
    let polling = Polling {
        address: format!("https://{}", broker.address),
        certificates: certificates(&broker, 4),
        clusters: 4,
        // Longer than until the last one begins, shorter than until the first one comes again.
        span: Duration::from_millis(4900),
    };
    let report = polling.run().await.unwrap();
    assert!(report.is_clean(), "{report}");
    assert_eq!((report.advertisements, report.polls), (4, 4));
}

#[test]
fn certificates_to_try_a_broker_with_are_complete() {
    let folder = tempfile::tempdir().unwrap();
    make_certificates(folder.path(), (0..2).map(name)).unwrap();
    for who in ["broker", "rome", "paris"] {
        for file in ["tls.crt", "tls.key", "ca.crt"] {
            assert!(folder.path().join(who).join(file).is_file(), "{who}/{file}");
        }
    }
}
