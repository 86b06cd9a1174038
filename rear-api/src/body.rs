//! Reading a body: whether it is JSON at all (400), whether it has the right members (422), and where it has not.

mod fault;
mod object;
mod readable;

use serde::de::{DeserializeOwned, IgnoredAny};

pub use fault::{Fault, Invalid};
pub use readable::{MAX_DEPTH, Unreadable};

pub(crate) use fault::At;
pub(crate) use object::{Members, Object, only_objects};

use readable::readable;
use thiserror::Error;

/// The largest request: an advertisement with thousands of consumers. The connection stops reading there too.
pub const MAX_BODY_LENGTH: usize = 1 << 20;

/// Why a body was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BodyError {
    /// More than [`MAX_BODY_LENGTH`] bytes.
    #[error("a body has at most {MAX_BODY_LENGTH} bytes")]
    TooLarge,
    /// It is not JSON.
    #[error("the body is not readable: {0}")]
    Unreadable(Unreadable),
    /// It is JSON, and a member of it is wrong.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

/// Reads a request of this type.
///
/// Members that the type knows stand at most once, also where others are ignored: of two readers of the same
/// text, one could take the first and the other the last.
pub fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, BodyError> {
    if body.len() > MAX_BODY_LENGTH {
        return Err(BodyError::TooLarge);
    }
    if body.trim_ascii_start().starts_with(b"[") {
        read_answer::<IgnoredAny>(body)?;
        // What serde derives would take the members of an object in a row, by which nobody says what they mean.
        let shape = "invalid type: sequence, expected an object".to_owned();
        return Err(Invalid { path: String::new(), fault: Fault::Shape(shape) }.into());
    }
    read_answer(body)
}

/// Reads an answer of this type. Lists of promises may be longer than any request: who receives them sets a
/// limit where the bytes arrive.
pub fn read_answer<T: DeserializeOwned>(body: &[u8]) -> Result<T, BodyError> {
    let text = readable(body).map_err(BodyError::Unreadable)?;
    serde_json::from_str(text).map_err(|error| explain::<T>(text, &error))
}

/// What is not JSON to its end is unreadable, even if a member before that is wrong as well. Otherwise it is
/// read again, slower, to say where it is wrong.
fn explain<T: DeserializeOwned>(text: &str, error: &serde_json::Error) -> BodyError {
    let unreadable =
        |error: &serde_json::Error| BodyError::Unreadable(Unreadable::Syntax(error.to_string()));
    if let Err(syntax) = serde_json::from_str::<IgnoredAny>(text) {
        return unreadable(&syntax);
    }
    if !error.is_data() {
        return unreadable(error);
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let located = serde_path_to_error::deserialize::<_, T>(&mut deserializer).err();
    let path = located.map(|error| error.path().to_string()).unwrap_or_default();
    Invalid::shape(&path, error).into()
}
