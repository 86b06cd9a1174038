//! etcd asked over its JSON gateway, beside every broker: what an operator or an accident does.

use std::io::{Read, Write};
use std::net::TcpStream;

/// Posts to a node; what it answers, with its status.
pub(super) fn post(node: &str, path: &str, body: &str) -> String {
    let address = node.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

pub(super) fn put(node: &str, key: &str, value: &[u8]) -> String {
    let (key, value) = (base64(key.as_bytes()), base64(value));
    post(node, "/v3/kv/put", &format!(r#"{{"key":"{key}","value":"{value}"}}"#))
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
