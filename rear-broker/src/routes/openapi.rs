//! The description of the API, made from the code that answers.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::Json;
use rear_api::problem::{Code, MEDIA_TYPE, Problem};
use utoipa::openapi::{ContentBuilder, OpenApi as Document, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, OpenApi};

use super::list::{Nothing, Query};
use super::{administration, advertisements, events, health, instructions, reservations};
use crate::caller::Caller;

/// The description of the API.
#[derive(OpenApi)]
#[openapi(
    info(title = "REAR broker", version = "v1"),
    paths(
        advertisements::publish,
        advertisements::list,
        advertisements::one,
        advertisements::forget,
        reservations::reserve,
        reservations::list,
        reservations::one,
        reservations::activate,
        reservations::renew,
        reservations::reject,
        reservations::release,
        instructions::level,
        events::stream,
        administration::snapshot,
        administration::end_recovery,
        administration::confirm_clock,
        health::alive,
        health::ready,
        serve,
    ),
    components(schemas(Problem))
)]
struct Api;

/// What any route may answer instead: the table of [`Code`]s, by status.
pub(super) struct Problems;

impl IntoResponses for Problems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let mut titles: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
        for code in Code::ALL {
            titles.entry(code.status()).or_default().push(code.title());
        }
        let response = |titles: Vec<&str>| {
            let schema = RefOr::Ref(Ref::from_schema_name("Problem"));
            let content = ContentBuilder::new().schema(Some(schema)).build();
            let description = titles.join("; ");
            ResponseBuilder::new().description(description).content(MEDIA_TYPE, content).build()
        };
        titles
            .into_iter()
            .map(|(status, titles)| (status.to_string(), response(titles).into()))
            .collect()
    }
}

/// The description of the API.
#[must_use]
pub fn document() -> Document {
    Api::openapi()
}

/// The description of the API, for whoever may use it.
#[utoipa::path(
    get,
    path = "/api/v1/openapi.json",
    operation_id = "describe",
    responses((status = 200, body = Object, description = "This document"), Problems)
)]
pub(super) async fn serve(_caller: Caller, _: Query<Nothing>) -> Json<&'static Document> {
    static DOCUMENT: LazyLock<Document> = LazyLock::new(document);
    Json(&DOCUMENT)
}
