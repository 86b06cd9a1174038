//! Certificates of the broker's own authority that `certs issue` would not issue: expired, ending, misnamed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, DnValue,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, SanType, date_time_ymd,
};

use super::stage::Stage;

/// Days from now, also before it.
pub(crate) struct Days(pub(crate) i64);

/// What a certificate says.
pub(crate) struct Odd<'a> {
    pub(crate) names: &'a [&'a str],
    pub(crate) until: Days,
}

impl Odd<'_> {
    /// A folder with such a certificate for a client.
    pub(crate) fn client(&self, stage: &Stage, folder: &str) -> PathBuf {
        self.signed(stage, folder, ExtendedKeyUsagePurpose::ClientAuth)
    }

    /// A folder with such a certificate for a broker on this machine.
    pub(crate) fn server(&self, stage: &Stage, folder: &str) -> PathBuf {
        self.signed(stage, folder, ExtendedKeyUsagePurpose::ServerAuth)
    }

    fn signed(&self, stage: &Stage, folder: &str, purpose: ExtendedKeyUsagePurpose) -> PathBuf {
        let authority = stage.path("data/ca");
        let read = |name: &str| fs::read_to_string(authority.join(name)).unwrap();
        let authority_key = KeyPair::from_pem(&read("ca.key")).unwrap();
        let issuer = Issuer::from_ca_cert_pem(&read("ca.crt"), authority_key).unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.subject_alt_names.push(SanType::IpAddress("127.0.0.1".parse().unwrap()));
        params.distinguished_name = DistinguishedName::new();
        for (place, name) in self.names.iter().enumerate() {
            // rcgen keeps one value for each type; a second common name has its type by number.
            let kind = match place {
                0 => DnType::CommonName,
                _ => DnType::CustomDnType(vec![2, 5, 4, 3]),
            };
            params.distinguished_name.push(kind, DnValue::Utf8String((*name).to_owned()));
        }
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(1970, 1, 1) + from_epoch(&self.until);
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap().pem();
        let folder = stage.path(folder);
        write(&folder, &certificate, &key.serialize_pem(), &read("ca.crt"));
        folder
    }
}

fn from_epoch(days: &Days) -> Duration {
    let seconds = rear_agent_sdk::now().as_nanos() / 1_000_000_000 + days.0 * 24 * 3600;
    Duration::from_secs(seconds.try_into().unwrap())
}

/// An authority that has expired.
pub(crate) fn expired_authority() -> String {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
    params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
}

/// Writes a folder as `certs issue` does.
fn write(folder: &Path, certificate: &str, key: &str, authority: &str) {
    fs::create_dir_all(folder).unwrap();
    let files = [("tls.crt", certificate), ("tls.key", key), ("ca.crt", authority)];
    for (name, text) in files {
        fs::write(folder.join(name), text).unwrap();
    }
    fs::set_permissions(folder.join("tls.key"), fs::Permissions::from_mode(0o600)).unwrap();
}

/// A copy of a folder, to be damaged.
pub(crate) fn copy(from: &Path, to: &Path) {
    let read = |name: &str| fs::read_to_string(from.join(name)).unwrap();
    write(to, &read("tls.crt"), &read("tls.key"), &read("ca.crt"));
}
