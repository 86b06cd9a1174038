//! A stand-in of a broker of the earlier system: five addresses, no idempotency, and `reserved` is what agents send.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::pki::{Authority, Identity};

pub(crate) struct StandIn {
    pub(crate) address: SocketAddr,
    pub(crate) state: Arc<Mutex<State>>,
}

/// What it knows.
#[derive(Default)]
pub(crate) struct State {
    /// By cluster, as its agent has sent it, with the locks in it.
    pub(crate) advertisements: BTreeMap<String, Value>,
    pub(crate) reservations: Vec<Value>,
    /// Every request, as `METHOD path`.
    pub(crate) requests: Vec<String>,
    /// Execute reservations and close the connection instead of answering.
    pub(crate) lose_answers: bool,
    /// Nobody has room.
    pub(crate) is_full: bool,
}

impl StandIn {
    pub(crate) async fn start(authority: &Authority) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        tokio::spawn(accept(listener, acceptor_of_clusters(authority), state.clone()));
        Self { address, state }
    }

    /// How often something was asked for.
    pub(crate) fn count(&self, request: &str) -> usize {
        let state = self.state.lock().unwrap();
        state.requests.iter().filter(|seen| *seen == request).count()
    }
}

/// Takes connections with a certificate of this authority.
pub(crate) fn acceptor(authority: &Authority) -> TlsAcceptor {
    acceptor_as(&authority.server())
}

pub(crate) fn acceptor_as(server: &Identity) -> TlsAcceptor {
    let config = versions().with_no_client_auth();
    let (chain, key) = of(server);
    TlsAcceptor::from(Arc::new(config.with_single_cert(chain, key).unwrap()))
}

/// The same, and asks for the client's certificate.
fn acceptor_of_clusters(authority: &Authority) -> TlsAcceptor {
    let mut roots = RootCertStore::empty();
    let root = CertificateDer::from_pem_slice(authority.certificate.as_bytes()).unwrap();
    roots.add(root).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let config = versions().with_client_cert_verifier(verifier.build().unwrap());
    let (chain, key) = of(&authority.server());
    TlsAcceptor::from(Arc::new(config.with_single_cert(chain, key).unwrap()))
}

fn versions() -> rustls::ConfigBuilder<rustls::ServerConfig, rustls::WantsVerifier> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider);
    config.with_safe_default_protocol_versions().unwrap()
}

fn of(server: &Identity) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let certificate = CertificateDer::from_pem_slice(server.certificate.as_bytes()).unwrap();
    (vec![certificate], PrivateKeyDer::from_pem_slice(server.key.as_bytes()).unwrap())
}

/// The cluster at the other end.
fn peer(stream: &TlsStream<TcpStream>) -> Option<String> {
    let certificates = stream.get_ref().1.peer_certificates()?;
    let (_, certificate) = x509_parser::parse_x509_certificate(certificates.first()?).ok()?;
    let name = certificate.subject().iter_common_name().next()?;
    Some(name.as_str().ok()?.to_owned())
}

/// What was asked.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// `METHOD path`.
    pub(crate) line: String,
    pub(crate) key: Option<String>,
    /// The state that an answer should not be older than.
    pub(crate) at_least: Option<String>,
    body: Vec<u8>,
}

/// The next request of a connection; nothing at its end.
pub(crate) async fn read_request(stream: &mut BufReader<TlsStream<TcpStream>>) -> Option<Request> {
    let mut first = String::new();
    stream.read_line(&mut first).await.ok()?;
    let line = first.rsplit_once(' ')?.0.to_owned();
    let (mut length, mut key, mut at_least) = (0, None, None);
    loop {
        let mut header = String::new();
        stream.read_line(&mut header).await.ok()?;
        let Some((name, value)) = header.trim().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap(),
            "idempotency-key" => key = Some(value.to_owned()),
            "rear-at-least" => at_least = Some(value.to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(Request { line, key, at_least, body })
}

async fn accept(listener: TcpListener, tls: TlsAcceptor, state: Arc<Mutex<State>>) {
    while let Ok((socket, _)) = listener.accept().await {
        let (tls, state) = (tls.clone(), state.clone());
        tokio::spawn(async move { serve(socket, tls, state).await });
    }
}

/// One request after the other, until the client is gone or an answer is lost.
async fn serve(socket: TcpStream, tls: TlsAcceptor, state: Arc<Mutex<State>>) -> Option<()> {
    let mut stream = BufReader::new(tls.accept(socket).await.ok()?);
    let caller = peer(stream.get_ref())?;
    loop {
        let Request { line, body, .. } = read_request(&mut stream).await?;
        let (status, answer) = state.lock().unwrap().answer(&caller, &line, &body)?;
        let answer = answer.to_string();
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        stream.write_all(format!("{head}{answer}").as_bytes()).await.ok()?;
        stream.flush().await.ok()?;
    }
}

impl State {
    /// A status and a body; nothing when the answer is to be lost.
    fn answer(&mut self, caller: &str, request: &str, body: &[u8]) -> Option<(u16, Value)> {
        self.requests.push(request.to_owned());
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        if let Some(id) = request.strip_prefix("GET /api/v1/advertisements/") {
            return Some(match self.advertisements.get(id) {
                Some(advertisement) => (200, advertisement.clone()),
                None => (404, json!({"error": "not found"})),
            });
        }
        match request {
            "GET /healthz" => Some((200, json!("ok"))),
            "POST /api/v1/advertisements" if body["clusterID"] != caller => {
                Some((403, json!({"error": "the clusterID is not the certificate's"})))
            }
            "POST /api/v1/advertisements" => {
                self.advertisements.insert(caller.to_owned(), body.clone());
                Some((200, json!({"advertisement": body})))
            }
            "POST /api/v1/reservations" => {
                let made = self.reserve(caller, &body);
                (!self.lose_answers).then_some(made)
            }
            "GET /api/v1/instructions" => {
                let of_caller = self.reservations.iter();
                let of_caller = of_caller.filter(|made| made["targetClusterID"] == caller);
                Some((200, of_caller.cloned().collect()))
            }
            _ => Some((404, json!({"error": "404 page not found"}))),
        }
    }

    /// Locks on the first other cluster: in its advertisement, as that broker does.
    fn reserve(&mut self, caller: &str, asked: &Value) -> (u16, Value) {
        let others = self.advertisements.iter_mut().filter(|_| !self.is_full);
        let Some((target, advertisement)) = others.into_iter().find(|(id, _)| *id != caller) else {
            return (409, json!({"error": "no suitable cluster"}));
        };
        let made = json!({
            "id": format!("rsv-{caller}-{}", self.reservations.len()),
            "requesterID": caller,
            "targetClusterID": target,
            "requestedResources": asked["requestedResources"],
            "status": {"phase": "Reserved", "message": format!("Use {target}")},
            "createdAt": "2026-01-02T15:04:05Z",
        });
        advertisement["resources"]["reserved"] = asked["requestedResources"].clone();
        self.reservations.push(made.clone());
        (201, made)
    }
}
