//! The door: takes in what other brokers hand over, and tells them what became of it.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::{Desk, Door, receive, send};
use crate::journal::Decided;
use crate::position::Position;
use crate::records::handed::{DecidedRecord, HandedRecord};

/// So many may be inside at once: each other broker needs one place.
const MAX_INSIDE: usize = 32;

/// For the handshake and the token.
const GREETING: Duration = Duration::from_secs(2);

/// After an error of the listener, which may be short of files.
const BREATH: Duration = Duration::from_millis(200);

/// Lets others in for ever.
pub(in crate::etcd) async fn open(door: Door) {
    let Door { identity, listener, desk, .. } = door;
    let (Ok(listener), Ok(server)) =
        (tokio::net::TcpListener::from_std(listener), identity.server())
    else {
        // Others find nobody, and contend.
        return;
    };
    let acceptor = TlsAcceptor::from(Arc::new(server));
    let places = Arc::new(Semaphore::new(MAX_INSIDE));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(BREATH).await;
            continue;
        };
        let Ok(place) = places.clone().try_acquire_owned() else { continue };
        let (acceptor, desk, token) = (acceptor.clone(), desk.clone(), identity.token);
        tokio::spawn(async move {
            // Whoever is cut off contends: nothing is lost by that.
            drop(welcome(stream, &acceptor, &desk, token).await);
            drop(place);
        });
    }
}

async fn welcome(
    stream: TcpStream,
    acceptor: &TlsAcceptor,
    desk: &Desk,
    token: u128,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let greeted = timeout(GREETING, async {
        let mut stream = acceptor.accept(stream).await?;
        let said = receive(&mut stream).await?;
        Ok::<_, std::io::Error>((stream, said))
    });
    let (mut stream, said) = greeted.await??;
    if !is_token(&said, token) {
        return Err(std::io::Error::other("a stranger"));
    }
    loop {
        let handed = receive(&mut stream).await?;
        let decided = decide(desk, &handed).await.map_err(std::io::Error::other)?;
        let entry = desk.entry_at(decided.position);
        let told = DecidedRecord::of(decided.position, &decided.each, entry).seal();
        // Beside a large entry there is no room for the answer: then it comes without.
        let told =
            told.or_else(|_| DecidedRecord::of(decided.position, &decided.each, Vec::new()).seal());
        send(&mut stream, &told.map_err(std::io::Error::other)?).await?;
    }
}

/// In the same time, wherever the first difference is.
fn is_token(said: &[u8], token: u128) -> bool {
    let token = token.to_be_bytes();
    let differences = said.iter().zip(token).fold(0, |all, (said, wanted)| all | (said ^ wanted));
    said.len() == token.len() && differences == 0
}

async fn decide(
    desk: &Desk,
    handed: &[u8],
) -> Result<Decided, Box<dyn std::error::Error + Send + Sync>> {
    let record = HandedRecord::open(handed)?;
    let ledger = record.ledger();
    let (origin, commands) = record.into_commands()?;
    let nothing = Decided { position: Position::default(), each: vec![None; commands.len()] };
    let Some(take_in) = desk.take_in.get().filter(|_| ledger == desk.ledger) else {
        return Ok(nothing);
    };
    let (tell, told) = oneshot::channel();
    take_in(
        commands,
        origin,
        Box::new(move |decided| {
            // Whoever handed it over may be gone.
            drop(tell.send(decided));
        }),
    );
    // Whoever handed it over finds out by an entry of its own.
    told.await?.ok_or_else(|| "what became of it is not known".into())
}
