//! A small stage for claims: clusters by name, reservations by number, time by hand.

use rear_engine::advertisement::{Advertisement, Holding};
use rear_engine::audit::{Books, Witness, books};
use rear_engine::testing::{advertisement, cluster, id};
use rear_engine::{
    Actor, Ask, ClusterId, Command, Decision, Dimension, Duration, Fleet, Happening, NoRoom,
    Policy, Refusal, Reservation, Resources, Subject, Timestamp, decide,
};

pub(crate) struct Stage {
    pub(crate) fleet: Fleet,
    pub(crate) now: Timestamp,
    witness: Witness,
    next: u128,
}

pub(crate) fn start() -> Timestamp {
    Timestamp::from_seconds(1_800_000_000)
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(Policy::default())
    }

    pub(crate) fn with(policy: Policy) -> Self {
        Self::on(Fleet::new(policy))
    }

    pub(crate) fn on(fleet: Fleet) -> Self {
        let next = fleet.reservations().map(|kept| kept.id.to_bits()).max().unwrap_or_default();
        Self { witness: Witness::of(&fleet), fleet, now: start(), next }
    }

    /// From now on these limits count; the witness learns of them.
    pub(crate) fn keep_time_by(&mut self, policy: &Policy) {
        self.fleet.keep_time_by(policy, self.now);
        self.witness = Witness::of(&self.fleet);
    }

    /// Decides, checks with both auditors, applies.
    pub(crate) fn act(&mut self, command: Command) -> Result<Decision, Refusal> {
        let decision = decide(&self.fleet, command, self.now)?;
        self.witness.observe(&decision, self.now).expect("no invariant is broken");
        self.fleet.apply_all(decision.clone()).expect("the decision fits the fleet");
        assert_eq!(books(&Books::of(&self.fleet)), []);
        Ok(decision)
    }

    pub(crate) fn idle(&mut self, name: &str, cpu: &str, memory: &str) -> &mut Self {
        let advertisement = advertisement(cpu, memory, self.now);
        self.advertise(name, advertisement).expect("accepted");
        self
    }

    pub(crate) fn advertise(
        &mut self,
        name: &str,
        advertisement: Advertisement,
    ) -> Result<Decision, Refusal> {
        self.advertise_holding(name, advertisement, None)
    }

    pub(crate) fn advertise_holding(
        &mut self,
        name: &str,
        advertisement: Advertisement,
        holding: Option<Vec<Holding>>,
    ) -> Result<Decision, Refusal> {
        let advertisement = Box::new(advertisement);
        self.act(Command::Advertise { cluster: cluster(name), advertisement, holding })
    }

    pub(crate) fn try_reserve(&mut self, ask: Ask) -> Result<Reservation, Refusal> {
        self.try_reserve_as(ask, None)
    }

    pub(crate) fn try_reserve_as(
        &mut self,
        ask: Ask,
        key: Option<&str>,
    ) -> Result<Reservation, Refusal> {
        self.next += 1;
        let by = Actor::Cluster(ask.requester().clone());
        let key = key.map(|key| key.parse().unwrap());
        let decision =
            self.act(Command::Reserve { id: id(self.next), ask: Box::new(ask), key, by })?;
        let Subject::Reservation(made) = decision.subject else { panic!("about a reservation") };
        Ok(self.fleet.reservation(made).expect("it is there").clone())
    }

    pub(crate) fn reserve(&mut self, ask: Ask) -> Reservation {
        self.try_reserve(ask).expect("there is room")
    }

    pub(crate) fn refused(&mut self, ask: Ask) -> NoRoom {
        match self.try_reserve(ask) {
            Err(Refusal::NoRoom(explained)) => explained,
            other => panic!("expected no room, got {other:?}"),
        }
    }

    pub(crate) fn pass(&mut self, span: &str) -> &mut Self {
        self.now = self.now.plus(span.parse::<Duration>().unwrap());
        self
    }

    pub(crate) fn available(&self, name: &str) -> Resources {
        self.fleet.cluster(&cluster(name)).unwrap().available().unwrap().shown()
    }

    pub(crate) fn free(&self, name: &str, dimension: Dimension) -> String {
        dimension.quantity(self.available(name).get(dimension)).to_string()
    }

    pub(crate) fn reserved(&self, name: &str) -> Resources {
        self.fleet.cluster(&cluster(name)).unwrap().ledger().total()
    }
}

pub(crate) fn happened(decision: &Decision) -> Vec<&Happening> {
    decision.events.iter().map(|event| &event.what).collect()
}

pub(crate) fn reasons(explained: &NoRoom) -> Vec<String> {
    explained.candidates.iter().map(ToString::to_string).collect()
}

pub(crate) fn of(requester: &str) -> Actor {
    Actor::Cluster(cluster(requester))
}

pub(crate) fn operator() -> Actor {
    Actor::Administrator(cluster("operator"))
}

pub(crate) fn provider(reservation: &Reservation) -> &ClusterId {
    &reservation.provider
}
