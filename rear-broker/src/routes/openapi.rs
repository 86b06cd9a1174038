//! The description of the API, made from the code that answers.

use axum::Json;
use utoipa::OpenApi;
use utoipa::openapi::OpenApi as Document;

use crate::caller::Caller;

/// The description of the API.
#[derive(Debug, OpenApi)]
#[openapi(info(title = "REAR broker"))]
struct Api;

/// The description of the API.
#[must_use]
pub fn document() -> Document {
    Api::openapi()
}

pub(super) async fn serve(_caller: Caller) -> Json<Document> {
    Json(document())
}
