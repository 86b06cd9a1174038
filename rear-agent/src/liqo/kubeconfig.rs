//! The kubeconfig of another cluster: checked, because it comes from elsewhere and a kubeconfig can run programs and
//! name files.

use std::io::{self, Write};

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::config::{AuthInfo, Cluster, Kubeconfig, KubeconfigError as Unreadable};
use tempfile::NamedTempFile;
use thiserror::Error;
use tokio::io::AsyncReadExt;

use super::Kubeconfigs;

/// Honest ones have a few kilobytes, also with certificates.
const LARGEST: usize = 64 * 1024;

/// The key in a Secret.
const KEY: &str = "kubeconfig";

/// Why a kubeconfig cannot be used.
#[derive(Debug, Error)]
pub enum KubeconfigError {
    /// It could not be read or copied.
    #[error("it cannot be read")]
    Io(#[from] io::Error),
    /// The API server did not give it.
    #[error("the Secret cannot be read")]
    Secret(#[from] kube::Error),
    /// There is none.
    #[error("there is no {0}")]
    Missing(String),
    /// It is too large to be one.
    #[error("it has more than {LARGEST} bytes")]
    TooLarge,
    /// It is none.
    #[error("it is no kubeconfig")]
    Unreadable(#[from] Unreadable),
    /// It says too little to connect.
    #[error("it has no cluster and user for its current context")]
    Incomplete,
    /// It would run a program.
    #[error("it runs a program ({0}); use a token or an embedded certificate")]
    RunsProgram(&'static str),
    /// It would read another file.
    #[error("it names a file ({0}); embed the contents")]
    NamesFile(&'static str),
    /// Whoever is in between could read and change everything.
    #[error("its connection is not protected ({0})")]
    Unprotected(&'static str),
}

/// Reads, checks and copies the kubeconfig of a cluster.
pub(super) async fn fetch(
    from: &Kubeconfigs,
    cluster: &str,
) -> Result<NamedTempFile, KubeconfigError> {
    let text = match from {
        Kubeconfigs::Folder(folder) => in_folder(folder, cluster).await?,
        Kubeconfigs::Secrets(api) => in_secret(api, cluster).await?,
    };
    check(&text)?;
    let mut copy = NamedTempFile::new()?;
    copy.write_all(text.as_bytes())?;
    copy.flush()?;
    Ok(copy)
}

async fn in_folder(folder: &std::path::Path, cluster: &str) -> Result<String, KubeconfigError> {
    let name = format!("{cluster}.kubeconfig");
    let file = match tokio::fs::File::open(folder.join(&name)).await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(KubeconfigError::Missing(name));
        }
        opened => opened?,
    };
    let mut text = String::new();
    let most = u64::try_from(LARGEST).unwrap_or(u64::MAX).saturating_add(1);
    file.take(most).read_to_string(&mut text).await?;
    Ok(text)
}

async fn in_secret(api: &Api<Secret>, cluster: &str) -> Result<String, KubeconfigError> {
    let name = format!("{cluster}-kubeconfig");
    let secret = api.get_opt(&name).await?;
    let bytes = secret.and_then(|secret| secret.data?.remove(KEY));
    let bytes = bytes.ok_or(KubeconfigError::Missing(format!("Secret {name} with a {KEY}")))?;
    String::from_utf8(bytes.0)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error).into())
}

/// All clusters and users of it, not only those of the current context: whoever uses it may choose another.
fn check(text: &str) -> Result<(), KubeconfigError> {
    if text.len() > LARGEST {
        return Err(KubeconfigError::TooLarge);
    }
    let config = Kubeconfig::from_yaml(text)?;
    if config.current_context.is_none()
        || config.clusters.is_empty()
        || config.auth_infos.is_empty()
    {
        return Err(KubeconfigError::Incomplete);
    }
    for named in &config.clusters {
        check_cluster(named.cluster.as_ref().ok_or(KubeconfigError::Incomplete)?)?;
    }
    for named in &config.auth_infos {
        check_user(named.auth_info.as_ref().ok_or(KubeconfigError::Incomplete)?)?;
    }
    Ok(())
}

fn check_cluster(cluster: &Cluster) -> Result<(), KubeconfigError> {
    let server = cluster.server.as_deref().ok_or(KubeconfigError::Incomplete)?;
    if !server.starts_with("https://") {
        return Err(KubeconfigError::Unprotected("server without https"));
    }
    if cluster.insecure_skip_tls_verify == Some(true) {
        return Err(KubeconfigError::Unprotected("insecure-skip-tls-verify"));
    }
    if cluster.proxy_url.is_some() {
        return Err(KubeconfigError::Unprotected("proxy-url"));
    }
    if cluster.certificate_authority.is_some() {
        return Err(KubeconfigError::NamesFile("certificate-authority"));
    }
    Ok(())
}

fn check_user(user: &AuthInfo) -> Result<(), KubeconfigError> {
    if user.exec.is_some() {
        return Err(KubeconfigError::RunsProgram("exec"));
    }
    if user.auth_provider.is_some() {
        return Err(KubeconfigError::RunsProgram("auth-provider"));
    }
    let files = [
        ("client-certificate", user.client_certificate.is_some()),
        ("client-key", user.client_key.is_some()),
        ("tokenFile", user.token_file.is_some()),
    ];
    match files.into_iter().find(|(_, named)| *named) {
        Some((name, _)) => Err(KubeconfigError::NamesFile(name)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kubeconfig(cluster: &str, user: &str) -> String {
        format!(
            "apiVersion: v1
kind: Config
current-context: c
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{{cluster}}}}}]
users: [{{name: u, user: {{{user}}}}}]
"
        )
    }

    const SERVER: &str = "server: https://rome.example:6443";

    #[test]
    fn a_token_or_an_embedded_certificate_is_taken() {
        check(&kubeconfig(SERVER, "token: abc")).unwrap();
        check(&kubeconfig(SERVER, "client-certificate-data: YQ==, client-key-data: YQ==")).unwrap();
    }

    #[test]
    fn whatever_runs_programs_names_files_or_is_not_protected_is_refused() {
        let users = [
            "exec: {apiVersion: client.authentication.k8s.io/v1, command: sh}",
            "auth-provider: {name: gcp, config: {}}",
            "tokenFile: /etc/shadow",
            "client-certificate: /etc/shadow",
            "client-key: /etc/shadow",
        ];
        for user in users {
            assert!(check(&kubeconfig(SERVER, user)).is_err(), "{user}");
        }
        let clusters = [
            "server: http://rome.example",
            "server: https://rome.example, insecure-skip-tls-verify: true",
            "server: https://rome.example, certificate-authority: /etc/shadow",
            "server: https://rome.example, proxy-url: http://elsewhere",
        ];
        for cluster in clusters {
            assert!(check(&kubeconfig(cluster, "token: abc")).is_err(), "{cluster}");
        }
    }

    #[test]
    fn what_is_no_kubeconfig_is_refused() {
        for text in ["", "a: b", "- 1", "\u{0}", &"a".repeat(LARGEST + 1)] {
            assert!(check(text).is_err(), "{text:.20}");
        }
    }
}
