//! A fleet with everyone who watches it: each operation is decided, witnessed, applied, audited and
//! compared with the model; a fault can be planted to see that they notice.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::model::expected_provider;
use super::script::Op;
use super::{cluster, id};
use crate::advertisement::{Advertisement, Consumed, Holding, Order};
use crate::ask::{Ask, Strategy, Terms};
use crate::audit::{Books, Violation, Witness, books};
use crate::command::{Actor, Command};
use crate::decide::decide;
use crate::decision::{Change, Decision, Subject};
use crate::duration::Duration;
use crate::fleet::{Divergence, Fleet};
use crate::id::{ClusterId, IdempotencyKey, ReservationId};
use crate::place::select::{by_index, by_plain_scan, index_can_answer};
use crate::policy::Policy;
use crate::refusal::{MAX_OBSTACLES, NoRoom, Refusal};
use crate::reservation::{Phase, Release, Reservation};
use crate::resources::Resources;
use crate::time::Timestamp;

/// How many clusters take part.
pub const CLUSTERS: u8 = 7;

const GIB: u64 = 1 << 30;
const MINUTE: Duration = Duration::from_seconds(60);
/// As long as what has ended is remembered here.
const DAY: Duration = Duration::from_seconds(24 * 60 * 60);

/// Everyone who watches.
#[derive(Debug)]
pub struct World {
    /// What is watched.
    pub fleet: Fleet,
    /// What time it is.
    pub now: Timestamp,
    witness: Witness,
    fault: Option<super::faults::Fault>,
    granted: Vec<ReservationId>,
    next: u128,
    sequence: u64,
    /// What was promised under which key, as the clients remember it.
    promised: BTreeMap<(ClusterId, IdempotencyKey), (Ask, ReservationId)>,
    /// Promises that only their providers remember, after a restore.
    lost: Vec<Reservation>,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Broken {
    /// The auditor objects.
    Invariant(Violation),
    /// Changes and fleet do not belong together.
    Divergence(Divergence),
    /// The model would have chosen another cluster.
    Provider {
        /// Whom the model chose.
        expected: Option<ClusterId>,
        /// Whom the engine chose.
        chosen: Option<ClusterId>,
    },
    /// The index and the plain scan do not agree.
    Index {
        /// What the index chose.
        fast: Option<ClusterId>,
        /// What the plain scan chose.
        plain: Option<ClusterId>,
        /// For which request.
        ask: Box<Ask>,
    },
    /// A key led to another reservation, or to none.
    Key,
    /// A refusal does not explain itself.
    Explanation,
    /// A promise that its provider reported was not adopted.
    NotAdopted,
    /// A promise that its provider may keep for longer ended before it had spoken.
    Impatient,
    /// Something is due after everything due was ended.
    StillDue,
}

impl World {
    /// An empty fleet under a policy with a currency.
    #[must_use]
    pub fn new(fault: Option<super::faults::Fault>) -> Self {
        let currency = "EUR".parse().ok();
        let fleet = Fleet::new(Policy { currency, ended_kept_for: DAY, ..Policy::default() });
        Self {
            witness: Witness::of(&fleet),
            fleet,
            now: Timestamp::from_seconds(1_800_000_000),
            fault,
            granted: Vec::new(),
            next: 0,
            sequence: 0,
            promised: BTreeMap::new(),
            lost: Vec::new(),
        }
    }

    /// How many promises were ever made.
    #[must_use]
    pub fn granted(&self) -> usize {
        self.granted.len()
    }

    /// Runs a script to its end or to the first thing that went wrong.
    pub fn run(&mut self, script: &[Op]) -> Result<(), Broken> {
        script.iter().try_for_each(|op| self.step(*op))
    }

    /// One operation, with everyone watching.
    pub fn step(&mut self, op: Op) -> Result<(), Broken> {
        match op {
            Op::Pass { minutes } => {
                self.now = self
                    .now
                    .plus(Duration::from_nanos(MINUTE.as_nanos() * i64::from(minutes % 32) / 4));
                Ok(())
            }
            Op::Restore => self.restore(),
            Op::Reserve { requester, cpu, memory, extra, terms, key } => {
                let ask = Self::ask(requester, [cpu, memory, extra], terms);
                self.reserve(ask, key)
            }
            Op::Expire { limit } => {
                let ended = self.decide(Command::Expire { limit: usize::from(limit) })?;
                if ended.is_err() {
                    return Err(Broken::StillDue);
                }
                self.check_patience()?;
                let due = self.fleet.timeline().ended_by(self.now).next().is_some();
                if limit == u8::MAX && due { Err(Broken::StillDue) } else { Ok(()) }
            }
            Op::Retire { limit, days } => self.retire(limit, days),
            other => {
                let command = self.command(other);
                let reported = self.reported(&command);
                let said = command.clone();
                let accepted = self.decide(command)?.is_ok();
                if accepted {
                    self.give_up(&said);
                }
                self.check_adoption(accepted, &reported)
            }
        }
    }

    /// Clients forget a key with what was promised under it: from then on it makes another promise.
    fn retire(&mut self, limit: u8, days: u8) -> Result<(), Broken> {
        if days.is_multiple_of(8) {
            self.now = self.now.plus(DAY);
        }
        if self.decide(Command::Retire { limit: usize::from(limit) })?.is_err() {
            return Err(Broken::StillDue);
        }
        let Self { fleet, promised, .. } = self;
        promised.retain(|_, (_, made)| fleet.reservation(*made).is_some());
        let age = fleet.policy().remembered_for().as_nanos();
        let oldest = self.now.plus(Duration::from_nanos(-age));
        let due = fleet.timeline().over_since(oldest).next().is_some();
        if limit == u8::MAX && due { Err(Broken::StillDue) } else { Ok(()) }
    }

    fn decide(&mut self, command: Command) -> Result<Result<Subject, Refusal>, Broken> {
        let decided = decide(&self.fleet, command, self.now);
        let decided = match self.fault {
            Some(fault) => fault.plant(decided, &self.fleet, self.now),
            None => decided,
        };
        let decision = match decided {
            Ok(decision) => decision,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let subject = decision.subject.clone();
        self.accept(decision)?;
        Ok(Ok(subject))
    }

    fn accept(&mut self, decision: Decision) -> Result<(), Broken> {
        self.witness.observe(&decision, self.now).map_err(Broken::Invariant)?;
        self.fleet.apply_all(decision).map_err(Broken::Divergence)?;
        match books(&Books::of(&self.fleet)).into_iter().next() {
            Some(violation) => Err(Broken::Invariant(violation)),
            None => Ok(()),
        }
    }

    fn reserve(&mut self, ask: Ask, key: u8) -> Result<(), Broken> {
        let key: Option<IdempotencyKey> =
            (!key.is_multiple_of(8)).then(|| format!("key-{}", key % 8).parse().unwrap());
        let remembered = key.clone().map(|key| (ask.requester().clone(), key));
        let before = remembered.as_ref().and_then(|key| self.promised.get(key).cloned());
        let expected = expected_provider(&self.fleet, &ask, self.now);
        if ask.terms().target.is_none() && index_can_answer(&self.fleet, &ask) {
            let fast = by_index(&self.fleet, &ask, self.now);
            let plain = by_plain_scan(&self.fleet, &ask, self.now);
            if fast != plain {
                return Err(Broken::Index { fast, plain, ask: Box::new(ask) });
            }
        }
        self.next += 1;
        let by = Actor::Cluster(ask.requester().clone());
        let command = Command::Reserve { id: id(self.next), ask: Box::new(ask.clone()), key, by };
        let outcome = self.decide(command)?;
        match (before, outcome) {
            (Some((same, made)), outcome) if same == ask => {
                if outcome == Ok(Subject::Reservation(made)) { Ok(()) } else { Err(Broken::Key) }
            }
            (Some((_, made)), outcome) => {
                if outcome == Err(Refusal::KeyReused(made)) {
                    Ok(())
                } else {
                    Err(Broken::Key)
                }
            }
            (None, Ok(Subject::Reservation(made))) => {
                let chosen = self.fleet.reservation(made).map(|made| made.provider.clone());
                if let Some(key) = remembered {
                    self.promised.insert(key, (ask, made));
                }
                self.granted.push(made);
                if expected == chosen { Ok(()) } else { Err(Broken::Provider { expected, chosen }) }
            }
            (None, Err(Refusal::NoRoom(explained))) => {
                self.check_explanation(&ask, &explained)?;
                if expected.is_none() {
                    return Ok(());
                }
                Err(Broken::Provider { expected, chosen: None })
            }
            (None, _) => Ok(()),
        }
    }

    /// A refusal lists every cluster that was considered, once, up to the limit.
    fn check_explanation(&self, ask: &Ask, explained: &NoRoom) -> Result<(), Broken> {
        let mut names: Vec<&ClusterId> =
            explained.candidates.iter().map(|obstacle| &obstacle.cluster).collect();
        names.sort();
        names.dedup();
        let advertising =
            self.fleet.clusters().filter(|kept| kept.record().advertised.is_some()).count();
        let considered = if ask.terms().target.is_some() { 1 } else { advertising };
        let complete = names.len() == considered.min(MAX_OBSTACLES)
            && names.len() == explained.candidates.len()
            && explained.considered == considered;
        if complete { Ok(()) } else { Err(Broken::Explanation) }
    }

    /// What a recovering provider reports that the ledger has lost.
    fn reported(&self, command: &Command) -> Vec<Holding> {
        match command {
            Command::Advertise { cluster, holding: Some(holding), .. }
                if self
                    .fleet
                    .cluster(cluster)
                    .is_some_and(|kept| self.fleet.is_recovering(kept.record())) =>
            {
                let alive = |held: &&Holding| held.expires_at.is_none_or(|end| end > self.now);
                holding.iter().filter(alive).cloned().collect()
            }
            _ => Vec::new(),
        }
    }

    /// What a provider keeps is in the ledger for as long, unless someone has ended it since.
    fn check_adoption(&self, accepted: bool, reported: &[Holding]) -> Result<(), Broken> {
        let kept = |held: &Holding| {
            self.fleet.reservation(held.reservation).is_some_and(|kept| {
                !kept.phase.is_live()
                    || kept.expires_at.is_none()
                    || kept.expires_at >= held.expires_at && held.expires_at.is_some()
            })
        };
        if !accepted || reported.iter().all(kept) { Ok(()) } else { Err(Broken::NotAdopted) }
    }

    /// Nothing that a provider still keeps, and has not yet told, may end by itself.
    fn check_patience(&self) -> Result<(), Broken> {
        let expired = |lost: &Reservation| {
            let provider = self.fleet.cluster(&lost.provider);
            provider.is_some_and(|kept| self.fleet.is_recovering(kept.record()))
                && self.fleet.reservation(lost.id).is_some_and(|kept| {
                    let why = Release::Expired;
                    matches!(kept.phase, Phase::Released(ended) if ended.why == why)
                })
        };
        if self.lost.iter().any(expired) { Err(Broken::Impatient) } else { Ok(()) }
    }

    /// What an administrator waits for no longer may end, also if its provider comes back.
    fn give_up(&mut self, command: &Command) {
        if let Command::EndRecovery { cluster, .. } = command {
            self.lost.retain(|lost| cluster.as_ref().is_some_and(|gone| *gone != lost.provider));
        }
    }

    /// A new incarnation from records that lack the newest live promise, and do not know that the others
    /// were renewed.
    fn restore(&mut self) -> Result<(), Broken> {
        let incarnation = self.fleet.incarnation() + 1;
        let newest = self
            .fleet
            .reservations()
            .filter(|kept| kept.phase.is_live())
            .max_by_key(|kept| kept.id);
        let newest = newest.map(|kept| kept.id);
        let recovered_through = incarnation - 1;
        let mut restored =
            Fleet::restored(self.fleet.policy().clone(), incarnation, recovered_through);
        for kept in self.fleet.clusters() {
            let record = Change::Cluster(Box::new(kept.record().clone()));
            restored.apply(record).map_err(Broken::Divergence)?;
        }
        self.lost.clear();
        for kept in self.fleet.reservations() {
            if Some(kept.id) == newest {
                self.lost.push(kept.clone());
                self.promised.retain(|_, (_, made)| *made != kept.id);
            } else {
                let mut remembered = kept.clone();
                if kept.phase.is_live() && kept.expires_at.is_some_and(|end| end > self.now) {
                    self.lost.push(kept.clone());
                    remembered.expires_at = Some(self.now);
                }
                restored
                    .apply(Change::Reservation(Arc::new(remembered)))
                    .map_err(Broken::Divergence)?;
            }
        }
        restored.settle();
        self.witness = Witness::of(&restored);
        self.fleet = restored;
        Ok(())
    }

    fn command(&mut self, op: Op) -> Command {
        let administrator = || Actor::Administrator(cluster("operator"));
        match op {
            Op::Advertise { cluster: which, size, used, consumer, flags } => {
                self.advertise(which, size, used, consumer, flags)
            }
            Op::Hear { cluster } => Command::Hear { cluster: name(cluster) },
            Op::Activate { which } => {
                let (id, requester, _) = self.reservation(which);
                Command::Activate { id, by: Actor::Cluster(requester) }
            }
            Op::Renew { which, minutes } => {
                let (id, requester, _) = self.reservation(which);
                let span = Duration::from_nanos(MINUTE.as_nanos() * (i64::from(minutes) - 16));
                Command::Renew { id, until: self.now.plus(span), by: Actor::Cluster(requester) }
            }
            Op::Reject { which } => {
                let (id, _, provider) = self.reservation(which);
                let reason = "full".parse().unwrap();
                Command::Reject { id, reason, by: Actor::Cluster(provider) }
            }
            Op::Release { which, by } => {
                let (id, requester, provider) = self.reservation(which);
                let by = match by % 4 {
                    0 => Actor::Cluster(requester),
                    1 => Actor::Cluster(provider),
                    2 => Actor::Cluster(cluster("stranger")),
                    _ => administrator(),
                };
                Command::Release { id, by }
            }
            Op::Forget { cluster } => {
                Command::Forget { cluster: name(cluster), by: administrator() }
            }
            Op::Clear { cluster, limit } => {
                let limit = usize::from(limit % 4);
                Command::Clear { cluster: name(cluster), limit, by: administrator() }
            }
            Op::EndRecovery { cluster } => {
                let all = cluster % 16 > CLUSTERS;
                Command::EndRecovery { cluster: (!all).then(|| name(cluster)), by: administrator() }
            }
            Op::MarkStale
            | Op::Pass { .. }
            | Op::Restore
            | Op::Reserve { .. }
            | Op::Retire { .. }
            | Op::Expire { .. } => Command::MarkStale { limit: 2 },
        }
    }

    /// A reservation that was granted, with its sides; a name that nobody has while there is none.
    fn reservation(&self, which: u8) -> (ReservationId, ClusterId, ClusterId) {
        let position = usize::from(which) % self.granted.len().max(1);
        let granted = self.granted.get(self.granted.len().saturating_sub(position + 1));
        let kept = granted.and_then(|id| self.fleet.reservation(*id));
        kept.map_or_else(
            || (id(u128::MAX), name(0), name(1)),
            |kept| (kept.id, kept.requester().clone(), kept.provider.clone()),
        )
    }

    fn advertise(&mut self, which: u8, size: u8, used: u8, consumer: u8, flags: u8) -> Command {
        let has = |bit: u8| flags & (1 << bit) > 0;
        let cluster = name(which);
        let size = size_of(size);
        let allocated = part_of(size, used);
        let entries = [(name(consumer), part_of(allocated, consumer % 9))];
        self.sequence += 1;
        let sequence = if has(1) { self.sequence / 2 } else { self.sequence };
        let back = if has(1) { -30 } else { 0 };
        let mut advertisement: Advertisement =
            super::of_size(size, self.now.plus(Duration::from_seconds(back)));
        advertisement.allocated = allocated;
        advertisement.consumed = Consumed::new(entries).unwrap();
        advertisement.order = has(0).then_some(Order { epoch: 1, sequence });
        advertisement.cost = has(2).then(|| {
            let currency = if has(3) { "EUR" } else { "USD" };
            super::cost(["0.05", "0.051"][usize::from(used % 2)], "0.01", "1", currency)
        });
        let zone = if has(4) { "north" } else { "south" };
        advertisement.labels =
            super::labels(&[("zone", zone), ("tier", if has(5) { "a" } else { "b" })]);
        let held = |lost: &&Reservation| lost.provider == cluster;
        let holding = self.lost.iter().filter(held).map(|lost| Holding {
            reservation: lost.id,
            ask: lost.ask.clone(),
            expires_at: lost.expires_at,
        });
        let advertisement = Box::new(advertisement);
        match has(6).then(|| holding.collect()) {
            Some(holding) if has(7) => {
                let limit = usize::from(used % 3);
                Command::Adopt { cluster, advertisement, holding, limit }
            }
            holding => Command::Advertise { cluster, advertisement, holding },
        }
    }

    fn ask(requester: u8, [cpu, memory, extra]: [u8; 3], terms: u8) -> Ask {
        let amounts = [
            u64::from(cpu % 32) * 250 + 1,
            u64::from(memory % 32) * GIB / 4 + 1,
            u64::from(extra % 4) / 2,
            u64::from(extra / 4 % 4) / 2 * 10 * GIB,
        ];
        let labelled = |wanted: bool, key: &str, value: &str| {
            if wanted { super::labels(&[(key, value)]) } else { super::labels(&[]) }
        };
        let strategies = [None, None, Some(Strategy::Headroom), Some(Strategy::Balanced)]
            .into_iter()
            .chain([Some(Strategy::Cheapest), Some(Strategy::Binpack)])
            .collect::<Vec<_>>();
        let terms = Terms {
            priority: 0,
            duration: (!terms.is_multiple_of(3))
                .then(|| Duration::from_seconds(i64::from(extra) * 20 + 1)),
            target: (terms.is_multiple_of(7)).then(|| name(terms / 7)),
            strategy: strategies[usize::from(terms) % strategies.len()],
            required: labelled(terms.is_multiple_of(5), "zone", "north"),
            preferred: labelled(terms.is_multiple_of(11), "tier", "a"),
            ceiling: (terms.is_multiple_of(13)).then(|| crate::price::PriceCeiling {
                amount: "0.2".parse().unwrap(),
                currency: ["EUR", "USD"][usize::from(extra % 2)].parse().unwrap(),
            }),
        };
        Ask::new(name(requester), Resources::from_amounts(amounts).unwrap(), terms).unwrap()
    }
}

/// The name of a cluster by its number.
#[must_use]
pub fn name(number: u8) -> ClusterId {
    cluster(&format!("c{}", number % CLUSTERS))
}

/// Few sizes, so that clusters often look the same; one of them is nothing at all.
fn size_of(class: u8) -> Resources {
    let cores = [0, 1, 4, 4, 8, 8, 16, 16][usize::from(class % 8)];
    let odd = u64::from(class / 128);
    let amounts = [cores * 1000, cores * 2 * GIB + odd, cores / 8, cores * 10 * GIB];
    Resources::from_amounts(amounts).unwrap()
}

fn part_of(whole: Resources, eighths: u8) -> Resources {
    Resources::from_amounts(whole.amounts().map(|amount| amount / 8 * u64::from(eighths % 10)))
        .unwrap()
}
