//! Operations as bytes: eight for each, so that fuzzers mutate them and property tests shrink them alike.

/// One step of a script. Small numbers everywhere: collisions are the point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// A cluster advertises.
    Advertise {
        /// Which one.
        cluster: u8,
        /// Its size class.
        size: u8,
        /// How much of it is in use.
        used: u8,
        /// Whose workloads are part of that.
        consumer: u8,
        /// Bits: with a count, with an old timestamp, with a price, with labels, saying what it holds.
        flags: u8,
    },
    /// A requester gives a sign of life.
    Hear {
        /// Which one.
        cluster: u8,
    },
    /// A cluster asks.
    Reserve {
        /// Which one.
        requester: u8,
        /// How much CPU.
        cpu: u8,
        /// How much memory.
        memory: u8,
        /// GPU and storage.
        extra: u8,
        /// Strategy, target, labels, ceiling, duration.
        terms: u8,
        /// Under which key; 0 for none.
        key: u8,
    },
    /// The requester confirms.
    Activate {
        /// Which reservation.
        which: u8,
    },
    /// The requester prolongs.
    Renew {
        /// Which reservation.
        which: u8,
        /// By how many minutes from now.
        minutes: u8,
    },
    /// The provider rejects.
    Reject {
        /// Which reservation.
        which: u8,
    },
    /// Someone releases.
    Release {
        /// Which reservation.
        which: u8,
        /// Who: the requester, the provider, a stranger, an administrator.
        by: u8,
    },
    /// Time goes by.
    Pass {
        /// How many minutes.
        minutes: u8,
    },
    /// What is due ends.
    Expire {
        /// How many at once.
        limit: u8,
    },
    /// Old advertisements are marked.
    MarkStale,
    /// What ended long ago is remembered no longer.
    Retire {
        /// How many at once.
        limit: u8,
        /// A multiple of eight: a day later.
        days: u8,
    },
    /// A cluster that is to be forgotten is cleared.
    Clear {
        /// Which one.
        cluster: u8,
        /// How many endings at once.
        limit: u8,
    },
    /// A cluster is declared gone.
    Forget {
        /// Which one.
        cluster: u8,
    },
    /// The broker is restored from a backup that lacks the newest promise.
    Restore,
    /// An administrator ends the recovery of a cluster.
    EndRecovery {
        /// Which one; all above the number of clusters.
        cluster: u8,
    },
}

/// How many bytes an operation takes.
pub const OP_LENGTH: usize = 8;

/// A script of more operations than this shows nothing that a shorter one does not.
pub const MAX_OPS: usize = 400;

/// Reads a script; what is left at the end is ignored.
#[must_use]
pub fn parse(bytes: &[u8]) -> Vec<Op> {
    let (chunks, _) = bytes.as_chunks::<OP_LENGTH>();
    chunks.iter().take(MAX_OPS).map(|chunk| parse_one(*chunk)).collect()
}

// Bytes have no better names before they are read.
#[allow(clippy::many_single_char_names)]
fn parse_one([tag, a, b, c, d, e, f, _]: [u8; OP_LENGTH]) -> Op {
    match tag % 32 {
        0..=6 => Op::Advertise { cluster: a, size: b, used: c, consumer: d, flags: e },
        7 => Op::Hear { cluster: a },
        8..=15 => Op::Reserve { requester: a, cpu: b, memory: c, extra: d, terms: e, key: f },
        16 => Op::Retire { limit: a, days: b },
        17 => Op::Clear { cluster: a, limit: b },
        18 | 19 => Op::Activate { which: a },
        20 | 21 => Op::Renew { which: a, minutes: b },
        22 => Op::Reject { which: a },
        23 | 24 => Op::Release { which: a, by: b },
        25 | 26 => Op::Pass { minutes: a },
        27 => Op::Expire { limit: a },
        28 => Op::MarkStale,
        29 => Op::Forget { cluster: a },
        30 => Op::Restore,
        _ => Op::EndRecovery { cluster: a },
    }
}
