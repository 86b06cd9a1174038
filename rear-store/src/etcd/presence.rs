//! Who is there: each broker holds a key as long as its lease lives, and says which entries it can read.

use std::sync::Arc;
use std::time::Duration;

use etcd_client::{Client, GetOptions, PutOptions};
use tokio::time::sleep;

use super::hub::Hub;
use super::remote::{Remote, Trouble, get};
use crate::records::entry::SCHEMA;
use crate::records::handed::DoorRecord;

/// Who is not heard of for so long is not there, in seconds.
const LEASE: i64 = 10;

/// How often a broker says that it is there.
const EVERY: Duration = Duration::from_secs(3);

/// Another broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Other {
    /// The number that it drew.
    pub(super) broker: u128,
    /// The newest entries that it can read.
    pub(super) reads: u8,
    /// Whether its clock was believed.
    pub(super) settled: bool,
    /// Where it takes in what others hand over.
    pub(super) door: Option<DoorRecord>,
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
    let mut said = vec![SCHEMA, u8::from(hub.is_settled())];
    // One that cannot be written down is not there for others.
    said.extend(hub.door().and_then(|door| door.seal().ok()).unwrap_or_default());
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
    Ok(others.map(|kept| other(remote.keys.broker_of(kept.key()), kept.value())).collect())
}

/// What another broker says of itself. A door of a shape that is not known is none.
fn other(broker: u128, said: &[u8]) -> Other {
    Other {
        broker,
        reads: said.first().copied().unwrap_or(0),
        settled: said.get(1).is_some_and(|settled| *settled == 1),
        door: said.get(2..).and_then(|door| DoorRecord::open(door).ok()),
    }
}

/// Leaves at once: nobody has to wait for the lease to run out.
pub(super) async fn leave(remote: &Remote, lease: i64) {
    if lease != 0 {
        // If that is not heard, the lease runs out.
        let _ =
            remote.once(|mut client: Client| async move { client.lease_revoke(lease).await }).await;
    }
}
