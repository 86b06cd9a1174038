//! The table of keys: name, type, default, whether a change counts at once, and what it means.
//!
//! A further key is one more row here and its place in `meaning`; flags, variables, the file and the reference
//! follow.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use rear_agent_sdk::daemon::BindAddress;
use rear_engine::ClusterId;
use rear_engine::price::Currency;

use super::error::{ConfigError, ConfigErrors};
use super::value::{
    BrokerInterface, Choice, Durability, EtcdEndpoint, EtcdPrefix, LogFormat, LogLevel,
    NamespaceName, PeerAddress, ReplacedLedger, Setting, Shape, Share, Span, StoreKind, Unit,
    Weighting,
};
use super::{Found, Place, Values};

/// When a changed value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reload {
    /// After SIGHUP, without a restart.
    AtOnce,
    /// After a restart.
    AtRestart,
}

/// One thing that an operator can decide.
#[derive(Debug)]
pub struct Key {
    /// The same everywhere: the flag, the key in a file, and in capitals the variable.
    pub name: &'static str,
    /// What a value is, for people.
    pub value_name: &'static str,
    /// What counts if nobody says anything.
    pub default: Option<&'static str>,
    /// How it is written.
    pub shape: Shape,
    /// When a changed value counts.
    pub reload: Reload,
    /// What it means.
    pub help: &'static str,
    /// Why a text cannot be its value, or one of a list.
    pub check: fn(&str) -> Result<(), String>,
}

macro_rules! keys {
    ($(
        #[doc = $help:literal]
        $field:ident: $type:ty = $name:literal $value_name:literal $default:expr, $reload:ident;
    )+) => {
        /// Everything that an operator decides.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Config {
            $(#[doc = $help] pub $field: $type,)+
        }

        /// Every key.
        pub const KEYS: &[Key] = &[$(Key {
            name: $name,
            value_name: $value_name,
            default: $default,
            shape: <$type as Setting>::SHAPE,
            reload: Reload::$reload,
            help: $help.trim_ascii(),
            check: |text| <$type as Setting>::read(&[text.to_owned()]).map(drop),
        },)+];

        impl Config {
            /// Reads every key; what is wrong is told all at once.
            pub(super) fn read(values: &Values) -> Result<Self, ConfigErrors> {
                let mut errors = Vec::new();
                let mut keys = KEYS.iter();
                $(let $field: Option<$type> =
                    keys.next().and_then(|key| read(key, values, &mut errors));)+
                match ($($field,)+) {
                    ($(Some($field),)+) => Ok(Self { $($field,)+ }),
                    _ => Err(ConfigErrors(errors)),
                }
            }

            /// These values where a change counts at once, those of `present` elsewhere.
            #[must_use]
            pub fn with_restart_keys_of(mut self, present: &Self) -> Self {
                $(if Reload::$reload == Reload::AtRestart {
                    self.$field = present.$field.clone();
                })+
                self
            }

            /// The keys whose values another configuration has otherwise.
            #[must_use]
            pub fn changes(&self, other: &Self) -> Vec<&'static Key> {
                let same = [$(self.$field == other.$field),+];
                KEYS.iter().zip(same).filter(|(_, same)| !same).map(|(key, _)| key).collect()
            }
        }
    };
}

keys! {
    /// Where the ledger is kept; made if it is not there
    data: PathBuf = "data" "DIR" None, AtRestart;
    /// Where what is decided becomes durable: redb, a file in DATA of this broker alone, or etcd, a journal that several brokers share
    store: StoreKind = "store" "STORE" Some("redb"), AtRestart;
    /// The address of a node of etcd, such as `https://etcd-1:2379`; may be repeated, the preferred one first
    etcd_endpoints: Vec<EtcdEndpoint> = "etcd-endpoints" "URL" None, AtRestart;
    /// What the keys of the ledger in etcd begin with
    etcd_prefix: EtcdPrefix = "etcd-prefix" "PREFIX" Some("/rear"), AtRestart;
    /// A folder with ca.crt of etcd, and tls.crt and tls.key of the broker if etcd asks for a certificate; for https
    etcd_cert_path: Option<PathBuf> = "etcd-cert-path" "DIR" None, AtRestart;
    /// The broker's user in etcd, if etcd has users
    etcd_user: Option<Unit> = "etcd-user" "NAME" None, AtRestart;
    /// A file with the password of that user
    etcd_password_file: Option<PathBuf> = "etcd-password-file" "FILE" None, AtRestart;
    /// Where the other brokers reach this one, HOST:PORT, to hand over what they would otherwise contend for; without it they contend
    etcd_peer_address: Option<PeerAddress> = "etcd-peer-address" "HOST:PORT" None, AtRestart;
    /// After so many entries of the journal in etcd, or later if they are small beside the ledger, a snapshot of the ledger is put there, and older entries are removed
    etcd_snapshot_every: NonZeroU32 = "etcd-snapshot-every" "NUMBER" Some("1000"), AtRestart;
    /// The port of the API
    http_port: u16 = "http-port" "PORT" Some("8443"), AtRestart;
    /// The address of the API; the default is all interfaces
    http_address: IpAddr = "http-address" "ADDRESS" Some("::"), AtRestart;
    /// A folder with tls.crt, tls.key and ca.crt, and ca.crl if certificates were revoked; without it what `init` made in DATA/tls. The files may change at any time
    http_cert_path: Option<PathBuf> = "http-cert-path" "DIR" None, AtRestart;
    /// Where the metrics are: HOST:PORT, :PORT for all interfaces, 0 for nowhere
    metrics_bind_address: BindAddress = "metrics-bind-address" "ADDRESS" Some(":8080"), AtRestart;
    /// Where the probes /healthz and /readyz are, without TLS: as for the metrics
    health_probe_bind_address: BindAddress = "health-probe-bind-address" "ADDRESS" Some(":8081"), AtRestart;
    /// Where the pages for operators are: on loopback for anyone on this machine, elsewhere over TLS for administrators
    operations_bind_address: BindAddress = "operations-bind-address" "ADDRESS" Some("127.0.0.1:8082"), AtRestart;
    /// Through what clusters speak to the broker: http, kubernetes, which is custom resources on a broker cluster, or http,kubernetes. Administrators use the HTTP API in any case
    broker_interface: BrokerInterface = "broker-interface" "INTERFACE" Some("http"), AtRestart;
    /// Of several copies with the Kubernetes interface, the one that holds a Lease opens the ledger and serves, and the others wait; with the store etcd all of them serve, and that one works on the resources
    leader_elect: bool = "leader-elect" "BOOL" Some("false"), AtRestart;
    /// The kubeconfig of the broker cluster, for the Kubernetes interface; without it KUBECONFIG, or the service account of the pod
    kubeconfig: Option<PathBuf> = "kubeconfig" "FILE" None, AtRestart;
    /// A namespace of the broker cluster in which everyone is believed to be who they say they are, as default was in the earlier system: whoever may write there speaks for every cluster. Without it only namespaces count that are bound to a cluster by the label broker.fluidos.eu/cluster
    shared_namespace: Option<NamespaceName> = "shared-namespace" "NAMESPACE" None, AtRestart;
    /// The id of a ledger that is lost for good, whose objects on the broker cluster are taken over; any takes over whatever is there
    kubernetes_replaces_ledger: Option<ReplacedLedger> = "kubernetes-replaces-ledger" "LEDGER" None, AtRestart;
    /// The organisational unit in the certificates of administrators
    administrator_unit: Unit = "administrator-unit" "UNIT" Some("rear-administrators"), AtRestart;
    /// The common name of an administrator's certificate; may be repeated
    administrator: BTreeSet<ClusterId> = "administrator" "NAME" None, AtRestart;
    /// Silence after which a cluster gets no new reservations
    stale_after: Span = "stale-after" "DURATION" Some("10m"), AtOnce;
    /// Silence of a requester after which its reservations without an end are released
    requester_gone_after: Span = "requester-gone-after" "DURATION" Some("24h"), AtOnce;
    /// The duration of requests that name none; without it max-duration, and without that they last while their requester is heard of
    default_duration: Option<Span> = "default-duration" "DURATION" None, AtOnce;
    /// The longest duration that is granted; without it 8784h
    max_duration: Option<Span> = "max-duration" "DURATION" None, AtOnce;
    /// How long an ended reservation and its idempotency key are remembered: at least 24h
    ended_kept_for: Span = "ended-kept-for" "DURATION" Some("168h"), AtOnce;
    /// Reservations of one requester, live or ended and remembered: each takes about a kilobyte of memory, and more with many labels
    max_reservations: NonZeroU32 = "max-reservations" "NUMBER" Some("250000"), AtOnce;
    /// How long events are kept for those who follow them
    events_kept_for: Span = "events-kept-for" "DURATION" Some("168h"), AtOnce;
    /// How many events are kept, about, while they are young enough
    events_kept: NonZeroU32 = "events-kept" "NUMBER" Some("1000000"), AtOnce;
    /// How to choose among clusters that fit, if a request does not say: headroom, balanced, cheapest or binpack
    strategy: Choice = "strategy" "STRATEGY" Some("headroom"), AtRestart;
    /// How much a dimension counts in a score, as gpu=2; 1 for those that are not named; may be repeated
    weight: Weighting = "weight" "DIMENSION=NUMBER" None, AtRestart;
    /// How much cost counts under balanced, in percent
    cost_share: Share = "cost-share" "PERCENT" Some("30"), AtRestart;
    /// The currency in which prices are compared, if a request names none
    currency: Option<Currency> = "currency" "CURRENCY" None, AtRestart;
    /// The highest priority that counts, for clusters without one of their own; without it any does
    max_priority: Option<i32> = "max-priority" "NUMBER" None, AtOnce;
    /// The highest priority that counts for one cluster, as rome=5; may be repeated
    priority_cap: BTreeMap<ClusterId, i32> = "priority-cap" "CLUSTER=NUMBER" None, AtOnce;
    /// Requests of one cluster in a second, on average; more are answered with 429
    requests_per_second: NonZeroU32 = "requests-per-second" "NUMBER" Some("20000"), AtOnce;
    /// Requests of one cluster at once, above the average
    request_burst: NonZeroU32 = "request-burst" "NUMBER" Some("40000"), AtOnce;
    /// Leave out the names of other clusters where a reservation is refused
    hide_names: bool = "hide-names" "BOOL" Some("false"), AtOnce;
    /// How a commit reaches the disk: two-phase, or one-phase, which is faster and tells a torn write by checksums alone
    durability: Durability = "durability" "HOW" Some("two-phase"), AtRestart;
    /// A series of metrics for each cluster, beside the sums: for fleets that Prometheus can bear
    metrics_per_cluster: bool = "metrics-per-cluster" "BOOL" Some("false"), AtOnce;
    /// How much is logged: off, error, warn, info, debug or trace, also by target as info,audit=off
    log_level: LogLevel = "log-level" "LEVEL" Some("info"), AtOnce;
    /// How the log is written: text, json, or auto, which is text on a terminal and JSON elsewhere
    log_format: LogFormat = "log-format" "FORMAT" Some("auto"), AtRestart;
    /// A file for the audit log, made if it is not there, reopened after SIGHUP; without it the audit goes to the log, as the target `audit`
    audit_log: Option<PathBuf> = "audit-log" "FILE" None, AtOnce;
}

/// What counts for a key: what was found, else its default.
fn read<T: Setting>(key: &Key, values: &Values, errors: &mut Vec<ConfigError>) -> Option<T> {
    let default = || key.default.iter().map(ToString::to_string).collect();
    let found = values.get(key.name);
    let texts: Vec<String> = found.map_or_else(default, |found| found.texts.clone());
    match T::read(&texts) {
        Ok(value) => Some(value),
        Err(remedy) => {
            errors.push(wrong(key, found, remedy));
            None
        }
    }
}

fn wrong(key: &Key, found: Option<&Found>, remedy: String) -> ConfigError {
    match found {
        Some(Found { texts, place }) => ConfigError::Invalid {
            place: Place::clone(place),
            key: key.name,
            value: texts.join(","),
            remedy,
        },
        None => ConfigError::Missing { key: key.name, variable: key.variable() },
    }
}
