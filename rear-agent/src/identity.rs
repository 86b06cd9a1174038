//! Which cluster this is: said by the operator, else by the certificate, else by Kubernetes.

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};
use rear_agent_sdk::communicator::ClusterId;
use thiserror::Error;

/// Its id is as old as the cluster.
const OLDEST_NAMESPACE: &str = "kube-system";

/// Why it is not known which cluster this is.
#[derive(Debug, Error)]
pub enum IdentityError {
    /// What the operator said is no id.
    #[error("--cluster-id={0} is no cluster id: 1 to 63 lower case letters, digits, `-` and `.`")]
    Flag(String),
    /// The operator and the certificate disagree.
    #[error(
        "--cluster-id={flag}, but the broker will see the certificate's common name {certificate}: \
         leave the flag out, or use the certificate of {flag}"
    )]
    OtherCertificate {
        /// What the operator said.
        flag: ClusterId,
        /// What the broker will see.
        certificate: ClusterId,
    },
    /// The API server did not say.
    #[error("the id of the namespace {OLDEST_NAMESPACE} cannot be read")]
    Kubernetes(#[source] kube::Error),
    /// Kubernetes gave an id that cannot be used.
    #[error("the namespace {OLDEST_NAMESPACE} has no usable id")]
    NoUid,
}

/// What of it is known without asking Kubernetes; nothing if it has to be asked.
pub fn choose(
    flag: &str,
    certificate: Option<ClusterId>,
) -> Result<Option<ClusterId>, IdentityError> {
    if flag.is_empty() {
        return Ok(certificate);
    }
    let flag: ClusterId = flag.parse().map_err(|_| IdentityError::Flag(flag.to_owned()))?;
    match certificate {
        Some(certificate) if certificate != flag => {
            Err(IdentityError::OtherCertificate { flag, certificate })
        }
        _ => Ok(Some(flag)),
    }
}

/// The id of the cluster itself.
pub async fn of_kubernetes(client: Client) -> Result<ClusterId, IdentityError> {
    let namespace = Api::<Namespace>::all(client).get(OLDEST_NAMESPACE).await;
    let uid = namespace.map_err(IdentityError::Kubernetes)?.metadata.uid;
    uid.and_then(|uid| uid.parse().ok()).ok_or(IdentityError::NoUid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> ClusterId {
        text.parse().unwrap()
    }

    #[test]
    fn the_flag_comes_before_the_certificate() {
        assert_eq!(choose("rome", Some(id("rome"))).unwrap(), Some(id("rome")));
        assert_eq!(choose("rome", None).unwrap(), Some(id("rome")));
        assert_eq!(choose("", Some(id("rome"))).unwrap(), Some(id("rome")));
        assert_eq!(choose("", None).unwrap(), None);
    }

    #[test]
    fn a_flag_that_is_not_the_certificates_name_is_refused_with_both() {
        let error = choose("rome", Some(id("paris"))).unwrap_err().to_string();
        assert!(error.contains("--cluster-id=rome") && error.contains("paris"), "{error}");
        assert!(matches!(choose("Rome", None), Err(IdentityError::Flag(_))));
    }
}
