//! Whether something grows that should not: pure, from samples of one process to a judgement.
//!
//! The load of a soak is the same all the time, so that what a process uses reaches a level and stays there. The first quarter of
//! the samples is its warm-up and is not looked at; the median of the second quarter is compared with the median of the
//! last. Medians, because single samples catch a snapshot or a burst in the middle. An ended reservation is remembered for at
//! least a day, so that memory and file follow the number of those: so much is allowed for each, and no more.
//!
//! What this cannot see: a leak of less than a tenth of the level, or than the slack, in half of the time.

use serde::{Deserialize, Serialize};

use super::sample::Sample;

/// Quarters with fewer samples say nothing.
const SAMPLES_IN_A_QUARTER: usize = 8;

/// Of its level, so much may something change between two quarters: allocators keep what they have freed.
const TENTH: u64 = 10;

/// What must not grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Quantity {
    /// The broker's memory that is no file's.
    BrokerMemory,
    /// Its open files and connections.
    BrokerDescriptors,
    /// Its threads.
    BrokerThreads,
    /// Its asynchronous tasks.
    BrokerTasks,
    /// The file of its ledger.
    LedgerFile,
    /// Memory of the process with all agents.
    AgentsMemory,
    /// Its open files and connections.
    AgentsDescriptors,
    /// Its threads.
    AgentsThreads,
}

impl Quantity {
    /// Those of the broker, which begin anew when it is restarted.
    pub const BROKERS: [Self; 5] = [
        Self::BrokerMemory,
        Self::BrokerDescriptors,
        Self::BrokerThreads,
        Self::BrokerTasks,
        Self::LedgerFile,
    ];

    /// Those of the process with the agents, which lives all the time.
    pub const AGENTS: [Self; 3] =
        [Self::AgentsMemory, Self::AgentsDescriptors, Self::AgentsThreads];

    /// For people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BrokerMemory => "broker: memory",
            Self::BrokerDescriptors => "broker: descriptors",
            Self::BrokerThreads => "broker: threads",
            Self::BrokerTasks => "broker: tasks",
            Self::LedgerFile => "ledger file",
            Self::AgentsMemory => "all agents: memory",
            Self::AgentsDescriptors => "all agents: descriptors",
            Self::AgentsThreads => "all agents: threads",
        }
    }

    /// Whether it is counted in bytes.
    #[must_use]
    pub const fn is_bytes(self) -> bool {
        matches!(self, Self::BrokerMemory | Self::LedgerFile | Self::AgentsMemory)
    }

    /// Whatever its level, it may change by so much.
    const fn slack(self) -> u64 {
        match self {
            Self::BrokerMemory | Self::AgentsMemory => 6 << 20,
            // redb makes its file longer in steps.
            Self::LedgerFile => 4 << 20,
            // Agents that come back are there twice for a moment, and so are threads that wait for work.
            Self::BrokerDescriptors | Self::AgentsDescriptors => 12,
            Self::BrokerThreads | Self::AgentsThreads => 8,
            Self::BrokerTasks => 24,
        }
    }

    /// For each reservation that is remembered, in bytes: in memory it is there twice, for the writer and for readers.
    const fn for_each_remembered(self) -> u64 {
        match self {
            Self::BrokerMemory => 3 << 10,
            Self::LedgerFile => 2 << 10,
            _ => 0,
        }
    }
}

/// How something stood, and whether it grew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// What.
    pub quantity: Quantity,
    /// The median after the warm-up.
    pub early: u64,
    /// The median at the end.
    pub late: u64,
    /// The most that it may have become.
    pub allowed: u64,
}

impl Level {
    /// Whether it has grown by more than is allowed.
    #[must_use]
    pub fn has_grown(&self) -> bool {
        self.late > self.allowed
    }
}

/// How these stood in the samples of one process; nothing if they are too few to tell.
#[must_use]
pub fn levels(samples: &[Sample], of: &[Quantity]) -> Vec<Level> {
    let quarter = samples.len() / 4;
    if quarter < SAMPLES_IN_A_QUARTER {
        return Vec::new();
    }
    let (early, late) = (&samples[quarter..2 * quarter], &samples[samples.len() - quarter..]);
    let remembered = |samples: &[Sample]| median(samples.iter().map(|sample| sample.remembered));
    let more_remembered = remembered(late).saturating_sub(remembered(early));
    let level = |quantity: &Quantity| {
        let of = |samples: &[Sample]| median(samples.iter().map(|sample| sample.get(*quantity)));
        let (early, late) = (of(early), of(late));
        let allowed = early
            + early / TENTH
            + quantity.slack()
            + more_remembered * quantity.for_each_remembered();
        Level { quantity: *quantity, early, late, allowed }
    };
    of.iter().map(level).collect()
}

/// The longest time in which the broker was one process.
#[must_use]
pub fn longest_life(samples: &[Sample]) -> &[Sample] {
    let lives = samples.chunk_by(|one, next| one.life == next.life);
    lives.max_by_key(|life| life.len()).unwrap_or_default()
}

fn median(values: impl Iterator<Item = u64>) -> u64 {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// A process that starts, reaches its level, and is disturbed now and then.
    fn steady(many: u64) -> Vec<Sample> {
        let sample = |number: u64| {
            let warm = number.min(10);
            let disturbed = if number.is_multiple_of(7) { 40 } else { 0 };
            Sample {
                at: number * 5,
                life: 1,
                remembered: number * 10,
                broker_memory: 20 * MIB + warm * MIB + number * 10 * 1200 + disturbed * MIB,
                broker_descriptors: 60 + disturbed,
                broker_threads: 6 + disturbed / 10,
                broker_tasks: 120 + disturbed,
                ledger_file: 4 * MIB + number * 10 * 700,
                agents_memory: 90 * MIB + disturbed * MIB,
                agents_descriptors: 70 + disturbed,
                agents_threads: 5,
            }
        };
        (0..many).map(sample).collect()
    }

    fn all() -> Vec<Quantity> {
        [&Quantity::BROKERS[..], &Quantity::AGENTS].concat()
    }

    fn grown(samples: &[Sample]) -> Vec<Quantity> {
        let levels = levels(samples, &all());
        assert_eq!(levels.len(), 8);
        levels.iter().filter(|level| level.has_grown()).map(|level| level.quantity).collect()
    }

    #[test]
    fn a_steady_load_with_disturbances_is_no_growth() {
        assert_eq!(grown(&steady(200)), []);
        assert_eq!(grown(&steady(32)), []);
    }

    #[test]
    fn a_slow_leak_of_each_kind_is_noticed() {
        type Leak = fn(&mut Sample, u64);
        let leaks: [(Quantity, Leak); 8] = [
            (Quantity::BrokerMemory, |sample, n| sample.broker_memory += n * 200_000),
            (Quantity::BrokerDescriptors, |sample, n| sample.broker_descriptors += n / 4),
            (Quantity::BrokerThreads, |sample, n| sample.broker_threads += n / 8),
            (Quantity::BrokerTasks, |sample, n| sample.broker_tasks += n / 2),
            (Quantity::LedgerFile, |sample, n| sample.ledger_file += n * 200_000),
            (Quantity::AgentsMemory, |sample, n| sample.agents_memory += n * 300_000),
            (Quantity::AgentsDescriptors, |sample, n| sample.agents_descriptors += n / 4),
            (Quantity::AgentsThreads, |sample, n| sample.agents_threads += n / 8),
        ];
        for (quantity, leak) in leaks {
            let mut samples = steady(200);
            (0..).zip(&mut samples).for_each(|(number, sample)| leak(sample, number));
            assert_eq!(grown(&samples), [quantity]);
        }
    }

    #[test]
    fn a_step_that_stays_is_noticed_and_one_that_goes_away_is_not() {
        let mut samples = steady(200);
        samples[160..].iter_mut().for_each(|sample| sample.broker_descriptors += 30);
        assert_eq!(grown(&samples), [Quantity::BrokerDescriptors]);
        let mut samples = steady(200);
        samples[100..140].iter_mut().for_each(|sample| sample.broker_descriptors += 30);
        assert_eq!(grown(&samples), []);
    }

    #[test]
    fn what_is_remembered_may_take_its_room_and_no_more() {
        let mut samples = steady(200);
        for (number, sample) in (0..).zip(&mut samples) {
            sample.remembered = number * 100;
            sample.broker_memory += number * 100 * 2000;
        }
        assert_eq!(grown(&samples), []);
        for (number, sample) in (0..).zip(&mut samples) {
            sample.broker_memory += number * 100 * 3000;
        }
        assert_eq!(grown(&samples), [Quantity::BrokerMemory]);
    }

    #[test]
    fn few_samples_say_nothing_and_the_longest_life_is_looked_at() {
        assert_eq!(levels(&steady(31), &all()), []);
        let mut samples = steady(100);
        samples[..20].iter_mut().for_each(|sample| sample.life = 0);
        samples[90..].iter_mut().for_each(|sample| sample.life = 2);
        assert_eq!(longest_life(&samples).len(), 70);
    }
}
