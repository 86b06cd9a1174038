//! The broker's books against themselves: what it shows as reserved and available must follow from its reservations.
//!
//! The lists are read one after the other, page by page. If everything was read in one state, a contradiction is one. A busy
//! broker is never read in one state: there, a contradiction is one if it is the same every time, and what contradicts itself
//! otherwise each time has only moved while it was read.

use std::collections::{BTreeMap, BTreeSet};

use rear_agent_sdk::communicator::{Advertisement, Position, Reservation, Timestamp};
use rear_agent_sdk::http::{Page, ReservationFilter};
use rear_agent_sdk::{Error, Resources};
use rear_api::amounts::ResourceList;
use rear_api::moment;
use rear_api::reservation::PhaseName;
use serde::de::DeserializeOwned;

use super::Finding;
use crate::output::printable;
use crate::session::Session;

/// How often the lists are read for a quiet moment.
const ATTEMPTS: usize = 4;

/// How often where something was wrong in the same way every time: callers that take turns may be found so by chance, but
/// hardly so often.
const MOST_ATTEMPTS: usize = 12;

/// A reservation whose end passed so long ago should have ended.
const OVERDUE: i64 = 60 * 1_000_000_000;

/// The largest page: this is for counting, not for looking.
const PAGE: Option<usize> = Some(1000);

/// As many are named.
const NAMED: usize = 5;

/// By cluster: what is shown, and what would follow.
type Contradictions = BTreeMap<String, Contradiction>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Contradiction {
    shown: Resources,
    follows: Resources,
    /// It was another one before: the cluster changes while it is read.
    moves: bool,
}

/// What the lists say together.
#[derive(Default)]
pub(super) struct Books {
    /// By provider and requester: what is promised.
    promised: BTreeMap<String, BTreeMap<String, Resources>>,
    overdue: BTreeSet<String>,
    /// Clusters whose ledger, or whose rest, does not follow.
    ledger: Contradictions,
    rest: Contradictions,
    revisions: BTreeSet<Position>,
    reservations: usize,
}

pub(super) async fn examine(session: &Session, clock: Timestamp) -> Result<Vec<Finding>, Error> {
    let mut books = Books::read(session, clock).await?;
    for attempt in 1..MOST_ATTEMPTS {
        let settled = attempt >= ATTEMPTS && !books.has_the_same_again();
        if settled || books.is_of_one_state() || books.is_consistent() {
            break;
        }
        let again = Books::read(session, clock).await?;
        books = if again.is_of_one_state() { again } else { books.also_in(&again) };
    }
    Ok(books.findings())
}

impl Books {
    async fn read(session: &Session, clock: Timestamp) -> Result<Self, Error> {
        let mut books = Self::default();
        for phase in [PhaseName::Reserved, PhaseName::Active] {
            let filter = ReservationFilter { role: None, phase: Some(phase) };
            let first = session.broker.reservations_page(&filter, PAGE);
            let mut unreadable = None;
            let revisions = each(session, first, |it| {
                unreadable = unreadable.take().or(books.enter(it, clock).err());
            });
            let revisions = revisions.await?;
            unreadable.map_or(Ok(()), Err)?;
            books.revisions.extend(revisions);
        }
        let mut unreadable = None;
        let revisions = Self::each_cluster(session, |it| {
            unreadable = unreadable.take().or(books.compare(it).err());
        })
        .await?;
        unreadable.map_or(Ok(()), Err)?;
        books.revisions.extend(revisions);
        Ok(books)
    }

    /// Every cluster, one page at a time; the states that the pages were in.
    pub(super) async fn each_cluster(
        session: &Session,
        told: impl FnMut(&Advertisement),
    ) -> Result<BTreeSet<Position>, Error> {
        each(session, session.broker.clusters_page(PAGE), told).await
    }

    fn enter(&mut self, it: &Reservation, clock: Timestamp) -> Result<(), Error> {
        self.reservations += 1;
        let of_provider = self.promised.entry(it.target_cluster_id.clone()).or_default();
        let sum = of_provider.entry(it.requester_id.clone()).or_default();
        let more = amounts(&it.requested_resources)?;
        *sum =
            sum.checked_add(more).ok_or_else(|| garbage("a sum of promises is beyond measure"))?;
        let end = it.status.expires_at.as_deref().and_then(|end| moment::read(end).ok());
        if end.is_some_and(|end| clock.since(end).as_nanos() > OVERDUE) {
            self.overdue.insert(it.id.clone());
        }
        Ok(())
    }

    fn compare(&mut self, cluster: &Advertisement) -> Result<(), Error> {
        let promised = self.promised.remove(&cluster.cluster_id).unwrap_or_default();
        let too_much = || garbage("a sum of promises is beyond measure");
        let mut total = Resources::NONE;
        for amount in promised.values() {
            total = total.checked_add(*amount).ok_or_else(too_much)?;
        }
        let shown = &cluster.resources;
        let reserved = shown.reserved.as_ref().map(amounts).transpose()?;
        let name = &cluster.cluster_id;
        let differs = reserved.and_then(|reserved| Contradiction::between(reserved, total));
        self.ledger.extend(differs.map(|differs| (name.clone(), differs)));
        let mut rest = amounts(&shown.allocatable)?.saturating_sub(amounts(&shown.allocated)?);
        for (requester, amount) in &promised {
            rest = rest.saturating_sub(amount.saturating_sub(consumed(cluster, requester)?));
        }
        let differs = Contradiction::between(amounts(&shown.available)?, rest);
        self.rest.extend(differs.map(|differs| (name.clone(), differs)));
        Ok(())
    }

    fn is_of_one_state(&self) -> bool {
        self.revisions.len() <= 1
    }

    fn is_consistent(&self) -> bool {
        self.ledger.is_empty() && self.rest.is_empty()
    }

    /// Whether something was wrong in the same way every time.
    fn has_the_same_again(&self) -> bool {
        self.ledger.values().chain(self.rest.values()).any(|found| !found.moves)
    }

    /// What is wrong in both.
    fn also_in(mut self, other: &Self) -> Self {
        self.ledger = in_both(&self.ledger, &other.ledger);
        self.rest = in_both(&self.rest, &other.rest);
        self.overdue.retain(|name| other.overdue.contains(name));
        self
    }

    fn findings(&self) -> Vec<Finding> {
        let sum = format!("what is reserved is the sum of {} live reservations", self.reservations);
        let ledger = Claim {
            check: "ledger",
            good: &sum,
            bad: "what is shown as reserved is not the sum of the live reservations",
        };
        let rest = Claim {
            check: "available",
            good: "what is available follows from what is used and promised",
            bad: "what is shown as available does not follow from what is used and promised",
        };
        vec![ledger.judged(&self.ledger), rest.judged(&self.rest), self.expiry()]
    }

    fn expiry(&self) -> Finding {
        const REMEDY: &str =
            "Look at the broker's log and clock: nothing expires while its clock is not believed.";
        if self.overdue.is_empty() {
            return Finding::good("expiry", "nothing is alive after its end");
        }
        let found = format!("{}: alive although the end has passed", named(&self.overdue));
        Finding::trouble("expiry", found, REMEDY)
    }
}

/// What should be so of every cluster.
struct Claim<'a> {
    check: &'static str,
    good: &'a str,
    bad: &'a str,
}

impl Claim<'_> {
    fn judged(&self, found: &Contradictions) -> Finding {
        const VERIFY: &str = "Stop the broker, run `rear-broker verify --data DIR`, and restore a snapshot if it has findings.";
        const LATER: &str =
            "Nothing needs to be wrong: check again when less is reserved and released.";
        let names = |moves: bool| -> BTreeSet<String> {
            let such = found.iter().filter(|(_, it)| it.moves == moves);
            such.map(|(name, _)| name.clone()).collect()
        };
        let (standing, moving) = (names(false), names(true));
        if !standing.is_empty() {
            return Finding::trouble(
                self.check,
                format!("{}: {}", named(&standing), self.bad),
                VERIFY,
            );
        }
        if moving.is_empty() {
            return Finding::good(self.check, self.good);
        }
        let found =
            format!("{}: not known, as there was no quiet moment in which to look", named(&moving));
        Finding::careful(self.check, found, LATER)
    }
}

impl Contradiction {
    fn between(shown: Resources, follows: Resources) -> Option<Self> {
        (shown != follows).then_some(Self { shown, follows, moves: false })
    }

    /// This one, if it was found after another.
    fn after(self, before: Self) -> Self {
        let is_same = (self.shown, self.follows) == (before.shown, before.follows);
        Self { moves: before.moves || !is_same, ..self }
    }
}

/// Clusters that contradict themselves in both.
fn in_both(before: &Contradictions, after: &Contradictions) -> Contradictions {
    let both = after.iter().filter_map(|(name, after)| {
        before.get(name).map(|before| (name.clone(), after.after(*before)))
    });
    both.collect()
}

fn named(wrong: &BTreeSet<String>) -> String {
    let names: Vec<_> = wrong.iter().take(NAMED).map(|name| printable(name)).collect();
    match wrong.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

fn amounts(list: &ResourceList) -> Result<Resources, Error> {
    list.resources().map_err(|error| garbage(&error.to_string()))
}

/// What a requester's workloads use on a cluster already.
fn consumed(cluster: &Advertisement, requester: &str) -> Result<Resources, Error> {
    let of_requester =
        cluster.consumed.iter().flatten().find(|used| used.requester_id == requester);
    let Some(used) = of_requester else { return Ok(Resources::NONE) };
    amounts(&ResourceList {
        cpu: used.cpu.clone(),
        memory: used.memory.clone(),
        gpu: used.gpu.clone(),
        storage: used.storage.clone(),
    })
}

fn garbage(detail: &str) -> Error {
    Error::Garbage { detail: detail.to_owned() }
}

/// Every member of a list, one page at a time; the states that the pages were in.
async fn each<T: DeserializeOwned + 'static>(
    session: &Session,
    first: impl Future<Output = Result<Page<T>, Error>>,
    mut told: impl FnMut(&T),
) -> Result<BTreeSet<Position>, Error> {
    let progress = session.output.progress;
    let mut page = progress.during("reading the broker's lists", first).await?;
    let mut revisions = BTreeSet::new();
    let mut read = 0_usize;
    loop {
        revisions.extend(page.revision);
        page.items.iter().for_each(&mut told);
        read += page.items.len();
        let Some(next) = page.next else { return Ok(revisions) };
        let what = format!("reading the broker's lists, {read} so far");
        page = progress.during(&what, session.broker.next_page(&next)).await?;
    }
}
