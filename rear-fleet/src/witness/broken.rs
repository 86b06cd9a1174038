//! What a broker must never do.

use std::fmt;

use rear_agent_sdk::communicator::Role;
use rear_api::amounts::ResourceList;
use rear_engine::Resources;
use thiserror::Error;

/// A side of a promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// Who was promised.
    Requester,
    /// Who keeps the capacity aside.
    Provider,
}

impl From<Role> for Side {
    fn from(role: Role) -> Self {
        match role {
            Role::Requester => Self::Requester,
            Role::Provider => Self::Provider,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Requester => "requester",
            Self::Provider => "provider",
        })
    }
}

/// A promise that was broken, seen from outside.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Broken {
    /// More was promised on a cluster than it offered, in every order in which the requests can have been taken.
    #[error(
        "{id}: {provider} offered at most {}, and {} is promised on it",
        Shown(room),
        Shown(promised)
    )]
    BeyondOffer {
        /// The reservation that was too much.
        id: String,
        /// The cluster.
        provider: String,
        /// The most that it offered at that time.
        room: Resources,
        /// What is promised on it, this one included.
        promised: Resources,
    },
    /// The grant is not what was asked for.
    #[error("{id}: {} was asked for, {} granted", Shown(asked), Shown(granted))]
    OtherThanAsked {
        /// The reservation.
        id: String,
        /// What was asked for.
        asked: Resources,
        /// What was granted.
        granted: Resources,
    },
    /// One request was granted a second time.
    #[error("{id}: the same request was granted before as {before}")]
    GrantedTwice {
        /// The second reservation.
        id: String,
        /// The first one.
        before: String,
    },
    /// Both sides were told different things.
    #[error("{id}: the {side} was told another {differs}")]
    SidesDiffer {
        /// The reservation.
        id: String,
        /// Who was told something else than the other.
        side: Side,
        /// What differs.
        differs: &'static str,
    },
    /// A side knows of a promise that nobody was granted.
    #[error("{id}: the {side} was told of it, and nobody was granted it")]
    NobodyAsked {
        /// The reservation.
        id: String,
        /// Who was told.
        side: Side,
    },
    /// A promise was granted, and a side was never told.
    #[error("{id}: the {side} was not told of it")]
    NotTold {
        /// The reservation.
        id: String,
        /// Who was not told.
        side: Side,
    },
    /// A promise ended before its time, and nobody had asked for it.
    #[error("{id}: it was taken away from the {side}, and nobody had asked for it")]
    TakenAway {
        /// The reservation.
        id: String,
        /// Who had it.
        side: Side,
    },
    /// A promise has ended, and a side still keeps it.
    #[error("{id}: it has ended, and the {side} was not told")]
    NotGivenBack {
        /// The reservation.
        id: String,
        /// Who still keeps it.
        side: Side,
    },
    /// The broker does not answer in the end, so that its ledger cannot be compared.
    #[error("the broker does not answer: its ledger cannot be compared")]
    NoAnswer,
    /// The broker's ledger says something else than the sum of what it has promised.
    #[error(
        "{cluster}: the broker says that {} is reserved on it, promised is {}",
        Shown(ledger),
        Shown(promised)
    )]
    LedgerDiffers {
        /// The cluster.
        cluster: String,
        /// What the broker says.
        ledger: Resources,
        /// What the answers add up to.
        promised: Resources,
    },
}

/// Amounts as people write them.
struct Shown<'a>(&'a Resources);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ResourceList { cpu, memory, gpu, storage } = (*self.0).into();
        write!(f, "cpu {}, memory {}", cpu.0, memory.0)?;
        for (name, amount) in [("gpu", gpu), ("storage", storage)] {
            if let Some(amount) = amount {
                write!(f, ", {name} {}", amount.0)?;
            }
        }
        Ok(())
    }
}
