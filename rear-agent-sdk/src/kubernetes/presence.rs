//! Whether a broker serves a namespace, for whom, and how far its ledger is.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client, ResourceExt};
use rear_api::resources::Mark;
use rear_api::resources::names::{CLUSTER_ANNOTATION, EVERY_CLUSTER, MARK_ANNOTATION, PRESENCE};
use tokio::time::Instant;

use super::failure::of_kube;
use super::sides::Namespace;
use crate::communicator::{ClusterId, Position};
use crate::error::Error;

/// Without a renewal for so long, in seconds, the broker is away: three times as long as its Lease lasts, so that
/// clocks may differ.
const SILENT_AFTER: i64 = 180;

/// For as long a renewal that was seen says that it is there.
const SEEN_FOR: Duration = Duration::from_secs(SILENT_AFTER.unsigned_abs());

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

    /// Whether the broker seems not to have been there for long, at this time in seconds.
    fn is_old(&self, now: i64) -> bool {
        self.renewed_at.is_none_or(|renewed| now - renewed > SILENT_AFTER)
    }
}

/// What was seen of a Lease before. Its times are of the broker's clock, which may differ from ours by any span; that it is renewed
/// can be seen without either.
#[derive(Debug, Default)]
pub(super) struct Renewals(Mutex<Option<Renewal>>);

/// The time in a Lease, and when it was seen to have changed to that.
#[derive(Debug, Clone, Copy)]
struct Renewal {
    renewed_at: i64,
    seen_at: Option<Instant>,
}

impl Renewals {
    /// Whether the broker has not been there for long.
    pub(super) fn is_silent(&self, presence: &Presence) -> bool {
        self.is_silent_at(presence, crate::clock::now().as_nanos() / 1_000_000_000)
    }

    fn is_silent_at(&self, presence: &Presence, now: i64) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *last = presence.renewed_at.map(|renewed_at| {
            let seen_at = match *last {
                Some(last) if last.renewed_at == renewed_at => last.seen_at,
                Some(_) => Some(Instant::now()),
                None => None,
            };
            Renewal { renewed_at, seen_at }
        });
        let seen_at = last.and_then(|last| last.seen_at);
        let was_seen = seen_at.is_some_and(|seen_at| seen_at.elapsed() <= SEEN_FOR);
        !was_seen && presence.is_old(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renewed_at(renewed_at: i64) -> Presence {
        let position = Position { incarnation: 1, number: 1 };
        Presence { namespace: Namespace::Own, position, renewed_at: Some(renewed_at) }
    }

    #[tokio::test(start_paused = true)]
    async fn a_broker_whose_lease_is_renewed_is_there_whatever_the_clocks_say() {
        let (renewals, hours_later) = (Renewals::default(), 20_000);
        assert!(renewals.is_silent_at(&renewed_at(100), hours_later), "nothing else is known");
        for renewal in [120, 140, 140] {
            assert!(!renewals.is_silent_at(&renewed_at(renewal), hours_later));
        }
        tokio::time::advance(SEEN_FOR * 2).await;
        assert!(renewals.is_silent_at(&renewed_at(140), hours_later), "it is renewed no more");
    }

    #[test]
    fn a_lease_without_a_renewal_is_nobodys() {
        let nobody = Presence { renewed_at: None, ..renewed_at(0) };
        assert!(Renewals::default().is_silent_at(&nobody, 0));
        assert!(!Renewals::default().is_silent_at(&renewed_at(0), SILENT_AFTER));
        assert!(Renewals::default().is_silent_at(&renewed_at(0), SILENT_AFTER + 1));
    }
}
