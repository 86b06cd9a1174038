//! What the sides say about a reservation later: a new end, or that it will not be kept.

use rear_engine::Timestamp;
use rear_engine::text::Line;
use serde::{Deserialize, Serialize};

use crate::body::{At, Fault, Invalid, only_objects};
use crate::moment;

/// A new end: `POST /api/v1/reservations/{id}/renew`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RenewRequest {
    /// The new end (RFC 3339): absolute, so that a retry cannot extend twice.
    pub expires_at: String,
}

/// The provider will not keep it: `POST /api/v1/reservations/{id}/reject`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RejectRequest {
    /// Why, for the requester.
    pub reason: String,
}

only_objects!(RenewRequest, RejectRequest);

impl RenewRequest {
    /// The new end.
    pub fn until(&self) -> Result<Timestamp, Invalid> {
        moment::read(&self.expires_at).at("expiresAt")
    }
}

impl RejectRequest {
    /// The reason: one line that says something.
    pub fn line(&self) -> Result<Line, Invalid> {
        if self.reason.trim().is_empty() {
            return Err(Fault::EmptyText).at("reason");
        }
        self.reason.parse().at("reason")
    }
}
