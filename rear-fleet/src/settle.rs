//! The end of a fleet: everything is compared, with the broker's own books too.

use std::sync::Arc;
use std::time::Duration;

use rear_agent_sdk::communicator::Advertisement;
use rear_engine::Resources;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::cluster::Cluster;
use crate::demand::Asking;
use crate::witness::{Broken, Witness};

/// How often it is looked.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Questions at once: the broker should be busy, and nobody be late.
const AT_ONCE: usize = 64;

type Clusters = [(Arc<Cluster>, Asking)];

/// Waits until all sides agree; what does not is a broken promise.
pub(crate) async fn agree(witness: &Witness, clusters: &Clusters, patience: Duration) {
    let deadline = Instant::now() + patience;
    loop {
        let mut differ = witness.disagreements();
        if differ.is_empty() || Instant::now() >= deadline {
            differ.extend(ledgers(witness, clusters).await);
        }
        if differ.is_empty() {
            return;
        }
        if Instant::now() >= deadline {
            witness.found(differ);
            return;
        }
        sleep(LOOK_EVERY).await;
    }
}

/// Where the broker's ledger is not the sum of what it has promised.
async fn ledgers(witness: &Witness, clusters: &Clusters) -> Vec<Broken> {
    let mut differ = Vec::new();
    for some in clusters.chunks(AT_ONCE) {
        let mut asking = JoinSet::new();
        for (cluster, asking_for) in some {
            let (cluster, mut asking_for) = (cluster.clone(), asking_for.clone());
            asking.spawn(async move {
                let id = &cluster.id;
                let look = |broker: Arc<dyn rear_agent_sdk::BrokerCommunicator>| async move {
                    broker.advertisement(id).await
                };
                let shown = asking_for.until_answered("look", look).await.flatten();
                (id.to_string(), shown)
            });
        }
        while let Some(answer) = asking.join_next().await {
            let Ok((cluster, Some(shown))) = answer else { continue };
            let (ledger, promised) = (reserved(&shown), witness.promised_on(&cluster));
            if ledger != promised {
                differ.push(Broken::LedgerDiffers { cluster, ledger, promised });
            }
        }
    }
    differ
}

fn reserved(shown: &Advertisement) -> Resources {
    let reserved = shown.resources.reserved.as_ref();
    reserved.and_then(|list| list.resources().ok()).unwrap_or_default()
}

/// Releases every promise that lives.
pub(crate) async fn give_back(witness: &Witness, clusters: &Clusters) {
    let live = witness.live();
    for some in live.chunks(AT_ONCE) {
        let mut releasing = JoinSet::new();
        for (requester, id) in some {
            let whose = clusters.iter().find(|(cluster, _)| cluster.id.as_str() == requester);
            let Some((_, asking)) = whose else { continue };
            let (mut asking, id) = (asking.clone(), id.clone());
            releasing.spawn(async move { asking.release(&id).await });
        }
        while releasing.join_next().await.is_some() {}
    }
}
