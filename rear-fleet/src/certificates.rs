//! Certificates to try a broker with: an authority that is thrown away, the broker's, and one for each cluster.
//!
//! A broker that is in use has its own authority: `rear-broker certs issue` writes the same folders.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, SanType,
};
use rear_engine::ClusterId;
use thiserror::Error;

/// The folder of the broker's own certificate.
const BROKER: &str = "broker";

/// Why certificates could not be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CertificatesError {
    /// A file could not be written.
    #[error("{} cannot be written", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A certificate could not be signed.
    #[error("a certificate cannot be made")]
    Signing(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Makes an authority, and with it `FOLDER/broker` for `rear-broker serve --http-cert-path` on this machine, and
/// `FOLDER/NAME` for each name. The authority's key is not kept.
pub fn make_certificates(
    folder: &Path,
    names: impl IntoIterator<Item = ClusterId>,
) -> Result<(), CertificatesError> {
    let authority = Authority::new()?;
    authority.issue_broker(folder)?;
    names.into_iter().try_for_each(|name| authority.issue(folder, &name))
}

/// An authority to be thrown away, which can issue certificates again: they are rotated in the place of the old ones.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
}

impl Authority {
    /// With a key of its own, which is not kept.
    pub fn new() -> Result<Self, CertificatesError> {
        Self::generate().map_err(signing)
    }

    /// The certificate of a broker on this machine, in `FOLDER/broker`.
    pub fn issue_broker(&self, folder: &Path) -> Result<(), CertificatesError> {
        let mut server = CertificateParams::new(vec!["localhost".to_owned()]).map_err(signing)?;
        server.subject_alt_names.push(SanType::IpAddress([127, 0, 0, 1].into()));
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.write(&folder.join(BROKER), &server)
    }

    /// The certificate of a cluster, in `FOLDER/NAME`.
    pub fn issue(&self, folder: &Path, name: &ClusterId) -> Result<(), CertificatesError> {
        let mut client = CertificateParams::default();
        client.distinguished_name = named(name.as_str());
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.write(&folder.join(name.as_str()), &client)
    }

    fn generate() -> Result<Self, rcgen::Error> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        params.distinguished_name = named("rear-fleet");
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?.pem();
        Ok(Self { issuer: Issuer::new(params, key), certificate })
    }

    /// As cert-manager lays them out.
    fn write(&self, folder: &Path, params: &CertificateParams) -> Result<(), CertificatesError> {
        let key = KeyPair::generate().map_err(signing)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(signing)?.pem();
        fs::create_dir_all(folder).map_err(at(folder))?;
        let files = [
            ("tls.crt", certificate),
            ("tls.key", key.serialize_pem()),
            ("ca.crt", self.certificate.clone()),
        ];
        for (name, contents) in files {
            // Each file is whole at any time: someone may be reading it while it is rotated.
            let (path, new) = (folder.join(name), folder.join(format!("{name}.new")));
            fs::write(&new, contents).map_err(at(&new))?;
            fs::rename(&new, &path).map_err(at(&path))?;
        }
        Ok(())
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

fn signing(error: rcgen::Error) -> CertificatesError {
    CertificatesError::Signing(error.into())
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> CertificatesError {
    let path = path.to_owned();
    move |source| CertificatesError::File { path, source }
}
