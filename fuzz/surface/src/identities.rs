//! Whom a certificate names: no bytes are too strange to be looked at, and nobody is taken for another.
//!
//! An input that begins with 1 says what a certificate is to have, line by line: `C` and a common name, `O` and an
//! organisational unit, `U` and a URI. Any other is a certificate as it is.

use std::sync::OnceLock;

use rcgen::string::Ia5String;
use rcgen::{CertificateParams, CustomExtension, DnType, KeyPair, SanType};
use rear_broker::identity::{ADMINISTRATORS, Administrators, Peer};

/// Looks at one.
pub fn check(bytes: &[u8]) {
    let administrators = Administrators::default();
    let Some((1, said)) = bytes.split_first() else {
        let _named_or_why_not = Peer::of(bytes, &administrators);
        return;
    };
    let Ok(said) = std::str::from_utf8(said) else { return };
    let lines = || said.lines().filter_map(|line| line.split_at_checked(1));
    let of = |kind: &str| lines().filter(|(is, _)| *is == kind).map(|(_, text)| text).collect();
    let (names, units, uris): (Vec<_>, Vec<_>, Vec<_>) = (of("C"), of("O"), of("U"));
    let Some(certificate) = certificate(&names, &units, &uris) else { return };
    let Ok(peer) = Peer::of(&certificate, &administrators) else { return };
    // One kind of value can be there once in what makes certificates here: the last one counts.
    assert_eq!(names.last(), Some(&peer.id.as_str()));
    assert_eq!(peer.administrator, units.last() == Some(&ADMINISTRATORS));
    for uri in uris {
        let (scheme, path) = uri.split_at_checked("spiffe://".len()).unwrap_or_default();
        let is_spiffe = scheme.eq_ignore_ascii_case("spiffe://");
        let cluster = is_spiffe.then(|| path.rsplit_once("/cluster/")).flatten();
        if let Some((_, id)) = cluster.filter(|(_, id)| !id.contains('/')) {
            assert_eq!(id, peer.id.as_str(), "{uri}");
        }
    }
}

fn certificate(names: &[&str], units: &[&str], uris: &[&str]) -> Option<Vec<u8>> {
    static KEY: OnceLock<KeyPair> = OnceLock::new();
    let key = KEY.get_or_init(|| KeyPair::generate().expect("a key"));
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    for name in names {
        params.distinguished_name.push(DnType::CommonName, *name);
    }
    for unit in units {
        params.distinguished_name.push(DnType::OrganizationalUnitName, *unit);
    }
    for uri in uris {
        params.subject_alt_names.push(SanType::URI(Ia5String::try_from(*uri).ok()?));
    }
    params.custom_extensions = Vec::<CustomExtension>::new();
    Some(params.self_signed(key).ok()?.der().to_vec())
}
