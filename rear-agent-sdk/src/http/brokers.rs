//! The brokers that share one ledger: which of them is asked.
//!
//! The first is preferred. One that does not answer is left for the next, and whoever answers is stayed with, so that
//! reads follow writes. From time to time the preferred one is looked at, beside the calls, and returned to when it
//! can decide again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::{Client, Url};
use tokio::time::Instant;
use tracing::{info, warn};

use crate::communicator::Position;
use crate::error::Error;
use crate::jitter::jittered;

/// How often the preferred broker is looked at while another is asked; jittered, so that not all clients of a broker
/// that was restarted come back to it at once.
const LOOK_BACK: Duration = Duration::from_secs(30);

/// A broker that takes longer than this to say that it is ready is not one to return to.
const LOOK_DEADLINE: Duration = Duration::from_secs(2);

/// More than this is a mistake in a list: three or five brokers share a ledger.
const MAX_BROKERS: usize = 16;

pub(super) struct Brokers {
    bases: Vec<Url>,
    choice: Mutex<Choice>,
    seen: Seen,
}

/// The broker that is asked now.
struct Choice {
    asked: usize,
    look_back_at: Option<Instant>,
}

/// The newest state that was seen, on whichever broker.
type Seen = Mutex<Option<Position>>;

impl Brokers {
    /// From `https://HOST:PORT`, or several of them with commas between, the preferred one first.
    pub(super) fn parse(addresses: &str) -> Result<Arc<Self>, Error> {
        let bases = addresses.split(',').map(|address| base(address.trim()));
        let bases = bases.collect::<Result<Vec<_>, _>>()?;
        if bases.len() > MAX_BROKERS {
            return Err(Error::Address { address: addresses.to_owned() });
        }
        let choice = Mutex::new(Choice { asked: 0, look_back_at: None });
        Ok(Arc::new(Self { bases, choice, seen: Seen::default() }))
    }

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.bases.len()).unwrap_or(u32::MAX)
    }

    /// The address of something on the preferred broker: it is aimed at the one that is asked when it is sent.
    pub(super) fn url(&self, path: &[&str], query: &[(&str, &str)]) -> Url {
        let mut url = self.bases[0].clone();
        if let Ok(mut parts) = url.path_segments_mut() {
            parts.clear().extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    /// Where a link of an answer leads, if that is a broker of this ledger: a link elsewhere would carry the
    /// certificate there.
    pub(super) fn follow(&self, link: &str) -> Option<Url> {
        let url = self.bases[0].join(link).ok()?;
        self.bases.iter().any(|base| base.origin() == url.origin()).then_some(url)
    }

    /// The broker that is asked now.
    pub(super) fn asked(&self) -> (usize, &Url) {
        let asked = self.lock().asked;
        (asked, &self.bases[asked])
    }

    /// The same thing on the broker that is asked now, and which one that is.
    pub(super) fn aim(&self, url: &Url) -> (usize, Url) {
        let (asked, base) = self.asked();
        let mut aimed = base.clone();
        aimed.set_path(url.path());
        aimed.set_query(url.query());
        (asked, aimed)
    }

    /// An answer was made from this state.
    pub(super) fn saw(&self, revision: Option<Position>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = (*seen).max(revision);
    }

    /// What the next answer must not be older than, so that reads follow writes also on another broker. One broker alone
    /// never goes back.
    pub(super) fn at_least(&self) -> Option<Position> {
        let seen = *self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.filter(|_| self.bases.len() > 1)
    }

    /// The next broker is asked from now on, unless someone else has turned away already.
    pub(super) fn turn_from(&self, failed: usize, error: &Error) {
        let mut choice = self.lock();
        if !is_the_brokers(error) || choice.asked != failed || self.bases.len() == 1 {
            return;
        }
        choice.asked = (failed + 1) % self.bases.len();
        choice.look_back_at = (choice.asked != 0).then(|| Instant::now() + jittered(LOOK_BACK));
        let (left, next) = (self.bases[failed].as_str(), self.bases[choice.asked].as_str());
        warn!(%left, %next, %error, "the next broker is asked");
    }

    /// Whether an attempt that ended so should be followed at once by one on another broker, which was not asked in
    /// this round yet.
    pub(super) fn another_is_left(&self, error: &Error, attempt: u32) -> bool {
        is_the_brokers(error) && !(attempt + 1).is_multiple_of(self.count())
    }

    /// Looks at the preferred broker if it is time to, beside whatever is asked meanwhile.
    pub(super) fn look_back(self: &Arc<Self>, client: &Client) {
        if !self.look_is_due() {
            return;
        }
        let ready = client.get(self.url(&["readyz"], &[])).timeout(LOOK_DEADLINE).send();
        let brokers = Arc::clone(self);
        tokio::spawn(async move {
            if ready.await.is_ok_and(|answer| answer.status().is_success()) {
                *brokers.lock() = Choice { asked: 0, look_back_at: None };
                info!(broker = %brokers.bases[0], "the preferred broker is asked again");
            }
        });
    }

    fn look_is_due(&self) -> bool {
        let mut choice = self.lock();
        let due = choice.look_back_at.is_some_and(|at| at <= Instant::now());
        if due {
            choice.look_back_at = Some(Instant::now() + jittered(LOOK_BACK));
        }
        due
    }

    fn lock(&self) -> MutexGuard<'_, Choice> {
        self.choice.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn base(address: &str) -> Result<Url, Error> {
    let unusable = || Error::Address { address: address.to_owned() };
    let base = Url::parse(address).map_err(|_| unusable())?;
    if base.scheme() == "https" && base.has_host() { Ok(base) } else { Err(unusable()) }
}

/// Whether another broker of the same ledger may do better. A limit on requests is no such thing: it is the
/// cluster's.
fn is_the_brokers(error: &Error) -> bool {
    matches!(
        error,
        Error::Unreachable { .. }
            | Error::Interrupted { .. }
            | Error::TimedOut { .. }
            | Error::Unavailable { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late() -> Error {
        Error::TimedOut { seconds: 1 }
    }

    fn three() -> Arc<Brokers> {
        Brokers::parse("https://a:1, https://b:2,https://c:3").unwrap()
    }

    #[test]
    fn a_list_with_one_bad_address_is_refused_by_its_name() {
        for (list, bad) in [("https://a:1,http://b", "http://b"), ("https://a,", "")] {
            let Err(Error::Address { address }) = Brokers::parse(list) else { panic!("{list}") };
            assert_eq!(address, bad);
        }
        assert!(Brokers::parse(&["https://a"; MAX_BROKERS].join(",")).is_ok());
        assert!(Brokers::parse(&["https://a"; MAX_BROKERS + 1].join(",")).is_err());
    }

    #[test]
    fn the_next_broker_is_asked_when_one_does_not_answer_and_the_first_after_the_last() {
        let brokers = three();
        for expected in ["https://b:2/", "https://c:3/", "https://a:1/"] {
            brokers.turn_from(brokers.asked().0, &late());
            assert_eq!(brokers.asked().1.as_str(), expected);
        }
    }

    #[test]
    fn many_that_fail_at_once_turn_once() {
        let brokers = three();
        brokers.turn_from(0, &late());
        brokers.turn_from(0, &late());
        assert_eq!(brokers.asked().0, 1);
    }

    #[test]
    fn a_refusal_or_a_limit_is_no_reason_to_turn() {
        let brokers = three();
        brokers.turn_from(0, &Error::Busy { detail: String::new(), retry_after: None });
        brokers.turn_from(0, &Error::Restored);
        assert_eq!(brokers.asked().0, 0);
    }

    #[test]
    fn a_pause_comes_only_after_every_broker_was_asked() {
        let brokers = three();
        let left = [0, 1, 2, 3].map(|attempt| brokers.another_is_left(&late(), attempt));
        assert_eq!(left, [true, true, false, true]);
        assert!(!Brokers::parse("https://a").unwrap().another_is_left(&late(), 0));
    }

    #[test]
    fn what_was_seen_on_one_broker_is_wanted_from_the_next() {
        let at = |text: &str| Some(text.parse::<Position>().unwrap());
        let brokers = three();
        for seen in [at("1.5"), None, at("1.3")] {
            brokers.saw(seen);
        }
        assert_eq!(brokers.at_least(), at("1.5"));
        let alone = Brokers::parse("https://a").unwrap();
        alone.saw(at("1.5"));
        assert_eq!(alone.at_least(), None);
    }

    #[test]
    fn a_path_is_the_same_on_every_broker() {
        let brokers = three();
        let url = brokers.url(&["api", "a/b"], &[("role", "provider")]);
        brokers.turn_from(0, &late());
        assert_eq!(brokers.aim(&url).1.as_str(), "https://b:2/api/a%2Fb?role=provider");
    }

    #[test]
    fn links_lead_to_brokers_of_the_list_alone() {
        let brokers = three();
        assert!(brokers.follow("/api/v1/reservations?cursor=x").is_some());
        assert!(brokers.follow("https://c:3/x").is_some());
        assert_eq!(brokers.follow("https://elsewhere/x"), None);
    }
}
