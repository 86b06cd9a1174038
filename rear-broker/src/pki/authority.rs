//! The authority's key and what it signs: ECDSA on P-256, which everything that speaks TLS understands.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration as Span;

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DistinguishedName,
    DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256, PublicKeyData, RevokedCertParams, SanType, SerialNumber, date_time_ymd,
};
use rear_api::moment;
use rear_engine::{ClusterId, Duration, Timestamp};
use rear_store::is_missing;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use uuid::Uuid;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::register::{Entry, Kind};
use super::{AUTHORITY, PkiError};
use crate::identity::ADMINISTRATORS;

/// The authority's key, apart from what the broker reads.
const AUTHORITY_KEY: &str = "ca.key";

/// Longer than a VM lives. A new authority means new certificates for every cluster.
const AUTHORITY_LASTS: Duration = Duration::from_seconds(10 * 366 * 24 * 60 * 60);

/// Certificates begin to be valid a little earlier, for clocks that are behind.
const CLOCKS_DIFFER: Duration = Duration::from_seconds(5 * 60);

/// Less would be over before the certificate is where it should go.
const LEAST_VALIDITY: Duration = Duration::from_seconds(60);

/// A name or address that the broker is reached under.
pub type Host = ServerName<'static>;

/// An authority, ready to sign.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its certificate, in PEM.
    pub(super) certificate: String,
    /// When that expires.
    pub(super) expires_at: Timestamp,
}

/// A certificate with its key, in PEM, and what the register says of it.
pub(super) struct Signed {
    pub(super) certificate: String,
    pub(super) key: String,
    pub(super) entry: Entry,
}

impl Authority {
    /// A new one. Its name has a number: clients with certificates of two authorities tell them by name.
    pub(super) fn make(now: Timestamp) -> Result<Self, PkiError> {
        let number = Uuid::new_v4().simple().to_string();
        let expires_at = now.plus(AUTHORITY_LASTS);
        let mut params = valid_between(now, expires_at);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let name = format!("REAR authority {}", &number[..8]);
        params.distinguished_name.push(DnType::CommonName, name);
        params.serial_number = Some(serial_number(new_serial()));
        let key = new_key()?;
        let certificate = params.self_signed(&key)?.pem();
        Ok(Self { issuer: Issuer::new(params, key), certificate, expires_at })
    }

    /// The one in this folder.
    pub(super) fn read(folder: &Path) -> Result<Self, PkiError> {
        let (key_path, path) = (folder.join(AUTHORITY_KEY), folder.join(AUTHORITY));
        let read = |path: &Path| std::fs::read_to_string(path).map_err(PkiError::file(path));
        if is_missing(&key_path) {
            return Err(PkiError::NoAuthority(folder.to_owned()));
        }
        let key = KeyPair::from_pem(&read(&key_path)?)
            .map_err(PkiError::contents(&key_path, "a private key"))?;
        let certificate = read(&path)?;
        let der = CertificateDer::from_pem_slice(certificate.as_bytes())
            .map_err(PkiError::contents(&path, "a certificate"))?;
        let (_, parsed) =
            X509Certificate::from_der(&der).map_err(PkiError::contents(&path, "a certificate"))?;
        if parsed.public_key().raw != key.subject_public_key_info() {
            return Err(PkiError::Pair { key: key_path, certificate: path });
        }
        let expires_at = Timestamp::from_seconds(parsed.validity().not_after.timestamp());
        let issuer = Issuer::from_ca_cert_der(&der, key)?;
        Ok(Self { issuer, certificate, expires_at })
    }

    /// What is to be kept of it in its folder.
    pub(super) fn files(&self) -> [(&'static str, String); 2] {
        [(AUTHORITY_KEY, self.issuer.key().serialize_pem()), (AUTHORITY, self.certificate.clone())]
    }

    /// For the broker itself. It lives where its authority's key lives, and as long.
    pub(super) fn sign_server(&self, hosts: &[Host], now: Timestamp) -> Result<Signed, PkiError> {
        let mut params = valid_between(now, self.expires_at);
        for host in hosts {
            params.subject_alt_names.push(match host {
                ServerName::IpAddress(address) => SanType::IpAddress(IpAddr::from(*address)),
                other => SanType::DnsName(other.to_str().as_ref().try_into()?),
            });
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(params, Kind::Server, "rear-broker", now, self.expires_at)
    }

    /// For a cluster or an administrator.
    pub(super) fn sign_client(
        &self,
        name: &ClusterId,
        kind: Kind,
        valid_for: Duration,
        now: Timestamp,
    ) -> Result<Signed, PkiError> {
        if valid_for < LEAST_VALIDITY {
            return Err(PkiError::TooShort { asked: valid_for, least: LEAST_VALIDITY });
        }
        let until = now.plus(valid_for);
        if until > self.expires_at {
            let text = |at| moment::text(whole_seconds(at));
            let (asked, authority) = (text(until), text(self.expires_at));
            return Err(PkiError::TooLong { asked, authority });
        }
        let mut params = valid_between(now, until);
        if kind == Kind::Administrator {
            params.distinguished_name.push(DnType::OrganizationalUnitName, ADMINISTRATORS);
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params, kind, name.as_str(), now, until)
    }

    fn sign(
        &self,
        mut params: CertificateParams,
        kind: Kind,
        name: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Signed, PkiError> {
        let serial = new_serial();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        params.serial_number = Some(serial_number(serial));
        let key = new_key()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        let entry = Entry {
            serial: format!("{serial:032x}"),
            name: name.to_owned(),
            kind,
            issued_at: moment::text(whole_seconds(now)),
            expires_at: moment::text(whole_seconds(until)),
            revoked_at: None,
        };
        Ok(Signed { certificate, key: key.serialize_pem(), entry })
    }

    /// The list of what was revoked, in PEM. It counts as long as the authority: nobody would renew it.
    pub(super) fn sign_revocations(
        &self,
        revoked: &[(u128, Timestamp)],
        number: u64,
        now: Timestamp,
    ) -> Result<String, PkiError> {
        let revoked = revoked.iter().map(|(serial, at)| RevokedCertParams {
            serial_number: serial_number(*serial),
            revocation_time: date_time_ymd(1970, 1, 1) + since_1970(*at),
            reason_code: None,
            invalidity_date: None,
        });
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(1970, 1, 1) + since_1970(earlier(now)),
            next_update: date_time_ymd(1970, 1, 1) + since_1970(self.expires_at),
            crl_number: SerialNumber::from(number),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        Ok(list.signed_by(&self.issuer)?.pem()?)
    }
}

fn new_key() -> Result<KeyPair, PkiError> {
    Ok(KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?)
}

/// 120 random bits, in as many digits for everyone: without leading zeros, and without a sign.
fn new_serial() -> u128 {
    Uuid::new_v4().as_u128() << 2 >> 2 | 1 << 126
}

fn serial_number(serial: u128) -> SerialNumber {
    SerialNumber::from_slice(&serial.to_be_bytes())
}

fn valid_between(from: Timestamp, until: Timestamp) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.not_before = date_time_ymd(1970, 1, 1) + since_1970(earlier(from));
    params.not_after = date_time_ymd(1970, 1, 1) + since_1970(until);
    params
}

fn earlier(moment: Timestamp) -> Timestamp {
    moment.plus(Duration::from_nanos(-CLOCKS_DIFFER.as_nanos()))
}

pub(super) fn whole_seconds(moment: Timestamp) -> Timestamp {
    Timestamp::from_seconds(moment.as_nanos().div_euclid(1_000_000_000))
}

/// How certificates are dated here: from 1970 on. A clock before 1970 counts as 1970.
fn since_1970(moment: Timestamp) -> Span {
    Span::from_secs(u64::try_from(moment.as_nanos() / 1_000_000_000).unwrap_or(0))
}
