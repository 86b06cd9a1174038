//! The tasks that listen: a watch tells of each entry at once, and a look at the head now and then tells when it does not.

use std::sync::Arc;
use std::time::Duration;

use etcd_client::{Client, EventType, WatchOptions};
use tokio::time::{Instant, sleep};

use super::hub::Hub;

/// How often the head is looked at: often enough to notice within a second or two that etcd is away.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How often the leader is looked for: it stays for days, and who does not know the present one is only slower.
const LOOK_FOR_LEADER_EVERY: Duration = Duration::from_secs(5);

/// Before a watch that ended begins again.
const PAUSE: Duration = Duration::from_millis(200);

/// Looks at the head for ever.
pub(super) async fn look(hub: Arc<Hub>) {
    loop {
        look_once(&hub).await;
        sleep(LOOK_EVERY).await;
    }
}

/// Keeps an eye on who the leader is for ever.
pub(super) async fn look_for_leader(hub: Arc<Hub>) {
    loop {
        hub.remote.find_leader().await;
        sleep(LOOK_FOR_LEADER_EVERY).await;
    }
}

/// Looks at the head once, and says where etcd is then; `None` where nobody answers.
pub(super) async fn look_once(hub: &Hub) -> Option<i64> {
    let (asked, applied) = (Instant::now(), hub.applied());
    match hub.remote.head().await {
        Ok((head, revision)) => {
            // A journal that is another one is told by everything that is refused because of it.
            drop(hub.see(asked, &applied, head.as_ref()));
            Some(revision)
        }
        Err(error) => {
            hub.miss(&error);
            None
        }
    }
}

/// Listens for entries for ever.
pub(super) async fn listen(hub: Arc<Hub>) {
    loop {
        if let Some(revision) = look_once(&hub).await {
            listen_from(&hub, revision + 1).await;
        }
        sleep(PAUSE).await;
    }
}

/// Until the stream ends: what was missed is found by the next look.
async fn listen_from(hub: &Hub, revision: i64) {
    let options = WatchOptions::new().with_prefix().with_start_revision(revision);
    let prefix = hub.remote.keys.entries();
    let watched =
        hub.remote
            .once(|client: Client| async move {
                client.watch_client().watch(prefix, Some(options)).await
            })
            .await;
    let Ok(mut stream) = watched else { return };
    while let Ok(Some(message)) = stream.message().await {
        if message.canceled() {
            return;
        }
        for event in message.events() {
            let Some(kept) = event.kv().filter(|_| event.event_type() == EventType::Put) else {
                continue;
            };
            if let Some(position) = hub.remote.keys.position_of(kept.key()) {
                hub.hear(position, kept.value());
            }
        }
    }
}
