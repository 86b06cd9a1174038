//! What was asked of the broker for a `ResourceRequest`, remembered on the object before it is asked.
//!
//! So whatever happens in between, a crash, a changed spec or a deletion, the agent can ask under the same key with the
//! same body, which makes nothing new, and learns what it got.

use kube::ResourceExt;
use rear_agent_sdk::Intent;
use rear_agent_sdk::communicator::{ReservationRequest, Timestamp};
use rear_api::amounts::{QuantityText, RequestedResources};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::clock::stamp;
use crate::resources::{ResourceRequest, ResourceRequestSpec};

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

    /// What was asked before, if anything. A text that cannot be read was changed by hand: then it is asked anew.
    pub(super) fn before(request: &ResourceRequest) -> Option<Self> {
        serde_json::from_str(request.annotations().get(ANNOTATION)?).ok()
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

    #[test]
    fn what_was_asked_is_remembered_with_its_key() {
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
        assert_eq!(Asked::before(&request), None);
        let asked = Asked::now(&request, Timestamp::from_seconds(0));
        assert_eq!(asked.intent(&request).to_string(), "u-3");
        let text = asked.annotations()[ANNOTATION].as_str().unwrap().to_owned();
        request.annotations_mut().insert(ANNOTATION.into(), text);
        // The spec changes, and the key of what was asked does not.
        request.metadata.generation = Some(4);
        request.spec.requested_cpu = "2".into();
        let before = Asked::before(&request).unwrap();
        assert_eq!((before.intent(&request).to_string(), before), ("u-3".to_owned(), asked));
    }
}
