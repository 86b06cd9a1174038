//! Places for connections: so many at once, the last of which are for those who have few.

use std::sync::Arc;

use rear_engine::ClusterId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::tally::{Taken, Tally};

/// Whoever has no more connections than this may have one of the last places: an agent needs two or three.
const FEW: usize = 64;

/// So much of the places is kept for those: a quarter.
const LAST: usize = 4;

/// The places of a listener.
#[derive(Debug)]
pub struct Places {
    free: Arc<Semaphore>,
    last: usize,
    callers: Arc<Tally<Holder>>,
}

/// The name in a certificate; those without one count together.
type Holder = Option<ClusterId>;

/// A place that a connection has.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    _free: OwnedSemaphorePermit,
    /// Who has it, once that is known.
    taken: Option<Taken<Holder>>,
}

impl Places {
    /// So many.
    #[must_use]
    pub fn new(many: usize) -> Arc<Self> {
        let free = Arc::new(Semaphore::new(many));
        Arc::new(Self { free, last: many / LAST, callers: Arc::default() })
    }

    /// A place for whoever comes; none if all are taken.
    pub(super) fn take(self: &Arc<Self>) -> Option<Place> {
        let free = self.free.clone().try_acquire_owned().ok()?;
        Some(Place { places: self.clone(), _free: free, taken: None })
    }
}

impl Place {
    /// Whether this caller may keep it: not one of the last, with many already.
    pub(super) fn belongs_to(&mut self, caller: Option<&ClusterId>) -> bool {
        let taken = self.places.callers.take(caller.cloned());
        let is_few = taken.own <= FEW;
        self.taken = Some(taken);
        is_few || self.places.free.available_permits() >= self.places.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(name: &str) -> ClusterId {
        name.parse().unwrap()
    }

    /// Places that a caller gets until one is refused.
    fn fill(places: &Arc<Places>, caller: Option<&ClusterId>) -> Vec<Place> {
        let mut held = Vec::new();
        while let Some(mut place) = places.take() {
            if !place.belongs_to(caller) {
                break;
            }
            held.push(place);
        }
        held
    }

    #[test]
    fn nobody_gets_the_last_places_who_has_many() {
        let places = Places::new(1000);
        let greedy = fill(&places, Some(&cluster("greedy")));
        assert_eq!(greedy.len(), 750);
        assert_eq!(fill(&places, None).len(), FEW, "nor those without a name together");
        let polite: Vec<_> = (0..100).map(|n| fill_one(&places, &format!("c{n}"))).collect();
        assert!(polite.iter().all(Option::is_some));
        drop(greedy);
        assert_eq!(fill(&places, Some(&cluster("greedy"))).len(), 650);
    }

    fn fill_one(places: &Arc<Places>, name: &str) -> Option<Place> {
        let mut place = places.take()?;
        place.belongs_to(Some(&cluster(name))).then_some(place)
    }

    #[test]
    fn a_place_that_is_given_back_is_free_again() {
        let places = Places::new(10);
        drop(fill(&places, Some(&cluster("rome"))));
        drop(places.take());
        assert_eq!(places.callers.take(Some(cluster("rome"))).own, 1);
        assert_eq!(places.free.available_permits(), 10);
    }

    #[test]
    fn a_full_house_has_no_place() {
        let places = Places::new(2);
        let held = [places.take().unwrap(), places.take().unwrap()];
        assert!(places.take().is_none());
        drop(held);
        assert!(places.take().is_some());
    }
}
