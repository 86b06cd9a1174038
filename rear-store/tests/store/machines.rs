//! One history of commands, three times: on a file, in memory, and by a sequential broker without a store. Where there is an
//! etcd, a fourth time on a journal in it.
//!
//! All must answer the same, whatever is asked in which order, also across restarts, and nobody may find
//! anything wrong with what is kept.

use proptest::prelude::*;
use std::sync::Arc;

use rear_engine::testing::{advertisement, cluster, id, resources};
use rear_engine::{
    Actor, Ask, ClusterId, Command, Decision, Duration, Fleet, Policy, Refusal, Reservation,
    Subject, Terms, decide,
};
use rear_store::settings::EventRetention;
use rear_store::verify::verify;
use rear_store::view::{Query, Role};
use rear_store::{
    Commit, EventId, Journal, Memory, Position, RedbJournal, Settings, Store, SubmitError,
};

use super::disk::Disk;
use super::stage::Hands;

#[derive(Debug, Clone)]
enum Step {
    Advertise { provider: u8, cores: u8 },
    Reserve { requester: u8, cores: u8, minutes: Option<u8>, key: Option<u8> },
    Activate { which: u8 },
    Renew { which: u8, minutes: u8 },
    Reject { which: u8 },
    Release { which: u8, by_operator: bool },
    Hear { requester: u8 },
    Forget { cluster: u8 },
    Pass { minutes: u16 },
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3_u8, 0..9_u8).prop_map(|(provider, cores)| Step::Advertise { provider, cores }),
        8 => (0..4_u8, 1..5_u8, prop::option::of(1..60_u8), prop::option::of(0..4_u8)).prop_map(
            |(requester, cores, minutes, key)| Step::Reserve { requester, cores, minutes, key }
        ),
        2 => any::<u8>().prop_map(|which| Step::Activate { which }),
        2 => (any::<u8>(), 1..90_u8).prop_map(|(which, minutes)| Step::Renew { which, minutes }),
        1 => any::<u8>().prop_map(|which| Step::Reject { which }),
        3 => (any::<u8>(), any::<bool>())
            .prop_map(|(which, by_operator)| Step::Release { which, by_operator }),
        1 => (0..4_u8).prop_map(|requester| Step::Hear { requester }),
        1 => (0..7_u8).prop_map(|cluster| Step::Forget { cluster }),
        3 => prop_oneof![0..30_u16, 1000..20_000_u16].prop_map(|minutes| Step::Pass { minutes }),
        2 => Just(Step::Restart),
    ]
}

/// A broker without a store: decides one command after the other.
struct Plain {
    fleet: Fleet,
    /// What it remembers after a restart: most signs of life it does not.
    durable: Fleet,
}

impl Plain {
    fn submit(&mut self, command: Command, hands: &Hands) -> Result<Option<Reservation>, Refusal> {
        self.do_what_is_due(hands);
        let Decision { subject, .. } = self.accept(command, hands)?;
        Ok(match subject {
            Subject::Reservation(id) => self.fleet.reservation(id).cloned(),
            Subject::Cluster(_) | Subject::Fleet => None,
        })
    }

    fn accept(&mut self, command: Command, hands: &Hands) -> Result<Decision, Refusal> {
        let decision = decide(&self.fleet, command, hands.now())?;
        self.fleet.apply_all(decision.clone()).unwrap();
        for change in decision.changes.iter().filter(|change| change.is_durable()) {
            self.durable.apply(change.clone()).unwrap();
        }
        Ok(decision)
    }

    fn restart(&mut self, hands: &Hands) {
        self.fleet = self.durable.clone();
        self.fleet.listen_from(hands.now());
    }

    fn do_what_is_due(&mut self, hands: &Hands) {
        let limit = usize::MAX;
        let due =
            [Command::Expire { limit }, Command::MarkStale { limit }, Command::Retire { limit }];
        for command in due {
            self.accept(command, hands).unwrap();
        }
    }
}

struct Machine {
    hands: Hands,
    disk: Disk,
    memory: Memory,
    /// Open stores; none while it restarts.
    stores: Vec<Store>,
    #[cfg(feature = "etcd-tests")]
    etcd: Option<super::etcd::Place>,
    plain: Plain,
    made: u128,
}

impl Machine {
    fn new() -> Self {
        let hands = Hands::start();
        let (disk, memory) = (Disk::new(), Memory::new(7, 1, 1).unwrap());
        let mut fleet = Fleet::new(Policy::default());
        fleet.listen_from(hands.now());
        let mut machine = Self {
            hands,
            disk,
            memory,
            stores: Vec::new(),
            #[cfg(feature = "etcd-tests")]
            etcd: None,
            plain: Plain { durable: fleet.clone(), fleet },
            made: 0,
        };
        machine.open();
        machine
    }

    #[cfg(feature = "etcd-tests")]
    fn with_etcd() -> Self {
        let mut machine = Self::new();
        machine.etcd = Some(super::etcd::Place::new());
        machine.stores.clear();
        machine.open();
        machine
    }

    fn open(&mut self) {
        let file = RedbJournal::on_backend(self.disk.clone(), 7, Commit::OnePhase).unwrap();
        // All events are kept, to be compared at the end.
        let events = EventRetention { age: "1000000h".parse().unwrap(), count: usize::MAX / 2 };
        let settings = Settings { events, ..Settings::default() };
        let hands = || self.hands.clone();
        let mut stores = vec![
            Store::start(file, settings.clone(), hands()).unwrap(),
            Store::start(self.memory.clone(), settings.clone(), hands()).unwrap(),
        ];
        #[cfg(feature = "etcd-tests")]
        stores.extend(
            self.etcd
                .as_ref()
                .map(|place| Store::start(place.open(7), settings.clone(), hands()).unwrap()),
        );
        self.stores.append(&mut stores);
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Pass { minutes } => {
                self.hands.pass(i64::from(*minutes) * 60);
                // Whatever is due happens now, in all of them.
                self.submit(&Command::Hear { cluster: cluster("watchman") });
            }
            Step::Restart => {
                self.stores.clear();
                self.open();
                self.plain.restart(&self.hands);
            }
            step => {
                let command = self.command(step);
                self.submit(&command);
            }
        }
    }

    fn submit(&mut self, command: &Command) {
        let expected = self.plain.submit(command.clone(), &self.hands);
        let expected = expected.map(|reservation| reservation.map(Arc::new));
        for store in &self.stores {
            let outcome = match store.submit(command.clone()) {
                Ok(answer) => Ok(answer.reservation),
                Err(SubmitError::Refused(refusal)) => Err(refusal),
                Err(other) => panic!("{other}"),
            };
            assert_eq!(outcome, expected, "{command:?}");
        }
        for store in &self.stores {
            same(store, &self.plain.fleet);
        }
    }

    fn command(&mut self, step: &Step) -> Command {
        match *step {
            Step::Advertise { provider, cores } => {
                let told = advertisement(&cores.to_string(), "64Gi", self.hands.now());
                let cluster = name("p", provider);
                Command::Advertise { cluster, advertisement: Box::new(told), holding: None }
            }
            Step::Reserve { requester, cores, minutes, key } => {
                self.made += 1;
                let requester = name("r", requester);
                let duration =
                    minutes.map(|minutes| Duration::from_seconds(60 * i64::from(minutes)));
                let terms = Terms { duration, ..Terms::default() };
                let amount = resources(&cores.to_string(), "1Gi");
                let ask = Box::new(Ask::new(requester.clone(), amount, terms).unwrap());
                let key = key.map(|key| format!("key-{key}").parse().unwrap());
                Command::Reserve { id: id(self.made), ask, key, by: Actor::Cluster(requester) }
            }
            Step::Activate { which } => {
                let (id, requester, _) = self.reservation(which);
                Command::Activate { id, by: Actor::Cluster(requester) }
            }
            Step::Renew { which, minutes } => {
                let (id, requester, _) = self.reservation(which);
                let span = Duration::from_seconds(60 * i64::from(minutes));
                let until = self.hands.now().plus(span);
                Command::Renew { id, until, by: Actor::Cluster(requester) }
            }
            Step::Reject { which } => {
                let (id, _, provider) = self.reservation(which);
                let reason = "no power".parse().unwrap();
                Command::Reject { id, reason, by: Actor::Cluster(provider) }
            }
            Step::Release { which, by_operator } => {
                let (id, requester, _) = self.reservation(which);
                let by = if by_operator { operator() } else { Actor::Cluster(requester) };
                Command::Release { id, by }
            }
            Step::Hear { requester } => Command::Hear { cluster: name("r", requester) },
            Step::Forget { cluster } => {
                let side = if cluster < 3 { "p" } else { "r" };
                Command::Forget { cluster: name(side, cluster % 3), by: operator() }
            }
            Step::Pass { .. } | Step::Restart => Command::Hear { cluster: cluster("watchman") },
        }
    }

    /// One of the last reservations, with its sides; one that was never made while there is none.
    fn reservation(&self, which: u8) -> (rear_engine::ReservationId, ClusterId, ClusterId) {
        let number = self.made.saturating_sub(u128::from(which % 8));
        let kept = self.plain.fleet.reservation(id(number));
        let sides = kept.map(|kept| (kept.requester().clone(), kept.provider.clone()));
        let (requester, provider) = sides.unwrap_or_else(|| (name("r", 0), name("p", 0)));
        (id(number), requester, provider)
    }

    fn conclude(self) {
        let events = |store: &Store| {
            let found = store.events_after(EventId::end_of(Position::start_of(1)), None, 10_000);
            let found = found.unwrap().events;
            found.iter().map(|told| told.event.clone()).collect::<Vec<_>>()
        };
        for store in &self.stores {
            assert_eq!(events(store), events(&self.stores[0]));
        }
        for store in &self.stores {
            let report = verify(&*store.reader().snapshot().unwrap());
            assert_eq!(report.findings, []);
        }
        drop(self.stores);
        let file = RedbJournal::on_backend(self.disk, 7, Commit::OnePhase).unwrap();
        let (on_disk, in_memory) = (file.load().unwrap(), Journal::load(&self.memory).unwrap());
        assert_eq!(on_disk.reservations, in_memory.reservations);
        assert_eq!(on_disk.clusters, in_memory.clusters);
        assert_eq!(on_disk.ledgers, in_memory.ledgers);
    }
}

fn operator() -> Actor {
    Actor::Administrator(cluster("operator"))
}

fn name(side: &str, number: u8) -> ClusterId {
    cluster(&format!("{side}-{number}"))
}

/// What readers see is what the sequential broker knows.
fn same(store: &Store, fleet: &Fleet) {
    let view = store.view();
    let page = view.reservations(&Query::default(), None, 1000).unwrap();
    let mut expected: Vec<&Reservation> = fleet.reservations().collect();
    expected.sort_by_key(|kept| kept.id);
    assert_eq!(page.items, expected);
    let counts = view.counts();
    let all = counts.reserved + counts.active + counts.released + counts.failed;
    assert_eq!(all, expected.len());
    for kept in fleet.clusters() {
        let record = kept.record();
        let shown = view.fleet().cluster(&record.id).unwrap();
        assert_eq!(shown.record(), record);
        assert_eq!(shown.ledger().total(), kept.ledger().total());
        assert!(view.last_change(&record.id, Role::Provider) <= view.position());
    }
    assert_eq!(counts.clusters, fleet.clusters().count());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_file_and_a_memory_answer_as_a_sequential_broker_would(
        steps in prop::collection::vec(step(), 1..60)
    ) {
        let mut machine = Machine::new();
        for step in &steps {
            machine.take(step);
        }
        machine.conclude();
    }
}

#[cfg(feature = "etcd-tests")]
proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_journal_in_etcd_answers_as_a_sequential_broker_would(
        steps in prop::collection::vec(step(), 1..60)
    ) {
        let mut machine = Machine::with_etcd();
        for step in &steps {
            machine.take(step);
        }
        machine.conclude();
    }
}
