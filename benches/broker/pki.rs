//! Certificates for the benchmark: an authority, a server, and one for each caller.

use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

/// Writes `tls.crt`, `tls.key` and `ca.crt` of the server, and `NAME.crt` and `NAME.key` of each caller.
pub(crate) fn write(folder: &Path) {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.distinguished_name.push(DnType::CommonName, "benchmark authority");
    let key = KeyPair::generate().expect("a key");
    let put = |name: &str, text: String| std::fs::write(folder.join(name), text).expect("space");
    put("ca.crt", authority.self_signed(&key).expect("a certificate").pem());
    let issuer = Issuer::new(authority, key);
    let sign = |params: CertificateParams, name: &str| {
        let key = KeyPair::generate().expect("a key");
        put(&format!("{name}.crt"), params.signed_by(&key, &issuer).expect("a certificate").pem());
        put(&format!("{name}.key"), key.serialize_pem());
    };
    sign(CertificateParams::new(vec!["localhost".to_owned()]).expect("a name"), "tls");
    for number in 0..crate::CALLERS {
        let name = super::client::name(number);
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name.clone());
        sign(params, &name);
    }
}
