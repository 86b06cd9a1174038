//! Someone between the program and the real broker, who counts what is asked, and changes what is answered.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

use super::stage::{Stage, runtime};

/// An answer of the broker's, to be changed.
pub(crate) struct Reply {
    /// Such as `200 OK`.
    pub(crate) status: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// The connection is closed instead, and nobody listens any more.
    pub(crate) vanish: bool,
}

impl Reply {
    /// Replaces a header, or leaves it out.
    pub(crate) fn header(&mut self, name: &str, value: Option<&str>) {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.extend(value.map(|value| (name.to_owned(), value.to_owned())));
    }

    /// Changes the body as JSON.
    pub(crate) fn json(&mut self, change: impl FnOnce(&mut serde_json::Value)) {
        let mut body = serde_json::from_str(&self.body).unwrap();
        change(&mut body);
        self.body = body.to_string();
    }
}

type Change = dyn Fn(&str, &mut Reply) + Send + Sync;

/// Listens, forwards, changes.
pub(crate) struct Between {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    broker: SocketAddr,
    /// The certificates with which it speaks to the broker.
    as_whom: PathBuf,
    change: Box<Change>,
    requests: Mutex<Vec<String>>,
    /// While it is closed, no answer gets through.
    open: watch::Sender<bool>,
    listening: watch::Sender<bool>,
}

impl Between {
    /// Before a broker, speaking to it as its administrator; `change` is given each request as `METHOD path`.
    pub(crate) fn before(
        stage: &Stage,
        change: impl Fn(&str, &mut Reply) + Send + Sync + 'static,
    ) -> Self {
        Self::before_as(stage, "admin", change)
    }

    /// The same, speaking to the broker as someone else.
    pub(crate) fn before_as(
        stage: &Stage,
        name: &str,
        change: impl Fn(&str, &mut Reply) + Send + Sync + 'static,
    ) -> Self {
        let as_whom = stage.certificates(name);
        Self::listening(stage, Ipv4Addr::LOCALHOST, &stage.path("data/tls"), as_whom, change)
    }

    /// At an address, showing the certificate of a folder.
    pub(crate) fn at(
        stage: &Stage,
        address: Ipv4Addr,
        shown: &Path,
        change: impl Fn(&str, &mut Reply) + Send + Sync + 'static,
    ) -> Self {
        Self::listening(stage, address, shown, stage.certificates("admin"), change)
    }

    fn listening(
        stage: &Stage,
        address: Ipv4Addr,
        shown: &Path,
        as_whom: PathBuf,
        change: impl Fn(&str, &mut Reply) + Send + Sync + 'static,
    ) -> Self {
        let listening = TcpListener::bind((IpAddr::V4(address), 0));
        let listener = runtime().block_on(listening).unwrap();
        let shared = Arc::new(Shared {
            broker: stage.address(),
            as_whom,
            change: Box::new(change),
            requests: Mutex::default(),
            open: watch::Sender::new(true),
            listening: watch::Sender::new(true),
        });
        let address = listener.local_addr().unwrap();
        runtime().spawn(accept(listener, acceptor(shown), shared.clone()));
        Self { address, shared }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// What was asked so far, as `METHOD path`.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// From now on, answers are held back, or let through again.
    pub(crate) fn hold(&self, held: bool) {
        self.shared.open.send_replace(!held);
    }
}

fn acceptor(folder: &Path) -> TlsAcceptor {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(provider);
    let (chain, key) = identity(folder);
    let config = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    TlsAcceptor::from(Arc::new(config.with_single_cert(chain, key).unwrap()))
}

fn identity(folder: &Path) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let chain = CertificateDer::pem_file_iter(folder.join("tls.crt")).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.join("tls.key")).unwrap();
    (chain.map(Result::unwrap).collect(), key)
}

async fn accept(listener: TcpListener, tls: TlsAcceptor, shared: Arc<Shared>) {
    let mut listening = shared.listening.subscribe();
    loop {
        let socket = tokio::select! {
            _ = listening.wait_for(|listening| !listening) => return,
            accepted = listener.accept() => accepted.unwrap().0,
        };
        let (tls, shared) = (tls.clone(), shared.clone());
        tokio::spawn(async move { serve(socket, tls, shared).await });
    }
}

/// One request after the other, until the program is gone.
async fn serve(socket: TcpStream, tls: TlsAcceptor, shared: Arc<Shared>) -> Option<()> {
    let mut program = BufReader::new(tls.accept(socket).await.ok()?);
    loop {
        let (line, raw) = read_request(&mut program).await?;
        shared.requests.lock().unwrap().push(line.clone());
        let mut broker = BufReader::new(connect(&shared).await?);
        broker.write_all(&raw).await.ok()?;
        if line.contains("/events") {
            tokio::io::copy_bidirectional(&mut program, &mut broker).await.ok()?;
            return None;
        }
        let mut reply = read_reply(&mut broker).await?;
        (shared.change)(&line, &mut reply);
        shared.open.subscribe().wait_for(|open| *open).await.ok()?;
        if reply.vanish {
            shared.listening.send_replace(false);
            return None;
        }
        program.write_all(&reply.bytes()).await.ok()?;
        program.flush().await.ok()?;
    }
}

/// A request as `METHOD path`, and as it is sent on: the broker closes the connection after its answer.
async fn read_request(
    from: &mut BufReader<server::TlsStream<TcpStream>>,
) -> Option<(String, Vec<u8>)> {
    let (first, headers) = read_head(from).await?;
    let line = first.rsplit_once(' ')?.0.to_owned();
    let length = length_of(&headers).unwrap_or(0);
    let mut raw = format!("{first}\r\nconnection: close\r\n");
    for (name, value) in headers.iter().filter(|(name, _)| name != "connection") {
        raw.extend([name.as_str(), ": ", value, "\r\n"]);
    }
    let mut raw = (raw + "\r\n").into_bytes();
    let start = raw.len();
    raw.resize(start + length, 0);
    from.read_exact(&mut raw[start..]).await.ok()?;
    Some((line, raw))
}

async fn read_reply(from: &mut BufReader<client::TlsStream<TcpStream>>) -> Option<Reply> {
    let (first, headers) = read_head(from).await?;
    let status = first.split_once(' ')?.1.to_owned();
    let mut body = vec![0; length_of(&headers)?];
    from.read_exact(&mut body).await.ok()?;
    let kept = headers
        .into_iter()
        .filter(|(name, _)| !["content-length", "connection"].contains(&name.as_str()));
    let body = String::from_utf8(body).unwrap();
    Some(Reply { status, headers: kept.collect(), body, vanish: false })
}

impl Reply {
    fn bytes(&self) -> Vec<u8> {
        let mut head =
            format!("HTTP/1.1 {}\r\ncontent-length: {}\r\n", self.status, self.body.len());
        for (name, value) in &self.headers {
            head.extend([name.as_str(), ": ", value, "\r\n"]);
        }
        format!("{head}\r\n{}", self.body).into_bytes()
    }
}

async fn read_head(
    from: &mut (impl AsyncBufReadExt + Unpin),
) -> Option<(String, Vec<(String, String)>)> {
    let mut first = String::new();
    from.read_line(&mut first).await.ok()?;
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        from.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim().split_once(": ") else { break };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    (!first.is_empty()).then(|| (first.trim().to_owned(), headers))
}

fn length_of(headers: &[(String, String)]) -> Option<usize> {
    let (_, length) = headers.iter().find(|(name, _)| name == "content-length")?;
    length.parse().ok()
}

async fn connect(shared: &Shared) -> Option<client::TlsStream<TcpStream>> {
    let mut roots = rustls::RootCertStore::empty();
    let authority = CertificateDer::from_pem_file(shared.as_whom.join("ca.crt")).unwrap();
    roots.add(authority).unwrap();
    let (chain, key) = identity(&shared.as_whom);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let config = builder.with_root_certificates(roots).with_client_auth_cert(chain, key).unwrap();
    let socket = TcpStream::connect(shared.broker).await.ok()?;
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, socket).await.ok()
}
