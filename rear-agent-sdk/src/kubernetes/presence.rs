//! Whether a broker serves a namespace, for whom, and how far its ledger is.

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client, ResourceExt};
use rear_api::resources::Mark;
use rear_api::resources::names::{CLUSTER_ANNOTATION, EVERY_CLUSTER, MARK_ANNOTATION, PRESENCE};

use super::failure::of_kube;
use super::sides::Namespace;
use crate::communicator::{ClusterId, Position};
use crate::error::Error;

/// Without a renewal for so long, in seconds, the broker is away: three times as long as its Lease lasts, so that
/// clocks may differ.
const SILENT_AFTER: i64 = 180;

/// A broker that serves a namespace.
#[derive(Debug)]
pub(super) struct Presence {
    pub(super) namespace: Namespace,
    pub(super) position: Position,
    renewed_at: Option<i64>,
}

impl Presence {
    /// Looks for it.
    pub(super) async fn find(
        client: &Client,
        namespace: &str,
        cluster: &ClusterId,
    ) -> Result<Self, Error> {
        let api = Api::<Lease>::namespaced(client.clone(), namespace);
        let lease = api.get_opt(PRESENCE).await.map_err(of_kube)?;
        let lease = lease.ok_or_else(|| Error::OtherTransport {
            detail: format!(
                "no broker serves the namespace {namespace} of its cluster, where there is no Lease {PRESENCE}: \
                 start it with --broker-interface=kubernetes, and bind the namespace with the label \
                 broker.fluidos.eu/cluster={cluster}"
            ),
        })?;
        let bound = lease.annotations().get(CLUSTER_ANNOTATION).cloned().unwrap_or_default();
        let kind = match bound.as_str() {
            EVERY_CLUSTER => Namespace::Shared,
            own if own == cluster.as_str() => Namespace::Own,
            other => {
                let detail =
                    format!("the namespace {namespace} is bound to {other}, not {cluster}");
                return Err(Error::OtherCluster { detail });
            }
        };
        let mark = lease.annotations().get(MARK_ANNOTATION).and_then(|mark| mark.parse().ok());
        let mark: Mark = mark.ok_or_else(|| Error::Garbage {
            detail: format!("the Lease {PRESENCE} in {namespace} names no ledger"),
        })?;
        let renewed = lease.spec.and_then(|spec| spec.renew_time);
        let renewed_at = renewed.map(|time| time.0.as_second());
        Ok(Self { namespace: kind, position: mark.position, renewed_at })
    }

    /// Whether the broker has not been there for long.
    pub(super) fn is_silent(&self) -> bool {
        let now = crate::clock::now().as_nanos() / 1_000_000_000;
        self.renewed_at.is_none_or(|renewed| now - renewed > SILENT_AFTER)
    }
}
