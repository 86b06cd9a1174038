//! The life of a simulated fleet: what its clusters say and want in each step, and what goes wrong on the way.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::RwLockReadGuard;
use std::sync::mpsc::{Receiver, Sender, channel};

use rear_engine::advertisement::{Advertisement, Order};
use rear_engine::{
    Actor, Ask, ClusterId, Command, Duration, Policy, ReservationId, Resources, Terms,
};
use rear_fleet::{Chance, name};
use rear_store::clock::Clock;
use rear_store::{Answer, Commit, RedbJournal, Store, SubmitError, View};

use super::STEP_SECONDS;
use super::clock::Hands;
use crate::checks::{Made, beyond, living};
use crate::stage::Trouble;

const GIB: u64 = 1 << 30;

/// Every agent advertises in one step of so many.
const ROUNDS: usize = 3;

/// Of a thousand: clusters whose load changes in a step, that fall silent, messages that are lost, come twice or late.
const CHURN: u64 = 100;
const FALLS_SILENT: u64 = 2;
const LOST: u64 = 20;
const TWICE: u64 = 10;
const LATE: u64 = 10;

/// So many steps a silent cluster stays so: most come back before they are stale, some later.
const SILENT_STEPS: (u64, u64) = (1, 120);

/// Of a thousand steps: the broker is restarted; its clock is set back.
const RESTARTS: u64 = 4;
const CLOCK_SET: u64 = 10;

/// An ended promise may live on for so long: ends are done in portions.
const MOMENTS: i64 = 3 * STEP_SECONDS * 1_000_000_000;

/// What is counted, in the order of the table.
const COUNTED: [&str; 16] = [
    "advertisements that change something",
    "advertisements that change nothing",
    "granted",
    "refused for lack of room",
    "asked again under the same key",
    "activated",
    "renewed",
    "rejected by the provider",
    "released",
    "expired",
    "messages lost",
    "messages twice",
    "messages late",
    "clusters silent for a while",
    "restarts",
    "clock set back",
];

type Reply = (usize, Result<Answer, SubmitError>);

/// A cluster of the fleet.
struct Member {
    id: ClusterId,
    size: Resources,
    allocated: Resources,
    sequence: u64,
    /// It says nothing before this step.
    silent_until: usize,
}

/// A wish and the reservation that it led to.
struct Wish {
    key: String,
    ask: Ask,
}

pub(super) struct Life {
    clock: Hands,
    file: PathBuf,
    store: Option<Store>,
    chance: Chance,
    members: Vec<Member>,
    made: BTreeMap<u128, Made>,
    wishes: BTreeMap<u128, Wish>,
    next: u128,
    counts: BTreeMap<&'static str, u64>,
    replies: (Sender<Reply>, Receiver<Reply>),
}

impl Life {
    pub(super) fn begin(clusters: usize, seed: u64, file: PathBuf) -> Result<Self, Trouble> {
        let mut chance = Chance::new(seed, 9);
        let member = |number| {
            let cores = 4_u64 << chance.between(0, 4);
            let size = resources([cores * 1000, cores * 4 * GIB, cores / 8, cores * 16 * GIB]);
            let none = Resources::NONE;
            Member { id: name(number), size, allocated: none, sequence: 0, silent_until: 0 }
        };
        let members = (0..clusters).map(member).collect();
        drop(RedbJournal::create(&file, 1, Commit::TwoPhase).map_err(other)?);
        let mut life = Self {
            clock: Hands::start(),
            file,
            store: None,
            chance,
            members,
            made: BTreeMap::new(),
            wishes: BTreeMap::new(),
            next: 0,
            counts: BTreeMap::new(),
            replies: channel(),
        };
        life.restart()?;
        Ok(life)
    }

    /// What readers see.
    pub(super) fn view(&self) -> RwLockReadGuard<'_, View> {
        // There is one from the beginning to the end.
        self.store.as_ref().unwrap_or_else(|| unreachable!("the store is there")).view()
    }

    /// Closes the file. How often everything happened.
    pub(super) fn end(mut self) -> Vec<(&'static str, u64)> {
        self.store = None;
        COUNTED.map(|what| (what, self.counts.get(what).copied().unwrap_or_default())).into()
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn thousandths(&mut self, many: u64) -> bool {
        self.chance.between(0, 999) < many
    }

    /// As after a stop or a crash: what was acknowledged is in the file.
    fn restart(&mut self) -> Result<(), Trouble> {
        self.store = None;
        let journal = RedbJournal::open(&self.file, Commit::TwoPhase).map_err(other)?;
        let store = Store::start(journal, Policy::default(), self.clock.clone()).map_err(other)?;
        self.store = Some(store);
        Ok(())
    }

    /// One step of everyone's life. What is wrong after it.
    pub(super) fn step(&mut self, step: usize) -> Result<Vec<String>, Trouble> {
        self.clock.pass(STEP_SECONDS);
        if self.thousandths(CLOCK_SET) {
            self.clock.set_by(-STEP_SECONDS / 2);
            self.count("clock set back");
        }
        if self.thousandths(RESTARTS) {
            self.restart()?;
            self.count("restarts");
        }
        let told = self.advertise(step);
        let ends = self.end_some();
        let mut wrong = Vec::new();
        for (command, ended) in self.decide(told.into_iter().map(|told| (told, None)).chain(ends)) {
            wrong.extend(self.note(command, ended));
        }
        let granted = self.ask(&mut wrong);
        wrong.extend(self.look(&granted));
        Ok(wrong)
    }

    /// What clusters say: a third of them, and those whose load has changed.
    fn advertise(&mut self, step: usize) -> Vec<Command> {
        let mut commands = Vec::new();
        for number in 0..self.members.len() {
            if self.thousandths(FALLS_SILENT) {
                let steps = self.chance.between(SILENT_STEPS.0, SILENT_STEPS.1);
                self.members[number].silent_until = step + usize::try_from(steps).unwrap_or(1);
                self.count("clusters silent for a while");
            }
            let changes = self.thousandths(CHURN);
            if changes {
                let percent = self.chance.between(5, 40);
                let member = &mut self.members[number];
                member.allocated =
                    resources(member.size.amounts().map(|amount| amount / 100 * percent));
            }
            let due = (number + step).is_multiple_of(ROUNDS) || changes;
            if !due || self.members[number].silent_until > step {
                continue;
            }
            commands.extend(self.messages(number));
        }
        commands
    }

    /// The advertisement of a cluster, as the network brings it: once, never, twice, or after the next one.
    fn messages(&mut self, number: usize) -> Vec<Command> {
        self.members[number].sequence += 1;
        let now = self.told(number, 0);
        if self.thousandths(LOST) {
            self.count("messages lost");
            return Vec::new();
        }
        if self.thousandths(TWICE) {
            self.count("messages twice");
            return vec![now.clone(), now];
        }
        if self.thousandths(LATE) {
            self.count("messages late");
            // Of before, with another content: it must not count any more.
            return vec![now, self.told(number, 1)];
        }
        vec![now]
    }

    fn told(&self, number: usize, late: u64) -> Command {
        let member = &self.members[number];
        let allocated = if late > 0 { Resources::NONE } else { member.allocated };
        let sequence = member.sequence.saturating_sub(late);
        let advertisement = Advertisement {
            name: rear_engine::text::Line::default(),
            timestamp: self.clock.read().wall,
            order: Some(Order { epoch: 1, sequence }),
            capacity: member.size,
            allocatable: member.size,
            allocated,
            consumed: rear_engine::advertisement::Consumed::default(),
            cost: None,
            labels: rear_engine::labels::Labels::default(),
            endpoint: None,
        };
        let (cluster, advertisement) = (member.id.clone(), Box::new(advertisement));
        Command::Advertise { cluster, advertisement, holding: None }
    }

    /// Some promises are used, renewed, rejected or given back.
    fn end_some(&mut self) -> Vec<(Command, Option<u128>)> {
        let mut commands = Vec::new();
        for _ in 0..self.chance.between(0, 14) {
            let at =
                usize::try_from(self.chance.next() % self.made.len().max(1) as u64).unwrap_or(0);
            let Some((&bits, promise)) = self.made.iter().nth(at) else { continue };
            let Some(wish) = self.wishes.get(&bits) else { continue };
            let (id, requester) = (ReservationId::from_bits(bits), wish.ask.requester().clone());
            let by = Actor::Cluster(requester);
            let provider = promise.provider.parse().map(Actor::Cluster);
            let until = self.clock.read().wall.plus(Duration::from_seconds(1800));
            commands.push(match self.chance.between(0, 9) {
                0..=1 => (Command::Activate { id, by }, None),
                2..=3 => (Command::Renew { id, until, by }, Some(bits)),
                4 => {
                    let Ok(by) = provider else { continue };
                    let reason = "full".parse().unwrap_or_default();
                    (Command::Reject { id, reason, by }, Some(bits))
                }
                _ => (Command::Release { id, by }, Some(bits)),
            });
        }
        commands
    }

    /// Submits all at once, as many callers would, and waits for every answer.
    fn decide(
        &mut self,
        commands: impl IntoIterator<Item = (Command, Option<u128>)>,
    ) -> Vec<((Command, Option<u128>), Result<Answer, SubmitError>)> {
        let mut waiting = Vec::new();
        for (command, about) in commands {
            let command = match self.store().refresh(command) {
                Ok(()) => {
                    self.count("advertisements that change nothing");
                    continue;
                }
                Err(command) => command,
            };
            let (tell, number) = (self.replies.0.clone(), waiting.len());
            waiting.push((command.clone(), about));
            self.store().submit_with(command, move |outcome| {
                // Whoever waits is there until all have answered.
                drop(tell.send((number, outcome)));
            });
        }
        let mut outcomes: Vec<_> = self.replies.1.iter().take(waiting.len()).collect();
        outcomes.sort_by_key(|(number, _)| *number);
        waiting.into_iter().zip(outcomes.into_iter().map(|(_, outcome)| outcome)).collect()
    }

    fn store(&self) -> &Store {
        self.store.as_ref().unwrap_or_else(|| unreachable!("the store is there"))
    }

    /// What is known after an answer; what is wrong with it.
    fn note(
        &mut self,
        (command, about): (Command, Option<u128>),
        outcome: Result<Answer, SubmitError>,
    ) -> Option<String> {
        match (&command, outcome) {
            // Too late, or of a cluster that may not any more: nothing has changed.
            (_, Err(SubmitError::Refused(_))) => {}
            (_, Err(error)) => return Some(format!("{command:?}: {error}")),
            (Command::Advertise { .. }, Ok(_)) => {
                self.count("advertisements that change something")
            }
            (Command::Activate { .. }, Ok(_)) => self.count("activated"),
            (Command::Renew { .. }, Ok(answer)) => {
                self.count("renewed");
                let ends = answer.reservation.and_then(|kept| kept.expires_at);
                if let (Some(made), Some(ends)) =
                    (about.and_then(|id| self.made.get_mut(&id)), ends)
                {
                    made.ends = ends.as_nanos();
                }
            }
            (Command::Reject { .. }, Ok(_)) => {
                self.count("rejected by the provider");
                self.forget(about);
            }
            (Command::Release { .. }, Ok(_)) => {
                self.count("released");
                self.forget(about);
            }
            (_, Ok(_)) => {}
        }
        None
    }

    fn forget(&mut self, id: Option<u128>) {
        if let Some(id) = id {
            self.made.remove(&id);
            self.wishes.remove(&id);
        }
    }

    /// New wishes, and some old ones whose answer was lost. On whom something was granted.
    fn ask(&mut self, wrong: &mut Vec<String>) -> Vec<String> {
        let mut commands = Vec::new();
        for _ in 0..self.chance.between(4, 20) {
            self.next += 1;
            let id = self.next;
            if let Some(wish) = self.wish() {
                commands.push((self.reserve(&wish, id), Some(id)));
                self.wishes.insert(id, wish);
            }
        }
        let mut again = BTreeMap::new();
        let before: Vec<u128> = self.made.keys().rev().take(2).copied().collect();
        for first in before {
            self.next += 1;
            let id = self.next;
            if let Some(wish) = self.wishes.get(&first) {
                commands.push((self.reserve(wish, id), Some(id)));
                again.insert(id, first);
            }
        }
        let mut granted_on = Vec::new();
        for ((_, id), outcome) in self.decide(commands) {
            let id = id.unwrap_or_default();
            let answered = outcome.map(|answer| answer.reservation);
            match (again.get(&id), answered) {
                (Some(first), Ok(Some(kept))) if kept.id == ReservationId::from_bits(*first) => {
                    self.count("asked again under the same key");
                }
                (Some(first), outcome) => {
                    wrong.push(format!("{first} was asked again: {outcome:?}"))
                }
                (None, Ok(Some(kept))) => {
                    self.count("granted");
                    let provider = kept.provider.to_string();
                    granted_on.push(provider.clone());
                    let ends = kept.expires_at.map_or(i64::MAX, |end| end.as_nanos());
                    let amounts = kept.ask.resources().amounts();
                    self.made.insert(id, Made { provider, amounts, ends });
                }
                (None, Err(SubmitError::Refused(_))) => {
                    self.count("refused for lack of room");
                    self.wishes.remove(&id);
                }
                (None, outcome) => wrong.push(format!("{id}: {outcome:?}")),
            }
        }
        granted_on
    }

    fn wish(&mut self) -> Option<Wish> {
        let number = usize::try_from(self.chance.next() % self.members.len() as u64).unwrap_or(0);
        let amounts = [
            self.chance.between(1, 16) * 250,
            self.chance.between(1, 32) * GIB / 4,
            u64::from(self.chance.percent(5)),
            self.chance.between(0, 3) * GIB,
        ];
        let duration = Some(Duration::from_seconds(
            i64::try_from(self.chance.between(30, 7200)).unwrap_or(60),
        ));
        let terms = Terms { duration, ..Terms::default() };
        let ask = Ask::new(self.members[number].id.clone(), resources(amounts), terms).ok()?;
        Some(Wish { key: format!("wish-{}", self.next), ask })
    }

    fn reserve(&self, wish: &Wish, id: u128) -> Command {
        let by = Actor::Cluster(wish.ask.requester().clone());
        let (id, key) = (ReservationId::from_bits(id), wish.key.parse().ok());
        Command::Reserve { id, ask: Box::new(wish.ask.clone()), key, by }
    }

    /// Compares what lives with what should.
    fn look(&mut self, granted_on: &[String]) -> Vec<String> {
        let (live, room, now) = {
            let view = self.view();
            let fleet = view.fleet();
            let live: BTreeMap<u128, (String, [u64; 4])> = fleet
                .reservations()
                .filter(|kept| kept.phase.is_live())
                .map(|kept| {
                    (kept.id.to_bits(), (kept.provider.to_string(), kept.ask.resources().amounts()))
                })
                .collect();
            let room = fleet.clusters().filter_map(|kept| {
                let told = kept.record().advertisement()?;
                let room = told.allocatable.saturating_sub(told.allocated);
                Some((kept.record().id.to_string(), room.amounts()))
            });
            (live, room.collect(), view.now().as_nanos())
        };
        let mut wrong = living(&self.made, &live, now, MOMENTS);
        wrong.extend(beyond(&room, &live, granted_on));
        let ended: Vec<u128> = self
            .made
            .iter()
            .filter(|(id, made)| made.ends <= now && !live.contains_key(id))
            .map(|(id, _)| *id)
            .collect();
        for id in ended {
            self.count("expired");
            self.forget(Some(id));
        }
        wrong
    }
}

/// Sizes are chosen here and far below what a quantity can be.
fn resources(amounts: [u64; 4]) -> Resources {
    Resources::from_amounts(amounts).unwrap_or_default()
}

fn other(error: impl std::error::Error) -> Trouble {
    Trouble::Other(error.to_string())
}
