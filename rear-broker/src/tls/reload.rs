//! Certificates that change while the broker runs: looked at again and again, taken only if they are usable.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rear_agent_sdk::Chain;
use tokio::sync::Notify;
use tracing::{error, info};

use super::credentials::Files;
use super::{CredentialError, Trust};
use crate::metrics::Metrics;

/// How often the files are looked at. Reading them is simpler than being told of changes, which comes late or
/// never on symbolic links of a Kubernetes Secret and on network file systems.
const EVERY: Duration = Duration::from_secs(2);

/// Looks at the files for ever; `at_once` makes it look now.
pub async fn watch(
    trust: Arc<Trust>,
    folder: PathBuf,
    metrics: Arc<Metrics>,
    at_once: Arc<Notify>,
) {
    let mut refused = None;
    let mut told = None;
    loop {
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = at_once.notified() => {}
        }
        match look(&trust, &folder, refused.as_deref()) {
            Look::Same => told = None,
            Look::Taken => {
                (refused, told) = (None, None);
                metrics.certificates_reloaded();
                metrics.certificate_expires(trust.credentials().expires_at);
                info!(folder = %folder.display(), "certificates were reloaded");
            }
            Look::Refused(files, error) => {
                let why = Chain(&error).to_string();
                // Of files that cannot be read, too, it is told once.
                if files.is_some() || told.as_ref() != Some(&why) {
                    metrics.certificates_refused();
                    error!(error = why, "new certificates cannot be used, the old ones stay");
                }
                refused = files;
                told = Some(why);
            }
        }
    }
}

enum Look {
    Same,
    Taken,
    Refused(Option<Box<Files>>, CredentialError),
}

/// Files that were refused once are not tried again before they change.
fn look(trust: &Trust, folder: &Path, refused: Option<&Files>) -> Look {
    let files = match Files::read(folder) {
        Ok(files) => files,
        Err(error) => return Look::Refused(None, error),
    };
    if files == trust.credentials().files || Some(&files) == refused {
        return Look::Same;
    }
    match trust.credentials().succeeded_by(files.clone(), folder) {
        Ok(credentials) => {
            credentials.warn();
            trust.replace(credentials);
            Look::Taken
        }
        Err(error) => Look::Refused(Some(Box::new(files)), error),
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{
        BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer,
        DnType, ExtendedKeyUsagePurpose, IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose,
        RevokedCertParams, SerialNumber, date_time_ymd,
    };
    use rustls_pki_types::{CertificateDer, UnixTime};
    use tempfile::TempDir;

    use super::super::{Credentials, ListError};
    use super::*;

    type Authority = CertifiedIssuer<'static, KeyPair>;

    fn authority_with(name: &str, key: KeyPair) -> Authority {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name.push(DnType::CommonName, name);
        CertifiedIssuer::self_signed(params, key).unwrap()
    }

    fn authority(name: &str) -> Authority {
        authority_with(name, KeyPair::generate().unwrap())
    }

    /// Its list of a year, by which certificates with these serial numbers do not count any more.
    fn list(of: &Authority, year: i32, serials: &[u64]) -> String {
        let revoked = serials.iter().map(|&serial| RevokedCertParams {
            serial_number: SerialNumber::from(serial),
            revocation_time: date_time_ymd(2024, 1, 1),
            reason_code: None,
            invalidity_date: None,
        });
        let params = CertificateRevocationListParams {
            this_update: date_time_ymd(year, 1, 1),
            next_update: date_time_ymd(2099, 1, 1),
            crl_number: SerialNumber::from(1_u64),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        params.signed_by(of).unwrap().pem().unwrap()
    }

    /// The certificate of a client.
    fn client(of: &Authority, serial: u64) -> CertificateDer<'static> {
        let mut params = CertificateParams::default();
        params.serial_number = Some(SerialNumber::from(serial));
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.signed_by(&KeyPair::generate().unwrap(), of).unwrap().der().clone()
    }

    /// A broker's folder, and what it believes.
    struct Place(TempDir, Trust);

    impl Place {
        /// That believes these, of whom nobody is revoked.
        fn believing(authorities: &[&Authority]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let key = KeyPair::generate().unwrap();
            let own = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
            let own = own.signed_by(&key, authorities[0]).unwrap();
            std::fs::write(folder.path().join("tls.crt"), own.pem()).unwrap();
            std::fs::write(folder.path().join("tls.key"), key.serialize_pem()).unwrap();
            write_authorities(folder.path(), authorities);
            let trust = Trust::new(Credentials::read(folder.path()).unwrap());
            Self(folder, trust)
        }

        /// Puts other authorities there.
        fn believes(&self, authorities: &[&Authority]) {
            write_authorities(self.0.path(), authorities);
        }

        /// Puts these lists there, and looks.
        fn revokes(&self, lists: &[String]) -> Result<(), CredentialError> {
            std::fs::write(self.0.path().join("ca.crl"), lists.concat()).unwrap();
            match look(&self.1, self.0.path(), None) {
                Look::Taken => Ok(()),
                Look::Same => panic!("it was not looked at"),
                Look::Refused(_, error) => Err(error),
            }
        }

        fn lets_in(&self, client: &CertificateDer<'_>) -> bool {
            self.1.verify(std::slice::from_ref(client), UnixTime::now()).is_ok()
        }
    }

    fn write_authorities(folder: &Path, authorities: &[&Authority]) {
        let all: String = authorities.iter().map(|authority| authority.pem()).collect();
        std::fs::write(folder.join("ca.crt"), all).unwrap();
    }

    #[test]
    fn a_list_that_another_key_signed_in_the_name_of_an_authority_locks_nobody_out() {
        let (here, elsewhere) = (authority("us"), authority("us"));
        let place = Place::believing(&[&here]);
        let refused = place.revokes(&[list(&elsewhere, 2024, &[])]).unwrap_err();
        let CredentialError::List { what, .. } = &refused else { panic!("{refused}") };
        assert_eq!(*what, ListError::Unsigned("CN=us".to_owned()));
        assert!(place.lets_in(&client(&here, 1)));
        place.revokes(&[list(&here, 2024, &[1])]).unwrap();
        assert_eq!([1, 2].map(|serial| place.lets_in(&client(&here, serial))), [false, true]);
    }

    #[test]
    fn a_list_of_one_of_two_authorities_with_one_name_does_not_lock_out_the_other() {
        let (old, new) = (authority("us"), authority("us"));
        let place = Place::believing(&[&old, &new]);
        let shared = |lists: &[String]| match place.revokes(lists).unwrap_err() {
            CredentialError::List { what, .. } => what == ListError::Shared("CN=us".to_owned()),
            _ => false,
        };
        assert!(shared(&[list(&new, 2024, &[1])]));
        assert!(shared(&[list(&old, 2024, &[1])]));
        assert!(shared(&[list(&old, 2024, &[1]), list(&new, 2024, &[1])]));
        assert_eq!([&old, &new].map(|authority| place.lets_in(&client(authority, 2))), [true; 2]);
        place.believes(&[&new]);
        place.revokes(&[list(&new, 2024, &[1])]).unwrap();
        assert_eq!([1, 2].map(|serial| place.lets_in(&client(&new, serial))), [false, true]);
    }

    #[test]
    fn an_authority_that_was_renewed_with_its_key_is_one() {
        let key = KeyPair::generate().unwrap();
        let old = authority_with("us", KeyPair::from_pem(&key.serialize_pem()).unwrap());
        let new = authority_with("us", key);
        let place = Place::believing(&[&old, &new]);
        place.revokes(&[list(&new, 2024, &[1])]).unwrap();
        assert_eq!([1, 2].map(|serial| place.lets_in(&client(&old, serial))), [false, true]);
    }

    #[test]
    fn who_is_revoked_stays_so_when_a_list_of_another_takes_its_place() {
        let (here, there) = (authority("us"), authority("them"));
        let place = Place::believing(&[&here, &there]);
        let ours = list(&here, 2024, &[1]);
        place.revokes(&[ours.clone(), list(&there, 2024, &[1])]).unwrap();
        let gone = |lists: &[String]| match place.revokes(lists).unwrap_err() {
            CredentialError::ListGone { issuer, .. } => issuer,
            other => panic!("{other}"),
        };
        assert_eq!(gone(&[list(&there, 2024, &[1])]), "CN=us");
        assert_eq!(gone(&[list(&authority("nobody"), 2024, &[])]), "CN=us");
        assert_eq!(gone(&[ours]), "CN=them");
        assert_eq!([&here, &there].map(|by| place.lets_in(&client(by, 1))), [false; 2]);
        // Whoever is not believed any more needs no list.
        place.believes(&[&here]);
        place.revokes(&[list(&here, 2024, &[2])]).unwrap();
        assert_eq!([1, 2].map(|serial| place.lets_in(&client(&here, serial))), [true, false]);
    }

    #[test]
    fn the_list_of_an_authority_that_was_believed_goes_after_it() {
        let (old, new) = (authority("us"), authority("them"));
        let place = Place::believing(&[&new, &old]);
        let ours = list(&old, 2024, &[1]);
        place.revokes(std::slice::from_ref(&ours)).unwrap();
        place.believes(&[&new]);
        place.revokes(std::slice::from_ref(&ours)).unwrap();
        // It is known for as long as its list is there, whatever else is changed.
        place.revokes(&[ours, list(&new, 2024, &[])]).unwrap();
        place.revokes(&[list(&new, 2024, &[1])]).unwrap();
        assert_eq!([1, 2].map(|serial| place.lets_in(&client(&new, serial))), [false, true]);
    }

    #[test]
    fn a_list_of_an_authority_that_is_not_known_is_taken_and_stays() {
        let here = authority("us");
        let place = Place::believing(&[&here]);
        let (between, ours) = (list(&authority("between"), 2024, &[1]), list(&here, 2024, &[]));
        place.revokes(&[between.clone(), ours.clone()]).unwrap();
        assert!(matches!(place.revokes(&[ours]), Err(CredentialError::ListGone { .. })));
        place.revokes(&[between]).unwrap_err();
    }

    #[test]
    fn of_two_lists_of_an_authority_the_newest_counts() {
        let here = authority("us");
        let lists = [list(&here, 2024, &[1]), list(&here, 2025, &[1, 2])];
        for (first, second) in [(0, 1), (1, 0)] {
            let place = Place::believing(&[&here]);
            place.revokes(&[lists[first].clone(), lists[second].clone()]).unwrap();
            let known = [1, 2, 3].map(|serial| place.lets_in(&client(&here, serial)));
            assert_eq!(known, [false, false, true]);
        }
    }

    #[test]
    fn files_that_are_known_are_neither_taken_nor_refused_again() {
        let folder = tempfile::tempdir().unwrap();
        rear_fleet::make_certificates(folder.path(), ["rome".parse().unwrap()]).unwrap();
        let folder = folder.path().join("broker");
        let trust = Trust::new(Credentials::read(&folder).unwrap());
        let generation = trust.generation();
        assert!(matches!(look(&trust, &folder, None), Look::Same));
        std::fs::write(folder.join("tls.crt"), "no certificate").unwrap();
        let Look::Refused(Some(files), _) = look(&trust, &folder, None) else {
            panic!("it is taken")
        };
        assert!(matches!(look(&trust, &folder, Some(&files)), Look::Same));
        assert_eq!(trust.generation(), generation);
    }
}
