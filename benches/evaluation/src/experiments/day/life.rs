//! The life of a simulated fleet, step by step: everything is decided by a real store, and compared afterwards.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::RwLockReadGuard;
use std::sync::mpsc::{Receiver, Sender, channel};

use rear_engine::{Ask, ClusterId, Command, Policy, Resources};
use rear_fleet::{Chance, name};
use rear_store::{Answer, Commit, RedbJournal, Store, SubmitError, View};

use super::STEP_SECONDS;
use super::clock::Hands;
use crate::checks::{Made, beyond, living};
use crate::stage;

const GIB: u64 = 1 << 30;

/// How often the machine of the broker is in trouble, in steps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trouble {
    pub(super) restart_every: usize,
    pub(super) clock_set_every: usize,
}

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

/// A command, the reservation that it is about, and what came of it.
type Decided = ((Command, Option<u128>), Result<Answer, SubmitError>);

type Reply = (usize, Result<Answer, SubmitError>);

/// A cluster of the fleet.
pub(super) struct Member {
    pub(super) id: ClusterId,
    pub(super) size: Resources,
    pub(super) allocated: Resources,
    pub(super) sequence: u64,
    /// It says nothing before this step.
    pub(super) silent_until: usize,
}

/// A wish and the reservation that it led to.
pub(super) struct Wish {
    pub(super) key: String,
    pub(super) ask: Ask,
}

pub(super) struct Life {
    pub(super) clock: Hands,
    file: PathBuf,
    store: Option<Store>,
    trouble: Trouble,
    pub(super) chance: Chance,
    pub(super) members: Vec<Member>,
    pub(super) made: BTreeMap<u128, Made>,
    pub(super) wishes: BTreeMap<u128, Wish>,
    pub(super) next: u128,
    counts: BTreeMap<&'static str, u64>,
    replies: (Sender<Reply>, Receiver<Reply>),
}

impl Life {
    pub(super) fn begin(
        clusters: usize,
        seed: u64,
        file: PathBuf,
        trouble: Trouble,
    ) -> Result<Self, stage::Trouble> {
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
            trouble,
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

    pub(super) fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    pub(super) fn thousandths(&mut self, many: u64) -> bool {
        self.chance.between(0, 999) < many
    }

    /// As after a stop or a crash: what was acknowledged is in the file.
    fn restart(&mut self) -> Result<(), stage::Trouble> {
        self.store = None;
        let journal = RedbJournal::open(&self.file, Commit::TwoPhase).map_err(other)?;
        let store = Store::start(journal, Policy::default(), self.clock.clone()).map_err(other)?;
        self.store = Some(store);
        Ok(())
    }

    /// One step of everyone's life. What is wrong after it.
    pub(super) fn step(&mut self, step: usize) -> Result<Vec<String>, stage::Trouble> {
        self.clock.pass(STEP_SECONDS);
        if step % self.trouble.clock_set_every == 1 {
            self.clock.set_by(-STEP_SECONDS / 2);
            self.count("clock set back");
        }
        if step % self.trouble.restart_every == 1 {
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

    /// Submits all at once, as many callers would, and waits for every answer.
    pub(super) fn decide(
        &mut self,
        commands: impl IntoIterator<Item = (Command, Option<u128>)>,
    ) -> Vec<Decided> {
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
                self.count("advertisements that change something");
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
pub(super) fn resources(amounts: [u64; 4]) -> Resources {
    Resources::from_amounts(amounts).unwrap_or_default()
}

fn other(error: impl std::error::Error) -> stage::Trouble {
    stage::Trouble::Other(error.to_string())
}
