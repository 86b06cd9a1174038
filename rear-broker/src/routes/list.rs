//! What all lists share: how they are asked for, and the link to the next page.

use std::iter;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::extract::rejection::QueryRejection;
use axum::http::header::LINK;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Response, StatusCode};
use rear_api::page::{MAX_PAGE, next_link};
use rear_api::problem::{Code, Problem};
use rear_store::Position;
use rear_store::view::{Cursor, CursorError};
use serde::de::DeserializeOwned;
use serde::de::value::MapDeserializer;
use serde::{Deserialize, Serialize};

use crate::answer::{Failure, json};

/// The query of an address; members that nobody knows are refused, as a misspelt filter would show too much.
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        // Most addresses have none, and nothing has to be taken apart to see that.
        let none =
            MapDeserializer::<_, serde::de::value::Error>::new(iter::empty::<(&str, &str)>());
        if parts.uri.query().is_none()
            && let Ok(nothing) = T::deserialize(none)
        {
            return Ok(Self(nothing));
        }
        let query = axum::extract::Query::try_from_uri(&parts.uri);
        let query = query.map_err(|error: QueryRejection| unreadable(error.body_text()))?;
        Ok(Self(query.0))
    }
}

/// The query of an address that has none: whoever adds `dryRun=true` to a release must not be taken at half their word.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// A member of a query that cannot be read.
pub(super) fn unreadable(detail: impl Into<String>) -> Failure {
    Problem::new(Code::Unreadable, detail).into()
}

/// Reads one member of a query, if it is there.
pub(super) fn member<T>(name: &str, text: Option<&str>) -> Result<Option<T>, Failure>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    let read = |text: &str| text.parse().map_err(|error| unreadable(format!("{name}: {error}")));
    text.map(read).transpose()
}

/// The length of a page: what was asked for, within the limit.
pub(super) fn page_length(limit: Option<&str>) -> Result<usize, Failure> {
    if limit.is_some_and(|text| text.starts_with('+')) {
        // A number for the parser, and a space in the link to the next page.
        return Err(unreadable("limit: a number without a sign"));
    }
    match member::<usize>("limit", limit)? {
        None => Ok(MAX_PAGE),
        Some(0) => Err(unreadable("limit: at least 1")),
        Some(limit) => Ok(limit.min(MAX_PAGE)),
    }
}

impl From<CursorError> for Failure {
    fn from(error: CursorError) -> Self {
        let code = match error {
            CursorError::Malformed => Code::Unreadable,
            CursorError::Gone { .. } => Code::OlderIncarnation,
        };
        Problem::new(code, error.to_string()).into()
    }
}

/// A page as an array, with a link to the next one.
pub(super) fn page(
    items: &impl Serialize,
    revision: Position,
    next: Option<&Cursor>,
    address: &str,
) -> Response<Body> {
    let mut response = json(StatusCode::OK, items, revision);
    if let Some(Ok(link)) = next.map(|next| HeaderValue::try_from(next_link(address, next))) {
        response.headers_mut().insert(LINK, link);
    }
    response
}

/// The address of a list with its filters, for the link to the next page.
pub(super) fn address(path: &str, filters: &[(&str, Option<&str>)]) -> String {
    let given = filters.iter().filter_map(|(name, value)| value.map(|value| (name, value)));
    let query: Vec<String> = given.map(|(name, value)| format!("{name}={value}")).collect();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{}", query.join("&")) }
}
