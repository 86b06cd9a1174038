//! A wish for capacity and what became of it, as a resource.

use std::collections::BTreeMap;

use kube::{CustomResource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::conditions::Condition;
use super::{Amounts, schema};
use crate::labels::LabelTexts;
use crate::reservation::{
    Constraints, MaxPrice, PhaseName, Reservation as ReservationBody, ReservationRequest,
    ReservationStatus as StatusBody,
};

/// A wish for capacity in another cluster. A user or an agent writes it; the broker answers in its status. Deleting it
/// gives the capacity back. What is asked for cannot change: delete it and make another.
#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
#[kube(
    group = "broker.fluidos.eu",
    version = "v1alpha1",
    kind = "Reservation",
    namespaced,
    status = "ReservationStatus",
    shortname = "rsv",
    doc = "A wish for capacity in another cluster. The broker answers in its status. Deleting it gives the capacity back.",
    printcolumn(name = "Target-Cluster", type_ = "string", json_path = ".spec.targetClusterID"),
    printcolumn(name = "CPU", type_ = "string", json_path = ".spec.requestedResources.cpu"),
    printcolumn(name = "Memory", type_ = "string", json_path = ".spec.requestedResources.memory"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "self.requestedResources == oldSelf.requestedResources && has(self.requesterID) == has(oldSelf.requesterID) && (!has(self.requesterID) || self.requesterID == oldSelf.requesterID) && has(self.duration) == has(oldSelf.duration) && (!has(self.duration) || self.duration == oldSelf.duration) && has(self.priority) == has(oldSelf.priority) && (!has(self.priority) || self.priority == oldSelf.priority) && has(self.strategy) == has(oldSelf.strategy) && (!has(self.strategy) || self.strategy == oldSelf.strategy) && has(self.dryRun) == has(oldSelf.dryRun) && (!has(self.dryRun) || self.dryRun == oldSelf.dryRun) && has(self.constraints) == has(oldSelf.constraints) && (!has(self.constraints) || self.constraints == oldSelf.constraints)",
    "message": "what is asked for cannot change: delete this reservation and make another",
}]))]
pub struct ReservationSpec {
    /// How much.
    pub requested_resources: Amounts,
    /// Who asks; in a namespace that is bound to a cluster, that one.
    #[serde(rename = "requesterID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub requester_id: Option<String>,
    /// Only this cluster, if it is there from the beginning. Later, the cluster that was chosen: the broker writes it.
    #[serde(rename = "targetClusterID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub target_cluster_id: Option<String>,
    /// Among requests that wait together, higher goes first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// For how long, such as `1h30m`; while the reservation exists, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::optional_duration")]
    pub duration: Option<String>,
    /// How to choose: `headroom`, `balanced`, `cheapest` or `binpack`; the broker's way, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub strategy: Option<String>,
    /// What the provider must or should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraints: Option<ConstraintTexts>,
    /// When it should end instead (RFC 3339): whoever asked for it can set a new end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub expires_at: Option<String>,
    /// Explain in the status who would get it, and lock nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
}

/// What the provider must or should be.
#[derive(Serialize, Deserialize, JsonSchema, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ConstraintTexts {
    /// Labels that it must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::labels")]
    pub labels: Option<BTreeMap<String, String>>,
    /// Labels that it should have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::labels")]
    pub preferred_labels: Option<BTreeMap<String, String>>,
    /// The most that the whole request may cost for an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_price: Option<PriceTexts>,
}

/// A ceiling for the whole request, for an hour.
#[derive(Serialize, Deserialize, JsonSchema, Debug, Clone, PartialEq, Eq)]
pub struct PriceTexts {
    /// A decimal text.
    #[schemars(length(max = 64))]
    pub amount: String,
    /// In which currency.
    #[schemars(length(max = 64))]
    pub currency: String,
}

/// What became of it. The broker writes it, but for the conditions of the two sides.
#[derive(Serialize, Deserialize, JsonSchema, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct ReservationStatus {
    /// `Pending`, `Reserved`, `Active`, `Released` or `Failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// What to do, or why not, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Who keeps the capacity aside.
    #[serde(rename = "targetClusterID", skip_serializing_if = "Option::is_none")]
    pub target_cluster_id: Option<String>,
    /// When the capacity was locked (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved_at: Option<String>,
    /// When it ends by itself (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// When the status last changed (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<String>,
    /// Its id in the ledger, under which the HTTP API knows it.
    #[serde(rename = "reservationID", skip_serializing_if = "Option::is_none")]
    pub reservation_id: Option<String>,
    /// Why it was refused, as a stable word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The refusal, or the explanation of a dry run, as the HTTP API would tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::anything")]
    pub explanation: Option<Value>,
    /// The ledger that this is from, and how far it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<String>,
    /// The broker's `Ready` and `Renewed`; the requester's `RequesterActive` and `RequesterReleased`; the provider's
    /// `ProviderRejected`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

impl ReservationSpec {
    /// The body that asks for the same.
    #[must_use]
    pub fn request(&self) -> ReservationRequest {
        ReservationRequest {
            requested_resources: self.requested_resources.clone().into(),
            priority: self.priority,
            duration: self.duration.clone(),
            target_cluster_id: self.target_cluster_id.clone(),
            strategy: self.strategy.clone(),
            on_behalf_of: None,
            constraints: self.constraints.clone().map(Constraints::from),
        }
    }

    /// The object of a body that someone asks with.
    #[must_use]
    pub fn asking(request: &ReservationRequest, requester: Option<&str>) -> Self {
        let request = request.clone();
        Self {
            requested_resources: request.requested_resources.into(),
            requester_id: requester.map(str::to_owned),
            target_cluster_id: request.target_cluster_id,
            priority: request.priority,
            duration: request.duration,
            strategy: request.strategy,
            constraints: request.constraints.map(ConstraintTexts::from),
            expires_at: None,
            dry_run: None,
        }
    }

    /// The object of a reservation that was made elsewhere.
    #[must_use]
    pub fn viewing(shown: &ReservationBody) -> Self {
        Self {
            requested_resources: shown.requested_resources.clone().into(),
            requester_id: Some(shown.requester_id.clone()),
            target_cluster_id: Some(shown.target_cluster_id.clone()),
            priority: (shown.priority != 0).then_some(shown.priority),
            duration: shown.duration.clone(),
            strategy: None,
            constraints: None,
            expires_at: None,
            dry_run: None,
        }
    }

    /// Whether both ask for the same, wherever it was found or ends.
    #[must_use]
    pub fn asks_the_same_as(&self, other: &Self) -> bool {
        let wish = |spec: &Self| Self {
            target_cluster_id: None,
            expires_at: None,
            requester_id: None,
            ..spec.clone()
        };
        wish(self) == wish(other)
    }
}

impl ReservationStatus {
    /// What a reservation's answer says, with the conditions that were there.
    #[must_use]
    pub fn of(shown: &ReservationBody, id: &str, conditions: Vec<Condition>) -> Self {
        Self {
            phase: Some(shown.status.phase.name().to_owned()),
            message: Some(shown.status.message.clone()),
            target_cluster_id: Some(shown.target_cluster_id.clone()),
            reserved_at: shown.status.reserved_at.clone(),
            expires_at: shown.status.expires_at.clone(),
            reservation_id: Some(id.to_owned()),
            conditions,
            ..Self::default()
        }
    }

    /// Its phase, if it has one.
    #[must_use]
    pub fn phase_name(&self) -> Option<PhaseName> {
        let text = self.phase.as_deref()?;
        let known = [
            PhaseName::Pending,
            PhaseName::Reserved,
            PhaseName::Active,
            PhaseName::Released,
            PhaseName::Failed,
        ];
        let found = known.into_iter().find(|phase| phase.name() == text);
        Some(found.unwrap_or_else(|| PhaseName::Other(text.to_owned())))
    }

    /// Whether it says the same, whenever and from however far a ledger.
    #[must_use]
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        let said = |status: &Self| Self { last_update_time: None, ledger: None, ..status.clone() };
        said(self) == said(other)
    }
}

impl Reservation {
    /// The reservation as the wire shows it, under this id; nothing while it has not been granted.
    #[must_use]
    pub fn shown(&self, id: &str) -> Option<ReservationBody> {
        let status = self.status.as_ref()?;
        let spec = &self.spec;
        let target = status.target_cluster_id.clone().or_else(|| spec.target_cluster_id.clone());
        Some(ReservationBody {
            id: id.to_owned(),
            name: self.users_name(),
            requester_id: spec.requester_id.clone().unwrap_or_default(),
            target_cluster_id: target?,
            requested_resources: spec.requested_resources.clone().into(),
            priority: spec.priority.unwrap_or_default(),
            duration: spec.duration.clone(),
            created_at: status.reserved_at.clone(),
            status: StatusBody {
                phase: status.phase_name()?,
                reservation_phase: None,
                message: status.message.clone().unwrap_or_default(),
                reserved_at: status.reserved_at.clone(),
                expires_at: status.expires_at.clone(),
            },
        })
    }

    /// The name that a user gave the reservation: of the object itself, or as the provider's copy tells it.
    #[must_use]
    pub fn users_name(&self) -> Option<String> {
        let labels = self.labels();
        if labels.contains_key(super::names::TRANSIENT_LABEL) {
            return None;
        }
        if labels.contains_key(super::names::VIEW_LABEL) {
            return self.annotations().get(super::names::NAME_ANNOTATION).cloned();
        }
        Some(self.name_any())
    }

    /// Whether it has the finalizer: then its capacity is kept aside, and both sides have been told.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.finalizers().iter().any(|known| known == super::names::FINALIZER)
    }

    /// The conditions in its status.
    #[must_use]
    pub fn conditions(&self) -> &[Condition] {
        self.status.as_ref().map_or(&[], |status| &status.conditions)
    }
}

impl From<ConstraintTexts> for Constraints {
    fn from(texts: ConstraintTexts) -> Self {
        let ConstraintTexts { labels, preferred_labels, max_price } = texts;
        let price = |PriceTexts { amount, currency }| MaxPrice { amount, currency };
        Self {
            labels: labels.map(LabelTexts),
            preferred_labels: preferred_labels.map(LabelTexts),
            max_price: max_price.map(price),
        }
    }
}

impl From<Constraints> for ConstraintTexts {
    fn from(constraints: Constraints) -> Self {
        let Constraints { labels, preferred_labels, max_price } = constraints;
        let price = |MaxPrice { amount, currency }| PriceTexts { amount, currency };
        Self {
            labels: labels.map(|LabelTexts(labels)| labels),
            preferred_labels: preferred_labels.map(|LabelTexts(labels)| labels),
            max_price: max_price.map(price),
        }
    }
}
