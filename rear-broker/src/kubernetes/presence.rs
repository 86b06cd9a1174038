//! A Lease in each namespace that is served: agents see that there is a broker, for whom, and of which ledger.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Patch, PatchParams};
use kube::{Api, ResourceExt};
use rear_api::moment;
use rear_api::resources::Mark;
use rear_api::resources::names::{CLUSTER_ANNOTATION, EVERY_CLUSTER, MARK_ANNOTATION, PRESENCE};
use serde_json::json;
use tokio::time::sleep;
use tracing::warn;

use super::MANAGER;
use super::claim::Found;
use super::desk::Desk;
use super::speakers::Speaker;

/// How often the Leases are renewed.
const RENEW_EVERY: Duration = Duration::from_secs(20);

/// How soon a new namespace has one.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How long a Lease counts, in seconds: three renewals may fail.
const DURATION: u64 = 60;

/// Keeps the Leases for ever.
pub(super) async fn keep(desk: Arc<Desk>) -> Infallible {
    let mut shown: Vec<(String, Speaker)> = Vec::new();
    let mut looks = 0_u128;
    loop {
        let served = desk.mirror().speakers.served();
        let all_due = looks.is_multiple_of(RENEW_EVERY.as_millis() / LOOK_EVERY.as_millis());
        let mut kept = Vec::new();
        for entry in served {
            let is_due = all_due || !shown.contains(&entry);
            match show(&desk, &entry.0, &entry.1, is_due).await {
                Ok(()) => kept.push(entry),
                Err(error) => {
                    warn!(namespace = entry.0, %error, "the broker's Lease is not renewed");
                }
            }
        }
        shown = kept;
        looks += 1;
        sleep(LOOK_EVERY).await;
    }
}

async fn show(
    desk: &Desk,
    namespace: &str,
    speaker: &Speaker,
    is_due: bool,
) -> Result<(), kube::Error> {
    if !is_due {
        return Ok(());
    }
    let cluster = match speaker {
        Speaker::Cluster(cluster) => cluster.as_str(),
        Speaker::Everyone => EVERY_CLUSTER,
        Speaker::Nobody(_) => return Ok(()),
    };
    let (mark, now) = {
        let view = desk.broker.store.view();
        (desk.mark(&view), view.now())
    };
    // Kubernetes wants exactly six digits.
    let micros = moment::text(rear_engine::Timestamp::from_seconds(now.as_nanos() / 1_000_000_000));
    let renewed = micros.replace('Z', ".000000Z");
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": PRESENCE,
            "annotations": { CLUSTER_ANNOTATION: cluster, MARK_ANNOTATION: mark.to_string() },
        },
        "spec": {
            "holderIdentity": format!("{:032x}", desk.ledger),
            "leaseDurationSeconds": DURATION,
            "renewTime": renewed,
        },
    });
    let api = Api::<Lease>::namespaced(desk.client.clone(), namespace);
    let params = PatchParams::apply(MANAGER).force();
    api.patch(PRESENCE, &params, &Patch::Apply(lease)).await.map(drop)
}

/// The ledgers that earlier Leases name.
pub(super) async fn found(desk: &Desk) -> Result<Vec<Found>, kube::Error> {
    let mut found = Vec::new();
    let served = desk.mirror().speakers.served();
    for (namespace, _) in served {
        let api = Api::<Lease>::namespaced(desk.client.clone(), &namespace);
        let lease = api.get_opt(PRESENCE).await?;
        let mark = lease.and_then(|lease| lease.annotations().get(MARK_ANNOTATION)?.parse().ok());
        let place = format!("the Lease {namespace}/{PRESENCE}");
        found.extend(mark.map(|mark: Mark| Found { place, mark }));
    }
    Ok(found)
}
