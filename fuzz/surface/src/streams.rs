//! A stream of events as the SDK reads it: whatever a broker sends, and wherever the network cuts it, it means one thing.

use rear_agent_sdk::testing::read_events;

/// Reads one: its first byte says where it is cut.
pub fn check(bytes: &[u8]) {
    let Some((cut, stream)) = bytes.split_first() else { return };
    let whole = read_events([stream]);
    let (one, other) = stream.split_at(usize::from(*cut) * stream.len() / 256);
    let parted = read_events([one, other]);
    let each = read_events(stream.chunks(1));
    match whole {
        Ok(events) => {
            let shown = |events: &[_]| format!("{events:?}");
            assert_eq!(parted.map(|events| shown(&events)).ok(), Some(shown(&events)));
            assert_eq!(each.map(|events| shown(&events)).ok(), Some(shown(&events)));
        }
        Err(_) => assert!(parted.is_err() && each.is_err()),
    }
}
