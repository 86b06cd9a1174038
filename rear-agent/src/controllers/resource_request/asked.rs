//! What was asked of the broker for a `ResourceRequest`, remembered on the object before it is asked.
//!
//! So whatever happens in between, a crash, a changed spec or a deletion, the agent can ask under the same key with the
//! same body, which makes nothing new, and learns what it got.

use std::cmp::Ordering;

use kube::ResourceExt;
use rear_agent_sdk::Intent;
use rear_agent_sdk::communicator::{ReservationRequest, Timestamp};
use rear_api::amounts::{QuantityText, RequestedResources};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::clock::stamp;
use crate::resources::{RequestPhase, ResourceRequest, ResourceRequestSpec};

/// Where it is remembered.
const ANNOTATION: &str = "rear.fluidos.eu/asked";

/// What was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Asked {
    /// The generation of the request that it is about.
    pub(super) generation: i64,
    /// Since when (RFC 3339).
    pub(super) since: String,
    /// The body.
    pub(super) request: ReservationRequest,
}

impl Asked {
    /// What to ask for a request as it is now.
    pub(super) fn now(request: &ResourceRequest, now: Timestamp) -> Self {
        Self {
            generation: request.metadata.generation.unwrap_or_default(),
            since: stamp(now),
            request: body(&request.spec),
        }
    }

    /// What was asked before, if anything, as it is remembered. A text that cannot be ours was written by hand.
    pub(super) fn remembered(request: &ResourceRequest) -> Option<Self> {
        let asked: Self = serde_json::from_str(request.annotations().get(ANNOTATION)?).ok()?;
        asked.can_be_of(request).then_some(asked)
    }

    /// What was asked before and answered, by the status alone: `kubectl replace` takes away what is remembered, and agents of
    /// the earlier system remember nothing. They do not say which generation they answered either; it is taken for this one.
    pub(super) fn by_status(request: &ResourceRequest, now: Timestamp) -> Option<Self> {
        let status = request.status.as_ref()?;
        let answered = match status.phase? {
            RequestPhase::Reserved => status.reservation_name.is_some(),
            RequestPhase::Released | RequestPhase::Failed => true,
            RequestPhase::Pending => false,
        };
        let present = Self::now(request, now);
        let generation = status.observed_generation.unwrap_or(present.generation);
        let known = answered && generation <= present.generation;
        known.then_some(Self { generation, ..present })
    }

    /// Whoever may write the object may write the annotation too, but get no more by it than by a spec, which is what the
    /// cluster's own rules look at.
    fn can_be_of(&self, request: &ResourceRequest) -> bool {
        let present = request.metadata.generation.unwrap_or_default();
        match self.generation.cmp(&present) {
            Ordering::Equal => self.request == body(&request.spec),
            Ordering::Less => self.generation > 0 && says_no_more_than_a_spec(&self.request),
            Ordering::Greater => false,
        }
    }

    /// The annotations to set.
    pub(super) fn annotations(&self) -> serde_json::Value {
        json!({ ANNOTATION: json!(self).to_string() })
    }

    /// The key of the intent: the object, and its generation.
    pub(super) fn intent(&self, request: &ResourceRequest) -> Intent {
        let uid = request.metadata.uid.as_deref().unwrap_or_default();
        // An id of Kubernetes and a number are always a key.
        format!("{uid}-{}", self.generation).parse().unwrap_or_default()
    }
}

fn says_no_more_than_a_spec(request: &ReservationRequest) -> bool {
    let ReservationRequest { requested_resources, priority, duration, .. } = request.clone();
    let plain = rear_agent_sdk::request("", "");
    *request == ReservationRequest { requested_resources, priority, duration, ..plain }
}

fn body(spec: &ResourceRequestSpec) -> ReservationRequest {
    let ResourceRequestSpec {
        requested_cpu,
        requested_memory,
        requested_gpu,
        requested_storage,
        priority,
        duration,
        wait_for: _,
    } = spec.clone();
    ReservationRequest {
        priority,
        duration,
        requested_resources: RequestedResources {
            cpu: QuantityText(requested_cpu),
            memory: QuantityText(requested_memory),
            gpu: requested_gpu.map(QuantityText),
            storage: requested_storage.map(QuantityText),
        },
        ..rear_agent_sdk::request("", "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::ResourceRequestStatus;

    /// Of the third generation, with nothing remembered.
    fn wish() -> ResourceRequest {
        let spec = ResourceRequestSpec {
            requested_cpu: "1".into(),
            requested_memory: "1Gi".into(),
            requested_gpu: Some("2".into()),
            duration: Some("1h".into()),
            ..ResourceRequestSpec::default()
        };
        let mut request = ResourceRequest::new("r", spec);
        request.metadata.uid = Some("u".into());
        request.metadata.generation = Some(3);
        request
    }

    fn remember(asked: &Asked, on: &mut ResourceRequest) {
        let text = asked.annotations()[ANNOTATION].as_str().unwrap().to_owned();
        on.annotations_mut().insert(ANNOTATION.into(), text);
    }

    #[test]
    fn what_was_asked_is_remembered_with_its_key() {
        let mut request = wish();
        assert_eq!(Asked::remembered(&request), None);
        let asked = Asked::now(&request, Timestamp::from_seconds(0));
        assert_eq!(asked.intent(&request).to_string(), "u-3");
        remember(&asked, &mut request);
        // The spec changes, and the key of what was asked does not.
        request.metadata.generation = Some(4);
        request.spec.requested_cpu = "2".into();
        let before = Asked::remembered(&request).unwrap();
        assert_eq!((before.intent(&request).to_string(), before), ("u-3".to_owned(), asked));
    }

    #[test]
    fn what_was_answered_is_known_by_the_status_where_nothing_is_remembered() {
        let known = |phase: RequestPhase, name: Option<&str>, observed_generation: Option<i64>| {
            let reservation_name = name.map(Into::into);
            let phase = Some(phase);
            let status = ResourceRequestStatus {
                phase,
                reservation_name,
                observed_generation,
                ..Default::default()
            };
            let request = ResourceRequest { status: Some(status), ..wish() };
            Asked::by_status(&request, Timestamp::from_seconds(0)).map(|asked| asked.generation)
        };
        assert_eq!(known(RequestPhase::Reserved, Some("rsv-1"), Some(3)), Some(3));
        assert_eq!(
            known(RequestPhase::Reserved, Some("rsv-1"), Some(2)),
            Some(2),
            "of an older spec"
        );
        assert_eq!(
            known(RequestPhase::Reserved, Some("rsv-1"), None),
            Some(3),
            "of an earlier agent"
        );
        assert_eq!(known(RequestPhase::Failed, None, None), Some(3));
        assert_eq!(known(RequestPhase::Released, Some("rsv-1"), Some(3)), Some(3));
        assert_eq!(known(RequestPhase::Reserved, None, Some(3)), None);
        assert_eq!(known(RequestPhase::Pending, None, Some(3)), None);
        assert_eq!(known(RequestPhase::Failed, None, Some(4)), None);
        assert_eq!(Asked::by_status(&wish(), Timestamp::from_seconds(0)), None);
    }

    #[test]
    fn a_memory_that_says_more_than_the_spec_is_not_ours() {
        let known = |forge: fn(&mut Asked)| {
            let mut request = wish();
            let mut asked = Asked::now(&request, Timestamp::from_seconds(0));
            forge(&mut asked);
            remember(&asked, &mut request);
            Asked::remembered(&request).is_some()
        };
        assert!(known(|_| {}));
        assert!(known(|asked| asked.generation = 2), "of an older spec");
        assert!(!known(|asked| asked.generation = 0));
        assert!(!known(|asked| asked.generation = 4));
        assert!(!known(|asked| asked.request.requested_resources.cpu = "64".into()));
        assert!(!known(|asked| asked.request.on_behalf_of = Some("paris".into())));
        let elsewhere = |asked: &mut Asked| {
            asked.generation = 2;
            asked.request.target_cluster_id = Some("paris".into());
        };
        assert!(!known(elsewhere), "no spec can say that");
    }
}
