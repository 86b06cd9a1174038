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
