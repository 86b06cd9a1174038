//! Who a broker is to the others: a certificate for this start alone, which they know by its bytes.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme,
};

/// The name in every certificate. It says nothing: the bytes are compared.
const NAME: &str = "broker";

/// A certificate and a token that were never used before.
pub(super) struct Identity {
    pub(super) token: u128,
    pub(super) certificate: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
}

/// Why there is no identity.
pub(super) type NoIdentity = Box<dyn std::error::Error + Send + Sync>;

impl Identity {
    pub(super) fn new() -> Result<Self, NoIdentity> {
        let mut token = [0; 16];
        let random = provider().secure_random;
        random.fill(&mut token).map_err(|_| "the system has no random numbers")?;
        let made = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        Ok(Self { token: u128::from_be_bytes(token), certificate: made.cert.der().clone(), key })
    }

    pub(super) fn server(&self) -> Result<ServerConfig, Error> {
        ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], self.key.clone_key().into())
    }
}

/// Trusts this certificate and no other.
pub(super) fn client(certificate: &[u8]) -> Result<ClientConfig, Error> {
    let pinned = Pinned { certificate: certificate.to_vec(), provider: provider() };
    Ok(ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(pinned))
        .with_no_client_auth())
}

/// The name that is asked for.
pub(super) fn name() -> Result<ServerName<'static>, rustls::pki_types::InvalidDnsNameError> {
    ServerName::try_from(NAME)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// One certificate, by its bytes.
#[derive(Debug)]
struct Pinned {
    certificate: Vec<u8>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if shown.as_ref() == self.certificate {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
