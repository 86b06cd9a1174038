//! An authority of the test's own, and certificates of every kind, good and bad.

use std::path::Path;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DistinguishedName,
    DnType, DnValue, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose,
    RevokedCertParams, SanType, SerialNumber, date_time_ymd,
};

/// The first of January 2021: a certificate that ended then does not count any more.
pub(crate) const LONG_AGO: u64 = 1_609_459_200;

/// An authority.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) certificate: String,
}

/// A certificate with its key, in PEM.
#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) certificate: String,
    pub(crate) key: String,
    serial: u64,
}

/// What a certificate says.
pub(crate) struct Subject<'a> {
    pub(crate) common_names: &'a [&'a str],
    pub(crate) unit: Option<&'a str>,
    pub(crate) uris: &'a [&'a str],
    /// When it ends, in seconds since 1970, if not in a far future; it counts since 2020.
    pub(crate) until: Option<u64>,
}

impl<'a> Subject<'a> {
    pub(crate) fn named(names: &'a [&'a str]) -> Self {
        Self { common_names: names, unit: None, uris: &[], until: None }
    }
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        params.distinguished_name.push(DnType::CommonName, "test authority");
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), certificate }
    }

    pub(crate) fn server(&self) -> Identity {
        self.server_between(2020, 2099)
    }

    /// Valid from the first of January of one year to that of another.
    pub(crate) fn server_between(&self, from: i32, until: i32) -> Identity {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.subject_alt_names.push(SanType::IpAddress("127.0.0.1".parse().unwrap()));
        params.subject_alt_names.push(SanType::IpAddress("::1".parse().unwrap()));
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        self.sign(params)
    }

    /// The certificate of a node of etcd, which is its own client as well.
    #[allow(dead_code, reason = "few tests have a node of etcd")]
    pub(crate) fn node(&self) -> Identity {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.subject_alt_names.push(SanType::IpAddress("127.0.0.1".parse().unwrap()));
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    /// The certificate of a cluster.
    pub(crate) fn cluster(&self, name: &str) -> Identity {
        self.client(&Subject::named(&[name]))
    }

    pub(crate) fn administrator(&self, name: &str) -> Identity {
        let unit = Some("rear-administrators");
        self.client(&Subject { unit, ..Subject::named(&[name]) })
    }

    pub(crate) fn client(&self, subject: &Subject<'_>) -> Identity {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        for (place, name) in subject.common_names.iter().enumerate() {
            // rcgen keeps one value for each type; a second common name has its type by number.
            let kind = match place {
                0 => DnType::CommonName,
                _ => DnType::CustomDnType(vec![2, 5, 4, 3]),
            };
            params.distinguished_name.push(kind, DnValue::Utf8String((*name).to_owned()));
        }
        if let Some(unit) = subject.unit {
            params.distinguished_name.push(DnType::OrganizationalUnitName, unit);
        }
        for uri in subject.uris {
            params.subject_alt_names.push(SanType::URI((*uri).try_into().unwrap()));
        }
        if let Some(until) = subject.until {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(1970, 1, 1) + Duration::from_secs(until);
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    /// An authority in between, and what it is to the one above.
    pub(crate) fn between(&self) -> (Self, Identity) {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name.push(DnType::CommonName, "authority in between");
        let identity = self.sign(params.clone());
        let key = KeyPair::from_pem(&identity.key).unwrap();
        let certificate = identity.certificate.clone();
        (Self { issuer: Issuer::new(params, key), certificate }, identity)
    }

    fn sign(&self, mut params: CertificateParams) -> Identity {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let serial = NEXT.fetch_add(1, Ordering::SeqCst);
        params.serial_number = Some(SerialNumber::from(serial));
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Identity { certificate, key: key.serialize_pem(), serial }
    }

    /// A list of certificates that no longer count.
    pub(crate) fn revocations(&self, revoked: &[&Identity]) -> String {
        let revoked = revoked.iter().map(|identity| RevokedCertParams {
            serial_number: SerialNumber::from(identity.serial),
            revocation_time: date_time_ymd(2024, 1, 1),
            reason_code: None,
            invalidity_date: None,
        });
        let params = CertificateRevocationListParams {
            this_update: date_time_ymd(2024, 1, 1),
            next_update: date_time_ymd(2099, 1, 1),
            crl_number: SerialNumber::from(1_u64),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        params.signed_by(&self.issuer).unwrap().pem().unwrap()
    }
}

impl Identity {
    /// Writes it as cert-manager does.
    pub(crate) fn write(&self, folder: &Path, authority: &Authority) {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join("tls.crt"), &self.certificate).unwrap();
        std::fs::write(folder.join("tls.key"), &self.key).unwrap();
        std::fs::write(folder.join("ca.crt"), &authority.certificate).unwrap();
    }
}
