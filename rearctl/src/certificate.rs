//! Certificates, as far as a person wants to know: whose, and until when.

use std::fs;
use std::path::Path;

use rear_agent_sdk::communicator::Timestamp;
use rear_agent_sdk::{Error, Source};
use x509_parser::pem::Pem;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::failure::Failure;

/// What a certificate says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Certificate {
    /// Its common names: a cluster's has one.
    pub(crate) names: Vec<String>,
    pub(crate) from: Timestamp,
    pub(crate) until: Timestamp,
}

impl Certificate {
    /// The first of a file.
    pub(crate) fn of_file(path: &Path) -> Result<Self, Error> {
        let fail = |source: Source| Error::Credentials { path: path.into(), source };
        let text = fs::read(path).map_err(|error| fail(error.into()))?;
        let pem = Pem::iter_from_buffer(&text).next();
        let pem = pem.ok_or_else(|| fail("there is no certificate in it".into()))?;
        let pem = pem.map_err(|error| fail(error.into()))?;
        Self::of_der(&pem.contents).ok_or_else(|| fail("it is not a certificate".into()))
    }

    pub(crate) fn of_der(der: &[u8]) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        let names = certificate.subject().iter_common_name();
        let validity = certificate.validity();
        Some(Self {
            names: names.filter_map(|name| Some(name.as_str().ok()?.to_owned())).collect(),
            from: Timestamp::from_seconds(validity.not_before.timestamp()),
            until: Timestamp::from_seconds(validity.not_after.timestamp()),
        })
    }
}

/// Whom the certificate of a folder names.
pub(crate) fn own_name(folder: &Path) -> Result<String, Failure> {
    let path = folder.join("tls.crt");
    let mut names = Certificate::of_file(&path)?.names;
    if let (Some(name), None) = (names.pop(), names.pop()) {
        return Ok(name);
    }
    let source = "it does not have exactly one common name".into();
    Err(Error::Credentials { path, source }.into())
}
