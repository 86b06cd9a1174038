//! A client of an API server whose kubeconfig may be replaced while it runs: rotated credentials count from the next request on.
//! The agent, the broker and the transport over Kubernetes connect with it.
//!
//! Tokens that lie in files of their own, such as that of a pod's service account, are read anew by the client itself. Everything
//! else in a kubeconfig, and in the certificates that it names, it reads once: so another client takes its place.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kube::config::{InferConfigError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use thiserror::Error;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tower::service_fn;
use tracing::{info, warn};

use crate::error::Chain;

/// How often the files are looked at, when something is asked: as those of certificates.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Why there is no client.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be used.
    #[error("the kubeconfig {} cannot be used", path.display())]
    Kubeconfig {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: KubeconfigError,
    },
    /// There is no way to the API server.
    #[error("there is neither a usable kubeconfig nor a service account")]
    NoCluster(#[source] InferConfigError),
    /// The client could not be made.
    #[error("the API server cannot be used")]
    Client(#[source] kube::Error),
}

/// A client with this kubeconfig, else with `KUBECONFIG` or `~/.kube/config`, else with the service account of the pod.
pub async fn connect(kubeconfig: Option<&Path>) -> Result<Client, ConnectError> {
    let way = Way(kubeconfig.map(Path::to_owned));
    // Before they are used: what changes in between is noticed by the first look.
    let files = way.files();
    let client = way.client().await?;
    if files.values().all(Option::is_none) {
        return Ok(client);
    }
    let namespace = client.default_namespace().to_owned();
    let state = Mutex::new(State { client, files, looked_at: Instant::now() });
    let renewed = Arc::new(Renewed { way, state });
    let service = service_fn(move |request| {
        let renewed = renewed.clone();
        async move { renewed.client().await.send(request).await }
    });
    Ok(Client::new(service, namespace))
}

/// Which kubeconfig, if one is named.
struct Way(Option<PathBuf>);

/// Files by their paths; nothing for those that are not there.
type Files = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// The client of this time.
struct Renewed {
    way: Way,
    state: Mutex<State>,
}

struct State {
    client: Client,
    files: Files,
    looked_at: Instant,
}

impl Renewed {
    async fn client(&self) -> Client {
        let mut state = self.state.lock().await;
        if state.looked_at.elapsed() >= LOOK_EVERY {
            self.look(&mut state).await;
        }
        state.client.clone()
    }

    /// Files in the middle of a change cannot be used, and change once more: until then the old client stays.
    async fn look(&self, state: &mut State) {
        state.looked_at = Instant::now();
        let files = self.way.files();
        if files == state.files {
            return;
        }
        state.files = files;
        match self.way.client().await {
            Ok(client) => {
                info!("the kubeconfig was replaced, and counts from now on");
                state.client = client;
            }
            Err(error) => {
                warn!(error = %Chain(&error), "the kubeconfig was replaced and cannot be used: the old one stays");
            }
        }
    }
}

impl Way {
    async fn client(&self) -> Result<Client, ConnectError> {
        let config = match &self.0 {
            Some(path) => {
                let wrong = |source| ConnectError::Kubeconfig { path: path.clone(), source };
                let kubeconfig = Kubeconfig::read_from(path).map_err(wrong)?;
                let options = KubeConfigOptions::default();
                Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(wrong)?
            }
            None => Config::infer().await.map_err(ConnectError::NoCluster)?,
        };
        Client::try_from(config).map_err(ConnectError::Client)
    }

    /// All files that a client is made of.
    fn files(&self) -> Files {
        let kubeconfigs = self.kubeconfigs();
        let read = kubeconfigs.iter().filter_map(|path| Kubeconfig::read_from(path).ok());
        let named: Vec<_> = read.flat_map(named_by).collect();
        let all = kubeconfigs.into_iter().chain(named);
        all.map(|path| (fs::read(&path).ok(), path)).map(|(read, path)| (path, read)).collect()
    }

    fn kubeconfigs(&self) -> Vec<PathBuf> {
        if let Some(path) = &self.0 {
            return vec![path.clone()];
        }
        match env::var_os("KUBECONFIG") {
            Some(paths) => env::split_paths(&paths).collect(),
            None => env::home_dir().map(|home| home.join(".kube/config")).into_iter().collect(),
        }
    }
}

/// The certificates and keys that a kubeconfig has elsewhere.
fn named_by(kubeconfig: Kubeconfig) -> impl Iterator<Item = PathBuf> {
    let clusters = kubeconfig.clusters.into_iter().filter_map(|named| named.cluster);
    let users = kubeconfig.auth_infos.into_iter().filter_map(|named| named.auth_info);
    let authorities = clusters.filter_map(|cluster| cluster.certificate_authority);
    let own = users.flat_map(|user| [user.client_certificate, user.client_key]).flatten();
    authorities.chain(own).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use k8s_openapi::api::core::v1::Namespace;
    use kube::api::{Api, ListParams};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::time;

    use super::*;

    /// Answers every request with an empty list, and tells with which token it was asked.
    async fn server() -> (String, tokio::sync::mpsc::UnboundedReceiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (tell, told) = tokio::sync::mpsc::unbounded_channel();
        tokio::spawn(async move {
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                let mut asked = Vec::new();
                while !asked.ends_with(b"\r\n\r\n") {
                    asked.push(socket.read_u8().await.unwrap());
                }
                let asked = String::from_utf8(asked).unwrap().to_ascii_lowercase();
                let token = asked.split("authorization: bearer ").nth(1).unwrap();
                tell.send(token.lines().next().unwrap().to_owned()).unwrap();
                let body = r#"{"kind":"NamespaceList","apiVersion":"v1","metadata":{},"items":[]}"#;
                let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json";
                let answer = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                socket.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        (url, told)
    }

    fn kubeconfig(url: &str, token: &str) -> String {
        format!(
            "apiVersion: v1
kind: Config
current-context: a
contexts: [{{name: a, context: {{cluster: a, user: a}}}}]
clusters: [{{name: a, cluster: {{server: {url:?}}}}}]
users: [{{name: a, user: {{token: {token}}}}}]
"
        )
    }

    /// As Kubernetes replaces what a pod has of a Secret: the whole folder at once, behind a link.
    fn put(folder: &Path, generation: &str, text: &str) {
        fs::create_dir(folder.join(generation)).unwrap();
        fs::write(folder.join(generation).join("config"), text).unwrap();
        symlink(generation, folder.join("new")).unwrap();
        fs::rename(folder.join("new"), folder.join("..data")).unwrap();
    }

    async fn wait_for_a_look() {
        time::pause();
        time::advance(LOOK_EVERY).await;
        time::resume();
    }

    #[tokio::test]
    async fn a_kubeconfig_that_is_replaced_counts_from_then_on() {
        let (url, mut told) = server().await;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        symlink("..data/config", &path).unwrap();
        put(folder.path(), "1", &kubeconfig(&url, "first"));
        let client = connect(Some(&path)).await.unwrap();
        let api = Api::<Namespace>::all(client);
        let mut ask = async || {
            api.list(&ListParams::default()).await.unwrap();
            told.recv().await.unwrap()
        };
        assert_eq!(ask().await, "first");
        // Half of it, as who writes in place leaves it for a moment.
        put(folder.path(), "2", &kubeconfig(&url, "second")[..70]);
        wait_for_a_look().await;
        assert_eq!(ask().await, "first");
        put(folder.path(), "3", &kubeconfig(&url, "second"));
        wait_for_a_look().await;
        assert_eq!(ask().await, "second");
    }

    #[test]
    fn certificates_that_a_kubeconfig_names_are_looked_at_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        let text = kubeconfig("https://localhost", "a");
        let text = text.replace("token: a", "client-certificate: a.crt, client-key: a.key");
        fs::write(&path, text).unwrap();
        let way = Way(Some(path));
        let before = way.files();
        fs::write(folder.path().join("a.crt"), "another").unwrap();
        assert_ne!(way.files(), before);
    }
}
