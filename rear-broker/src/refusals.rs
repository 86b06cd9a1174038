//! The last requests that were refused, and why: what an operator wants to see without searching a log.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

/// How many are remembered.
const REMEMBERED: usize = 50;

/// How much of an explanation is kept: the first reasons say most.
const MAX_DETAIL: usize = 300;

/// A request that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// When, by the broker's time.
    pub at: String,
    /// Who asked, if that is known.
    pub by: Option<String>,
    /// What was to be done.
    pub action: &'static str,
    /// The code of the problem.
    pub code: &'static str,
    /// What was said.
    pub detail: String,
}

/// The last of them.
#[derive(Debug, Default)]
pub struct Refusals(Mutex<VecDeque<Refused>>);

impl Refusals {
    /// One more.
    pub fn push(&self, mut refused: Refused) {
        if let Some((end, _)) = refused.detail.char_indices().nth(MAX_DETAIL) {
            refused.detail.truncate(end);
            refused.detail.push('…');
        }
        let mut kept = self.kept();
        kept.truncate(REMEMBERED - 1);
        kept.push_front(refused);
    }

    /// The newest first.
    #[must_use]
    pub fn newest(&self) -> Vec<Refused> {
        self.kept().iter().cloned().collect()
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Refused>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(detail: String) -> Refused {
        Refused { at: String::new(), by: None, action: "reserve", code: "no-room", detail }
    }

    #[test]
    fn the_last_fifty_are_remembered_the_newest_first() {
        let refusals = Refusals::default();
        (0..60).for_each(|number| refusals.push(refused(number.to_string())));
        let kept: Vec<_> = refusals.newest().into_iter().map(|kept| kept.detail).collect();
        let expected: Vec<_> = (10..60).rev().map(|number: u32| number.to_string()).collect();
        assert_eq!(kept, expected);
    }

    #[test]
    fn a_long_explanation_is_cut_between_letters() {
        let refusals = Refusals::default();
        refusals.push(refused("ä".repeat(MAX_DETAIL)));
        refusals.push(refused("ä".repeat(MAX_DETAIL + 1)));
        let kept = refusals.newest();
        let exactly = "ä".repeat(MAX_DETAIL);
        assert_eq!((&kept[1].detail, &kept[0].detail), (&exactly, &format!("{exactly}…")));
    }
}
