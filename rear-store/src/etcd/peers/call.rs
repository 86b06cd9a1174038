//! The way to another broker's door.

use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::identity::{client, name};
use super::{ANSWER, OpenError, PAUSE, receive, send};
use crate::records::handed::DoorRecord;

/// What came of a call.
pub(in crate::etcd) enum Called {
    /// Nothing was sent.
    NotSent,
    /// Sent, and not answered.
    Unheard,
    /// The answer.
    Answered(Vec<u8>),
}

/// Calls one broker at a time.
pub(in crate::etcd) struct Caller {
    /// Of its own: whoever waits for the answer reads it themselves.
    runtime: Runtime,
    connection: Option<(u128, TlsStream<TcpStream>)>,
    /// Who did not answer, and when.
    silent: Option<(u128, Instant)>,
}

impl Caller {
    pub(in crate::etcd) fn new() -> Result<Self, OpenError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(OpenError::Runtime)?;
        Ok(Self { runtime, connection: None, silent: None })
    }

    /// Hands a message to a broker and waits for its answer.
    pub(in crate::etcd) fn call(
        &mut self,
        broker: u128,
        door: &DoorRecord,
        message: &[u8],
    ) -> Called {
        let silent = self.silent.is_some_and(|(who, at)| who == broker && at.elapsed() < PAUSE);
        if silent {
            return Called::NotSent;
        }
        let kept = self.connection.take().filter(|(to, _)| *to == broker);
        let called = self.runtime.block_on(async {
            let mut stream = match kept {
                Some((_, stream)) => stream,
                None => timeout(ANSWER, connect(door)).await.ok()?.ok()?,
            };
            let asked = async {
                send(&mut stream, message).await?;
                receive(&mut stream).await
            };
            Some((timeout(ANSWER, asked).await, stream))
        });
        match called {
            Some((Ok(Ok(answer)), stream)) => {
                self.connection = Some((broker, stream));
                Called::Answered(answer)
            }
            unanswered => {
                self.silent = Some((broker, Instant::now()));
                if unanswered.is_some() { Called::Unheard } else { Called::NotSent }
            }
        }
    }
}

async fn connect(door: &DoorRecord) -> std::io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(&door.address).await?;
    stream.set_nodelay(true)?;
    let config = client(&door.certificate).map_err(std::io::Error::other)?;
    let name = name().map_err(std::io::Error::other)?;
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    send(&mut stream, &door.token.to_be_bytes()).await?;
    Ok(stream)
}
