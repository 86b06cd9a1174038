//! Whoever says the same again is understood, and answered, as by those who hear it for the first time.

use proptest::option;
use proptest::prelude::*;
use rear_api::advertisement::{
    Advertisement, AdvertisementAnswer, AdvertisementRequest, Familiar, MAX_FAMILIAR, Seen,
};
use rear_api::body;
use rear_engine::advertisement::Order;
use rear_engine::testing::{cluster, id, resources};
use rear_engine::{Actor, Ask, Command, Duration, Fleet, Policy, Terms, Timestamp, decide};
use serde_json::Value;

use crate::any_value;
use crate::bodies::{ADVERTISEMENT, with};

const START: i64 = 1_767_366_245;

/// As the broker understands what it hears for the first time.
fn understood(body: &[u8]) -> Option<Command> {
    body::read::<AdvertisementRequest>(body).ok()?.into_command().ok()
}

fn written(request: &AdvertisementRequest, pretty: bool) -> Vec<u8> {
    let write = if pretty { serde_json::to_vec_pretty } else { serde_json::to_vec };
    write(request).unwrap()
}

/// What happens to a body on its way.
#[derive(Debug, Clone, Copy)]
enum Slip {
    Change(u8),
    Insert(u8),
    Remove,
}

fn slip() -> impl Strategy<Value = (usize, Slip)> {
    let byte = || {
        prop_oneof![
            prop::sample::select(b"\"\\{}[],:.0123456789 -+eEzZtT\n\0".to_vec()),
            any::<u8>()
        ]
    };
    let slip = prop_oneof![
        byte().prop_map(Slip::Change),
        byte().prop_map(Slip::Insert),
        Just(Slip::Remove)
    ];
    (any::<usize>(), slip)
}

fn slipped(mut body: Vec<u8>, (place, slip): (usize, Slip)) -> Vec<u8> {
    let place = place % body.len();
    match slip {
        Slip::Change(byte) => body[place] = byte,
        Slip::Insert(byte) => body.insert(place, byte),
        Slip::Remove => drop(body.remove(place)),
    }
    body
}

proptest! {
    #[test]
    fn what_is_said_again_is_understood_as_if_it_were_new(
        cluster in any_value::cluster(),
        told in any_value::advertisement(),
        held in option::of(prop::collection::vec(any_value::holding(), 0..2)),
        later in any_value::moment(),
        count: u64,
        pretty: bool,
        slips in prop::collection::vec(slip(), 0..30),
    ) {
        let first = written(&AdvertisementRequest::of(&cluster, &told, held.as_deref()), pretty);
        let familiar = || Familiar::new(&first, &understood(&first).unwrap());
        prop_assert_eq!(familiar().is_some(), first.len() <= MAX_FAMILIAR);
        let Some(mut known) = familiar() else { return Ok(()) };
        prop_assert_eq!(known.understand(&first), understood(&first));
        let order = told.order.map(|order| Order { sequence: count, ..order });
        let again = rear_engine::Advertisement { timestamp: later, order, ..told };
        let again = written(&AdvertisementRequest::of(&cluster, &again, held.as_deref()), pretty);
        prop_assert_eq!(known.understand(&again), understood(&again));
        for slip in slips {
            let other = slipped(again.clone(), slip);
            if let Some(command) = known.understand(&other) {
                prop_assert_eq!(Some(command), understood(&other));
            }
        }
        prop_assert_eq!(known.understand(&first), understood(&first), "the same as ever");
    }

    #[test]
    fn what_is_answered_again_is_what_would_be_written_anew(steps in prop::collection::vec(0_u32..7, 1..40)) {
        let mut stage = Stage::new();
        for step in steps {
            stage.step(step);
            stage.say_again();
        }
    }
}

/// A fleet, and one in it that says the same again and again.
struct Stage {
    fleet: Fleet,
    now: Timestamp,
    count: u64,
    body: String,
    familiar: Option<Familiar>,
    /// Whether the last answer was one of before.
    is_of_before: bool,
}

impl Stage {
    fn new() -> Self {
        let (fleet, now) = (Fleet::new(Policy::default()), Timestamp::from_seconds(START));
        let body = ADVERTISEMENT.to_owned();
        let mut stage = Self { fleet, now, count: 3, body, familiar: None, is_of_before: false };
        stage.say_again();
        stage
    }

    fn run(&mut self, command: Command) {
        if let Ok(decision) = decide(&self.fleet, command, self.now) {
            self.fleet.apply_all(decision).unwrap();
        }
    }

    fn step(&mut self, step: u32) {
        let by = Actor::Cluster(cluster("paris"));
        match step {
            0 => self.now = self.now.plus(Duration::from_seconds(7)),
            1 => self.now = self.now.plus(Duration::from_seconds(700)),
            2 => {
                let ask = Ask::new(cluster("paris"), resources("1", "1Gi"), Terms::default());
                let id = id(u128::from(self.count));
                self.run(Command::Reserve { id, ask: Box::new(ask.unwrap()), key: None, by });
            }
            3 => {
                let live = self.fleet.live_of_provider(&cluster("rome")).next();
                if let Some(id) = live.map(|live| live.id) {
                    self.run(Command::Release { id, by });
                }
            }
            // Said elsewhere, and after what comes next here.
            4 => {
                let other = with(ADVERTISEMENT, "/sequence", Value::from(self.count + 2));
                let other = with(&other, "/resources/allocated/cpu", Value::from("11"));
                self.run(understood(other.as_bytes()).unwrap());
            }
            5 => {
                let name = format!("Rome {}", self.count);
                self.body = with(&self.body, "/clusterName", Value::from(name));
            }
            _ => {}
        }
    }

    /// Says it once more, and compares the answer with one that is written anew.
    fn say_again(&mut self) {
        self.count += 1;
        // In the words of answers, and in others.
        let zone = ["Z", "+00:00", ".250Z"][usize::try_from(self.count % 3).unwrap()];
        let timestamp = rear_api::moment::text(self.now).replace('Z', zone);
        let body = with(&self.body, "/sequence", Value::from(self.count));
        let body = with(&body, "/timestamp", Value::from(timestamp));
        let command = understood(body.as_bytes()).unwrap();
        match self.familiar.as_mut().and_then(|known| known.understand(body.as_bytes())) {
            Some(again) => assert_eq!(again, command),
            None => self.familiar = Familiar::new(body.as_bytes(), &command),
        }
        self.run(command);
        let Self { fleet, familiar, .. } = self;
        let familiar = familiar.as_mut().expect("it is short");
        let seen = Seen::of(fleet, fleet.cluster(&cluster("rome")).unwrap(), self.now).unwrap();
        let advertisement = Advertisement::of(seen).unwrap();
        let answer = AdvertisementAnswer { advertisement, provider_instructions: None };
        let answer = serde_json::to_string(&answer).unwrap();
        let of_before = familiar.answer(&seen).map(|text| String::from_utf8(text).unwrap());
        self.is_of_before = of_before.is_some();
        assert_eq!(of_before.unwrap_or(answer.clone()), answer);
        familiar.was_shown(&seen, answer.as_bytes());
    }
}

#[test]
fn as_long_as_nothing_changes_the_answer_of_before_is_given() {
    let mut stage = Stage::new();
    let mut is_of_before = |step| {
        stage.step(step);
        stage.say_again();
        stage.is_of_before
    };
    assert!(is_of_before(6), "at once");
    assert!(is_of_before(0), "later");
    assert!(!is_of_before(2), "something is reserved");
    assert!(is_of_before(0));
    assert!(!is_of_before(3), "and released");
    assert!(is_of_before(1), "after a long silence");
    assert!(!is_of_before(5), "under another name");
    assert!(is_of_before(6));
    assert!(!is_of_before(4), "something else was said elsewhere");
}

#[test]
fn what_is_written_in_an_unusual_way_is_read_each_time() {
    let body: String = ADVERTISEMENT.split_whitespace().collect();
    let escaped = body.replace("2026-01-02T", "2026-01-02\\u0054");
    assert_ne!(escaped, body);
    let command = understood(escaped.as_bytes()).unwrap();
    assert!(Familiar::new(escaped.as_bytes(), &command).is_none());
    let mut familiar = Familiar::new(body.as_bytes(), &command).unwrap();
    assert_eq!(familiar.understand(escaped.as_bytes()), None);
    assert_eq!(familiar.understand(body.as_bytes()), Some(command));
    for (number, other) in
        [("3", "03"), ("3", "+3"), ("3", ""), ("3", "3.0"), ("3", "18446744073709551616")]
    {
        let other =
            body.replace(&format!("\"sequence\":{number}"), &format!("\"sequence\":{other}"));
        assert_ne!(other, body);
        assert_eq!(familiar.understand(other.as_bytes()), None, "{other}");
    }
}
