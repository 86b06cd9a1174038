//! Who is there: each broker holds a key as long as its lease lives, and says which entries it can read.

use std::sync::Arc;
use std::time::Duration;

use etcd_client::{Client, GetOptions, PutOptions};
use tokio::time::sleep;

use super::hub::Hub;
use super::remote::{Remote, Trouble, get};
use crate::records::entry::SCHEMA;
use crate::shared::agreed_schema;

/// Who is not heard of for so long is not there, in seconds.
const LEASE: i64 = 10;

/// How often a broker says that it is there.
const EVERY: Duration = Duration::from_secs(3);

/// Says that this broker is there, and looks who else is, for ever.
pub(super) async fn stay(hub: Arc<Hub>, broker: u128, lease: Arc<tokio::sync::Mutex<i64>>) {
    loop {
        // What does not succeed is tried again: others take the broker for gone meanwhile, which harms nobody.
        let _ = say(&hub.remote, broker, &lease).await;
        if let Ok(others) = others(&hub.remote, broker).await {
            let schema = agreed_schema(SCHEMA, others.iter().copied());
            hub.note_brokers(others.len() + 1, schema);
        }
        sleep(EVERY).await;
    }
}

/// Keeps the lease, or takes a new one.
pub(super) async fn say(
    remote: &Remote,
    broker: u128,
    lease: &tokio::sync::Mutex<i64>,
) -> Result<(), Trouble> {
    let mut lease = lease.lock().await;
    if *lease != 0 && keep(remote, *lease).await {
        return Ok(());
    }
    let granted =
        remote.once(|mut client: Client| async move { client.lease_grant(LEASE, None).await });
    let id = granted.await?.id();
    let key = remote.keys.broker(broker);
    let put = remote.once(|mut client: Client| async move {
        client.put(key, [SCHEMA], Some(PutOptions::new().with_lease(id))).await
    });
    put.await?;
    *lease = id;
    Ok(())
}

async fn keep(remote: &Remote, lease: i64) -> bool {
    let kept = remote.once(|mut client: Client| async move {
        let (mut keeper, mut stream) = client.lease_keep_alive(lease).await?;
        keeper.keep_alive().await?;
        stream.message().await
    });
    matches!(kept.await, Ok(Some(answer)) if answer.ttl() > 0)
}

/// The newest entries that each of the others can read.
pub(super) async fn others(remote: &Remote, broker: u128) -> Result<Vec<u8>, Trouble> {
    let (prefix, own) = (remote.keys.brokers(), remote.keys.broker(broker));
    let options = GetOptions::new().with_prefix();
    let answer = remote.each(|client| get(client, prefix.clone(), Some(options.clone()))).await?;
    let others = answer.kvs().iter().filter(|kept| kept.key() != own.as_bytes());
    Ok(others.map(|kept| kept.value().first().copied().unwrap_or(0)).collect())
}

/// Leaves at once: nobody has to wait for the lease to run out.
pub(super) async fn leave(remote: &Remote, lease: i64) {
    if lease != 0 {
        // If that is not heard, the lease runs out.
        let _ =
            remote.once(|mut client: Client| async move { client.lease_revoke(lease).await }).await;
    }
}
