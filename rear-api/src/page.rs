//! Lists page by page: the `Link` header that carries the cursor with which the next page begins.

use std::fmt::Display;

/// The largest page, and the one of a client that does not say: as many reservations are about half a
/// mebibyte of text.
pub const MAX_PAGE: usize = 1000;

/// The value of a `Link` header that leads to the next page; `list` is the address with its filters.
///
/// ```
/// use rear_api::page::{next_link, next_of};
///
/// let link = next_link("/api/v1/advertisements?limit=10", &"2.7~rome");
/// assert_eq!(link, r#"</api/v1/advertisements?limit=10&cursor=2.7~rome>; rel="next""#);
/// assert_eq!(next_of(&link), Some("/api/v1/advertisements?limit=10&cursor=2.7~rome"));
/// ```
#[must_use]
pub fn next_link(list: &str, cursor: &impl Display) -> String {
    let separator = if list.contains('?') { '&' } else { '?' };
    format!("<{list}{separator}cursor={cursor}>; rel=\"next\"")
}

/// The address of the next page, from the value of a `Link` header.
#[must_use]
pub fn next_of(link: &str) -> Option<&str> {
    let (address, parameters) = link.strip_prefix('<')?.split_once('>')?;
    let is_next = |parameter: &str| matches!(parameter.trim(), "rel=\"next\"" | "rel=next");
    parameters.split(';').any(is_next).then_some(address)
}
