//! Who is at the other end: what the certificate of the connection says, and nothing else.

use std::collections::BTreeSet;

use rear_api::resources::names::NOBODY;
use rear_engine::{Actor, ClusterId};
use rustls_pki_types::CertificateDer;
use thiserror::Error;
use x509_parser::asn1_rs::Tag;
use x509_parser::prelude::{AttributeTypeAndValue, FromDer, GeneralName, X509Certificate};

/// The organisational unit in a certificate's subject that marks an administrator.
pub const ADMINISTRATORS: &str = "rear-administrators";

/// Whom a certificate names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// The cluster, or the name of an administrator.
    pub id: ClusterId,
    /// Whether it may see and release everything.
    pub administrator: bool,
    /// When its certificate counts.
    pub validity: Validity,
}

/// From when until when a certificate counts, in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// Not before.
    pub from: i64,
    /// Not after.
    pub until: i64,
}

/// How administrators are told from clusters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Administrators {
    /// The organisational unit in their certificates.
    pub unit: String,
    /// Those who are named, whatever their certificates say.
    pub named: BTreeSet<ClusterId>,
}

impl Default for Administrators {
    fn default() -> Self {
        Self { unit: ADMINISTRATORS.to_owned(), named: BTreeSet::new() }
    }
}

/// Why a certificate names nobody.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum IdentityError {
    /// Not a certificate that can be read.
    #[error("the certificate cannot be read")]
    Unreadable,
    /// No common name, or several.
    #[error("the certificate has {0} common names; it must have exactly one")]
    CommonNames(usize),
    /// A common name that is not the id of a cluster.
    #[error(
        "the certificate's common name is not the id of a cluster: 1 to 63 lower case letters, digits, `-` and `.`"
    )]
    NotAnId,
    /// A common name that stands for those who ask without a name.
    #[error("the certificate's common name is one that no cluster may have")]
    Reserved,
    /// Several URIs of the form `spiffe://…/cluster/ID`.
    #[error("the certificate has several URIs that name a cluster")]
    SeveralUris,
    /// A URI that names another cluster than the common name.
    #[error("the certificate's URI names another cluster than its common name")]
    OtherUri,
}

impl Peer {
    /// Reads the certificate of a connection.
    pub fn of(certificate: &[u8], administrators: &Administrators) -> Result<Self, IdentityError> {
        let (rest, certificate) =
            X509Certificate::from_der(certificate).map_err(|_| IdentityError::Unreadable)?;
        if !rest.is_empty() {
            return Err(IdentityError::Unreadable);
        }
        let id = common_name(&certificate)?;
        check_uris(&certificate, &id)?;
        let administrator =
            administrators.named.contains(&id) || is_in_unit(&certificate, &administrators.unit);
        let validity = certificate.validity();
        let (from, until) = (validity.not_before.timestamp(), validity.not_after.timestamp());
        Ok(Self { id, administrator, validity: Validity { from, until } })
    }

    /// In whose name it acts.
    #[must_use]
    pub fn actor(&self) -> Actor {
        if self.administrator {
            Actor::Administrator(self.id.clone())
        } else {
            Actor::Cluster(self.id.clone())
        }
    }
}

/// When the first certificate of a chain ends, in seconds since 1970; what cannot be read has ended.
pub(crate) fn first_end(chain: &[CertificateDer<'_>]) -> i64 {
    let end = |certificate: &CertificateDer<'_>| {
        let read = X509Certificate::from_der(certificate).ok();
        read.map_or(i64::MIN, |(_, read)| read.validity().not_after.timestamp())
    };
    chain.iter().map(end).min().unwrap_or(i64::MAX)
}

fn common_name(certificate: &X509Certificate<'_>) -> Result<ClusterId, IdentityError> {
    let names: Vec<_> = certificate.subject().iter_common_name().collect();
    let [name] = names[..] else { return Err(IdentityError::CommonNames(names.len())) };
    let text = text_of(name).ok_or(IdentityError::NotAnId)?;
    if text == NOBODY {
        return Err(IdentityError::Reserved);
    }
    text.parse().map_err(|_| IdentityError::NotAnId)
}

fn is_in_unit(certificate: &X509Certificate<'_>, unit: &str) -> bool {
    let mut units = certificate.subject().iter_organizational_unit();
    units.any(|found| text_of(found).is_some_and(|found| found == unit))
}

/// What a part of a name says, in whichever of the alphabets for names it is written; nothing if it is not text.
fn text_of(part: &AttributeTypeAndValue<'_>) -> Option<String> {
    let bytes = part.as_slice();
    match part.attr_value().tag() {
        Tag::BmpString => {
            let (units, []) = bytes.as_chunks() else { return None };
            String::from_utf16(&units.iter().copied().map(u16::from_be_bytes).collect::<Vec<_>>())
                .ok()
        }
        Tag::UniversalString => {
            let (units, []) = bytes.as_chunks() else { return None };
            units.iter().copied().map(|unit| char::from_u32(u32::from_be_bytes(unit))).collect()
        }
        // Most of its letters are those of ASCII; no id has others.
        Tag::TeletexString if bytes.is_ascii() => String::from_utf8(bytes.to_vec()).ok(),
        _ => part.as_str().ok().map(str::to_owned),
    }
}

/// A URI that names a cluster, if there is one, names the same.
fn check_uris(certificate: &X509Certificate<'_>, id: &ClusterId) -> Result<(), IdentityError> {
    let names = certificate.subject_alternative_name().map_err(|_| IdentityError::Unreadable)?;
    let names = names.into_iter().flat_map(|names| &names.value.general_names);
    let clusters: Vec<&str> = names
        .filter_map(|name| match name {
            GeneralName::URI(uri) => named_cluster(uri),
            _ => None,
        })
        .collect();
    match clusters[..] {
        [] => Ok(()),
        [only] if only == id.as_str() => Ok(()),
        [_] => Err(IdentityError::OtherUri),
        _ => Err(IdentityError::SeveralUris),
    }
}

/// The last part of `spiffe://TRUST-DOMAIN/…/cluster/ID`. Schemes are the same in capitals.
fn named_cluster(uri: &str) -> Option<&str> {
    let (scheme, path) = uri.split_at_checked("spiffe://".len())?;
    let (before, id) =
        path.rsplit_once('/').filter(|_| scheme.eq_ignore_ascii_case("spiffe://"))?;
    before.ends_with("/cluster").then_some(id)
}

#[cfg(test)]
mod tests {
    use rcgen::string::{BmpString, PrintableString, TeletexString, UniversalString};
    use rcgen::{CertificateParams, DistinguishedName, DnType, DnValue, KeyPair, SanType};

    use super::*;

    fn peer(name: DnValue, unit: DnValue) -> Result<Peer, IdentityError> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.distinguished_name.push(DnType::OrganizationalUnitName, unit);
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        Peer::of(certificate.der(), &Administrators::default())
    }

    /// A text in every alphabet that the parts of a name may be written in.
    fn written(text: &str) -> [DnValue; 5] {
        [
            DnValue::Utf8String(text.to_owned()),
            DnValue::PrintableString(PrintableString::try_from(text).unwrap()),
            DnValue::BmpString(BmpString::try_from(text).unwrap()),
            DnValue::UniversalString(UniversalString::try_from(text).unwrap()),
            DnValue::TeletexString(TeletexString::try_from(text).unwrap()),
        ]
    }

    #[test]
    fn a_name_is_the_same_in_whatever_it_is_written() {
        for (name, unit) in written("rome-1").into_iter().zip(written(ADMINISTRATORS)) {
            let peer = peer(name, unit).unwrap();
            assert_eq!((peer.id.as_str(), peer.administrator), ("rome-1", true));
        }
    }

    #[test]
    fn letters_that_no_id_has_are_refused_in_whatever_they_are_written() {
        for name in ["Rome", "r\u{43e}me", "rome\0", ""] {
            for name in [
                DnValue::BmpString(BmpString::try_from(name).unwrap()),
                DnValue::UniversalString(UniversalString::try_from(name).unwrap()),
            ] {
                assert_eq!(peer(name, "x".into()), Err(IdentityError::NotAnId));
            }
        }
    }

    #[test]
    fn a_uri_names_the_same_cluster_once_or_nobody_is_named() {
        let read = |uris: &[&str]| {
            let mut params = CertificateParams::default();
            params.distinguished_name.push(DnType::CommonName, "rome");
            params.subject_alt_names =
                uris.iter().map(|uri| SanType::URI((*uri).try_into().unwrap())).collect();
            let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
            let peer = Peer::of(certificate.der(), &Administrators::default());
            peer.map(|peer| peer.id.to_string())
        };
        let [rome, oslo] = ["spiffe://x/cluster/rome", "spiffe://x/cluster/oslo"];
        assert_eq!(read(&[rome, "spiffe://x/ns/y", "https://x/cluster/oslo"]), Ok("rome".into()));
        assert_eq!(read(&[oslo]), Err(IdentityError::OtherUri));
        assert_eq!(read(&[rome, oslo]), Err(IdentityError::SeveralUris));
    }
}
