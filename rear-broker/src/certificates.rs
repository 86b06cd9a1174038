//! Until when the certificates count that clusters have shown lately: someone should look before they are shut out.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rear_engine::ClusterId;

use crate::identity::Validity;

/// Clusters that are remembered: as many as a broker of this size has, and no more if an authority signs for everyone.
const MAX_REMEMBERED: usize = 100_000;

/// A certificate is renewed this long before its end, in seconds, or someone should look.
const SOON: i64 = 14 * 24 * 60 * 60;

/// The certificates of clusters.
#[derive(Debug, Default)]
pub struct Certificates(Mutex<HashMap<ClusterId, Validity>>);

impl Validity {
    /// Whether it ends soon: in two weeks, or in the last third of a shorter life.
    #[must_use]
    pub fn ends_soon(self, now: i64) -> bool {
        self.until - now < SOON.min((self.until - self.from) / 3)
    }
}

impl Certificates {
    /// A cluster showed this one.
    pub fn shown(&self, cluster: &ClusterId, validity: Validity) {
        let mut known = self.known();
        if let Some(last) = known.get_mut(cluster) {
            *last = validity;
        } else if known.len() < MAX_REMEMBERED {
            known.insert(cluster.clone(), validity);
        }
    }

    /// Those that end soon, the first end first.
    #[must_use]
    pub fn ending_soon(&self, now: i64) -> Vec<ClusterId> {
        let known = self.known();
        let soon = known.iter().filter(|(_, validity)| validity.ends_soon(now));
        let mut soon: Vec<_> = soon.map(|(cluster, validity)| (validity.until, cluster)).collect();
        soon.sort_unstable();
        soon.into_iter().map(|(_, cluster)| cluster.clone()).collect()
    }

    /// Keeps only those of clusters for which this says so.
    pub fn retain(&self, is_known: impl Fn(&ClusterId) -> bool) {
        self.known().retain(|cluster, _| is_known(cluster));
    }

    fn known(&self) -> MutexGuard<'_, HashMap<ClusterId, Validity>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 24 * 60 * 60;

    fn id(name: &str) -> ClusterId {
        name.parse().unwrap()
    }

    #[test]
    fn a_certificate_ends_soon_in_its_last_two_weeks_or_the_last_third_of_a_short_life() {
        let year = Validity { from: 0, until: 365 * DAY };
        assert_eq!([350, 352].map(|day| year.ends_soon(day * DAY)), [false, true]);
        let day = Validity { from: 0, until: DAY };
        assert_eq!([15, 17, 25].map(|hour| day.ends_soon(hour * 3600)), [false, true, true]);
        let later = Validity { from: 99 * DAY, until: 100 * DAY };
        assert_eq!([15, 17].map(|hour| later.ends_soon(99 * DAY + hour * 3600)), [false, true]);
    }

    #[test]
    fn the_last_certificate_of_a_cluster_counts() {
        let certificates = Certificates::default();
        certificates.shown(&id("rome"), Validity { from: 0, until: 100 * DAY });
        certificates.shown(&id("paris"), Validity { from: 0, until: 99 * DAY });
        assert_eq!(certificates.ending_soon(95 * DAY), [id("paris"), id("rome")]);
        certificates.shown(&id("rome"), Validity { from: 94 * DAY, until: 200 * DAY });
        assert_eq!(certificates.ending_soon(95 * DAY), [id("paris")]);
        certificates.retain(|cluster| *cluster != id("paris"));
        assert_eq!(certificates.ending_soon(95 * DAY), []);
    }
}
