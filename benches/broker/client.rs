//! A caller: one connection that is kept, HTTP/1.1, no more work than needed.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::children::Process;

/// When the first advertisement is made, by the agent's clock.
const MIDNIGHT: &str = "00:00:00";

/// The name of a caller.
pub(crate) fn name(number: usize) -> String {
    format!("cluster-{number}")
}

pub(crate) struct Connection {
    stream: StreamOwned<ClientConnection, TcpStream>,
    advertisement: String,
    /// How often it was said.
    said: u32,
    request: Vec<u8>,
}

impl Connection {
    pub(crate) fn open(process: &Process, folder: &Path, name: &str) -> Self {
        let mut roots = RootCertStore::empty();
        let certificate =
            |name: &str| CertificateDer::from_pem_file(folder.join(name)).expect("a certificate");
        roots.add(certificate("ca.crt")).expect("an authority");
        let key = PrivateKeyDer::from_pem_file(folder.join(format!("{name}.key"))).expect("a key");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_client_auth_cert(vec![certificate(&format!("{name}.crt"))], key)
            .expect("a pair");
        let socket = TcpStream::connect(process.address).expect("a listener");
        socket.set_nodelay(true).expect("a socket");
        let server = ServerName::try_from("localhost").expect("a name");
        let session = ClientConnection::new(Arc::new(config), server).expect("a session");
        Self {
            stream: StreamOwned::new(session, socket),
            advertisement: advertisement(name),
            said: 0,
            request: post(
                "/api/v1/reservations",
                r#"{"requestedResources":{"cpu":"1m","memory":"1Mi"},"duration":"1h"}"#,
            ),
        }
    }

    /// The same as before but for the time, as most are.
    pub(crate) fn advertise(&mut self) {
        let (minutes, second) = (self.said / 60, self.said % 60);
        let time = format!("{:02}:{:02}:{second:02}", minutes / 60, minutes % 60);
        self.said += 1;
        let body = self.advertisement.replace(MIDNIGHT, &time);
        self.ask(&post("/api/v1/advertisements", &body));
    }

    /// The address of what is granted; an echo has none.
    pub(crate) fn reserve(&mut self) -> String {
        let bytes = self.request.clone();
        let head = self.ask(&bytes);
        head.lines().find_map(|line| line.strip_prefix("location: ")).unwrap_or_default().to_owned()
    }

    pub(crate) fn release(&mut self, address: &str) {
        let head = format!("DELETE {address} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        self.ask(head.as_bytes());
    }

    /// The revision of the instructions, at once or when there is news.
    pub(crate) fn instructions(&mut self, after: Option<&str>) -> String {
        let query = after.map_or(String::new(), |after| format!("?wait=30s&after={after}"));
        let head = format!("GET /api/v1/instructions{query} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let answer = self.ask(head.as_bytes());
        let found = answer.lines().find_map(|line| line.strip_prefix("rear-revision: "));
        found.expect("a revision").to_owned()
    }

    /// The head of the answer.
    fn ask(&mut self, bytes: &[u8]) -> String {
        self.stream.write_all(bytes).expect("a listener");
        let mut answer = Vec::new();
        let mut buffer = [0; 8192];
        loop {
            let read = self.stream.read(&mut buffer).expect("an answer");
            assert!(read > 0, "the connection was closed");
            answer.extend_from_slice(&buffer[..read]);
            let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") else {
                continue;
            };
            let head = String::from_utf8_lossy(&answer[..end]).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.expect("a length").parse().expect("a number");
            if answer.len() >= end + 4 + length {
                assert!(head.starts_with("http/1.1 20"), "{head}");
                return head;
            }
        }
    }
}

fn post(path: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

fn advertisement(name: &str) -> String {
    let all = r#"{"cpu":"1000000","memory":"1000Ti"}"#;
    format!(
        r#"{{"clusterID":"{name}","clusterName":"{name}","timestamp":"2026-01-02T{MIDNIGHT}Z","resources":{{"capacity":{all},"allocatable":{all},"allocated":{{"cpu":"950m","memory":"512Mi"}},"available":{all}}}}}"#
    )
}
