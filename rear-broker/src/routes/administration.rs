//! For administrators alone: a snapshot of the running ledger, the end of a recovery, a clock that is right after all.

use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Method, Response, StatusCode};
use futures::stream::{self, Stream};
use rear_agent_sdk::Chain;
use rear_api::body::read;
use rear_api::moment;
use rear_api::problem::{Code, Problem};
use rear_api::revision::Position;
use rear_engine::{ClusterId, Command};
use rear_store::backup;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tracing::{error, info};

use super::actions::About;
use super::list::{Nothing, Query};
use super::openapi::Problems;
use crate::answer::{Failure, REVISION, json, revision_value};
use crate::broker::Broker;
use crate::caller::Caller;

/// A snapshot is sent in pieces of this size.
const PIECE: usize = 64 << 10;

/// Pieces that may wait for the network.
const PIECES: usize = 4;

/// Whoever does not take a piece in this time is gone: a snapshot keeps old pages of the file from being used again.
const PIECE_DEADLINE: Duration = Duration::from_mins(1);

/// Snapshots at once: each reads the whole ledger.
pub(crate) const MAX_SNAPSHOTS: usize = 2;

/// When to come again for a snapshot.
const SNAPSHOT_LATER: Duration = Duration::from_secs(30);

/// Whoever may see and release everything.
fn only_administrators(caller: &Caller) -> Result<(), Failure> {
    if caller.is_administrator() {
        return Ok(());
    }
    Err(Problem::new(Code::NotAllowed, "only an administrator may do this").into())
}

/// The whole ledger as of one commit, while the broker goes on.
#[utoipa::path(
    get,
    path = "/api/v1/snapshot",
    operation_id = "saveSnapshot",
    responses(
        (status = 200, content_type = "application/octet-stream", body = Vec<u8>, description = "A snapshot, whose last bytes are its checksum"),
        Problems
    )
)]
pub(super) async fn snapshot(
    State(broker): State<Arc<Broker>>,
    caller: Caller,
    _: Query<Nothing>,
    method: Method,
) -> Result<Response<Body>, Failure> {
    only_administrators(&caller)?;
    if method == Method::HEAD {
        // Nobody would take it.
        return Ok(handed_out(Body::empty(), broker.store.view().position()));
    }
    let Ok(place) = broker.snapshots.clone().try_acquire_owned() else {
        let problem = Problem::new(Code::TooMany, "too many snapshots are being saved");
        return Err(Failure::later(problem, SNAPSHOT_LATER));
    };
    let (pieces, waiting) = mpsc::channel(PIECES);
    let (whole, is_whole) = oneshot::channel();
    let position = broker.store.view().position();
    let reader = broker.store.reader();
    let by = caller.id().clone();
    let network = Handle::current();
    tokio::task::spawn_blocking(move || {
        let sender = Pieces { pieces, network };
        let mut out = BufWriter::with_capacity(PIECE, sender);
        let written = backup::write(&*reader, &mut out);
        match written.and_then(|summary| Ok(out.flush().map(|()| summary)?)) {
            Ok(summary) => {
                info!(%by, rows = summary.rows, bytes = summary.bytes, "a snapshot was saved");
                // Whoever has gone does not hear it.
                let _gone = whole.send(());
            }
            Err(error) => {
                error!(%by, error = %Chain(&error), "a snapshot was not saved");
            }
        }
        drop(place);
    });
    Ok(handed_out(Body::from_stream(streamed(waiting, is_whole)), position))
}

/// The pieces as a body, which ends well only if all of them were written: otherwise the connection breaks off, so that nobody
/// takes it for whole.
fn streamed(
    pieces: mpsc::Receiver<Bytes>,
    is_whole: oneshot::Receiver<()>,
) -> impl Stream<Item = io::Result<Bytes>> {
    stream::unfold(Some((pieces, is_whole)), |rest| async move {
        let (mut pieces, is_whole) = rest?;
        if let Some(piece) = pieces.recv().await {
            return Some((Ok(piece), Some((pieces, is_whole))));
        }
        let broken = is_whole.await.is_err();
        broken.then(|| (Err(io::Error::other("the snapshot was not saved")), None))
    })
}

fn handed_out(body: Body, position: Position) -> Response<Body> {
    let mut response = Response::new(body);
    let kind = HeaderValue::from_static("application/octet-stream");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response.headers_mut().insert(REVISION, revision_value(position));
    response
}

/// Sends what is written to it.
struct Pieces {
    pieces: mpsc::Sender<Bytes>,
    network: Handle,
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = Bytes::copy_from_slice(bytes);
        let sending = tokio::time::timeout(PIECE_DEADLINE, self.pieces.send(piece));
        match self.network.block_on(sending) {
            Ok(Ok(())) => Ok(bytes.len()),
            Ok(Err(_)) => Err(io::ErrorKind::BrokenPipe.into()),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// For whom nobody waits any longer: one cluster, or all of them.
#[derive(Debug, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Recovered {
    /// The cluster; with `all` it is left out.
    #[serde(rename = "clusterID", skip_serializing_if = "Option::is_none")]
    cluster_id: Option<String>,
    /// Whether every cluster is meant, also those that are not known yet.
    #[serde(default)]
    all: bool,
}

impl Recovered {
    /// `None` is everyone. Nobody says that by leaving something out.
    fn meant(&self) -> Result<Option<ClusterId>, Failure> {
        let invalid = |detail: String| Failure::from(Problem::new(Code::Invalid, detail));
        match (&self.cluster_id, self.all) {
            (Some(id), false) => {
                id.parse().map(Some).map_err(|error| invalid(format!("clusterID: {error}")))
            }
            (None, true) => Ok(None),
            (None, false) | (Some(_), true) => {
                Err(invalid("either clusterID or all: true".to_owned()))
            }
        }
    }
}

/// After a restore: does not wait any longer for what a cluster holds.
#[utoipa::path(
    post,
    path = "/api/v1/recovery/end",
    operation_id = "endRecovery",
    request_body = Recovered,
    responses((status = 200, body = Recovered, description = "It may get reservations again"), Problems)
)]
pub(super) async fn end_recovery(
    State(broker): State<Arc<Broker>>,
    caller: Caller,
    _: Query<Nothing>,
    body: Body,
) -> Result<Response<Body>, Failure> {
    only_administrators(&caller)?;
    let asked: Recovered = read(&caller.whole_body(body).await?)?;
    let cluster = asked.meant()?;
    let object = cluster.as_ref().map_or_else(|| "all".to_owned(), ToString::to_string);
    let answer = broker.submit(Command::EndRecovery { cluster, by: caller.actor() }).await?;
    let mut response = json(StatusCode::OK, &asked, answer.position);
    response.extensions_mut().insert(About { object: Some(object), on_behalf_of: None });
    Ok(response)
}

/// The broker's time after it was confirmed.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Confirmed {
    /// What time it is now.
    time: String,
}

/// The clock is right, however far it jumped: what is due by it ends.
#[utoipa::path(
    post,
    path = "/api/v1/clock/confirm",
    operation_id = "confirmClock",
    responses((status = 200, body = Confirmed, description = "The clock is believed"), Problems)
)]
pub(super) async fn confirm_clock(
    State(broker): State<Arc<Broker>>,
    caller: Caller,
    _: Query<Nothing>,
) -> Result<Response<Body>, Failure> {
    only_administrators(&caller)?;
    let confirming = broker.clone();
    // It waits for a batch, as a thread: the store has no other way to be told.
    let confirmed = tokio::task::spawn_blocking(move || confirming.store.confirm_clock()).await;
    let confirmed = confirmed.map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
    let answer = confirmed.map_err(|error| Failure::of(&error, broker.telling().names))?;
    let time = moment::text(broker.store.view().now());
    Ok(json(StatusCode::OK, &Confirmed { time }, answer.position))
}

#[cfg(test)]
mod tests {
    use futures::StreamExt;

    use super::*;

    /// What comes of as many pieces as may wait, and of what is said after them.
    async fn ends(whole: bool) -> Vec<bool> {
        let (pieces, waiting) = mpsc::channel(PIECES);
        let (say, is_whole) = oneshot::channel();
        for _ in 0..PIECES {
            pieces.try_send(Bytes::from_static(b"piece")).unwrap();
        }
        // Nobody has taken any of it yet.
        drop(pieces);
        if whole {
            say.send(()).unwrap();
        } else {
            drop(say);
        }
        streamed(waiting, is_whole).map(|piece| piece.is_ok()).collect().await
    }

    #[tokio::test]
    async fn a_snapshot_that_fails_while_its_pieces_wait_breaks_off() {
        assert_eq!(ends(true).await, [true; PIECES]);
        assert_eq!(ends(false).await, [true, true, true, true, false]);
    }
}
