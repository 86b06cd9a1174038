//! etcd asked over its JSON gateway: what an operator or an accident does, beside every program that is tested.

use std::io::{Read, Write};
use std::net::TcpStream;

/// Asks one node without TLS.
#[derive(Clone, Debug)]
pub struct Gateway {
    /// Host and port.
    address: String,
}

impl Gateway {
    /// The gateway of a node, such as `http://127.0.0.1:2379`.
    #[must_use]
    pub fn of(endpoint: &str) -> Self {
        Self { address: endpoint.trim_start_matches("http://").to_owned() }
    }

    /// Posts, and returns what is answered with its status; an error in words where nobody answers.
    #[must_use]
    pub fn post(&self, path: &str, body: &str) -> String {
        self.ask(path, body).unwrap_or_else(|error| error.to_string())
    }

    fn ask(&self, path: &str, body: &str) -> std::io::Result<String> {
        let (address, length) = (&self.address, body.len());
        let mut stream = TcpStream::connect(address)?;
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// Puts a value.
    #[must_use]
    pub fn put(&self, key: &str, value: &[u8]) -> String {
        let (key, value) = (base64(key.as_bytes()), base64(value));
        self.post("/v3/kv/put", &format!(r#"{{"key":"{key}","value":"{value}"}}"#))
    }

    /// Removes a key.
    pub fn remove(&self, key: &str) {
        let key = base64(key.as_bytes());
        drop(self.post("/v3/kv/deleterange", &format!(r#"{{"key":"{key}"}}"#)));
    }

    /// Whether this node leads; `None` where it does not answer, or knows no leader.
    #[must_use]
    pub fn leads(&self) -> Option<bool> {
        let status = self.post("/v3/maintenance/status", "{}");
        let (own, leader) = (text_of(&status, "member_id")?, text_of(&status, "leader")?);
        (leader != "0").then_some(own == leader)
    }

    /// Forgets everything but the newest values, and says whether that was done.
    #[must_use]
    pub fn compact(&self) -> bool {
        let answer = self.post("/v3/kv/range", r#"{"key":"Lw=="}"#);
        let Some(revision) = text_of(&answer, "revision") else { return false };
        let body = format!(r#"{{"revision":"{revision}","physical":true}}"#);
        self.post("/v3/kv/compaction", &body).contains("200 OK")
    }

    /// Gives the space back that nothing needs, on this node.
    pub fn defragment(&self) {
        drop(self.post("/v3/maintenance/defragment", "{}"));
    }

    /// Disarms the alarm that there is no space, of every node.
    pub fn disarm(&self) {
        let alarms = self.post("/v3/maintenance/alarm", r#"{"action":"GET"}"#);
        for alarm in alarms.split(r#""memberID":""#).skip(1) {
            let member = alarm.split('"').next().unwrap_or_default();
            let body =
                format!(r#"{{"action":"DEACTIVATE","memberID":"{member}","alarm":"NOSPACE"}}"#);
            drop(self.post("/v3/maintenance/alarm", &body));
        }
    }
}

/// The text of a member, wherever it is.
fn text_of<'a>(answer: &'a str, member: &str) -> Option<&'a str> {
    answer.split(&format!(r#""{member}":""#)).nth(1)?.split('"').next()
}

/// As the gateway writes bytes.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |group: &[u8]| {
        let bits = group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - group.len()));
        let digit = |place: usize| DIGITS[(bits >> (18 - 6 * place) & 63) as usize] as char;
        let padded = move |place| if place > group.len() { '=' } else { digit(place) };
        (0..4).map(padded).collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}
