//! The kubeconfig of another cluster: checked, because it comes from elsewhere and a kubeconfig can run programs and
//! name files.

use std::io::{self, Write};

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::config::{
    AuthInfo, Cluster, Context, Kubeconfig, KubeconfigError as Unreadable, NamedAuthInfo,
    NamedCluster, NamedContext,
};
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
    /// What was understood of it cannot be written down.
    #[error("it cannot be copied")]
    Copy(#[from] serde_json::Error),
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
    let checked = checked(&text)?;
    let mut copy = NamedTempFile::new()?;
    // JSON is YAML too, and leaves nothing to be read in another way.
    serde_json::to_writer(&mut copy, &checked)?;
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

/// What may be used of a kubeconfig that comes from elsewhere: only what was understood and checked. Two readers of one YAML
/// text may understand it differently (documents, keys that are there twice, names that differ in capitals), so that the text
/// itself is not handed on. Of all clusters and users, not only those of the current context: whoever uses it may choose
/// another.
pub fn checked(text: &str) -> Result<Kubeconfig, KubeconfigError> {
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
    Ok(Kubeconfig {
        api_version: Some("v1".to_owned()),
        kind: Some("Config".to_owned()),
        current_context: config.current_context,
        contexts: config.contexts.into_iter().map(context).collect(),
        clusters: config.clusters.into_iter().map(cluster).collect::<Result<_, _>>()?,
        auth_infos: config.auth_infos.into_iter().map(user).collect::<Result<_, _>>()?,
        ..Kubeconfig::default()
    })
}

fn context(named: NamedContext) -> NamedContext {
    let context = named.context.map(|context| Context {
        cluster: context.cluster,
        user: context.user,
        namespace: context.namespace,
        ..Context::default()
    });
    NamedContext { name: named.name, context, ..NamedContext::default() }
}

fn cluster(named: NamedCluster) -> Result<NamedCluster, KubeconfigError> {
    let found = named.cluster.ok_or(KubeconfigError::Incomplete)?;
    check_cluster(&found)?;
    let cluster = Cluster {
        server: found.server,
        certificate_authority_data: found.certificate_authority_data,
        tls_server_name: found.tls_server_name,
        ..Cluster::default()
    };
    Ok(NamedCluster { name: named.name, cluster: Some(cluster), ..NamedCluster::default() })
}

fn user(named: NamedAuthInfo) -> Result<NamedAuthInfo, KubeconfigError> {
    let found = named.auth_info.ok_or(KubeconfigError::Incomplete)?;
    check_user(&found)?;
    let user = AuthInfo {
        username: found.username,
        password: found.password,
        token: found.token,
        client_certificate_data: found.client_certificate_data,
        client_key_data: found.client_key_data,
        ..AuthInfo::default()
    };
    Ok(NamedAuthInfo { name: named.name, auth_info: Some(user), ..NamedAuthInfo::default() })
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
        let used =
            |user| serde_json::to_string(&checked(&kubeconfig(SERVER, user)).unwrap()).unwrap();
        assert!(used("token: abc").contains(r#""token":"abc""#));
        let embedded = used("client-certificate-data: YQ==, client-key-data: Yg==");
        assert!(embedded.contains("YQ==") && embedded.contains("Yg=="), "{embedded}");
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
            assert!(checked(&kubeconfig(SERVER, user)).is_err(), "{user}");
        }
        let clusters = [
            "server: http://rome.example",
            "server: https://rome.example, insecure-skip-tls-verify: true",
            "server: https://rome.example, certificate-authority: /etc/shadow",
            "server: https://rome.example, proxy-url: http://elsewhere",
        ];
        for cluster in clusters {
            assert!(checked(&kubeconfig(cluster, "token: abc")).is_err(), "{cluster}");
        }
    }

    #[test]
    fn what_is_handed_on_is_what_was_understood_and_nothing_beside_it() {
        let plain = kubeconfig(SERVER, "token: abc, Exec: {command: sh}, EXEC: {command: sh}");
        let second = kubeconfig(SERVER, "exec: {apiVersion: v1, command: sh}");
        let extended = "extensions: [{name: e, extension: {exec: {command: sh}}}]\n";
        let used = checked(&format!("{plain}{extended}Users: [{{name: u}}]\n---\n{second}"));
        let used = serde_json::to_string(&used.unwrap()).unwrap();
        for hidden in ["exec", "Exec", "EXEC", "command", "sh", "Users", "extension"] {
            assert!(!used.contains(&format!("\"{hidden}\"")), "{hidden}: {used}");
        }
        let again = checked(&used).unwrap();
        assert_eq!(serde_json::to_string(&again).unwrap(), used);
    }

    #[test]
    fn what_is_there_twice_is_refused_or_checked_twice() {
        let twice = "users: [{name: u, user: {exec: {apiVersion: v1, command: sh}}}]\n";
        assert!(checked(&(kubeconfig(SERVER, "token: abc") + twice)).is_err());
        let user = "token: abc, exec: {apiVersion: v1, command: sh}, exec: null";
        assert!(checked(&kubeconfig(SERVER, user)).is_err());
        let named_twice = "token: abc}}, {name: u, user: {exec: {apiVersion: v1, command: sh}";
        assert!(checked(&kubeconfig(SERVER, named_twice)).is_err());
    }

    #[test]
    fn what_is_no_kubeconfig_is_refused() {
        for text in ["", "a: b", "- 1", "\u{0}", &"a".repeat(LARGEST + 1)] {
            assert!(checked(text).is_err(), "{text:.20}");
        }
    }
}
