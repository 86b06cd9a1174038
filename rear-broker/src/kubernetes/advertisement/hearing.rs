//! Takes what clusters have written, whatever the watch has told: one list for all who need it at the same time.

use std::sync::atomic::{AtomicU64, Ordering};

use kube::Api;
use kube::api::ListParams;
use kube::core::DeserializeGuard;
use rear_api::resources::ClusterAdvertisement as Object;
use tokio::sync::Mutex;

use super::super::TryAgain;
use super::super::desk::Desk;
use super::super::shelf::Place;
use super::{cluster_of, hear};

/// Who has asked for a list, and how many of them have been served by one that began after they asked.
#[derive(Debug, Default)]
pub(crate) struct Hearing {
    asked: AtomicU64,
    heard: Mutex<u64>,
}

/// Takes everything that has been written by now.
pub(crate) async fn hear_all(desk: &Desk) -> Result<(), TryAgain> {
    let number = desk.hearing.asked.fetch_add(1, Ordering::SeqCst) + 1;
    let mut heard = desk.hearing.heard.lock().await;
    if *heard >= number {
        return Ok(());
    }
    let all_who_wait = desk.hearing.asked.load(Ordering::SeqCst);
    let api = Api::<DeserializeGuard<Object>>::all(desk.client.clone());
    let all = api.list(&ListParams::default()).await?;
    // The watch tells of those that cannot be read.
    for object in all.items.into_iter().filter_map(|object| object.0.ok()) {
        if let Some(cluster) = cluster_of(&object) {
            hear(desk, &cluster, &Place::of(&object), &object).await?;
        }
    }
    *heard = all_who_wait;
    Ok(())
}
