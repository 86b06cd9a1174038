//! What happens to the cluster's reservations, from the objects in its namespace: each state once, the oldest first.

use std::collections::{BTreeMap, VecDeque};

use kube::ResourceExt;
use rear_api::event::{EventData, EventName};
use rear_api::resources::Reservation;
use tokio::sync::watch;

use super::mirror::Contents;
use super::operations::mark_of;
use super::sides::{Namespace, concerns, shown};
use super::{DEADLINE, KubernetesCommunicator, is_closed};
use crate::communicator::{
    Answering, BrokerEvent, ClusterId, EventId, EventStream, Position, Role,
};
use crate::error::Error;

/// States of objects, one after the other.
struct States {
    contents: watch::Receiver<Contents>,
    closed: watch::Receiver<bool>,
    cluster: ClusterId,
    namespace: Namespace,
    /// The last state of each object that was told, by its name.
    told: BTreeMap<String, Position>,
    waiting: VecDeque<BrokerEvent>,
}

/// From the state after an event that was seen, else from now on.
pub(super) async fn open(
    broker: &KubernetesCommunicator,
    after: Option<EventId>,
) -> Result<Box<dyn EventStream>, Error> {
    let presence = broker.present().await?;
    if after.is_some_and(|after| after.position.incarnation != presence.position.incarnation) {
        return Err(Error::Restored);
    }
    let (objects, _) = broker.all_reservations().await?;
    let mut states = States {
        contents: broker.contents().await,
        closed: broker.closed.subscribe(),
        cluster: broker.cluster.clone(),
        namespace: presence.namespace,
        told: BTreeMap::new(),
        waiting: VecDeque::new(),
    };
    let mut news: Vec<&Reservation> = Vec::new();
    for object in &objects {
        let Some(position) = mark_of(object) else { continue };
        match after {
            Some(after) if position > after.position => news.push(object),
            _ => drop(states.told.insert(object.name_any(), position)),
        }
    }
    states.take(news);
    Ok(Box::new(states))
}

impl States {
    /// Queues what is new, the oldest first.
    fn take<'a>(&mut self, objects: impl IntoIterator<Item = &'a Reservation>) {
        let mut news: Vec<BrokerEvent> = Vec::new();
        for object in objects {
            let Some(position) = mark_of(object) else { continue };
            let name = object.name_any();
            if self.told.get(&name).is_some_and(|told| *told >= position) {
                continue;
            }
            self.told.insert(name, position);
            news.extend(self.event(object, position));
        }
        news.sort_by_key(|event| event.id);
        self.waiting.extend(news);
    }

    fn event(&self, object: &Reservation, position: Position) -> Option<BrokerEvent> {
        let is_side = |role: &Role| concerns(object, &self.cluster, *role, self.namespace);
        let role = Role::ALL.into_iter().find(is_side)?;
        let reservation = shown(object, &self.cluster, role)?;
        let at = object.status.as_ref().and_then(|status| status.last_update_time.clone());
        let data = EventData {
            at: at.unwrap_or_default(),
            reason: None,
            by: None,
            cluster_id: None,
            advertisement: None,
            reservation: Some(reservation),
        };
        let id = EventId { position, place: 0 };
        Some(BrokerEvent::new(id, EventName::Reservation.name().to_owned(), data))
    }

    async fn following(&mut self) -> Result<Option<BrokerEvent>, Error> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Ok(Some(event));
            }
            let objects: Vec<_> =
                self.contents.borrow_and_update().reservations.values().cloned().collect();
            self.take(objects.iter().map(AsRef::as_ref));
            if !self.waiting.is_empty() {
                continue;
            }
            tokio::select! {
                changed = self.contents.changed() => if changed.is_err() { return Ok(None) },
                () = is_closed(&mut self.closed) => return Err(Error::Closed),
                // A stream that has nothing to tell for long ends, and is opened again behind its last event.
                () = tokio::time::sleep(DEADLINE) => return Ok(None),
            }
        }
    }
}

impl EventStream for States {
    fn next(&mut self) -> Answering<'_, Option<BrokerEvent>> {
        Box::pin(self.following())
    }
}
