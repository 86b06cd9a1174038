//! Whether bytes can be JSON of ours at all: their encoding, and how deep they nest.

use thiserror::Error;

/// How deep arrays and objects may nest: the deepest body has four levels, what is ignored in an
/// advertisement may have a few more. Parsers that recurse take a stack frame for each.
pub const MAX_DEPTH: usize = 32;

/// Why bytes are not JSON.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unreadable {
    /// There are none.
    #[error("it is empty")]
    Empty,
    /// JSON is UTF-8.
    #[error("it is not UTF-8 at byte {at}")]
    Encoding {
        /// The first byte that is not.
        at: usize,
    },
    /// JSON has no byte order mark.
    #[error("it begins with a byte order mark")]
    ByteOrderMark,
    /// More than [`MAX_DEPTH`] levels.
    #[error("arrays and objects nest at most {MAX_DEPTH} deep")]
    TooDeep,
    /// It does not follow the grammar, or has a number or an escape that stands for nothing.
    #[error("{0}")]
    Syntax(String),
}

pub(super) fn readable(body: &[u8]) -> Result<&str, Unreadable> {
    let text = std::str::from_utf8(body)
        .map_err(|error| Unreadable::Encoding { at: error.valid_up_to() })?;
    if text.starts_with('\u{feff}') {
        return Err(Unreadable::ByteOrderMark);
    }
    if text.trim_ascii().is_empty() {
        return Err(Unreadable::Empty);
    }
    if may_nest_too_deep(body) && nests_too_deep(body) {
        return Err(Unreadable::TooDeep);
    }
    Ok(text)
}

/// Whoever opens few brackets cannot nest them deep, and that is seen many bytes at a time.
fn may_nest_too_deep(body: &[u8]) -> bool {
    let opens = |byte: &u8| u8::from(matches!(byte, b'{' | b'['));
    // Counts of one byte are added up sixteen at a time, and 255 of them do not overflow.
    let parts = body.chunks(255).map(|part| part.iter().map(opens).sum::<u8>());
    parts.map(usize::from).sum::<usize>() > MAX_DEPTH
}

/// Counts brackets outside of strings. Members that are ignored are skipped without a limit of their own.
fn nests_too_deep(body: &[u8]) -> bool {
    let mut depth = 0_usize;
    let mut bytes = body.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => skip_string(&mut bytes),
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

fn skip_string(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}
