//! A small client of the test's own: HTTP/1.1 over TLS, byte by byte where a claim needs it.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;

use super::pki::{Authority, Identity};

/// No claim takes longer than this; what does is stuck.
const PATIENCE: Duration = Duration::from_secs(90);

/// Where to call, and as whom.
#[derive(Clone)]
pub(crate) struct Client {
    address: SocketAddr,
    config: Arc<ClientConfig>,
}

/// An open connection.
pub(crate) struct Connection {
    stream: StreamOwned<ClientConnection, TcpStream>,
    /// What was read and not used yet.
    rest: Vec<u8>,
}

/// What was answered.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Client {
    pub(crate) fn new(
        address: SocketAddr,
        authority: &Authority,
        identity: Option<&Identity>,
    ) -> Self {
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(authority.certificate.as_bytes()).unwrap())
            .unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let config = match identity {
            None => config.with_no_client_auth(),
            Some(identity) => config
                .with_client_auth_cert(
                    CertificateDer::pem_slice_iter(identity.certificate.as_bytes())
                        .collect::<Result<_, _>>()
                        .unwrap(),
                    PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap(),
                )
                .unwrap(),
        };
        Self { address, config: Arc::new(config) }
    }

    pub(crate) fn at(&self, address: SocketAddr) -> Self {
        Self { address, ..self.clone() }
    }

    /// The same, speaking another protocol.
    pub(crate) fn speaking(&self, protocol: &[u8]) -> Self {
        let mut config = ClientConfig::clone(&self.config);
        config.alpn_protocols = vec![protocol.to_vec()];
        Self { config: Arc::new(config), ..self.clone() }
    }

    pub(crate) fn connect(&self) -> io::Result<Connection> {
        let socket = TcpStream::connect(self.address)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let name = ServerName::try_from("localhost").unwrap();
        let session = ClientConnection::new(self.config.clone(), name).unwrap();
        Ok(Connection { stream: StreamOwned::new(session, socket), rest: Vec::new() })
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.call("GET", path, None)
    }

    pub(crate) fn delete(&self, path: &str) -> Answer {
        self.call("DELETE", path, None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.call("POST", path, Some(body.to_string().as_bytes()))
    }

    pub(crate) fn call(&self, method: &str, path: &str, body: Option<&[u8]>) -> Answer {
        self.connect().unwrap().call(method, path, &[], body).unwrap()
    }
}

impl Connection {
    pub(crate) fn call(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> io::Result<Answer> {
        self.begin(method, path, headers, body)?;
        let answer = self.answer()?;
        super::description::check(method, path, &answer);
        Ok(answer)
    }

    /// Asks, and leaves the answer for later.
    pub(crate) fn begin(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> io::Result<()> {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n");
        for (name, value) in headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        if let Some(body) = body {
            head.extend(["Content-Length: ", &body.len().to_string(), "\r\n"]);
        }
        head.push_str("\r\n");
        self.send(&[head.as_bytes(), body.unwrap_or_default()].concat())
    }

    /// The next frame of HTTP/2: its kind, its flags and what it carries.
    pub(crate) fn frame(&mut self) -> io::Result<(u8, u8, Vec<u8>)> {
        let head = self.exactly(9)?;
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        Ok((head[3], head[4], self.exactly(length)?))
    }

    /// Everything that comes until the other end closes.
    pub(crate) fn until_closed(mut self) -> Vec<u8> {
        while self.more().is_ok() {}
        self.rest
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)?;
        self.stream.flush()
    }

    /// The next answer on this connection.
    pub(crate) fn answer(&mut self) -> io::Result<Answer> {
        let (status, headers) = self.head()?;
        let header = |name: &str| {
            headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.clone())
        };
        let body = if let Some(length) = header("content-length") {
            self.exactly(length.parse().unwrap())?
        } else if header("transfer-encoding").is_some() {
            self.chunks()?
        } else {
            Vec::new()
        };
        Ok(Answer { status, headers, body })
    }

    /// The head of an answer whose body is a stream.
    pub(crate) fn head(&mut self) -> io::Result<(u16, Vec<(String, String)>)> {
        let head = self.line_end(b"\r\n\r\n")?;
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned()));
        Ok((status, headers.collect()))
    }

    /// The next piece of a stream.
    pub(crate) fn chunk(&mut self) -> io::Result<Vec<u8>> {
        let length = self.line_end(b"\r\n")?;
        let length = usize::from_str_radix(String::from_utf8(length).unwrap().trim(), 16).unwrap();
        let chunk = self.exactly(length)?;
        self.exactly(2)?;
        Ok(chunk)
    }

    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let chunk = self.chunk()?;
            if chunk.is_empty() {
                return Ok(body);
            }
            body.extend(chunk);
        }
    }

    fn line_end(&mut self, end: &[u8]) -> io::Result<Vec<u8>> {
        loop {
            if let Some(at) = self.rest.windows(end.len()).position(|window| window == end) {
                let line = self.rest.drain(..at + end.len()).collect();
                return Ok(line);
            }
            self.more()?;
        }
    }

    fn exactly(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.rest.len() < length {
            self.more()?;
        }
        Ok(self.rest.drain(..length).collect())
    }

    fn more(&mut self) -> io::Result<()> {
        let mut buffer = [0; 4096];
        match self.stream.read(&mut buffer)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                self.rest.extend(&buffer[..read]);
                Ok(())
            }
        }
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(found, _)| found == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The body, if the status is this one.
    pub(crate) fn expect(&self, status: u16) -> Value {
        let body = String::from_utf8_lossy(&self.body);
        assert_eq!(self.status, status, "{body}");
        self.json()
    }

    /// The stable code of an error, if the status is this one.
    pub(crate) fn problem(&self, status: u16) -> String {
        let body = self.expect(status);
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        assert_eq!(body["status"], status);
        assert_eq!(body["error"], body["detail"]);
        body["code"].as_str().unwrap().to_owned()
    }
}
