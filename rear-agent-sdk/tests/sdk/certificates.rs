//! Certificates: missing, foreign, expired, rotated.

use std::time::Duration;

use rear_agent_sdk::{BrokerCommunicator, Error, HttpCommunicator};
use tokio::net::TcpListener;
use tokio::time::{advance, pause, resume};

use super::bodies::{advertise, advertisement};
use super::cluster::within;
use super::pki::{Authority, LONG_AGO, Subject};
use super::process::{Broker, connect};
use super::stand_in::acceptor_as;

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_without_a_certificate_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let Err(error) = HttpCommunicator::new("https://localhost:1", folder.path()) else {
        panic!("there is no certificate");
    };
    let Error::Credentials { path, .. } = error else { panic!("{error:?}") };
    assert_eq!(path, folder.path().join("tls.crt"));
    for address in ["http://localhost:1", "nonsense"] {
        let refused = HttpCommunicator::new(address, folder.path());
        assert!(matches!(refused, Err(Error::Address { .. })), "{address}");
    }
}

#[test]
fn the_cluster_that_a_certificate_names_is_known_before_the_broker_is_asked() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new());
    let named = |names: &[&str]| {
        authority.client(&Subject::named(names)).write(folder.path(), &authority);
        HttpCommunicator::new("https://localhost:1", folder.path()).unwrap().cluster()
    };
    assert_eq!(named(&["rome"]).unwrap().as_str(), "rome");
    for names in [&["rome", "paris"][..], &[], &["Not A Cluster"]] {
        let error = named(names).unwrap_err();
        assert!(matches!(error, Error::Credentials { .. }), "{names:?}: {error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_of_an_unknown_authority_is_not_spoken_to() {
    let broker = Broker::start();
    let foreign = Authority::new();
    let folder = broker.folder.path().join("foreign");
    broker.authority.cluster("rome").write(&folder, &foreign);
    let error = connect(broker.address, folder).ping().await.unwrap_err();
    assert!(matches!(error, Error::UnknownAuthority { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_the_broker_does_not_take_is_typed() {
    let broker = Broker::start();
    let foreign = Authority::new().cluster("rome");
    let error = connect(broker.address, broker.files_of(&foreign, "foreign"));
    let error = error.advertisement(&"rome".parse().unwrap()).await.unwrap_err();
    assert!(matches!(error, Error::NoCertificate { .. }), "{error:?}");
    let expired =
        broker.authority.client(&Subject { until: Some(LONG_AGO), ..Subject::named(&["rome"]) });
    let error = connect(broker.address, broker.files_of(&expired, "expired"));
    let error = error.advertisement(&"rome".parse().unwrap()).await.unwrap_err();
    assert!(matches!(error, Error::ClockSkew { .. }), "{error:?}");
    let nobody = broker.authority.client(&Subject::named(&["Not A Cluster"]));
    let error = connect(broker.address, broker.files_of(&nobody, "nobody"));
    let error = error.advertisement(&"rome".parse().unwrap()).await.unwrap_err();
    assert!(matches!(error, Error::NoCertificate { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_wrong_on_either_machine_is_told_apart_from_a_bad_certificate() {
    let authority = Authority::new();
    let folder = tempfile::tempdir().unwrap();
    authority.cluster("rome").write(folder.path(), &authority);
    for (from, until) in [(2020, 2021), (2098, 2099)] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let rome = connect(listener.local_addr().unwrap(), folder.path().into());
        let acceptor = acceptor_as(&authority.server_between(from, until));
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                drop(acceptor.accept(socket).await);
            }
        });
        let error = rome.ping().await.unwrap_err();
        assert!(matches!(error, Error::ClockSkew { .. }), "{from}: {error:?}");
        assert!(!error.is_transient() && error.remedy().contains("clocks"), "{from}: {error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_under_another_name_than_its_certificates_is_not_spoken_to() {
    let authority = Authority::new();
    let folder = tempfile::tempdir().unwrap();
    authority.cluster("rome").write(folder.path(), &authority);
    // This machine too, and not in the certificate.
    let listener = TcpListener::bind("127.0.0.2:0").await.unwrap();
    let rome = connect(listener.local_addr().unwrap(), folder.path().into());
    let acceptor = acceptor_as(&authority.server());
    let greeting = async { acceptor.accept(listener.accept().await.unwrap().0).await };
    let (error, greeted) = tokio::join!(rome.ping(), greeting);
    assert!(greeted.is_err());
    let error = error.unwrap_err();
    assert!(matches!(error, Error::OtherName { .. }) && error.was_not_sent(), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_is_rotated_is_used_without_a_restart() {
    let broker = Broker::start();
    // What a folder holds before the authority has signed for the cluster: nobody's certificate.
    let nobody = broker.authority.client(&Subject::named(&["Not A Cluster"]));
    let rome = connect(broker.address, broker.files_of(&nobody, "rome"));
    let refused = rome.publish(&advertisement("rome", "8", "16Gi")).await.unwrap_err();
    assert!(matches!(refused, Error::NoCertificate { .. }), "{refused:?}");
    broker.certificates("rome");
    advertise(&*rome, "rome").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_is_rotated_during_traffic_is_taken_up_although_the_old_one_still_counts()
 {
    let broker = Broker::start();
    let folder = broker.certificates("rome");
    let agent = connect(broker.address, folder.clone());
    advertise(&*agent, "rome").await;
    // Another name shows which of the two is used.
    broker.authority.cluster("milan").write(&folder, &broker.authority);
    within(async {
        while let Err(error) = agent.publish(&advertisement("milan", "8", "16Gi")).await {
            assert!(matches!(error, Error::OtherCluster { .. }), "{error:?}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_certificate_that_is_rotated_while_nothing_is_asked_is_taken_up_too() {
    let broker = Broker::start();
    let folder = broker.certificates("rome");
    let agent = connect(broker.address, folder.clone());
    advertise(&*agent, "rome").await;
    broker.authority.cluster("milan").write(&folder, &broker.authority);
    pause();
    advance(Duration::from_secs(6)).await;
    resume();
    advertise(&*agent, "milan").await;
}
