//! From texts to types: what a value may be, and what is said of one that is not.

mod shared;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

use rear_agent_sdk::daemon::BindAddress;
use rear_engine::ask::{MAX_DURATION, MIN_DURATION};
use rear_engine::policy::{Percent, Weights};
use rear_engine::price::Currency;
use rear_engine::resources::{DIMENSIONS, Dimension};
use rear_engine::{ClusterId, Duration, Strategy};
use rear_store::Commit;
use thiserror::Error;

use crate::kubernetes::Replaces;

pub use shared::{EtcdEndpoint, EtcdPrefix, PeerAddress, StoreKind};

/// How a key is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One value.
    One,
    /// True or false.
    Switch,
    /// A list: a flag that may be repeated, an array in a file, commas in the environment.
    Many,
}

/// A type that a key can have.
pub(super) trait Setting: Sized {
    const SHAPE: Shape;

    /// Reads what was found; nothing where nothing was.
    fn read(texts: &[String]) -> Result<Self, String>;
}

/// Values that are one text, and what is said instead of what their own parsers say, where that helps nobody.
macro_rules! one_text {
    ($($type:ty $(: $remedy:literal)?),+ $(,)?) => {
        $(impl Setting for $type {
            const SHAPE: Shape = Shape::One;

            fn read(texts: &[String]) -> Result<Self, String> {
                let read = read_one(texts);
                $(let read = read.map_err(|_| $remedy.to_owned());)?
                read
            }
        })+
    };
}

one_text!(
    u16: "it is a port, 0 to 65535",
    i32: "it is a whole number, such as 5",
    NonZeroU32: "it is a whole number from 1",
    IpAddr: "it is an IP address, such as 127.0.0.1, or :: for all interfaces",
    PathBuf,
    BindAddress,
    Span,
    Share,
    Currency,
    BrokerInterface,
    NamespaceName,
    ReplacedLedger,
    LogFormat,
    Durability,
    Choice,
    LogLevel,
    Unit,
    StoreKind,
    EtcdPrefix,
    PeerAddress,
);

fn read_one<T: FromStr<Err: Display>>(texts: &[String]) -> Result<T, String> {
    match texts {
        [text] => text.parse().map_err(|error: T::Err| error.to_string()),
        _ => Err("it is one value".to_owned()),
    }
}

impl<T: Setting> Setting for Option<T> {
    const SHAPE: Shape = T::SHAPE;

    fn read(texts: &[String]) -> Result<Self, String> {
        if texts.is_empty() { Ok(None) } else { T::read(texts).map(Some) }
    }
}

impl Setting for bool {
    const SHAPE: Shape = Shape::Switch;

    fn read(texts: &[String]) -> Result<Self, String> {
        read_one(texts).map_err(|_| "it is true or false".to_owned())
    }
}

impl Setting for BTreeSet<ClusterId> {
    const SHAPE: Shape = Shape::Many;

    fn read(texts: &[String]) -> Result<Self, String> {
        each(texts).collect()
    }
}

impl Setting for Vec<EtcdEndpoint> {
    const SHAPE: Shape = Shape::Many;

    fn read(texts: &[String]) -> Result<Self, String> {
        each(texts).collect()
    }
}

impl Setting for BTreeMap<ClusterId, i32> {
    const SHAPE: Shape = Shape::Many;

    fn read(texts: &[String]) -> Result<Self, String> {
        let caps = each::<PriorityCap>(texts);
        caps.map(|cap| cap.map(|PriorityCap { cluster, highest }| (cluster, highest))).collect()
    }
}

impl Setting for Weighting {
    const SHAPE: Shape = Shape::Many;

    fn read(texts: &[String]) -> Result<Self, String> {
        let mut weights = [1; DIMENSIONS];
        for text in texts {
            let (dimension, weight) = weight(text).ok_or_else(|| ValueError::Weight.to_string())?;
            weights[dimension.index()] = weight;
        }
        Weights::new(weights).map(Self).map_err(|_| ValueError::Weight.to_string())
    }
}

fn weight(text: &str) -> Option<(Dimension, u32)> {
    let (name, weight) = text.split_once('=')?;
    let dimension = Dimension::ALL.into_iter().find(|known| known.to_string() == name)?;
    Some((dimension, weight.parse().ok()?))
}

fn each<T: FromStr<Err: Display>>(texts: &[String]) -> impl Iterator<Item = Result<T, String>> {
    texts.iter().map(|text| text.parse().map_err(|error: T::Err| error.to_string()))
}

/// Why a text is no value; each says what would be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ValueError {
    /// Not a duration.
    #[error("it is a duration between 1s and 8784h, such as 90s or 1h30m")]
    Span,
    /// Not a share.
    #[error("it is a number of percent, 0 to 100")]
    Share,
    /// Not an interface.
    #[error("it is http, kubernetes, or http,kubernetes")]
    Interface,
    /// Not a namespace.
    #[error("it is the name of a namespace: 1 to 63 lower case letters, digits and `-`")]
    Namespace,
    /// Not a ledger.
    #[error("it is the id of a ledger, 32 hexadecimal digits, or any")]
    Ledger,
    /// Not a format.
    #[error("it is auto, text or json")]
    LogFormat,
    /// Not a way to commit.
    #[error("it is two-phase or one-phase")]
    Durability,
    /// Not a strategy.
    #[error("it is headroom, balanced, cheapest or binpack")]
    Strategy,
    /// Not a level.
    #[error("it is off, error, warn, info, debug or trace, or a list such as info,audit=off")]
    LogLevel,
    /// Not a unit.
    #[error("it is the organisational unit of a certificate, with at least one character")]
    Unit,
    /// Not a weight.
    #[error(
        "it is a dimension and its weight, 0 to 1000, such as gpu=2; cpu and memory cannot both be 0"
    )]
    Weight,
    /// Not a store.
    #[error("it is redb or etcd")]
    Store,
    /// A store that is not there.
    #[error("etcd is not in this build: build it with `--features etcd`")]
    NoEtcd,
    /// Not an address of etcd.
    #[error("it is the address of a node of etcd, such as https://etcd-1:2379")]
    Endpoint,
    /// Not a prefix.
    #[error("it begins with a slash and does not end with one, such as /rear")]
    Prefix,
    /// Not an address of a broker.
    #[error("it is a host and a port that the other brokers reach, such as broker-1:7443")]
    Peer,
    /// Not a cap.
    #[error("it is a cluster and the highest priority that counts for it, such as rome=5")]
    Cap,
}

/// A span of time within the limits of promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

impl FromStr for Span {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let span: Duration = text.parse().map_err(|_| ValueError::Span)?;
        let fits = (MIN_DURATION..=MAX_DURATION).contains(&span);
        fits.then_some(Self(span)).ok_or(ValueError::Span)
    }
}

/// A share in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share(pub Percent);

impl FromStr for Share {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let percent = text.parse().ok().and_then(|number| Percent::new(number).ok());
        percent.map(Self).ok_or(ValueError::Share)
    }
}

/// Through what clusters speak to the broker: at least one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrokerInterface {
    /// The HTTP API.
    pub http: bool,
    /// Custom resources on a broker cluster.
    pub kubernetes: bool,
}

impl FromStr for BrokerInterface {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let mut interface = Self { http: false, kubernetes: false };
        for word in text.split(',') {
            match word {
                "http" if !interface.http => interface.http = true,
                "kubernetes" if !interface.kubernetes => interface.kubernetes = true,
                _ => return Err(ValueError::Interface),
            }
        }
        Ok(interface)
    }
}

/// A namespace of the broker cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceName(pub String);

impl FromStr for NamespaceName {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let is_name = text.parse::<ClusterId>().is_ok() && !text.contains('.');
        is_name.then(|| Self(text.to_owned())).ok_or(ValueError::Namespace)
    }
}

/// Ledgers whose objects may be taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplacedLedger(pub Replaces);

impl FromStr for ReplacedLedger {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if text == "any" {
            return Ok(Self(Replaces::Any));
        }
        let digits = Some(text).filter(|text| text.len() == 32);
        let ledger = digits.and_then(|text| u128::from_str_radix(text, 16).ok());
        ledger.map(|ledger| Self(Replaces::Ledger(ledger))).ok_or(ValueError::Ledger)
    }
}

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// As text on a terminal, as JSON elsewhere.
    Auto,
    /// For people.
    Text,
    /// For programs.
    Json,
}

impl FromStr for LogFormat {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text {
            "auto" => Ok(Self::Auto),
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(ValueError::LogFormat),
        }
    }
}

/// How a commit reaches the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Durability(pub Commit);

impl FromStr for Durability {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text {
            "two-phase" => Ok(Self(Commit::TwoPhase)),
            "one-phase" => Ok(Self(Commit::OnePhase)),
            _ => Err(ValueError::Durability),
        }
    }
}

/// How much each dimension counts in a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weighting(pub Weights);

/// How to choose among clusters that fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice(pub Strategy);

impl FromStr for Choice {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        text.parse().map(Self).map_err(|_| ValueError::Strategy)
    }
}

/// What is logged, as directives of a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLevel(pub String);

impl FromStr for LogLevel {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        // A filter reads a misspelt level as the name of a module, which would silence everything.
        let level = |text: &str| text.parse::<tracing::level_filters::LevelFilter>().is_ok();
        let directive = |text: &str| level(text.rsplit('=').next().unwrap_or_default());
        let reads = tracing_subscriber::EnvFilter::try_new(text).is_ok();
        let good = reads && text.split(',').all(directive);
        good.then(|| Self(text.to_owned())).ok_or(ValueError::LogLevel)
    }
}

/// An organisational unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit(pub String);

impl FromStr for Unit {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        (!text.is_empty()).then(|| Self(text.to_owned())).ok_or(ValueError::Unit)
    }
}

/// The highest priority that counts for a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriorityCap {
    /// For whom.
    pub cluster: ClusterId,
    /// Higher ones count as this.
    pub highest: i32,
}

impl FromStr for PriorityCap {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let (cluster, highest) = text.split_once('=').ok_or(ValueError::Cap)?;
        let cluster = cluster.parse().map_err(|_| ValueError::Cap)?;
        let highest = highest.parse().map_err(|_| ValueError::Cap)?;
        Ok(Self { cluster, highest })
    }
}
