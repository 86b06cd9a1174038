//! A history of batches: random commands, decided against a fleet, ready to be committed.

use rear_engine::testing::fleets::{Dice, Load, fleet, request};
use rear_engine::testing::{cluster, id};
use rear_engine::{
    Actor, Change, Command, Duration, Fleet, ReservationId, Strategy, Timestamp, decide,
};
use rear_store::{Batch, Contents, Position};

/// Makes one batch after the other.
pub(crate) struct History {
    pub(crate) fleet: Fleet,
    dice: Dice,
    position: Position,
    now: Timestamp,
    granted: Vec<ReservationId>,
    next: u128,
    started: bool,
}

const CLUSTERS: usize = 8;

impl History {
    pub(crate) fn new(seed: u64) -> Self {
        let now = Timestamp::from_seconds(1_800_000_000);
        Self {
            fleet: Fleet::new(rear_engine::Policy::default()),
            dice: Dice::new(seed),
            position: Position::start_of(1),
            now,
            granted: Vec::new(),
            next: 0,
            started: false,
        }
    }

    /// The next batch, already true in memory.
    pub(crate) fn next_batch(&mut self) -> Batch {
        self.position = self.position.next().unwrap();
        let seconds = i64::try_from(self.dice.below(120)).unwrap();
        self.now = self.now.plus(Duration::from_seconds(seconds));
        let mut batch = Batch::empty(self.position, self.now);
        if !self.started {
            self.started = true;
            batch.changes = first_clusters(self.now);
            for change in batch.changes.clone() {
                self.fleet.apply(change).unwrap();
            }
            return batch;
        }
        for _ in 0..=self.dice.below(5) {
            let command = self.command();
            if let Ok(decision) = decide(&self.fleet, command, self.now) {
                batch.changes.extend(decision.changes.clone());
                batch.events.extend(decision.events.clone());
                self.fleet.apply_all(decision).unwrap();
            }
        }
        batch
    }

    fn command(&mut self) -> Command {
        let which = self.dice.below(20);
        let known = self.granted.get(usize::try_from(self.dice.below(64)).unwrap()).copied();
        let by = Actor::Administrator(cluster("operator"));
        match (which, known) {
            (0..10, _) | (_, None) => self.reserve(),
            (10..14, Some(id)) => Command::Release { id, by },
            (14, Some(id)) => self.activate(id),
            (15, _) => Command::Expire { limit: 10 },
            (16, _) => Command::MarkStale { limit: 3 },
            (17, _) => Command::Hear { cluster: self.requester() },
            (18, _) => self.advertise(),
            (_, Some(_)) => {
                let cluster = rear_engine::testing::fleets::name(
                    usize::try_from(self.dice.below(CLUSTERS as u64)).unwrap(),
                );
                if self.dice.below(4) == 0 {
                    Command::Forget { cluster, by }
                } else {
                    Command::Hear { cluster }
                }
            }
        }
    }

    fn reserve(&mut self) -> Command {
        self.next += 1;
        let ask = request(&mut self.dice, if self.next.is_multiple_of(3) { 4 } else { 2 });
        let by = Actor::Cluster(ask.requester().clone());
        let key =
            self.next.is_multiple_of(4).then(|| format!("key {}", self.next).parse().unwrap());
        let id = id(self.next);
        self.granted.insert(0, id);
        self.granted.truncate(64);
        Command::Reserve { id, ask: Box::new(ask), key, by }
    }

    fn activate(&self, id: ReservationId) -> Command {
        let requester = self.fleet.reservation(id).map(|kept| kept.requester().clone());
        let by = Actor::Cluster(requester.unwrap_or_else(|| cluster("nobody")));
        Command::Activate { id, by }
    }

    fn requester(&mut self) -> rear_engine::ClusterId {
        cluster(&format!("requester-{}", self.dice.below(20)))
    }

    fn advertise(&mut self) -> Command {
        let number = usize::try_from(self.dice.below(CLUSTERS as u64)).unwrap();
        let source = fleet(CLUSTERS, Load::Mixed, Strategy::Headroom, self.now);
        let name = rear_engine::testing::fleets::name(number);
        let told = source.cluster(&name).unwrap().record().advertisement().unwrap().clone();
        Command::Advertise { cluster: name, advertisement: Box::new(told), holding: None }
    }
}

fn first_clusters(now: Timestamp) -> Vec<Change> {
    let source = fleet(CLUSTERS, Load::Mixed, Strategy::Headroom, now);
    let mut records: Vec<_> = source.clusters().map(|kept| kept.record().clone()).collect();
    records.sort_by(|a, b| a.id.cmp(&b.id));
    records.into_iter().map(|record| Change::Cluster(Box::new(record))).collect()
}

/// What must be found of a fleet: every reservation, and every ledger.
pub(crate) fn assert_same(contents: &Contents, fleet: &Fleet) {
    let mut expected: Vec<_> = fleet.reservations().cloned().collect();
    expected.sort_by_key(|kept| kept.id);
    assert_eq!(contents.reservations, expected);
    let loaded =
        contents.clone().into_fleet(fleet.policy().clone(), contents.meta.time_mark).unwrap();
    assert_eq!(loaded.listening_since(), contents.meta.time_mark);
    for kept in fleet.clusters() {
        let found = loaded.cluster(&kept.record().id);
        let total = found.map(|found| found.ledger().total());
        let known = kept.record().advertised.is_some() || kept.record().heard_at.is_some();
        if known {
            assert_eq!(total, Some(kept.ledger().total()), "{}", kept.record().id);
        }
    }
}
