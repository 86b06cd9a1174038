//! What the keys mean to the rest of the broker, and which of them contradict each other.

use std::net::SocketAddr;
use std::path::PathBuf;

use rear_api::problem::Names;
use rear_engine::Policy;
use rear_store::Settings;
use rear_store::settings::{EventRetention, PriorityCaps};

use super::error::{ConfigError, ConfigErrors, Place};
use super::keys::Config;
use super::value::{EtcdEndpoint, NamespaceName, Span, StoreKind};
use super::{Found, Values};
use crate::broker::Telling;
use crate::identity::Administrators;
use crate::kubernetes;
use crate::limits::RateLimit;
use crate::pki::Layout;

impl Config {
    /// Values that are right alone may be wrong together.
    pub(super) fn check(&self, values: &Values) -> Result<(), ConfigErrors> {
        self.check_durations(values)?;
        self.check_store(values)
    }

    fn check_durations(&self, values: &Values) -> Result<(), ConfigErrors> {
        let (Some(Span(default)), Some(Span(longest))) = (self.default_duration, self.max_duration)
        else {
            return Ok(());
        };
        if default <= longest {
            return Ok(());
        }
        let remedy = format!("it is at most max-duration, which is {longest}");
        Err(together(values, "default-duration", default.to_string(), remedy))
    }

    fn check_store(&self, values: &Values) -> Result<(), ConfigErrors> {
        let wrong = |key, value: &str, remedy: &str| {
            Err(together(values, key, value.to_owned(), remedy.to_owned()))
        };
        if self.store == StoreKind::Redb {
            return Ok(());
        }
        let secure = self.etcd_endpoints.iter().any(|EtcdEndpoint(url)| url.starts_with("https:"));
        if self.etcd_endpoints.is_empty() {
            return wrong("store", "etcd", "it needs etcd-endpoints");
        }
        if self.broker_interface.kubernetes && !self.leader_elect {
            let remedy = "with the Kubernetes interface it needs leader-elect: one of the brokers works on the resources";
            return wrong("store", "etcd", remedy);
        }
        if secure && self.etcd_cert_path.is_none() {
            return wrong("store", "etcd", "etcd over https needs etcd-cert-path");
        }
        if self.etcd_user.is_some() != self.etcd_password_file.is_some() {
            return wrong("store", "etcd", "etcd-user and etcd-password-file go together");
        }
        Ok(())
    }

    /// Where the API listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        SocketAddr::new(self.http_address, self.http_port)
    }

    /// Where `tls.crt`, `tls.key` and `ca.crt` are.
    #[must_use]
    pub fn certificates(&self) -> PathBuf {
        self.http_cert_path.clone().unwrap_or_else(|| Layout::of(&self.data).tls())
    }

    /// How the Kubernetes interface is served, if it is.
    #[must_use]
    pub fn kubernetes(&self) -> Option<kubernetes::Settings> {
        self.broker_interface.kubernetes.then(|| kubernetes::Settings {
            kubeconfig: self.kubeconfig.clone(),
            shared_namespace: self.shared_namespace.clone().map(|NamespaceName(name)| name),
            replaces: self.kubernetes_replaces_ledger.map(|ledger| ledger.0).unwrap_or_default(),
        })
    }

    /// How administrators are told from clusters.
    #[must_use]
    pub fn administrators(&self) -> Administrators {
        Administrators {
            unit: self.administrator_unit.0.clone(),
            named: self.administrator.clone(),
        }
    }

    /// How often each cluster may ask.
    #[must_use]
    pub fn rate_limit(&self) -> RateLimit {
        RateLimit::new(self.requests_per_second, self.request_burst)
    }

    /// What is told to whom.
    #[must_use]
    pub fn telling(&self) -> Telling {
        let names = if self.hide_names { Names::LeftOut } else { Names::Shown };
        Telling { names, each_cluster: self.metrics_per_cluster }
    }

    /// What the store is told.
    #[must_use]
    pub fn settings(&self) -> Settings {
        let count = usize::try_from(self.events_kept.get()).unwrap_or(usize::MAX);
        Settings {
            policy: self.policy(),
            events: EventRetention { age: self.events_kept_for.0, count },
            priorities: PriorityCaps {
                others: self.max_priority,
                named: self.priority_cap.clone(),
            },
        }
    }

    fn policy(&self) -> Policy {
        let span = |span: Option<Span>| span.map(|Span(span)| span);
        let max_reservations = self.max_reservations.get();
        Policy {
            weights: self.weight.0,
            strategy: self.strategy.0,
            cost_share: self.cost_share.0,
            currency: self.currency,
            stale_after: self.stale_after.0,
            requester_gone_after: self.requester_gone_after.0,
            default_duration: span(self.default_duration),
            max_duration: span(self.max_duration),
            ended_kept_for: self.ended_kept_for.0,
            max_reservations: usize::try_from(max_reservations).unwrap_or(usize::MAX),
        }
    }
}

/// A value that contradicts another.
fn together(values: &Values, key: &'static str, value: String, remedy: String) -> ConfigErrors {
    let place = values.get(key).map_or(Place::Flag(key), |Found { place, .. }| place.clone());
    ConfigError::Invalid { place, key, value, remedy }.into()
}
