//! Lists page by page: the cursor that a page ends with, and the `Link` header that carries it.

use std::fmt::{self, Display};
use std::str::FromStr;

use thiserror::Error;

/// The largest page, and the one of a client that does not say: as many reservations are about half a
/// mebibyte of text.
pub const MAX_PAGE: usize = 1000;

/// Where the next page begins: after this element, in this life of the ledger.
///
/// After a restore from a backup, a list that was begun before cannot be continued: an element may have
/// appeared or disappeared behind the cursor.
///
/// ```
/// use rear_api::page::Cursor;
/// use rear_engine::ClusterId;
///
/// let cursor: Cursor<ClusterId> = "2~rome".parse()?;
/// assert_eq!((cursor.incarnation, cursor.after.as_str()), (2, "rome"));
/// # Ok::<(), rear_api::page::CursorError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor<K> {
    /// Which life of the ledger.
    pub incarnation: u64,
    /// The last element of the page before.
    pub after: K,
}

/// A text that is not a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("not a cursor of this list: take the one in the Link header of the page before")]
pub struct CursorError;

impl<K: Display> Display for Cursor<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Needs no escape in an address, and is in no id.
        write!(f, "{}~{}", self.incarnation, self.after)
    }
}

impl<K: FromStr + Display> FromStr for Cursor<K> {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let (incarnation, after) = text.split_once('~').ok_or(CursorError)?;
        let cursor = Self {
            incarnation: incarnation.parse().map_err(|_| CursorError)?,
            after: after.parse().map_err(|_| CursorError)?,
        };
        // One cursor has one text: no sign, no leading zero.
        if cursor.to_string() == text { Ok(cursor) } else { Err(CursorError) }
    }
}

/// The value of a `Link` header that leads to the next page; `list` is the address with its filters.
///
/// ```
/// use rear_api::page::{Cursor, next_link, next_of};
///
/// let link = next_link("/api/v1/advertisements?limit=10", &Cursor { incarnation: 2, after: "rome" });
/// assert_eq!(link, r#"</api/v1/advertisements?limit=10&cursor=2~rome>; rel="next""#);
/// assert_eq!(next_of(&link), Some("/api/v1/advertisements?limit=10&cursor=2~rome"));
/// ```
#[must_use]
pub fn next_link<K: Display>(list: &str, cursor: &Cursor<K>) -> String {
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
