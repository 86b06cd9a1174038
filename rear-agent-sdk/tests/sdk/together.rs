//! Two agents that start in the same moment: both see the same epoch before either has published.

use std::sync::Arc;

use rear_agent_sdk::communicator::{
    Advertisement, AdvertisementAnswer, AdvertisementRequest, Answering, BrokerCommunicator,
    ClusterId, DryRun, EventId, EventStream, Intent, Level, Reservation, ReservationRequest, Role,
    Timestamp, Wait,
};
use tokio::sync::{Barrier, OnceCell};

/// Waits for the other after the first look; everything else passes.
pub(crate) struct Together {
    pub(crate) broker: Arc<dyn BrokerCommunicator>,
    pub(crate) other: Arc<Barrier>,
    pub(crate) looked: OnceCell<()>,
}

impl BrokerCommunicator for Together {
    fn advertisement<'a>(&'a self, cluster: &'a ClusterId) -> Answering<'a, Option<Advertisement>> {
        Box::pin(async move {
            let shown = self.broker.advertisement(cluster).await?;
            let waited = self.looked.get_or_init(|| async {
                self.other.wait().await;
            });
            waited.await;
            Ok(shown)
        })
    }

    fn ping(&self) -> Answering<'_, ()> {
        self.broker.ping()
    }

    fn publish<'a>(
        &'a self,
        advertisement: &'a AdvertisementRequest,
    ) -> Answering<'a, AdvertisementAnswer> {
        self.broker.publish(advertisement)
    }

    fn reserve<'a>(
        &'a self,
        request: &'a ReservationRequest,
        intent: &'a Intent,
    ) -> Answering<'a, Reservation> {
        self.broker.reserve(request, intent)
    }

    fn dry_run<'a>(&'a self, request: &'a ReservationRequest) -> Answering<'a, DryRun> {
        self.broker.dry_run(request)
    }

    fn reservations(&self, role: Role) -> Answering<'_, Vec<Reservation>> {
        self.broker.reservations(role)
    }

    fn reservation<'a>(&'a self, id: &'a str) -> Answering<'a, Reservation> {
        self.broker.reservation(id)
    }

    fn activate<'a>(&'a self, id: &'a str) -> Answering<'a, Reservation> {
        self.broker.activate(id)
    }

    fn renew<'a>(&'a self, id: &'a str, until: Timestamp) -> Answering<'a, Reservation> {
        self.broker.renew(id, until)
    }

    fn reject<'a>(&'a self, id: &'a str, reason: &'a str) -> Answering<'a, Reservation> {
        self.broker.reject(id, reason)
    }

    fn release<'a>(&'a self, id: &'a str) -> Answering<'a, Reservation> {
        self.broker.release(id)
    }

    fn instructions(&self, role: Role, wait: Option<Wait>) -> Answering<'_, Level> {
        self.broker.instructions(role, wait)
    }

    fn events(&self, after: Option<EventId>) -> Answering<'_, Box<dyn EventStream>> {
        self.broker.events(after)
    }

    fn close(&self) {
        self.broker.close();
    }
}
