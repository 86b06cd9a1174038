//! The certificate of a cluster, its key and the authority, from a folder as cert-manager writes it.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use rear_engine::ClusterId;
use rear_engine::id::ClusterIdError;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::error::{Error, Source};

const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const AUTHORITY: &str = "ca.crt";

/// Which HTTP is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocols {
    /// HTTP/2 with whoever has it, else HTTP/1.1.
    Both,
    Http1,
}

/// The contents of the folder. Without `Debug`: a key is in it.
#[derive(PartialEq, Eq)]
pub(super) struct Credentials {
    certificate: Vec<u8>,
    key: Vec<u8>,
    authority: Vec<u8>,
}

impl Credentials {
    /// Reads three small files; a mounted secret is in memory, so that this does not wait.
    pub(super) fn read(folder: &Path) -> Result<Self, Error> {
        let file = |name: &str| {
            let path = folder.join(name);
            fs::read(&path).map_err(|error| Error::Credentials { path, source: error.into() })
        };
        Ok(Self { certificate: file(CERTIFICATE)?, key: file(KEY)?, authority: file(AUTHORITY)? })
    }

    /// How to greet a broker with them.
    pub(super) fn tls(&self, folder: &Path, protocols: Protocols) -> Result<ClientConfig, Error> {
        let at = |name: &str| {
            let path = folder.join(name);
            move |source| Error::Credentials { path, source }
        };
        let chain = certificates(&self.certificate).map_err(at(CERTIFICATE))?;
        let key =
            PrivateKeyDer::from_pem_slice(&self.key).map_err(|error| at(KEY)(error.into()))?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| at(KEY)(error.into()))?
            .with_root_certificates(roots(&self.authority).map_err(at(AUTHORITY))?)
            .with_client_auth_cert(chain, key)
            .map_err(|error| at(KEY)(unusable_key(error)))?;
        config.alpn_protocols = match protocols {
            Protocols::Both => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            Protocols::Http1 => vec![b"http/1.1".to_vec()],
        };
        Ok(config)
    }
}

impl Credentials {
    /// The cluster that the certificate names: its only common name.
    pub(super) fn cluster(&self, folder: &Path) -> Result<ClusterId, Error> {
        let unusable =
            |source: Source| Error::Credentials { path: folder.join(CERTIFICATE), source };
        let chain = certificates(&self.certificate).map_err(unusable)?;
        let first = chain.first().map(AsRef::as_ref).unwrap_or_default();
        let (_, certificate) =
            x509_parser::parse_x509_certificate(first).map_err(|error| unusable(error.into()))?;
        let mut names = certificate.subject().iter_common_name();
        let (Some(name), None) = (names.next(), names.next()) else {
            return Err(unusable("it does not have exactly one common name".into()));
        };
        let name = name.as_str().map_err(|error| unusable(error.into()))?;
        name.parse().map_err(|error: ClusterIdError| unusable(error.into()))
    }
}

/// The usual mistake in words.
fn unusable_key(error: rustls::Error) -> Source {
    match error {
        rustls::Error::InconsistentKeys(_) => format!("it is not the key of {CERTIFICATE}").into(),
        other => other.into(),
    }
}

fn roots(pem: &[u8]) -> Result<RootCertStore, Source> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(pem)? {
        roots.add(certificate)?;
    }
    Ok(roots)
}

/// All certificates of a file: at least one.
fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Source> {
    let found: Vec<_> = CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>()?;
    if found.is_empty() {
        return Err(io::Error::new(ErrorKind::InvalidData, "there is no certificate in it").into());
    }
    Ok(found)
}
