//! Bodies that the tests share, and ways to change one member of them.

use rear_api::body::{self, BodyError};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A newer agent's advertisement, with every member.
pub(crate) const ADVERTISEMENT: &str = include_str!("data/advertisement.json");

/// A request with every member.
pub(crate) const RESERVATION_REQUEST: &str = include_str!("data/reservation-request.json");

/// The body with another value at this JSON pointer.
pub(crate) fn with(body: &str, pointer: &str, value: impl Into<Value>) -> String {
    let mut body: Value = serde_json::from_str(body).unwrap();
    *body.pointer_mut(pointer).unwrap() = value.into();
    body.to_string()
}

/// The body with a new member in the object at this JSON pointer.
pub(crate) fn with_member(
    body: &str,
    pointer: &str,
    name: &str,
    value: impl Into<Value>,
) -> String {
    let mut body: Value = serde_json::from_str(body).unwrap();
    let object = body.pointer_mut(pointer).unwrap().as_object_mut().unwrap();
    object.insert(name.to_owned(), value.into());
    body.to_string()
}

/// The body without a member of the object at this JSON pointer.
pub(crate) fn without_member(body: &str, pointer: &str, name: &str) -> String {
    let mut body: Value = serde_json::from_str(body).unwrap();
    body.pointer_mut(pointer).unwrap().as_object_mut().unwrap().remove(name).unwrap();
    body.to_string()
}

/// Reads a request.
pub(crate) fn read<T: DeserializeOwned>(body: &str) -> Result<T, BodyError> {
    body::read(body.as_bytes())
}

/// What a body is as JSON, to compare it with what a document says.
pub(crate) fn json(body: &impl serde::Serialize) -> Value {
    serde_json::to_value(body).unwrap()
}
