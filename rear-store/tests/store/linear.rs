//! Whether a history of concurrent operations could have been produced by one broker that does one thing after the other.
//!
//! The checker looks for an order: each operation at one moment between its call and its answer, with the answers that a
//! sequential broker would have given. An operation whose outcome is not known may have happened at any moment after its
//! call, or never. The checker is itself shown histories with planted faults, which it must refuse.

use std::collections::{BTreeSet, HashSet};

/// What was asked and answered of a cluster with a few places, each reservation taking one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Act {
    /// A place for this reservation: granted, or there is none.
    Reserve { id: u32, granted: bool },
    /// Gives a place back; repeating it is fine.
    Release { id: u32 },
    /// What is reserved, of everything.
    Read { live: BTreeSet<u32> },
    /// A place was asked for, and nobody knows what became of it.
    Unknown { id: u32 },
}

/// An operation, with the moments of its call and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operation {
    pub(crate) act: Act,
    pub(crate) called: u64,
    pub(crate) answered: u64,
}

/// Operations that have an order, as bits, and what is reserved after them.
type Reached = (Vec<u64>, BTreeSet<u32>);

/// Whether there is such an order.
pub(crate) fn is_linearizable(history: &[Operation], places: usize) -> bool {
    let mut seen = HashSet::new();
    let nothing = (vec![0; history.len().div_ceil(64)], BTreeSet::new());
    search(history, places, &nothing, &mut seen)
}

fn search(
    history: &[Operation],
    places: usize,
    reached: &Reached,
    seen: &mut HashSet<Reached>,
) -> bool {
    if !seen.insert(reached.clone()) {
        return false;
    }
    let (done, live) = reached;
    let is_done = |at: usize| done[at / 64] >> (at % 64) & 1 == 1;
    let open = || history.iter().enumerate().filter(|(at, _)| !is_done(*at));
    let must = |operation: &Operation| !matches!(operation.act, Act::Unknown { .. });
    // Nothing can come before what was answered earlier than it was called.
    let Some(first_answer) =
        open().filter(|(_, next)| must(next)).map(|(_, next)| next.answered).min()
    else {
        return true;
    };
    open().filter(|(_, next)| next.called < first_answer).any(|(at, next)| {
        let Some(live) = after(&next.act, live, places) else { return false };
        let mut done = done.clone();
        done[at / 64] |= 1 << (at % 64);
        search(history, places, &(done, live), seen)
    })
}

/// What is reserved afterwards; `None` if a sequential broker would have answered otherwise.
fn after(act: &Act, live: &BTreeSet<u32>, places: usize) -> Option<BTreeSet<u32>> {
    let mut next = live.clone();
    let fits = match act {
        Act::Reserve { id, granted: true } | Act::Unknown { id } => {
            live.len() < places && next.insert(*id)
        }
        Act::Reserve { granted: false, .. } => live.len() >= places,
        Act::Release { id } => {
            next.remove(id);
            true
        }
        Act::Read { live: seen } => seen == live,
    };
    fits.then_some(next)
}

fn at(called: u64, answered: u64, act: Act) -> Operation {
    Operation { act, called, answered }
}

fn granted(id: u32) -> Act {
    Act::Reserve { id, granted: true }
}

fn read(live: &[u32]) -> Act {
    Act::Read { live: live.iter().copied().collect() }
}

#[test]
fn a_sequential_history_is_accepted() {
    let history = [
        at(1, 2, granted(1)),
        at(3, 4, Act::Reserve { id: 2, granted: false }),
        at(5, 6, Act::Release { id: 1 }),
        at(7, 8, Act::Release { id: 1 }),
        at(9, 10, granted(3)),
        at(11, 12, read(&[3])),
    ];
    assert!(is_linearizable(&history, 1));
}

#[test]
fn what_overlaps_may_have_happened_in_any_order() {
    let history = [at(1, 10, granted(1)), at(2, 9, granted(2)), at(3, 4, read(&[2]))];
    assert!(is_linearizable(&history, 2));
    let refused = [at(1, 10, granted(1)), at(2, 9, Act::Reserve { id: 2, granted: false })];
    assert!(is_linearizable(&refused, 1));
}

#[test]
fn what_nobody_knows_may_have_happened_or_not_also_much_later() {
    let unknown = at(1, 2, Act::Unknown { id: 1 });
    for seen in [read(&[]), read(&[1])] {
        assert!(is_linearizable(&[unknown.clone(), at(5, 6, seen)], 1));
    }
    let late = [unknown.clone(), at(3, 4, read(&[])), at(5, 6, read(&[1]))];
    assert!(is_linearizable(&late, 1));
    let undone = [unknown, at(3, 4, read(&[1])), at(5, 6, read(&[]))];
    assert!(!is_linearizable(&undone, 1), "it happened, and was gone");
}

#[test]
fn a_lost_entry_is_found() {
    let history = [at(1, 2, granted(1)), at(3, 4, granted(2)), at(5, 6, read(&[2]))];
    assert!(!is_linearizable(&history, 3));
}

#[test]
fn a_double_grant_is_found() {
    let history = [at(1, 6, granted(1)), at(2, 7, granted(2))];
    assert!(!is_linearizable(&history, 1));
}

#[test]
fn a_stale_read_that_claims_to_be_linearizable_is_found() {
    let history = [at(1, 2, granted(1)), at(3, 4, read(&[]))];
    assert!(!is_linearizable(&history, 1));
    let concurrent = [at(1, 4, granted(1)), at(2, 3, read(&[]))];
    assert!(is_linearizable(&concurrent, 1), "it may have been earlier");
}

#[test]
fn a_stale_refusal_is_found() {
    let history = [
        at(1, 2, granted(1)),
        at(3, 4, Act::Release { id: 1 }),
        at(5, 6, Act::Reserve { id: 2, granted: false }),
    ];
    assert!(!is_linearizable(&history, 1));
}

#[test]
fn a_release_that_is_applied_twice_is_found() {
    // Two places; the second release of one frees the place of the other.
    let history = [
        at(1, 2, granted(1)),
        at(3, 4, granted(2)),
        at(5, 6, Act::Release { id: 1 }),
        at(7, 8, Act::Release { id: 1 }),
        at(9, 10, granted(3)),
        at(11, 12, granted(4)),
    ];
    assert!(!is_linearizable(&history, 2));
}
