//! Certificates that change while the broker runs: looked at again and again, taken only if they are usable.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tracing::{error, info};

use super::credentials::{Files, REVOKED};
use super::{CredentialError, Credentials, Trust};
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
    loop {
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = at_once.notified() => {}
        }
        match look(&trust, &folder, refused.as_deref()) {
            Look::Same => {}
            Look::Taken => {
                refused = None;
                metrics.certificates_reloaded();
                metrics.certificate_expires(trust.credentials().expires_at);
                info!(folder = %folder.display(), "certificates were reloaded");
            }
            Look::Refused(files, error) => {
                refused = files;
                metrics.certificates_refused();
                error!(
                    error = &error as &dyn std::error::Error,
                    "new certificates cannot be used, the old ones stay"
                );
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
    if trust.credentials().files.revoke_more_than(&files) {
        return Look::Refused(
            Some(Box::new(files)),
            CredentialError::ListGone(folder.join(REVOKED)),
        );
    }
    match Credentials::from_files(files.clone(), folder) {
        Ok(credentials) => {
            trust.replace(credentials);
            Look::Taken
        }
        Err(error) => Look::Refused(Some(Box::new(files)), error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
