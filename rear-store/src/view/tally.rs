//! The fleet in numbers: clusters by state, and what all of them have, promise and can spare.

use rear_engine::fleet::Cluster;
use rear_engine::resources::DIMENSIONS;
use rear_engine::{ClusterId, Dimension, Fleet, Resources, Timestamp};

/// What a cluster is to those who ask, by the first reason for which it gets nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It may get promises.
    Active,
    /// After a restore, it has not yet said what it holds.
    Recovering,
    /// It has not advertised for too long.
    Stale,
    /// It has promised or used more than it has.
    Overcommitted,
    /// It has never advertised: it only asks.
    Silent,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 5] =
        [Self::Active, Self::Recovering, Self::Stale, Self::Overcommitted, Self::Silent];

    /// A word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Recovering => "recovering",
            Self::Stale => "stale",
            Self::Overcommitted => "overcommitted",
            Self::Silent => "silent",
        }
    }

    fn of(fleet: &Fleet, cluster: &Cluster, now: Timestamp) -> Self {
        let record = cluster.record();
        if record.advertised.is_none() {
            Self::Silent
        } else if fleet.is_recovering(record) {
            Self::Recovering
        } else if !fleet.is_fresh(record, now) {
            Self::Stale
        } else if cluster.is_overcommitted() {
            Self::Overcommitted
        } else {
            Self::Active
        }
    }
}

/// Amounts of many clusters, which may be more than one can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum([u128; DIMENSIONS]);

impl Sum {
    fn add(&mut self, amounts: Resources) {
        for dimension in Dimension::ALL {
            self.0[dimension.index()] += u128::from(amounts.get(dimension));
        }
    }

    /// In cores, bytes and devices, as well as a float can hold it: for people and graphs.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "graphs do not show the sixteenth digit")]
    pub fn in_units(&self, dimension: Dimension) -> f64 {
        let amount = self.0[dimension.index()] as f64;
        match dimension {
            Dimension::Cpu => amount / 1000.0,
            Dimension::Memory | Dimension::Gpu | Dimension::Storage => amount,
        }
    }
}

/// What some clusters have, promise and can spare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amounts {
    /// What they could give to anyone, themselves included.
    pub allocatable: Sum,
    /// What they have promised.
    pub reserved: Sum,
    /// What is left, as it is shown: never below 0.
    pub available: Sum,
}

impl Amounts {
    fn add(&mut self, cluster: &Cluster) {
        self.reserved.add(cluster.ledger().total());
        if let Some(advertisement) = cluster.record().advertisement() {
            self.allocatable.add(advertisement.allocatable);
        }
        if let Some(available) = cluster.available() {
            self.available.add(available.shown());
        }
    }
}

/// The fleet in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tally {
    states: [usize; State::ALL.len()],
    /// Of all clusters.
    pub all: Amounts,
    /// Of each cluster that advertises, if that is wanted.
    pub each: Vec<(ClusterId, Amounts)>,
}

impl Tally {
    pub(crate) fn add(&mut self, fleet: &Fleet, cluster: &Cluster, now: Timestamp, each: bool) {
        let state = State::of(fleet, cluster, now);
        self.states[state as usize] += 1;
        self.all.add(cluster);
        if each && state != State::Silent {
            let mut amounts = Amounts::default();
            amounts.add(cluster);
            self.each.push((cluster.record().id.clone(), amounts));
        }
    }

    /// How many clusters are in a state.
    #[must_use]
    pub fn clusters(&self, state: State) -> usize {
        self.states[state as usize]
    }
}
