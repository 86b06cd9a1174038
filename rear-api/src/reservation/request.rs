//! A reservation request. Members that are not known are refused by name: a misspelt `duration` must not mean for ever.

use serde::{Deserialize, Serialize};

use crate::amounts::RequestedResources;
use crate::body::only_objects;
use crate::labels::LabelTexts;

/// What is wanted: `POST /api/v1/reservations`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReservationRequest {
    /// How much.
    pub requested_resources: RequestedResources,
    /// Among requests that wait together, higher goes first; 0 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// For how long, in Go's syntax (`1h30m`); when absent, the broker's default or longest, else while the requester is heard of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<String>,
    /// Only this cluster.
    #[serde(rename = "targetClusterID", skip_serializing_if = "Option::is_none")]
    pub target_cluster_id: Option<String>,
    /// How to choose: `headroom`, `balanced`, `cheapest` or `binpack`; the broker's way when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// An administrator asks for this cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<String>,
    /// What the provider must or should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraints: Option<Constraints>,
}

/// What the provider must or should be.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Constraints {
    /// Labels that it must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<LabelTexts>,
    /// Labels that it should have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred_labels: Option<LabelTexts>,
    /// The most that the whole request may cost for an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_price: Option<MaxPrice>,
}

/// A ceiling for the whole request, for an hour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MaxPrice {
    /// A decimal text.
    pub amount: String,
    /// In which currency.
    pub currency: String,
}

only_objects!(ReservationRequest, Constraints, MaxPrice);
