//! Listeners without TLS, for those who watch over the broker: with the same limits, because anyone may reach them.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use axum::response::IntoResponse;
use futures::FutureExt;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tower::ServiceExt;

use super::converse::{Protocol, converse};
use super::places::Places;
use super::taking::Takers;
use super::{not_accepted, stopped};
use crate::limits::MAX_OPERATORS;

/// Answers until it is time to stop. Whoever comes when all places are taken is closed without a word, so that the files of
/// the process are left for the API.
pub async fn run(socket: TcpListener, router: Router, mut stopping: watch::Receiver<bool>) {
    let places = Places::new(MAX_OPERATORS);
    let takers = Arc::<Takers>::default();
    let mut watching = std::pin::pin!(takers.watch());
    loop {
        let accepted = tokio::select! {
            accepted = socket.accept() => accepted,
            () = stopped(&mut stopping) => return,
            never = &mut watching => match never {},
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                not_accepted(&error).await;
                continue;
            }
        };
        let Some(place) = places.take() else { continue };
        let (router, takers, stopping) = (router.clone(), takers.clone(), stopping.clone());
        tokio::spawn(async move {
            let answer = |mut request: Request<Body>| {
                request.extensions_mut().insert(ConnectInfo::<SocketAddr>(address));
                router.clone().oneshot(request).map(IntoResponse::into_response)
            };
            converse(stream, Protocol::Http1, &takers, address, stopping, answer).await;
            drop(place);
        });
    }
}
