//! Which broker this is: one of version 1, or one of the earlier system, as WIRE.md describes it.
//!
//! Every answer of version 1 names the state that it was made from; the earlier broker has no such header. What was
//! learnt is forgotten when a connection breaks: another broker may listen there afterwards.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::call::Reply;
use crate::communicator::ReservationRequest;
use crate::error::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Version 1.
    Current,
    /// The earlier system: no idempotency, no follow-ups, and `reserved` has to be sent back.
    Earlier,
}

/// What is known.
#[derive(Default)]
pub(super) struct Learnt(Mutex<Known>);

#[derive(Default)]
struct Known {
    kind: Option<Kind>,
    life: Option<u64>,
}

impl Learnt {
    pub(super) fn kind(&self) -> Option<Kind> {
        self.lock().kind
    }

    /// The life of the ledger, as the last answer had it: another one after a restore, in which everything that was
    /// said since the backup is forgotten.
    pub(super) fn life(&self) -> Option<u64> {
        self.lock().life
    }

    pub(super) fn learn(&self, outcome: &Result<Reply, Error>) {
        let mut known = self.lock();
        known.kind = match outcome {
            Ok(Reply { revision: Some(revision), .. }) => {
                known.life = Some(revision.incarnation);
                Some(Kind::Current)
            }
            Ok(_) => Some(Kind::Earlier),
            Err(Error::Unreachable { .. } | Error::Interrupted { .. } | Error::TimedOut { .. }) => {
                None
            }
            Err(_) => return,
        };
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kind {
    /// Only version 1 has this.
    pub(super) fn must_be_current(self, operation: &'static str) -> Result<(), Error> {
        match self {
            Self::Current => Ok(()),
            Self::Earlier => Err(Error::Unsupported { operation }),
        }
    }

    /// The earlier broker ignores what it does not know, and would grant something else than was asked for.
    pub(super) fn must_understand(self, request: &ReservationRequest) -> Result<(), Error> {
        let ReservationRequest {
            requested_resources,
            priority: _,
            duration: _,
            target_cluster_id,
            strategy,
            on_behalf_of,
            constraints,
        } = request;
        let wishes = [
            (requested_resources.gpu.is_some(), "reservation of GPUs"),
            (requested_resources.storage.is_some(), "reservation of storage"),
            (target_cluster_id.is_some(), "choice of a target"),
            (strategy.is_some(), "choice of a strategy"),
            (on_behalf_of.is_some(), "reservation on behalf of another cluster"),
            (constraints.is_some(), "constraints of a reservation"),
        ];
        let wish = wishes.into_iter().find(|(wanted, _)| *wanted);
        wish.map_or(Ok(()), |(_, operation)| self.must_be_current(operation))
    }
}
