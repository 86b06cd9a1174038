//! No entry of a shared journal makes its reader panic, however properly it is sealed and linked; what is accepted means the
//! same when it is sealed again, and a ledger either takes it or says why not.
#![no_main]

#[path = "../src/sealed.rs"]
mod sealed;

use libfuzzer_sys::fuzz_target;
use rear_engine::{Policy, Timestamp};
use rear_store::shared::{Entry, Head};
use rear_store::{Journal, Memory, Position};
use sealed::sealed;

fuzz_target!(|bytes: &[u8]| {
    let head = Head {
        ledger: 0,
        position: Position { incarnation: 1, number: 0 },
        hash: 0,
        time_mark: Timestamp::from_seconds(1_800_000_000),
    };
    // As someone sends it who cannot compute a checksum, and as someone who can.
    assert!(Entry::open_next(&head, bytes).is_err() || bytes.len() > 10);
    let key = [1_u64.to_be_bytes(), 1_u64.to_be_bytes()].concat();
    let Ok(entry) = Entry::open_next(&head, &sealed("journal", &key, 1, bytes)) else { return };
    let (again, after) = Entry::seal(&head, entry.id, &entry.batch).expect("it was sealed");
    let again = Entry::open_next(&head, &again).expect("what was written can be read");
    assert_eq!((&again.id, &again.batch), (&entry.id, &entry.batch));
    assert_eq!(again.head, after);
    let mut memory = Memory::new(0, 1, 1).expect("a ledger in memory");
    if memory.commit(&entry.batch).is_ok()
        && let Ok(contents) = memory.load()
    {
        let _fleet_or_why_not = contents.into_fleet(Policy::default(), entry.head.time_mark);
    }
});
