//! Records come back as they were written, or not at all.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rear_engine::advertisement::{Advertisement, Consumed, MAX_CONSUMERS, Order};
use rear_engine::fleet::{Advertised, ClusterRecord as Remembered};
use rear_engine::labels::{Labels, MAX_LABEL_KEY_LENGTH, MAX_LABEL_VALUE_LENGTH, MAX_LABELS};
use rear_engine::price::PriceCeiling;
use rear_engine::reservation::{
    Active, Ending, Failed, Failure, Phase, Release, Released, Reservation, Reserved,
};
use rear_engine::testing::script::{OP_LENGTH, parse};
use rear_engine::testing::world::World;
use rear_engine::testing::{all_resources, cluster, cost, id, labels, of_size, resources};
use rear_engine::text::MAX_LINE_LENGTH;
use rear_engine::{
    Actor, Ask, Duration, Event, Happening, ReservationId, Resources, Strategy, Subject, Terms,
    Timestamp,
};
use rear_store::records::cluster::ClusterRecord;
use rear_store::records::event::{self, EventRecord};
use rear_store::records::ledger::LedgerRecord;
use rear_store::records::meta::{self, Meta, MetaRecord, MetaRecordV1};
use rear_store::records::reservation::{self, ReservationRecord};
use rear_store::records::seal::{open, seal};
use rear_store::records::{InvalidField, MAX_RECORD, SealError, Sealed, Table};
use rear_store::{EventId, Position};
use serde::{Deserialize, Serialize};

fn now() -> Timestamp {
    Timestamp::from_seconds(1_800_000_000)
}

fn full_ask() -> Ask {
    let terms = Terms {
        priority: -7,
        duration: Some(Duration::from_seconds(3600)),
        target: Some(cluster("rome")),
        strategy: Some(Strategy::Balanced),
        required: labels(&[("zone", "north")]),
        preferred: labels(&[("disk", "fast"), ("gpu", "new")]),
        ceiling: Some(PriceCeiling {
            amount: "0.25".parse().unwrap(),
            currency: "EUR".parse().unwrap(),
        }),
    };
    Ask::new(cluster("paris"), all_resources("1500m", "4Gi", "1", "10Gi"), terms).unwrap()
}

fn reservation_in(phase: Phase) -> Reservation {
    Reservation {
        id: id(0x0193_0000_0000_7000_8000_0000_0000_002a),
        ask: full_ask(),
        key: Some("intent 1".parse().unwrap()),
        provider: cluster("rome"),
        reserved_at: now(),
        expires_at: Some(now().plus(Duration::from_seconds(3600))),
        phase,
    }
}

fn phases() -> Vec<Phase> {
    let released = |why| Phase::Released(Released { at: now(), why });
    let failed = |why| Phase::Failed(Failed { at: now(), why });
    vec![
        Phase::Reserved(Reserved),
        Phase::Active(Active { since: now() }),
        released(Release::ByRequester),
        released(Release::ByAdministrator),
        released(Release::Expired),
        released(Release::RequesterGone),
        failed(Failure::NoRoom),
        failed(Failure::Rejected("no room after all".parse().unwrap())),
        failed(Failure::ProviderGone),
    ]
}

fn remembered() -> Remembered {
    let mut advertisement: Advertisement = of_size(all_resources("8", "16Gi", "2", "100Gi"), now());
    advertisement.name = "Rome, second floor".parse().unwrap();
    advertisement.order = Some(Order { epoch: 3, sequence: 141 });
    advertisement.allocated = resources("2", "4Gi");
    let entries = [(cluster("paris"), resources("1", "1Gi"))];
    advertisement.consumed = Consumed::new(entries).unwrap();
    advertisement.cost = Some(cost("0.031", "0.004", "1.5", "EUR"));
    advertisement.labels = labels(&[("zone", "north")]);
    advertisement.endpoint = Some("https://rome.example:6443".parse().unwrap());
    Remembered {
        advertised: Some(Advertised { advertisement, received_at: now() }),
        heard_at: Some(now()),
        stale: true,
        recovered_in: 2,
        ..Remembered::new(cluster("rome"))
    }
}

fn events() -> Vec<Event> {
    use Happening::{
        Activated, Adopted, Advertised, BecameFresh, BecameOvercommitted, BecameStale, Ended,
        Forgotten, NoLongerOvercommitted, Recovered, Renewed, Reserved,
    };
    let rejected = Failure::Rejected("full".parse().unwrap());
    let happened = [
        Advertised,
        Reserved,
        Activated,
        Renewed,
        Ended(Ending::Released(Release::Expired)),
        Ended(Ending::Failed(rejected)),
        Adopted,
        BecameStale,
        BecameFresh,
        BecameOvercommitted,
        NoLongerOvercommitted,
        Recovered,
        Forgotten,
    ];
    let subjects =
        [Subject::Fleet, Subject::Cluster(cluster("rome")), Subject::Reservation(id(42))];
    let actors = [
        Actor::Broker,
        Actor::Cluster(cluster("paris")),
        Actor::Administrator(cluster("operator")),
    ];
    let pairs = subjects.into_iter().cycle().zip(actors.into_iter().cycle().skip(1));
    happened
        .into_iter()
        .zip(pairs)
        .map(|(what, (subject, by))| Event { at: now(), subject, what, by })
        .collect()
}

fn reservation_through_bytes(reservation: &Reservation) -> Reservation {
    let key = reservation::key_of(reservation.id);
    let bytes = seal(&key, &ReservationRecord::from(reservation)).unwrap();
    open::<ReservationRecord>(&key, &bytes).unwrap().into_reservation(reservation.id).unwrap()
}

fn cluster_through_bytes(remembered: &Remembered) -> Remembered {
    let key = remembered.id.as_str().as_bytes();
    let bytes = seal(key, &ClusterRecord::from(remembered)).unwrap();
    open::<ClusterRecord>(key, &bytes).unwrap().into_remembered(remembered.id.clone()).unwrap()
}

#[test]
fn every_phase_and_every_event_comes_back() {
    for phase in phases() {
        let reservation = reservation_in(phase);
        assert_eq!(reservation_through_bytes(&reservation), reservation);
    }
    for strategy in Strategy::ALL {
        let terms = Terms { strategy: Some(strategy), ..Terms::default() };
        let ask = Ask::new(cluster("paris"), resources("1", "1Gi"), terms).unwrap();
        let reservation = Reservation { ask, ..reservation_in(Phase::Reserved(Reserved)) };
        assert_eq!(reservation_through_bytes(&reservation), reservation);
    }
    for (place, event) in (0..).zip(events()) {
        let key =
            event::key_of(EventId { position: Position { incarnation: 1, number: 7 }, place });
        let bytes = seal(&key, &EventRecord::from(&event)).unwrap();
        let back = Event::try_from(open::<EventRecord>(&key, &bytes).unwrap()).unwrap();
        assert_eq!(back, event);
    }
}

#[test]
fn clusters_and_ledgers_come_back() {
    assert_eq!(cluster_through_bytes(&remembered()), remembered());
    let silent = Remembered::new(cluster("silent"));
    assert_eq!(cluster_through_bytes(&silent), silent);
    let total = all_resources("1", "2Gi", "3", "4Gi");
    let bytes = seal(b"rome", &LedgerRecord::from(total)).unwrap();
    assert_eq!(Resources::try_from(open::<LedgerRecord>(b"rome", &bytes).unwrap()), Ok(total));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_history_leads_to_comes_back(
        bytes in prop::collection::vec(any::<u8>(), 0..OP_LENGTH * 100)
    ) {
        let mut world = World::new(None);
        world.run(&parse(&bytes)).unwrap();
        for kept in world.fleet.reservations() {
            prop_assert_eq!(&reservation_through_bytes(kept), kept);
        }
        for kept in world.fleet.clusters() {
            prop_assert_eq!(&cluster_through_bytes(kept.record()), kept.record());
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(open::<ReservationRecord>(b"key", &bytes).is_err());
        prop_assert!(open::<ClusterRecord>(b"key", &bytes).is_err());
    }
}

#[test]
fn a_flipped_bit_anywhere_is_found() {
    let reservation = reservation_in(Phase::Reserved(Reserved));
    let key = reservation::key_of(reservation.id);
    let bytes = seal(&key, &ReservationRecord::from(&reservation)).unwrap();
    for position in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[position / 8] ^= 1 << (position % 8);
        let found = open::<ReservationRecord>(&key, &damaged).unwrap_err();
        assert_eq!(found, SealError::Damaged { table: "reservations" }, "bit {position}");
    }
}

#[test]
fn a_record_under_another_key_or_in_another_table_is_found() {
    let bytes = seal(b"rome", &LedgerRecord::from(resources("1", "1Gi"))).unwrap();
    let damaged = |table| Some(SealError::Damaged { table });
    assert_eq!(open::<LedgerRecord>(b"rom", &bytes).err(), damaged("ledger"));
    assert_eq!(open::<LedgerRecord>(b"paris", &bytes).err(), damaged("ledger"));
    assert_eq!(open::<ClusterRecord>(b"rome", &bytes).err(), damaged("advertisements"));
}

#[test]
fn a_record_that_is_cut_off_or_continued_is_found() {
    let bytes = seal(b"rome", &LedgerRecord::from(resources("1", "1Gi"))).unwrap();
    for length in 0..bytes.len() {
        let found = open::<LedgerRecord>(b"rome", &bytes[..length]).unwrap_err();
        let expected = if length < 10 {
            SealError::CutOff { table: "ledger" }
        } else {
            SealError::Damaged { table: "ledger" }
        };
        assert_eq!(found, expected, "{length} bytes");
    }
    let longer = [bytes.as_slice(), &[0]].concat();
    assert_eq!(open::<LedgerRecord>(b"rome", &longer), Err(SealError::Damaged { table: "ledger" }));
}

/// A ledger row as a later program might write it.
#[derive(Serialize, Deserialize, Debug, PartialEq)]
struct LaterLedger {
    total: [u64; 4],
    note: String,
}

impl Sealed for LaterLedger {
    const TABLE: Table = Table::Ledger;
    const SCHEMA: u8 = 2;
}

/// A ledger row with the right number and the wrong shape.
#[derive(Serialize, Deserialize, Debug, PartialEq)]
struct WrongLedger(Vec<u64>);

impl Sealed for WrongLedger {
    const TABLE: Table = Table::Ledger;
    const SCHEMA: u8 = 1;
}

#[test]
fn a_newer_schema_is_told_apart_from_damage() {
    let later = LaterLedger { total: [1; 4], note: "new".to_owned() };
    let bytes = seal(b"rome", &later).unwrap();
    let found = open::<LedgerRecord>(b"rome", &bytes).unwrap_err();
    assert_eq!(found, SealError::Unknown { table: "ledger", format: 1, schema: 2 });
    assert_eq!(
        found.to_string(),
        "a record of table ledger has format 1 and schema 2, which this program cannot read"
    );
}

#[test]
fn sealed_bytes_of_the_wrong_shape_are_refused() {
    for wrong in [vec![], vec![1, 2, 3, 4, 5], vec![u64::MAX; 2]] {
        let bytes = seal(b"rome", &WrongLedger(wrong)).unwrap();
        let shape = Err(SealError::Shape { table: "ledger" });
        assert_eq!(open::<LedgerRecord>(b"rome", &bytes), shape);
    }
}

#[test]
fn a_record_has_a_largest_size() {
    let most = WrongLedger(vec![0; MAX_RECORD - 15]);
    let bytes = seal(b"rome", &most).unwrap();
    assert_eq!(bytes.len(), MAX_RECORD);
    assert_eq!(open::<WrongLedger>(b"rome", &bytes).unwrap(), most);
    let more = seal(b"rome", &WrongLedger(vec![0; MAX_RECORD - 14]));
    assert_eq!(more, Err(SealError::TooLarge { table: "ledger", length: MAX_RECORD + 1 }));
    let huge = vec![0; MAX_RECORD + 1];
    assert!(matches!(open::<LedgerRecord>(b"rome", &huge), Err(SealError::TooLarge { .. })));
}

#[test]
fn the_largest_advertisement_that_is_accepted_fits() {
    let most = Resources::from_amounts([i64::MAX as u64; 4]).unwrap();
    let long = "x".repeat(MAX_LINE_LENGTH);
    let entry = |number: usize| (cluster(&format!("{number:0>63}")), most);
    let label = |number: usize| {
        let key = format!("{number:0>MAX_LABEL_KEY_LENGTH$}");
        (key, "v".repeat(MAX_LABEL_VALUE_LENGTH))
    };
    let mut largest = remembered();
    let told = &mut largest.advertised.as_mut().unwrap().advertisement;
    told.consumed = Consumed::new((0..MAX_CONSUMERS).map(entry)).unwrap();
    told.labels = Labels::new((0..MAX_LABELS).map(label).collect()).unwrap();
    (told.name, told.endpoint) = (long.parse().unwrap(), Some(long.parse().unwrap()));
    (told.capacity, told.allocatable, told.allocated) = (most, most, most);
    assert_eq!(cluster_through_bytes(&largest), largest);
}

#[test]
fn contents_that_make_no_sense_are_refused_by_name() {
    // An amount above what any amount can be, properly sealed.
    let bytes = seal(b"rome", &WrongShapeOfAmounts { total: [u64::MAX, 0, 0, 0] }).unwrap();
    let record = open::<LedgerRecord>(b"rome", &bytes).unwrap();
    assert_eq!(Resources::try_from(record), Err(InvalidField("total")));
}

/// The same shape as a ledger row, without its limits.
#[derive(Serialize, Deserialize)]
struct WrongShapeOfAmounts {
    total: [u64; 4],
}

impl Sealed for WrongShapeOfAmounts {
    const TABLE: Table = Table::Ledger;
    const SCHEMA: u8 = 1;
}

#[test]
fn keys_sort_as_what_they_stand_for() {
    let early = reservation::key_of(ReservationId::from_bits(0x00ff));
    let late = reservation::key_of(ReservationId::from_bits(0x0100));
    assert!(early < late);
    let at = |incarnation, number, place| {
        event::key_of(EventId { position: Position { incarnation, number }, place })
    };
    let keys = [at(1, 255, 9), at(1, 256, 0), at(1, 256, 1), at(2, 0, 0)];
    assert!(keys.is_sorted());
}

/// Every shape that was ever written, byte for byte: a program that cannot read these loses data.
#[test]
fn golden_records_stay_readable() {
    let reservation = reservation_in(Phase::Active(Active { since: now() }));
    let key = reservation::key_of(reservation.id);
    golden("reservation-1", &key, &ReservationRecord::from(&reservation));
    let meta = Meta {
        ledger: 0x0193_0000_0000_7000_8000_0000_0000_0001,
        position: Position { incarnation: 2, number: 41 },
        recovered_through: 1,
        time_mark: now(),
        trimmed_through: Position { incarnation: 2, number: 40 },
    };
    golden("meta-2", meta::KEY, &MetaRecord::from(meta));
    assert_eq!(Meta::from(MetaRecord::from(meta)), meta);
    let first = unhex(golden_text("meta-1").trim());
    let first = Meta::from(open::<MetaRecordV1>(meta::KEY, &first).unwrap());
    assert_eq!(first, Meta { trimmed_through: Position::start_of(0), ..meta });
    golden("cluster-1", b"rome", &ClusterRecord::from(&remembered()));
    golden("ledger-1", b"rome", &LedgerRecord::from(all_resources("1", "2Gi", "3", "4Gi")));
    for (place, event) in (0..).zip(events()) {
        let key =
            event::key_of(EventId { position: Position { incarnation: 1, number: 7 }, place });
        golden(&format!("event-1-{place:02}"), &key, &EventRecord::from(&event));
    }
}

/// Compares with the committed bytes; with `BLESS=1` in the environment it writes what is missing.
fn golden<R: Sealed + PartialEq + std::fmt::Debug>(name: &str, key: &[u8], record: &R) {
    let path = golden_path(name);
    if !path.exists() && std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, hex(&seal(key, record).unwrap()) + "\n").unwrap();
    }
    let bytes = unhex(golden_text(name).trim());
    assert_eq!(open::<R>(key, &bytes).unwrap(), *record, "{name}");
    assert_eq!(seal(key, record).unwrap(), bytes, "{name} is written as it always was");
}

fn golden_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/store/golden/{name}.hex"))
}

fn golden_text(name: &str) -> String {
    std::fs::read_to_string(golden_path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn unhex(text: &str) -> Vec<u8> {
    let pair = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(pair).collect()
}
