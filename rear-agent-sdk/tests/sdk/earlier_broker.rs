//! A broker of the earlier system: its locks are sent back, nothing is sent twice, and what it lacks is said.

use std::path::PathBuf;
use std::sync::Arc;

use rear_agent_sdk::communicator::Role;
use rear_agent_sdk::{BrokerCommunicator, Error, HttpCommunicator, Intent};
use serde_json::json;

use super::bodies::{advertise, request};
use super::pki::Authority;
use super::process::connect;
use super::stand_in::StandIn;

const RESERVE: &str = "POST /api/v1/reservations";

struct Stage {
    folder: tempfile::TempDir,
    authority: Authority,
    broker: StandIn,
}

impl Stage {
    async fn new() -> Self {
        let authority = Authority::new();
        let broker = StandIn::start(&authority).await;
        Self { folder: tempfile::tempdir().unwrap(), authority, broker }
    }

    fn cluster(&self, name: &str) -> Arc<HttpCommunicator> {
        let folder: PathBuf = self.folder.path().join(name);
        self.authority.cluster(name).write(&folder, &self.authority);
        connect(self.broker.address, folder)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn its_locks_come_back_with_every_advertisement() {
    let stage = Stage::new().await;
    let (rome, paris) = (stage.cluster("rome"), stage.cluster("paris"));
    advertise(&*rome, "rome").await;
    let kept = || stage.broker.state.lock().unwrap().advertisements["rome"].clone();
    assert_eq!(kept()["resources"]["available"], json!({"cpu": "8", "memory": "16Gi"}));
    let made = paris.reserve(&request("2", "4Gi"), &Intent::new()).await.unwrap();
    advertise(&*rome, "rome").await;
    assert_eq!(kept()["resources"]["reserved"], json!({"cpu": "2", "memory": "4Gi"}));
    assert_eq!(kept()["resources"]["available"], json!({"cpu": "6", "memory": "12Gi"}));
    let level = rome.instructions(Role::Provider, None).await.unwrap();
    assert_eq!(level.revision, None);
    assert_eq!(level.instructions, rome.reservations(Role::Provider).await.unwrap());
    assert_eq!(level.instructions, [made]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reservation_whose_answer_is_lost_is_not_sent_again() {
    let stage = Stage::new().await;
    let (rome, paris) = (stage.cluster("rome"), stage.cluster("paris"));
    advertise(&*rome, "rome").await;
    paris.ping().await.unwrap();
    stage.broker.state.lock().unwrap().lose_answers = true;
    let error = paris.reserve(&request("2", "4Gi"), &Intent::new()).await.unwrap_err();
    assert!(matches!(error, Error::OutcomeUnknown { .. }), "{error:?}");
    assert!(!error.is_transient());
    assert_eq!(stage.broker.count(RESERVE), 1);
    assert_eq!(stage.broker.state.lock().unwrap().reservations.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_it_lacks_is_said_and_never_asked() {
    let stage = Stage::new().await;
    let paris = stage.cluster("paris");
    let mut wanted = request("1", "1Gi");
    wanted.target_cluster_id = Some("rome".to_owned());
    let refused = [
        paris.reserve(&wanted, &Intent::new()).await.unwrap_err(),
        paris.dry_run(&request("1", "1Gi")).await.unwrap_err(),
        paris.activate("rsv-1").await.unwrap_err(),
        paris.renew("rsv-1", rear_agent_sdk::now()).await.unwrap_err(),
        paris.reject("rsv-1", "full").await.unwrap_err(),
        paris.release("rsv-1").await.unwrap_err(),
        paris.reservation("rsv-1").await.unwrap_err(),
        paris.reservations(Role::Requester).await.unwrap_err(),
        paris.instructions(Role::Requester, None).await.unwrap_err(),
        paris.events(None).await.err().unwrap(),
    ];
    for error in refused {
        assert!(matches!(error, Error::Unsupported { .. }), "{error:?}");
    }
    assert_eq!(stage.broker.state.lock().unwrap().requests, ["GET /healthz"]);
}
