//! From what an API server or the broker's view says to an error that tells what to do.

use kube::core::Status;
use rear_api::problem::{Code, Obstacle};
use rear_api::resources::ReservationStatus;
use serde_json::Value;

use crate::error::{Error, Refused};
use crate::kubeconfig::ConnectError;

/// Why there is no client.
pub(super) fn of_connecting(error: ConnectError) -> Error {
    match error {
        ConnectError::Kubeconfig { path, source } => {
            Error::Credentials { path, source: source.into() }
        }
        ConnectError::NoCluster(source) => Error::Unreachable { source: source.into() },
        ConnectError::Client(error) => of_kube(error),
    }
}

/// What the API server said, or that it did not.
pub(super) fn of_kube(error: kube::Error) -> Error {
    match error {
        kube::Error::Api(status) => of_status(&status),
        kube::Error::SerdeError(error) => Error::Garbage { detail: error.to_string() },
        other => Error::Unreachable { source: other.into() },
    }
}

fn of_status(status: &Status) -> Error {
    let detail = status.message.clone();
    match status.code {
        401 | 403 => Error::NoCertificate { detail: format!("the API server refuses: {detail}") },
        404 if is_no_kind(status) => Error::OtherTransport {
            detail: "its API server has no resources of broker.fluidos.eu: the broker may speak HTTP only, \
                     or its definitions are not installed (`rear-broker crds`)"
                .to_owned(),
        },
        404 => Error::NotFound { detail },
        429 => Error::Busy { detail, retry_after: None },
        400 | 422 => Refused::new(422, Some(Code::Invalid), detail, Vec::new()).into(),
        code => Error::Unavailable { status: code, detail, retry_after: None },
    }
}

/// Whether the API server does not know the kind at all.
fn is_no_kind(status: &Status) -> bool {
    status.details.as_ref().is_none_or(|details| details.name.is_empty())
}

/// A refusal that stands in a status.
pub(super) fn of_refusal(status: &ReservationStatus) -> Error {
    let code: Option<Code> = status.code.as_deref().and_then(|code| code.parse().ok());
    let candidates = status.explanation.as_ref().and_then(|told| told.get("candidates"));
    let candidates = candidates.cloned().unwrap_or(Value::Null);
    let candidates: Vec<Obstacle> = serde_json::from_value(candidates).unwrap_or_default();
    let text = status.message.clone().unwrap_or_default();
    Refused::new(code.map_or(409, Code::status), code, text, candidates).into()
}

/// A refusal by its code.
pub(super) fn refused(code: &str, text: &str) -> Error {
    let code: Option<Code> = code.parse().ok();
    if code == Some(Code::OtherCluster) {
        return Error::OtherCluster { detail: text.to_owned() };
    }
    Refused::new(code.map_or(409, Code::status), code, text.to_owned(), Vec::new()).into()
}
