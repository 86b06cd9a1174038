//! Watches over the promises of a broker from outside: what was offered, asked, granted, told to each side and given
//! back, as the clusters of one process saw it. It knows nothing of how the broker decides.
//!
//! Requests overlap, so that the order in which a broker took them is not known. Each check therefore counts only what
//! is sure: a promise is *surely live* from its answer until someone asks to end it, and an offer *may be in force* from
//! when it is sent until a later one was answered. What is reported is then broken in every possible order.

mod broken;
mod offers;
mod promise;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rear_agent_sdk::communicator::{AdvertisementRequest, Reservation, ReservationRequest, Role};
use rear_engine::{ClusterId, Resources};
use tokio::time::Instant;

use crate::report::{Operation, Report};
pub use broken::{Broken, Side};
use offers::Offers;
use promise::Promise;

/// Broken promises that are kept in full; of more, only the number: the first ones tell what is wrong.
const MAX_BROKEN: usize = 1000;

/// An ended promise is remembered this long: instructions from before its end may still be on their way.
const REMEMBER_ENDED: Duration = Duration::from_mins(2);

#[derive(Default)]
pub(crate) struct Witness(Mutex<State>);

/// A request for capacity on its way.
pub(crate) struct Asking(Arc<Witness>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.lock().asking -= 1;
    }
}

#[derive(Default)]
struct State {
    offers: HashMap<String, Offers>,
    promises: HashMap<String, Promise>,
    /// The ids of the promises on each provider.
    on: HashMap<String, HashSet<String>>,
    gave_up: usize,
    /// Requests for capacity that have no answer yet.
    asking: usize,
    report: Report,
}

impl Witness {
    /// An advertisement is about to be sent.
    pub(crate) fn offers(&self, told: &AdvertisementRequest) {
        let now = Instant::now();
        self.lock().offers.entry(told.cluster_id.clone()).or_default().sent(told, now);
    }

    /// An advertisement was answered: those before it no longer count.
    pub(crate) fn offered(&self, told: &AdvertisementRequest) {
        let now = Instant::now();
        self.lock().offers.entry(told.cluster_id.clone()).or_default().answered(told, now);
    }

    /// How many clusters have advertised.
    pub(crate) fn advertised(&self) -> usize {
        self.lock().offers.values().filter(|offers| offers.has_answer()).count()
    }

    /// An agent has ended that was not told to.
    pub(crate) fn gives_up(&self, what: String) {
        let state = &mut *self.lock();
        state.gave_up += 1;
        state.report.failed(what);
    }

    /// How many agents have ended that were not told to.
    pub(crate) fn gave_up(&self) -> usize {
        self.lock().gave_up
    }

    /// Someone asks for capacity, until there is an answer or nobody waits for it any more.
    pub(crate) fn asks(self: &Arc<Self>) -> Asking {
        self.lock().asking += 1;
        Asking(self.clone())
    }

    /// How many requests for capacity have no answer yet.
    pub(crate) fn asking(&self) -> usize {
        self.lock().asking
    }

    /// Promises whose end was asked for or has come, and that a side keeps: who was promised, and which.
    pub(crate) fn kept_after_release(&self) -> Vec<(String, String)> {
        let state = self.lock();
        let kept = state.promises.iter().filter(|(_, promise)| promise.is_kept_after_its_end());
        kept.filter_map(|(id, promise)| Some((promise.requester()?.to_owned(), id.clone())))
            .collect()
    }

    /// Changes what is only counted.
    pub(crate) fn count(&self, change: impl FnOnce(&mut Report)) {
        change(&mut self.lock().report);
    }

    pub(crate) fn took(&self, operation: Operation, took: Duration) {
        self.count(|report| report.took(operation, took));
    }

    /// A request was granted, at once or at a later attempt. Was there room, and is it what was asked for?
    pub(crate) fn granted(&self, request: &ReservationRequest, made: &Reservation, asked: Instant) {
        let now = Instant::now();
        let state = &mut *self.lock();
        let promise = state.promises.entry(made.id.clone()).or_default();
        let waits = promise.granted(made, asked, now);
        for wait in waits {
            state.report.took(Operation::Told, wait);
        }
        let granted = made.requested_resources.resources().unwrap_or_default();
        let wanted = request.requested_resources.resources().unwrap_or_default();
        if wanted != granted {
            let id = made.id.clone();
            state.found(Broken::OtherThanAsked { id, asked: wanted, granted });
        }
        let provider = &made.target_cluster_id;
        let promised = state.surely_live(provider, asked).checked_add(granted);
        let room = state.offers.get(provider).and_then(|offers| offers.most_between(asked, now));
        if let (Some(room), Some(promised)) = (room, promised)
            && promised.first_beyond(room).is_some()
        {
            let (id, provider) = (made.id.clone(), provider.clone());
            state.found(Broken::BeyondOffer { id, provider, room, promised });
        }
        state.on.entry(provider.clone()).or_default().insert(made.id.clone());
    }

    /// Someone is about to ask for a promise to end.
    pub(crate) fn ending(&self, id: &str) {
        if let Some(promise) = self.lock().promises.get_mut(id) {
            promise.ends(Instant::now());
        }
    }

    /// A side has put a promise into effect.
    pub(crate) fn told(&self, role: Role, cluster: &ClusterId, told: &Reservation) {
        let state = &mut *self.lock();
        let promise = state.promises.entry(told.id.clone()).or_default();
        match promise.told(role.into(), cluster, told, Instant::now()) {
            Ok(Some(wait)) => state.report.took(Operation::Told, wait),
            Ok(None) => {}
            Err(differs) => {
                let (id, side) = (told.id.clone(), role.into());
                state.found(Broken::SidesDiffer { id, side, differs });
            }
        }
    }

    /// A side has undone a promise.
    pub(crate) fn given_back(&self, role: Role, id: &str) {
        let state = &mut *self.lock();
        let promise = state.promises.entry(id.to_owned()).or_default();
        if !promise.given_back(role.into(), Instant::now(), rear_agent_sdk::now()) {
            state.found(Broken::TakenAway { id: id.to_owned(), side: role.into() });
        }
    }

    /// Forgets what has ended long ago.
    pub(crate) fn tidy(&self) {
        let state = &mut *self.lock();
        let now = Instant::now();
        state.expire(now);
        state.promises.retain(|_, promise| !promise.ended_for(REMEMBER_ENDED, now));
        for ids in state.on.values_mut() {
            ids.retain(|id| state.promises.contains_key(id));
        }
    }

    /// The promises that live and are not being ended: who was promised, and which.
    pub(crate) fn live(&self) -> Vec<(String, String)> {
        let state = self.lock();
        let live = state.promises.iter().filter(|(_, promise)| promise.is_live());
        live.filter_map(|(id, promise)| Some((promise.requester()?.to_owned(), id.clone())))
            .collect()
    }

    /// What is promised on a cluster.
    pub(crate) fn promised_on(&self, provider: &str) -> Resources {
        self.lock().promised_on(provider, Promise::is_live)
    }

    /// What is wrong although everything should have been told by now: nothing once all sides agree.
    pub(crate) fn disagreements(&self) -> Vec<Broken> {
        let state = &mut *self.lock();
        state.expire(Instant::now());
        state.promises.iter().flat_map(|(id, promise)| promise.disagreements(id)).collect()
    }

    pub(crate) fn found(&self, broken: impl IntoIterator<Item = Broken>) {
        let state = &mut *self.lock();
        broken.into_iter().for_each(|broken| state.found(broken));
    }

    pub(crate) fn report(&self) -> Report {
        self.lock().report.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// What was live on a provider all the time since, whatever order the broker took.
    fn surely_live(&self, provider: &str, since: Instant) -> Resources {
        self.promised_on(provider, |promise| promise.is_live_since(since))
    }

    fn promised_on(&self, provider: &str, counts: impl Fn(&Promise) -> bool) -> Resources {
        let ids = self.on.get(provider).into_iter().flatten();
        let promises = ids.filter_map(|id| self.promises.get(id)).filter(|promise| counts(promise));
        promises
            .fold(Resources::NONE, |sum, promise| sum.checked_add(promise.amounts()).unwrap_or(sum))
    }

    fn expire(&mut self, now: Instant) {
        let wall = rear_agent_sdk::now();
        self.promises.values_mut().for_each(|promise| promise.expire(now, wall));
    }

    fn found(&mut self, broken: Broken) {
        self.report.broken_count += 1;
        if self.report.broken.len() < MAX_BROKEN {
            self.report.broken.push(broken);
        }
    }
}
