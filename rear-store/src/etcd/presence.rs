//! Who is there: each broker holds a key as long as its lease lives, and says which entries it can read.

use std::sync::Arc;
use std::time::Duration;

use etcd_client::{Client, GetOptions, PutOptions};
use tokio::time::sleep;

use super::hub::Hub;
use super::remote::{Remote, Trouble, get};
use crate::records::entry::SCHEMA;

/// Who is not heard of for so long is not there, in seconds.
const LEASE: i64 = 10;

/// How often a broker says that it is there.
const EVERY: Duration = Duration::from_secs(3);

/// Another broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Other {
    /// The newest entries that it can read.
    pub(super) reads: u8,
    /// Whether its clock was believed.
    pub(super) settled: bool,
}

/// Says that this broker is there, and looks who else is, for ever.
pub(super) async fn stay(hub: Arc<Hub>, broker: u128, lease: Arc<tokio::sync::Mutex<i64>>) {
    loop {
        // What does not succeed is tried again: others take the broker for gone meanwhile, which harms nobody.
        let _ = say(&hub, broker, &lease).await;
        if let Ok(others) = others(&hub.remote, broker).await {
            hub.note_others(&others);
        }
        sleep(EVERY).await;
    }
}

/// Keeps the lease, or takes a new one, and says how this broker is.
pub(super) async fn say(
    hub: &Hub,
    broker: u128,
    lease: &tokio::sync::Mutex<i64>,
) -> Result<(), Trouble> {
    let remote = &hub.remote;
    let mut lease = lease.lock().await;
    if *lease == 0 || !keep(remote, *lease).await {
        let granted =
            remote.once(|mut client: Client| async move { client.lease_grant(LEASE, None).await });
        *lease = granted.await?.id();
    }
    let (key, options) = (remote.keys.broker(broker), PutOptions::new().with_lease(*lease));
    let said = [SCHEMA, u8::from(hub.is_settled())];
    let put =
        remote.once(|mut client: Client| async move { client.put(key, said, Some(options)).await });
    put.await.map(drop)
}

async fn keep(remote: &Remote, lease: i64) -> bool {
    let kept = remote.once(|mut client: Client| async move {
        let (mut keeper, mut stream) = client.lease_keep_alive(lease).await?;
        keeper.keep_alive().await?;
        stream.message().await
    });
    matches!(kept.await, Ok(Some(answer)) if answer.ttl() > 0)
}

/// The other brokers.
pub(super) async fn others(remote: &Remote, broker: u128) -> Result<Vec<Other>, Trouble> {
    let (prefix, own) = (remote.keys.brokers(), remote.keys.broker(broker));
    let options = GetOptions::new().with_prefix();
    let answer = remote.each(|client| get(client, prefix.clone(), Some(options.clone()))).await?;
    let others = answer.kvs().iter().filter(|kept| kept.key() != own.as_bytes());
    let other = |said: &[u8]| Other {
        reads: said.first().copied().unwrap_or(0),
        settled: said.get(1).is_some_and(|settled| *settled == 1),
    };
    Ok(others.map(|kept| other(kept.value())).collect())
}

/// Leaves at once: nobody has to wait for the lease to run out.
pub(super) async fn leave(remote: &Remote, lease: i64) {
    if lease != 0 {
        // If that is not heard, the lease runs out.
        let _ =
            remote.once(|mut client: Client| async move { client.lease_revoke(lease).await }).await;
    }
}
