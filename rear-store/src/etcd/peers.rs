//! Brokers that hand commands to the one that was faster, instead of contending with it: a door each, and the way there.
//!
//! Who may read the journal may come in: a broker announces under its lease where its door is, the certificate that it shows
//! there, and a token that whoever comes must know. Nothing rests on what is told here: see [`crate::shared::Winners`].

mod call;
mod door;
mod identity;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::OpenError;
use crate::journal::TakeIn;
use crate::position::Position;
use crate::records::MAX_RECORD;
use crate::records::handed::DoorRecord;

pub(super) use call::{Called, Caller};
pub(super) use door::open;
use identity::Identity;

/// How long an answer is waited for: longer than an append takes, and short beside what a client waits.
const ANSWER: Duration = Duration::from_millis(500);

/// A broker that did not answer is let alone for so long.
const PAUSE: Duration = Duration::from_secs(2);

/// What the door needs of the journal.
pub(super) struct Desk {
    /// Which ledger this is.
    ledger: u128,
    /// Takes commands in, once there is a writer.
    pub(super) take_in: OnceLock<TakeIn>,
    /// The last entry that this broker made.
    made: std::sync::Mutex<Option<(Position, Vec<u8>)>>,
}

/// Where this broker takes commands in, and how it is announced.
pub(super) struct Door {
    pub(super) record: DoorRecord,
    identity: Identity,
    listener: std::net::TcpListener,
    desk: Arc<Desk>,
}

impl Desk {
    pub(super) fn new(ledger: u128) -> Self {
        Self { ledger, take_in: OnceLock::new(), made: std::sync::Mutex::default() }
    }

    /// The entry at this position, if it is the last that was made here.
    fn entry_at(&self, position: Position) -> Vec<u8> {
        let made = self.made.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        made.as_ref().filter(|(at, _)| *at == position).map_or_else(Vec::new, |made| made.1.clone())
    }

    /// An entry was made.
    pub(super) fn note(&self, position: Position, bytes: &[u8]) {
        let mut made = self.made.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *made = Some((position, bytes.to_vec()));
    }
}

impl Door {
    /// Listens at this address, which others can reach.
    pub(super) fn at(address: &str, desk: Arc<Desk>) -> Result<Self, OpenError> {
        let wrong = |source| OpenError::Door { address: address.to_owned(), source };
        let listener = std::net::TcpListener::bind(to_bind(address).as_str()).map_err(wrong)?;
        listener.set_nonblocking(true).map_err(wrong)?;
        let port = listener.local_addr().map_err(wrong)?.port();
        let identity = Identity::new().map_err(|error| wrong(std::io::Error::other(error)))?;
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let record = DoorRecord {
            address: format!("{host}:{port}"),
            token: identity.token,
            certificate: identity.certificate.to_vec(),
        };
        Ok(Self { record, identity, listener, desk })
    }
}

/// An address of this machine is listened at; behind a name, all of them are.
fn to_bind(address: &str) -> String {
    match address.rsplit_once(':') {
        Some((host, port))
            if host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_err() =>
        {
            format!("0.0.0.0:{port}")
        }
        _ => address.to_owned(),
    }
}

/// Writes one message: its length, and its bytes.
async fn send(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> std::io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(std::io::Error::other)?;
    stream.write_all(&length.to_be_bytes()).await?;
    stream.write_all(bytes).await?;
    stream.flush().await
}

/// Reads one message. None is longer than a record.
async fn receive(stream: &mut (impl AsyncRead + Unpin)) -> std::io::Result<Vec<u8>> {
    let length = usize::try_from(stream.read_u32().await?).unwrap_or(usize::MAX);
    if length > MAX_RECORD {
        return Err(std::io::Error::other("a message is too long"));
    }
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}
