//! The name in an address.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

/// What no name has: one that is not text, such as `%ff`, is of nothing that is there.
const NOBODYS: &str = "\u{fffd}";

/// The name in the address of a request, as it stands there.
pub(super) struct Named(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let name = Path::<String>::from_request_parts(parts, state).await;
        Ok(Self(name.map_or_else(|_| NOBODYS.to_owned(), |Path(name)| name)))
    }
}
