//! The tests of the evaluation, one file each.

mod accuracy;
mod bandwidth;
mod build;
mod concurrency;
mod day;
mod etcd;
mod exhaustion;
mod expiry_storm;
mod failing_disk;
mod footprint;
mod kubernetes;
mod latency;
mod profile;
mod reconnect_storm;
mod recovery;
mod scale;
mod startup;
mod suites;

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use crate::outcome::Outcome;
use crate::raw::Limits;
use crate::stage::{Size, Stage, Trouble};

/// A test on its way.
type Running<'a> = Pin<Box<dyn Future<Output = Result<Outcome, Trouble>> + 'a>>;

/// One test of the evaluation.
pub struct Experiment {
    /// What it is called, in commands and files.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// About how long all of it takes, with release builds on two quiet cores.
    pub about_seconds: u32,
    /// How many clusters need a certificate.
    pub clusters: fn(Size) -> usize,
    /// Does it.
    pub run: for<'a> fn(&'a Stage, &'a Limits) -> Running<'a>,
}

impl fmt::Debug for Experiment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Experiment").field(&self.name).finish()
    }
}

macro_rules! experiments {
    ($(#[$doc:meta])+ $list:ident: $($name:literal, $seconds:literal, $module:ident, $title:literal;)+) => {
        impl Experiment {
            $(#[$doc])+
            pub const $list: &'static [Self] = &[$(Self {
                name: $name,
                title: $title,
                about_seconds: $seconds,
                clusters: $module::clusters,
                run: |stage, limits| Box::pin($module::run(stage, limits)),
            },)+];
        }
    };
}

experiments! {
    /// Every test of the broker and its agents, in the order of the page.
    ALL:
    "scale", 330, scale, "What the broker costs with more and more agents";
    "exhaustion", 20, exhaustion, "Everything that is there is granted, and no more";
    "bandwidth", 310, bandwidth, "Bytes between an agent and the broker";
    "footprint", 130, footprint, "What an agent costs";
    "latency", 90, latency, "From a request to the decision and to both sides' instructions";
    "concurrency", 150, concurrency, "Many callers at once";
    "accuracy", 40, accuracy, "Whom the broker chooses, against an oracle";
    "startup", 30, startup, "From nothing to an agent's first advertisement";
    "recovery", 120, recovery, "The broker is killed under load, again and again";
    "failing-disk", 60, failing_disk, "A disk that takes no more";
    "expiry-storm", 110, expiry_storm, "Very many reservations end in the same second";
    "reconnect-storm", 120, reconnect_storm, "All agents come back at once";
    "day", 180, day, "A day of a large fleet, with faults and an audit after every step";
    "kubernetes", 220, kubernetes, "The Kubernetes agent on real API servers";
    "etcd", 90, etcd, "The same load as compare-and-put on etcd";
    "profile", 30, profile, "Where the broker's processor time goes";
}

experiments! {
    /// What developers wait for: long, and only measured when it is asked for.
    HOUSE:
    "build", 1200, build, "From nothing to the programs";
    "suites", 1800, suites, "The test command";
}

impl Experiment {
    /// All that there are, in the order of the page.
    pub fn every() -> impl Iterator<Item = &'static Self> {
        Self::ALL.iter().chain(Self::HOUSE)
    }

    /// The test of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::every().find(|experiment| experiment.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_names_of_files_and_all_of_it_takes_at_most_forty_minutes() {
        for experiment in Experiment::every() {
            let fine = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
            assert!(experiment.name.bytes().all(fine), "{experiment:?}");
        }
        let seconds: u32 = Experiment::ALL.iter().map(|experiment| experiment.about_seconds).sum();
        assert!(seconds <= 40 * 60, "{seconds} s");
    }
}
