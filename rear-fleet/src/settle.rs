//! The end of a fleet: everything is compared, with the broker's own books too.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use rear_agent_sdk::communicator::Advertisement;
use rear_engine::Resources;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::cluster::Cluster;
use crate::demand::Asking;
use crate::witness::{Broken, Witness};

/// How often it is looked.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Questions at once: the broker should be busy, and nobody be late.
const AT_ONCE: usize = 64;

/// For one look at the ledger: a broker that does not answer by then does not answer.
const LOOK_DEADLINE: Duration = Duration::from_secs(10);

type Clusters = [(Arc<Cluster>, Asking)];

/// Waits until all sides agree; what does not is a broken promise. Whether the broker answers.
pub(crate) async fn agree(witness: &Witness, clusters: &Clusters, patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    loop {
        let mut differ = witness.disagreements();
        if differ.is_empty() || Instant::now() >= deadline {
            differ.extend(ledgers(witness, clusters).await);
        }
        if differ.is_empty() {
            return true;
        }
        if Instant::now() >= deadline {
            let answers = !differ.contains(&Broken::NoAnswer);
            witness.found(differ);
            return answers;
        }
        sleep(LOOK_EVERY).await;
    }
}

/// Whether all sides agree at this moment.
pub(crate) async fn agrees(witness: &Witness, clusters: &Clusters) -> bool {
    witness.disagreements().is_empty() && ledgers(witness, clusters).await.is_empty()
}

/// Where the broker's ledger is not the sum of what it has promised; who is not answered in time ends it.
async fn ledgers(witness: &Witness, clusters: &Clusters) -> Vec<Broken> {
    let mut differ = Vec::new();
    for some in clusters.chunks(AT_ONCE) {
        let mut looking: JoinSet<_> = some.iter().map(|(it, asking)| look(it, asking)).collect();
        while let Some(seen) = looking.join_next().await {
            match seen.ok().flatten() {
                Some((cluster, ledger)) if ledger != witness.promised_on(&cluster) => {
                    let promised = witness.promised_on(&cluster);
                    differ.push(Broken::LedgerDiffers { cluster, ledger, promised });
                }
                Some(_) => {}
                None => {
                    differ.push(Broken::NoAnswer);
                    return differ;
                }
            }
        }
    }
    differ
}

/// What the broker says is reserved on a cluster.
fn look(
    cluster: &Arc<Cluster>,
    asking: &Asking,
) -> impl Future<Output = Option<(String, Resources)>> + Send + 'static {
    let (cluster, mut asking) = (cluster.clone(), asking.clone());
    async move {
        let id = &cluster.id;
        let asked = asking.once(|broker| async move { broker.advertisement(id).await });
        let shown = timeout(LOOK_DEADLINE, asked).await.ok()?.ok()?;
        Some((id.to_string(), shown.as_ref().map(reserved).unwrap_or_default()))
    }
}

fn reserved(shown: &Advertisement) -> Resources {
    let reserved = shown.resources.reserved.as_ref();
    reserved.and_then(|list| list.resources().ok()).unwrap_or_default()
}

/// Releases every promise that lives.
pub(crate) async fn give_back(witness: &Witness, clusters: &Clusters) {
    release(clusters, &witness.live()).await;
}

/// Releases promises: who was promised, and which.
pub(crate) async fn release(clusters: &Clusters, promises: &[(String, String)]) {
    for some in promises.chunks(AT_ONCE) {
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
