//! A communicator under the eyes of the witness: what is advertised through it is noted, everything else passes.

use std::sync::{Arc, Mutex, PoisonError};

use rear_agent_sdk::communicator::{
    Advertisement, AdvertisementAnswer, AdvertisementRequest, Answering, BrokerCommunicator,
    DryRun, EventId, EventStream, Level, Reservation, ReservationRequest, Role, Wait,
};
use rear_agent_sdk::{HttpCommunicator, Intent};
use rear_engine::{ClusterId, Timestamp};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::report::Operation;
use crate::witness::Witness;

pub(crate) struct Watched {
    inner: HttpCommunicator,
    witness: Arc<Witness>,
    /// Given to the next who waits to start, once this one has advertised.
    starting: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Watched {
    pub(crate) fn new(
        inner: HttpCommunicator,
        witness: Arc<Witness>,
        starting: OwnedSemaphorePermit,
    ) -> Self {
        Self { inner, witness, starting: Mutex::new(Some(starting)) }
    }

    fn has_started(&self) {
        drop(self.starting.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl BrokerCommunicator for Watched {
    fn ping(&self) -> Answering<'_, ()> {
        self.inner.ping()
    }

    fn publish<'a>(
        &'a self,
        advertisement: &'a AdvertisementRequest,
    ) -> Answering<'a, AdvertisementAnswer> {
        Box::pin(async move {
            let start = Instant::now();
            self.witness.offers(advertisement);
            let answer = self.inner.publish(advertisement).await?;
            self.witness.offered(advertisement);
            self.witness.took(Operation::Publish, start.elapsed());
            self.has_started();
            Ok(answer)
        })
    }

    fn advertisement<'a>(&'a self, cluster: &'a ClusterId) -> Answering<'a, Option<Advertisement>> {
        self.inner.advertisement(cluster)
    }

    fn reserve<'a>(
        &'a self,
        request: &'a ReservationRequest,
        intent: &'a Intent,
    ) -> Answering<'a, Reservation> {
        self.inner.reserve(request, intent)
    }

    fn dry_run<'a>(&'a self, request: &'a ReservationRequest) -> Answering<'a, DryRun> {
        self.inner.dry_run(request)
    }

    fn reservations(&self, role: Role) -> Answering<'_, Vec<Reservation>> {
        self.inner.reservations(role)
    }

    fn reservation<'a>(&'a self, id: &'a str) -> Answering<'a, Reservation> {
        self.inner.reservation(id)
    }

    fn activate<'a>(&'a self, id: &'a str) -> Answering<'a, Reservation> {
        self.inner.activate(id)
    }

    fn renew<'a>(&'a self, id: &'a str, until: Timestamp) -> Answering<'a, Reservation> {
        self.inner.renew(id, until)
    }

    fn reject<'a>(&'a self, id: &'a str, reason: &'a str) -> Answering<'a, Reservation> {
        self.inner.reject(id, reason)
    }

    fn release<'a>(&'a self, id: &'a str) -> Answering<'a, Reservation> {
        self.inner.release(id)
    }

    fn instructions(&self, role: Role, wait: Option<Wait>) -> Answering<'_, Level> {
        self.inner.instructions(role, wait)
    }

    fn events(&self, after: Option<EventId>) -> Answering<'_, Box<dyn EventStream>> {
        self.inner.events(after)
    }

    fn close(&self) {
        self.inner.close();
    }
}
