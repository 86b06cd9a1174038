//! No contents of a record make it panic, however properly they are sealed; what is accepted is written in a form that means
//! the same.
#![no_main]

#[path = "../src/sealed.rs"]
mod sealed;

use libfuzzer_sys::fuzz_target;
use rear_engine::{ClusterId, Event, ReservationId, Resources};
use rear_store::records::cluster::ClusterRecord;
use rear_store::records::event::EventRecord;
use rear_store::records::head::{open_applied, open_head, seal_applied, seal_head};
use rear_store::records::ledger::LedgerRecord;
use rear_store::records::meta::{self, Meta, MetaRecord, MetaRecordV1};
use rear_store::records::reservation::{self, ReservationRecord};
use rear_store::records::seal::{open, seal};
use rear_store::records::shelf::ShelfRecord;
use rear_store::records::Sealed;
use sealed::sealed;

const KEY: &[u8] = b"rome";

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, contents)) = bytes.split_first() else { return };
    match kind % 9 {
        0 => cluster(contents),
        1 => reservation(contents),
        2 => event(contents),
        3 => ledger(contents),
        4 => meta(contents),
        5 => {
            if let Some(record) = opened::<MetaRecordV1>(meta::KEY, contents) {
                meta_again(Meta::from(record));
            }
        }
        6 => {
            if let Ok(head) = open_head(&sealed("head", b"head", 1, contents)) {
                assert_eq!(open_head(&seal_head(&head).expect("it was sealed")), Ok(head));
            }
        }
        7 => {
            if let Ok(head) = open_applied(&sealed("meta", b"applied", 1, contents)) {
                assert_eq!(open_applied(&seal_applied(&head).expect("it was sealed")), Ok(head));
            }
        }
        _ => {
            if let Ok(shelf) = ShelfRecord::open(&sealed("snapshot", b"snapshot", 1, contents)) {
                let again = ShelfRecord::open(&shelf.seal().expect("it was sealed"));
                assert_eq!(again, Ok(shelf));
            }
        }
    }
});

fn opened<R: Sealed>(key: &[u8], contents: &[u8]) -> Option<R> {
    open(key, &sealed(R::TABLE.name(), key, R::SCHEMA, contents)).ok()
}

fn cluster(contents: &[u8]) {
    let id: ClusterId = "rome".parse().expect("an id");
    let Some(record) = opened::<ClusterRecord>(KEY, contents) else { return };
    let Ok(kept) = record.into_remembered(id.clone()) else { return };
    let bytes = seal(KEY, &ClusterRecord::from(&kept)).expect("what was read can be written");
    let again: ClusterRecord = open(KEY, &bytes).expect("what was written can be read");
    assert_eq!(again.into_remembered(id), Ok(kept));
}

fn reservation(contents: &[u8]) {
    let id = ReservationId::from_bits(7);
    let key = reservation::key_of(id);
    let Some(record) = opened::<ReservationRecord>(&key, contents) else { return };
    let Ok(kept) = record.into_reservation(id) else { return };
    let bytes = seal(&key, &ReservationRecord::from(&kept)).expect("what was read can be written");
    let again: ReservationRecord = open(&key, &bytes).expect("what was written can be read");
    assert_eq!(again.into_reservation(id), Ok(kept));
}

fn event(contents: &[u8]) {
    let Some(record) = opened::<EventRecord>(KEY, contents) else { return };
    let Ok(event) = Event::try_from(record) else { return };
    let bytes = seal(KEY, &EventRecord::from(&event)).expect("what was read can be written");
    let again: EventRecord = open(KEY, &bytes).expect("what was written can be read");
    assert_eq!(Event::try_from(again), Ok(event));
}

fn ledger(contents: &[u8]) {
    let Some(record) = opened::<LedgerRecord>(KEY, contents) else { return };
    let Ok(total) = Resources::try_from(record) else { return };
    let bytes = seal(KEY, &LedgerRecord::from(total)).expect("what was read can be written");
    let again: LedgerRecord = open(KEY, &bytes).expect("what was written can be read");
    assert_eq!(Resources::try_from(again), Ok(total));
}

fn meta(contents: &[u8]) {
    if let Some(record) = opened::<MetaRecord>(meta::KEY, contents) {
        meta_again(record.into());
    }
}

fn meta_again(meta: Meta) {
    let bytes = seal(meta::KEY, &MetaRecord::from(meta)).expect("what was read can be written");
    let again: MetaRecord = open(meta::KEY, &bytes).expect("what was written can be read");
    assert_eq!(Meta::from(again), meta);
}
