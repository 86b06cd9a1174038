//! Whose the lists of revoked certificates are.
//!
//! webpki takes the first list that has the name of a certificate's issuer, and believes no certificate of an issuer
//! whose key did not sign that list. So whoever would be locked out is looked for before the files are taken.

use std::cmp::Reverse;

use rustls::crypto::aws_lc_rs;
use rustls_pki_types::{CertificateDer, CertificateRevocationListDer};
use thiserror::Error;
use tracing::warn;
use x509_parser::prelude::{CertificateRevocationList, FromDer, X509Certificate, X509Name};

/// Lists, and who vouches for them.
#[derive(Debug, Default)]
pub(super) struct Revocations {
    issuers: Vec<Issuer>,
    authorities: Vec<Authority>,
}

/// An authority that is believed, or was.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Authority {
    name: Name,
    key: Vec<u8>,
}

/// Whoever a list is of.
#[derive(Debug)]
struct Issuer {
    name: Name,
    /// The key that signed it, also of an authority that was believed before; of one in between it is not known here.
    key: Option<Vec<u8>>,
}

/// A name as certificates compare it, and as people read it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Name {
    der: Vec<u8>,
    shown: String,
}

/// Why a list would lock out whoever it is of.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ListError {
    /// It is none.
    #[error("a list of revoked certificates cannot be read")]
    Unreadable,
    /// An authority has the name, another key has signed.
    #[error(
        "the list of {0} is not signed with the key of the authority of that name in ca.crt, of which every certificate \
         would be refused: put the list there that this authority has signed"
    )]
    Unsigned(String),
    /// Authorities share a name, and not a key.
    #[error(
        "ca.crt has authorities with the name {0} and different keys, and the list is signed with one of these: every \
         certificate of the others would be refused. Leave the others out of ca.crt as soon as their certificates need \
         not count any more, and this list out until then; or give a new authority a name of its own"
    )]
    Shared(String),
}

impl Revocations {
    /// Sorts the lists so that of each issuer the newest counts, and finds out whose they are, if need be among those that
    /// were believed `before`.
    pub(super) fn of(
        lists: &mut [CertificateRevocationListDer<'_>],
        authorities: &[CertificateDer<'_>],
        before: &Self,
    ) -> Result<Self, ListError> {
        lists.sort_by_key(|list| {
            Reverse(parsed(list).ok().map(|list| list.last_update().timestamp()))
        });
        let authorities: Vec<Authority> = authorities.iter().filter_map(Authority::of).collect();
        let known = before.known();
        let issuers = lists.iter().map(|list| Issuer::of(&parsed(list)?, &authorities, &known));
        let issuers = issuers.collect::<Result<_, _>>()?;
        Ok(Self { issuers, authorities })
    }

    /// All whose keys are known.
    fn known(&self) -> Vec<Authority> {
        let signers = self.issuers.iter().filter_map(|issuer| {
            Some(Authority { name: issuer.name.clone(), key: issuer.key.clone()? })
        });
        signers.chain(self.authorities.iter().cloned()).collect()
    }

    /// An issuer that is believed there still, and of which there is no list any more.
    pub(super) fn lost_in(&self, others: &Self) -> Option<&str> {
        let lost = self.issuers.iter().find(|issuer| {
            !others.issuers.iter().any(|other| other.name == issuer.name)
                && issuer.may_count_in(&others.authorities)
        });
        lost.map(|issuer| issuer.name.shown.as_str())
    }

    /// Says of which lists it is not known whether they revoke anyone.
    pub(super) fn warn_of_strangers(&self) {
        for Issuer { name, .. } in self.issuers.iter().filter(|issuer| issuer.key.is_none()) {
            warn!(
                issuer = name.shown,
                "a list in ca.crl is of no authority in ca.crt: it counts only for certificates of an authority in between of \
                 that name"
            );
        }
    }
}

impl Authority {
    fn of(certificate: &CertificateDer<'_>) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
        let key = certificate.public_key().subject_public_key.data.to_vec();
        Some(Self { name: Name::of(certificate.subject()), key })
    }

    /// In any of the ways that webpki accepts.
    fn has_signed(&self, list: &CertificateRevocationList<'_>) -> bool {
        let ways = aws_lc_rs::default_provider().signature_verification_algorithms.all;
        let (told, signature) = (list.tbs_cert_list.as_ref(), &list.signature_value.data);
        ways.iter().any(|way| way.verify_signature(&self.key, told, signature).is_ok())
    }
}

impl Issuer {
    fn of(
        list: &CertificateRevocationList<'_>,
        authorities: &[Authority],
        known: &[Authority],
    ) -> Result<Self, ListError> {
        let name = Name::of(list.issuer());
        let namesakes = authorities.iter().filter(|authority| authority.name == name);
        let (signers, others): (Vec<_>, Vec<_>) =
            namesakes.partition(|authority| authority.has_signed(list));
        match (signers.first(), others.is_empty()) {
            (None, true) => {
                let mut known = known.iter().filter(|known| known.name == name);
                let signer = known.find(|known| known.has_signed(list));
                Ok(Self { name, key: signer.map(|known| known.key.clone()) })
            }
            (None, false) => Err(ListError::Unsigned(name.shown)),
            (Some(_), false) => Err(ListError::Shared(name.shown)),
            (Some(signer), true) => Ok(Self { key: Some(signer.key.clone()), name }),
        }
    }

    /// Whether certificates of it may be believed where these are.
    fn may_count_in(&self, authorities: &[Authority]) -> bool {
        self.key.as_ref().is_none_or(|key| {
            authorities.iter().any(|other| other.name == self.name && other.key == *key)
        })
    }
}

impl Name {
    fn of(name: &X509Name<'_>) -> Self {
        Self { der: name.as_raw().to_vec(), shown: name.to_string() }
    }
}

fn parsed<'a>(
    list: &'a CertificateRevocationListDer<'_>,
) -> Result<CertificateRevocationList<'a>, ListError> {
    let parsed = CertificateRevocationList::from_der(list.as_ref());
    parsed.map(|(_, list)| list).map_err(|_| ListError::Unreadable)
}
