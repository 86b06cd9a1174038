//! From what went wrong on a connection, or what a broker refused, to an error that tells what to do.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use rear_api::problem::{Code, Problem};
use rustls::{AlertDescription, CertificateError};
use thiserror::Error as ThisError;

use crate::error::{Error, Refused, Source};

/// The longest text of someone else's that is told on: a page of a proxy is no explanation.
const MAX_DETAIL: usize = 300;

/// An answer that did not come.
pub(super) fn lost(error: reqwest::Error) -> Error {
    match handshake(&error) {
        Some(refused) => refused.into_error(Cause::of(&error)),
        None if error.is_connect() => Error::Unreachable { source: Cause::of(&error) },
        None => Error::Interrupted { source: error.into() },
    }
}

/// Which broker it was, and what is at the bottom of it: what lies between is the business of libraries.
#[derive(Debug, ThisError)]
#[error("{broker}: {deepest}")]
struct Cause {
    broker: String,
    deepest: String,
}

impl Cause {
    fn of(error: &reqwest::Error) -> Source {
        let broker = error.url().map(|url| url.origin().ascii_serialization()).unwrap_or_default();
        let mut deepest: &dyn StdError = error;
        while let Some(below) = deepest.source() {
            deepest = below;
        }
        Box::new(Self { broker, deepest: deepest.to_string() })
    }
}

/// What is wrong with a certificate, if that is why a connection could not be made.
pub(super) fn of_handshake(error: Source) -> Option<Error> {
    handshake(&*error).map(|refused| refused.into_error(error))
}

/// What a broker's alert says about our certificate; without words, that it is not valid at this time.
const ALERTS: [(AlertDescription, Option<&str>); 9] = [
    (AlertDescription::CertificateExpired, None),
    (AlertDescription::CertificateRequired, Some("it wants one")),
    (AlertDescription::UnknownCA, Some("it does not know who signed it")),
    (AlertDescription::CertificateRevoked, Some("it was revoked")),
    (AlertDescription::BadCertificate, Some(NOT_FOR_CLUSTERS)),
    (AlertDescription::UnsupportedCertificate, Some(NOT_FOR_CLUSTERS)),
    (AlertDescription::CertificateUnknown, Some(NOT_FOR_CLUSTERS)),
    (AlertDescription::DecryptError, Some(NOT_FOR_CLUSTERS)),
    (AlertDescription::AccessDenied, Some(NOT_FOR_CLUSTERS)),
];

const NOT_FOR_CLUSTERS: &str = "it is not one for clusters of this broker";

/// What a failed handshake means.
enum Handshake {
    UnknownAuthority,
    OtherName,
    ClockSkew,
    OursIsNotValidNow,
    NotAccepted(&'static str),
}

impl Handshake {
    fn of(error: &rustls::Error) -> Option<Self> {
        match error {
            rustls::Error::InvalidCertificate(why) => Self::of_broker(why),
            rustls::Error::AlertReceived(alert) => Self::of_alert(*alert),
            _ => None,
        }
    }

    /// What is wrong with the broker's certificate.
    fn of_broker(why: &CertificateError) -> Option<Self> {
        match why {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                Some(Self::UnknownAuthority)
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Some(Self::OtherName)
            }
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => Some(Self::ClockSkew),
            _ => None,
        }
    }

    /// What the broker finds wrong with ours.
    fn of_alert(alert: AlertDescription) -> Option<Self> {
        let known = ALERTS.iter().find(|(known, _)| *known == alert);
        known.map(|(_, meaning)| meaning.map_or(Self::OursIsNotValidNow, Self::NotAccepted))
    }

    fn into_error(self, source: Source) -> Error {
        match self {
            Self::UnknownAuthority => Error::UnknownAuthority { source },
            Self::OtherName => Error::OtherName { source },
            Self::ClockSkew => Error::ClockSkew { source },
            Self::OursIsNotValidNow => Error::ClockSkew {
                source: "the broker says so of the one that it was shown".into(),
            },
            Self::NotAccepted(detail) => Error::NoCertificate { detail: detail.to_owned() },
        }
    }
}

/// What TLS says, wherever in the chain it stands. An IO error hides its contents from the chain, and HTTP/2 keeps
/// only their text.
fn handshake(error: &(dyn StdError + 'static)) -> Option<Handshake> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(tls) = error.downcast_ref() {
            return Handshake::of(tls);
        }
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(alert) = inner.and_then(|inner| alert_in(&inner.to_string())) {
            return Handshake::of_alert(alert);
        }
        next = match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

fn alert_in(text: &str) -> Option<AlertDescription> {
    let says_so =
        |alert: &AlertDescription| rustls::Error::AlertReceived(*alert).to_string() == text;
    ALERTS.iter().map(|(alert, _)| *alert).find(says_so)
}

/// An answer that was no success.
pub(super) fn refusal(
    operation: &'static str,
    status: u16,
    retry_after: Option<Duration>,
    body: &[u8],
) -> Error {
    let problem: Problem = rear_api::body::read_answer(body).unwrap_or_default();
    let code = problem.known_code();
    let detail = detail(&problem, status);
    match (status, code) {
        (401, _) => Error::NoCertificate { detail },
        (403, Some(Code::OtherCluster) | None) => Error::OtherCluster { detail },
        (404, Some(Code::NotFound)) | (405 | 501, _) => Error::Unsupported { operation },
        (404, _) => Error::NotFound { detail },
        (410, _) => Error::Restored,
        (421, _) => Error::OtherTransport { detail },
        (429, _) => Error::Busy { detail, retry_after },
        (408 | 500..=599, _) => Error::Unavailable { status, detail, retry_after },
        (400..=499, _) => {
            let candidates = problem.candidates.unwrap_or_default();
            Refused::new(status, code, detail, candidates).into()
        }
        _ => Error::Garbage { detail: format!("status {status}") },
    }
}

fn detail(problem: &Problem, status: u16) -> String {
    let text: String = problem.text().chars().take(MAX_DETAIL).collect();
    if text.is_empty() { format!("status {status}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_is_an_error_that_tells_what_to_do() {
        let told = |status: u16, code: Option<Code>| {
            let problem = code.map(|code| Problem::new(code, "why"));
            let body = problem.map(|problem| serde_json::to_vec(&problem).unwrap());
            refusal("renew", status, None, &body.unwrap_or_default())
        };
        let detail = |error| match error {
            Error::NoCertificate { detail }
            | Error::OtherCluster { detail }
            | Error::NotFound { detail }
            | Error::OtherTransport { detail }
            | Error::Busy { detail, .. }
            | Error::Unavailable { detail, .. } => detail,
            other => format!("{other:?}"),
        };
        assert_eq!(detail(told(401, Some(Code::NoCertificate))), "why");
        assert_eq!(detail(told(401, None)), "status 401");
        assert!(matches!(told(401, None), Error::NoCertificate { .. }));
        assert!(matches!(told(403, None), Error::OtherCluster { .. }));
        assert!(matches!(told(403, Some(Code::NotAllowed)), Error::Refused(_)));
        for (status, code) in [(404, Some(Code::NotFound)), (405, None), (501, None)] {
            let error = told(status, code);
            assert!(matches!(error, Error::Unsupported { operation: "renew" }), "{error:?}");
        }
        assert!(matches!(told(404, Some(Code::UnknownReservation)), Error::NotFound { .. }));
        assert!(matches!(told(410, None), Error::Restored));
        assert!(matches!(told(421, None), Error::OtherTransport { .. }));
        assert!(matches!(told(429, None), Error::Busy { .. }));
        assert!(matches!(told(503, None), Error::Unavailable { status: 503, .. }));
        assert!(matches!(told(409, Some(Code::NoRoom)), Error::Refused(_)));
        assert!(matches!(told(302, None), Error::Garbage { .. }));
    }

    #[test]
    fn an_alert_is_understood_also_where_only_its_text_is_left() {
        let alert = rustls::Error::AlertReceived(AlertDescription::CertificateRevoked);
        let text = io::Error::other(alert.to_string());
        let errors: [Source; 3] =
            [text.into(), io::Error::other(alert.clone()).into(), alert.into()];
        for error in errors {
            let Some(Error::NoCertificate { detail }) = of_handshake(error) else {
                panic!("it is not understood")
            };
            assert_eq!(detail, "it was revoked");
        }
        assert!(of_handshake(io::Error::other("something else").into()).is_none());
    }
}
