//! Why a connection broke: whether it was the certificate.
//!
//! With TLS 1.3 a client takes itself for connected before the broker has looked at its certificate. The alert that
//! tells what is wrong with it may come after the first request was written to a closed connection, and is then lost.
//! So a connection is made on which nothing is written, and the broker is listened to.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use rustls::ClientConfig;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::failure::of_handshake;
use crate::error::Error;

/// A broker that has nothing to say about the certificate in this time has accepted it.
const LISTEN: Duration = Duration::from_secs(3);

/// As long as the broker itself waits for a handshake.
const GREETING: Duration = Duration::from_secs(10);

/// What is wrong with a certificate, if that is what is wrong.
pub(super) async fn certificate_trouble(config: ClientConfig, broker: &Url) -> Option<Error> {
    timeout(LISTEN, listen(config, broker)).await.ok()?
}

/// The certificate that a broker shows; what is wrong with it, or with ours, as an error.
pub(super) async fn certificate_of(
    config: ClientConfig,
    broker: &Url,
) -> Result<CertificateDer<'static>, Error> {
    let late = |_| Error::TimedOut { seconds: GREETING.as_secs() };
    let stream =
        timeout(GREETING, greet(config, broker)).await.map_err(late)?.map_err(|error| {
            let text = error.to_string();
            of_handshake(error.into()).unwrap_or_else(|| Error::Unreachable { source: text.into() })
        })?;
    let shown = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
    let none = || Error::Garbage { detail: "it shows no certificate".to_owned() };
    Ok(shown.ok_or_else(none)?.clone().into_owned())
}

async fn listen(config: ClientConfig, broker: &Url) -> Option<Error> {
    let heard = match greet(config, broker).await {
        Ok(mut stream) => stream.read_u8().await.map(drop),
        Err(error) => Err(error),
    };
    of_handshake(heard.err()?.into())
}

/// A connection on which nothing was said yet.
async fn greet(config: ClientConfig, broker: &Url) -> io::Result<TlsStream<TcpStream>> {
    let unusable = || io::Error::from(io::ErrorKind::InvalidInput);
    let host = broker.host_str().ok_or_else(unusable)?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let name = ServerName::try_from(host.to_owned()).map_err(|_| unusable())?;
    let port = broker.port_or_known_default().ok_or_else(unusable)?;
    let socket = TcpStream::connect((host, port)).await?;
    TlsConnector::from(Arc::new(config)).connect(name, socket).await
}
