//! Somebody who may connect to an API server, with a kubeconfig file.

use std::path::{Path, PathBuf};

use super::certificates::Authority;
use super::site::Site;
use super::start_error::StartError;

/// A user with a client certificate. What they may do is for RBAC to say.
#[derive(Clone, Debug)]
pub struct User {
    name: String,
    kubeconfig: PathBuf,
}

/// The API server as its clients see it.
pub(crate) struct Door<'a> {
    pub(crate) url: String,
    pub(crate) authority: &'a Authority,
    /// The file with the authority's certificate.
    pub(crate) authority_file: &'a Path,
}

impl User {
    pub(crate) fn admit(
        site: &Site,
        door: &Door<'_>,
        name: &str,
        group: Option<&str>,
    ) -> Result<Self, StartError> {
        let identity = door.authority.client(name, group).map_err(StartError::Certificate)?;
        let certificate = site.write(&format!("{name}.crt"), &identity.certificate)?;
        let key = site.write(&format!("{name}.key"), &identity.key)?;
        let text = kubeconfig(door, &certificate, &key);
        let kubeconfig = site.write(&format!("{name}.kubeconfig"), &text)?;
        Ok(Self { name: name.to_owned(), kubeconfig })
    }

    /// The name, as RBAC knows it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file with which clients connect as this user, such as kubectl or kube.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}

/// Paths are quoted, as the temporary folder of a machine may have a space or a colon in its name.
fn kubeconfig(door: &Door<'_>, certificate: &Path, key: &Path) -> String {
    let [authority, certificate, key] =
        [door.authority_file, certificate, key].map(|file| file.display().to_string());
    let url = &door.url;
    format!(
        r"apiVersion: v1
kind: Config
clusters:
- name: testbed
  cluster:
    server: {url}
    certificate-authority: {authority:?}
users:
- name: testbed
  user:
    client-certificate: {certificate:?}
    client-key: {key:?}
contexts:
- name: testbed
  context:
    cluster: testbed
    user: testbed
current-context: testbed
"
    )
}
