//! The files of a folder as cert-manager lays them out: `tls.crt`, `tls.key`, `ca.crt`, and `ca.crl` if there is one.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, UnixTime};
use thiserror::Error;
use tracing::warn;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::revocations::{ListError, Revocations};

/// The certificate chain that the broker shows.
const CERTIFICATE: &str = "tls.crt";
/// Its key.
const KEY: &str = "tls.key";
/// The authorities whose clients are believed.
const AUTHORITIES: &str = "ca.crt";
/// Certificates of theirs that were revoked.
const REVOKED: &str = "ca.crl";

/// What the protocols are called in a handshake.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// What a folder of certificates holds, checked and ready to use.
pub struct Credentials {
    pub(super) server: Arc<ServerConfig>,
    pub(super) clients: Arc<dyn ClientCertVerifier>,
    /// The files as they were read: another content is another set of credentials.
    pub(super) files: Files,
    revocations: Revocations,
    /// When the broker's own certificate expires, in seconds since 1970.
    pub expires_at: i64,
}

/// The contents of the files.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Files {
    certificate: Vec<u8>,
    key: Vec<u8>,
    authorities: Vec<u8>,
    revoked: Option<Vec<u8>>,
}

/// What is wrong with a folder of certificates.
#[derive(Debug, Error)]
pub enum CredentialError {
    /// A file cannot be read.
    #[error("{} cannot be read", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file does not hold what it should, in PEM.
    #[error("{} holds no {what} in PEM", path.display())]
    Pem {
        /// Which one.
        path: PathBuf,
        /// What should be in it.
        what: &'static str,
        /// Why it cannot be read.
        source: Option<rustls_pki_types::pem::Error>,
    },
    /// The certificate and the key do not belong together, or are not usable.
    #[error("{} and {} cannot be used together", certificate.display(), key.display())]
    Pair {
        /// The certificate.
        certificate: PathBuf,
        /// The key.
        key: PathBuf,
        /// Why not.
        source: rustls::Error,
    },
    /// The authorities cannot be used.
    #[error("the authorities in {} cannot be used", path.display())]
    Authorities {
        /// Which file.
        path: PathBuf,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A list would lock out whoever it is of.
    #[error("{} cannot be used: {what}", path.display())]
    List {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        what: ListError,
    },
    /// What was revoked would count again.
    #[error(
        "{} has no list of {issuer} any more: what it revoked stays revoked until one is there again, or until a restart",
        path.display()
    )]
    ListGone {
        /// Which file.
        path: PathBuf,
        /// Whose list was in it.
        issuer: String,
    },
}

impl std::fmt::Debug for Credentials {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}

impl Files {
    pub(super) fn read(folder: &Path) -> Result<Self, CredentialError> {
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read(&path).map_err(|source| CredentialError::File { path, source })
        };
        let revoked = match read(REVOKED) {
            Ok(revoked) => Some(revoked),
            Err(CredentialError::File { source, .. })
                if source.kind() == io::ErrorKind::NotFound =>
            {
                None
            }
            Err(error) => return Err(error),
        };
        Ok(Self {
            certificate: read(CERTIFICATE)?,
            key: read(KEY)?,
            authorities: read(AUTHORITIES)?,
            revoked,
        })
    }
}

impl Credentials {
    /// Reads a folder.
    pub fn read(folder: &Path) -> Result<Self, CredentialError> {
        let nobody = Revocations::default();
        let credentials = Self::from_files(Files::read(folder)?, folder, &nobody)?;
        credentials.warn();
        Ok(credentials)
    }

    /// What these files hold, if it may take the place of what counts at the moment.
    pub(super) fn succeeded_by(
        &self,
        files: Files,
        folder: &Path,
    ) -> Result<Self, CredentialError> {
        let credentials = Self::from_files(files, folder, &self.revocations)?;
        self.may_become(&credentials, folder)?;
        Ok(credentials)
    }

    /// `before`: whose lists counted until now.
    fn from_files(
        files: Files,
        folder: &Path,
        before: &Revocations,
    ) -> Result<Self, CredentialError> {
        let (clients, revocations) = client_verifier(&files, folder, before)?;
        let chain = certificates(&files.certificate, folder, CERTIFICATE)?;
        let expires_at = expiry(&chain);
        let key =
            PrivateKeyDer::from_pem_slice(&files.key).map_err(|source| CredentialError::Pem {
                path: folder.join(KEY),
                what: "private key",
                source: Some(source),
            })?;
        let pair = |source| CredentialError::Pair {
            certificate: folder.join(CERTIFICATE),
            key: folder.join(KEY),
            source,
        };
        let mut server =
            ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
                .with_safe_default_protocol_versions()
                .map_err(pair)?
                .with_client_cert_verifier(clients.clone())
                .with_single_cert(chain, key)
                .map_err(pair)?;
        server.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).into();
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        Ok(Self { server: Arc::new(server), clients, files, revocations, expires_at })
    }

    /// Nobody whom these have revoked counts again because others take their place.
    fn may_become(&self, others: &Self, folder: &Path) -> Result<(), CredentialError> {
        self.revocations.lost_in(&others.revocations).map_or(Ok(()), |issuer| {
            let (path, issuer) = (folder.join(REVOKED), issuer.to_owned());
            Err(CredentialError::ListGone { path, issuer })
        })
    }

    /// Says what may not be as it was meant.
    pub(super) fn warn(&self) {
        self.revocations.warn_of_strangers();
        if self.expires_at <= UnixTime::now().as_secs().cast_signed() {
            warn!("the broker's own certificate has expired: nobody will believe it");
        }
    }
}

/// Believes the authorities; a client without a certificate may connect, and gets as far as its health.
fn client_verifier(
    files: &Files,
    folder: &Path,
    before: &Revocations,
) -> Result<(Arc<dyn ClientCertVerifier>, Revocations), CredentialError> {
    let unusable = |source: Box<dyn std::error::Error + Send + Sync>| {
        CredentialError::Authorities { path: folder.join(AUTHORITIES), source }
    };
    let authorities = certificates(&files.authorities, folder, AUTHORITIES)?;
    let mut lists = match &files.revoked {
        Some(revoked) => revocations(revoked, folder)?,
        None => Vec::new(),
    };
    let revocations = Revocations::of(&mut lists, &authorities, before)
        .map_err(|what| CredentialError::List { path: folder.join(REVOKED), what })?;
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(authority).map_err(|error| unusable(error.into()))?;
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .allow_unauthenticated();
    if !lists.is_empty() {
        // The whole chain: whoever has the key of an authority in between can be anyone. Of most authorities there is no list.
        verifier = verifier.with_crls(lists).allow_unknown_revocation_status();
    }
    let verifier = verifier.build().map_err(|error| unusable(error.into()))?;
    Ok((verifier, revocations))
}

fn certificates(
    pem: &[u8],
    folder: &Path,
    name: &str,
) -> Result<Vec<CertificateDer<'static>>, CredentialError> {
    let wrong =
        |source| CredentialError::Pem { path: folder.join(name), what: "certificate", source };
    let found = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    let found = found.map_err(|source| wrong(Some(source)))?;
    if found.is_empty() { Err(wrong(None)) } else { Ok(found) }
}

fn revocations(
    pem: &[u8],
    folder: &Path,
) -> Result<Vec<CertificateRevocationListDer<'static>>, CredentialError> {
    let wrong = |source| CredentialError::Pem {
        path: folder.join(REVOKED),
        what: "revocation list",
        source,
    };
    let found = CertificateRevocationListDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    let found = found.map_err(|source| wrong(Some(source)))?;
    // Of no list nobody is revoked: a file that is not PEM must not mean that.
    if found.is_empty() { Err(wrong(None)) } else { Ok(found) }
}

fn expiry(chain: &[CertificateDer<'_>]) -> i64 {
    let first = chain.first().and_then(|first| X509Certificate::from_der(first).ok());
    first.map_or(0, |(_, certificate)| certificate.validity().not_after.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_there_and_cannot_be_read_is_not_taken_for_none() {
        let folder = tempfile::tempdir().unwrap();
        for name in [CERTIFICATE, KEY, AUTHORITIES] {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        let without = Files::read(folder.path()).unwrap();
        assert_eq!(without.revoked, None);
        // Read by nobody, whoever runs this.
        std::fs::create_dir(folder.path().join(REVOKED)).unwrap();
        let Err(CredentialError::File { path, .. }) = Files::read(folder.path()) else {
            panic!("it is taken for none")
        };
        assert!(path.ends_with(REVOKED));
        std::fs::remove_dir(folder.path().join(REVOKED)).unwrap();
        std::fs::write(folder.path().join(REVOKED), "a list").unwrap();
        assert_ne!(Files::read(folder.path()).unwrap().revoked, None);
    }
}
