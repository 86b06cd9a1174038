//! Why a connection broke: whether it was the certificate.
//!
//! With TLS 1.3 a client takes itself for connected before the broker has looked at its certificate. The alert that
//! tells what is wrong with it may come after the first request was written to a closed connection, and is then lost.
//! So a connection is made on which nothing is written, and the broker is listened to.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::failure::of_handshake;
use crate::error::Error;

/// A broker that has nothing to say about the certificate in this time has accepted it.
const LISTEN: Duration = Duration::from_secs(3);

/// What is wrong with a certificate, if that is what is wrong.
pub(super) async fn certificate_trouble(config: ClientConfig, broker: &Url) -> Option<Error> {
    timeout(LISTEN, listen(config, broker)).await.ok()?
}

async fn listen(config: ClientConfig, broker: &Url) -> Option<Error> {
    let host = broker.host_str()?.trim_start_matches('[').trim_end_matches(']');
    let name = ServerName::try_from(host.to_owned()).ok()?;
    let socket = TcpStream::connect((host, broker.port_or_known_default()?)).await.ok()?;
    let heard = match TlsConnector::from(Arc::new(config)).connect(name, socket).await {
        Ok(mut stream) => stream.read_u8().await.map(drop),
        Err(error) => Err(error),
    };
    of_handshake(heard.err()?.into())
}
