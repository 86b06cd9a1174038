//! A stand-in of a broker of the earlier system: five addresses, no idempotency, and `reserved` is what agents send.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
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

/// What it knows. One provider is enough here.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) advertisement: Option<Value>,
    pub(crate) reservations: Vec<Value>,
    /// Every request, as `METHOD path`.
    pub(crate) requests: Vec<String>,
    /// Execute reservations and close the connection instead of answering.
    pub(crate) lose_answers: bool,
}

impl StandIn {
    pub(crate) async fn start(authority: &Authority) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        tokio::spawn(accept(listener, acceptor(authority), state.clone()));
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
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(server.certificate.as_bytes()).unwrap()],
            PrivateKeyDer::from_pem_slice(server.key.as_bytes()).unwrap(),
        )
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// What was asked.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// `METHOD path`.
    pub(crate) line: String,
    pub(crate) key: Option<String>,
    body: Vec<u8>,
}

/// The next request of a connection; nothing at its end.
pub(crate) async fn read_request(stream: &mut BufReader<TlsStream<TcpStream>>) -> Option<Request> {
    let mut first = String::new();
    stream.read_line(&mut first).await.ok()?;
    let line = first.rsplit_once(' ')?.0.to_owned();
    let (mut length, mut key) = (0, None);
    loop {
        let mut header = String::new();
        stream.read_line(&mut header).await.ok()?;
        let Some((name, value)) = header.trim().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap(),
            "idempotency-key" => key = Some(value.to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(Request { line, key, body })
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
    loop {
        let Request { line, body, .. } = read_request(&mut stream).await?;
        let (status, answer) = state.lock().unwrap().answer(&line, &body)?;
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
    fn answer(&mut self, request: &str, body: &[u8]) -> Option<(u16, Value)> {
        self.requests.push(request.to_owned());
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        match request {
            "GET /healthz" => Some((200, json!("ok"))),
            "GET /api/v1/advertisements/rome" => Some(match &self.advertisement {
                Some(advertisement) => (200, advertisement.clone()),
                None => (404, json!({"error": "not found"})),
            }),
            "POST /api/v1/advertisements" => {
                self.advertisement = Some(body.clone());
                Some((200, json!({"advertisement": body})))
            }
            "POST /api/v1/reservations" => {
                let made = self.reserve(&body);
                (!self.lose_answers).then_some((201, made))
            }
            "GET /api/v1/instructions" => Some((200, json!(self.reservations))),
            _ => Some((404, json!({"error": "404 page not found"}))),
        }
    }

    /// Locks on the one provider: in its advertisement, as that broker does.
    fn reserve(&mut self, asked: &Value) -> Value {
        let made = json!({
            "id": format!("rsv-paris-{}", self.reservations.len()),
            "requesterID": "paris",
            "targetClusterID": "rome",
            "requestedResources": asked["requestedResources"],
            "status": {"phase": "Reserved", "message": "Use rome"},
            "createdAt": "2026-01-02T15:04:05Z",
        });
        if let Some(advertisement) = &mut self.advertisement {
            advertisement["resources"]["reserved"] = asked["requestedResources"].clone();
        }
        self.reservations.push(made.clone());
        made
    }
}
