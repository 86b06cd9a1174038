//! Who may look at the pages: anyone on this machine where only this machine reaches them, administrators elsewhere.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Response};
use axum::middleware::Next;
use axum::response::IntoResponse;
use rear_api::problem::{Code, Problem};
use tower::ServiceExt;

use crate::answer::Failure;
use crate::caller::Connection;
use crate::listen::Answers;

/// Everything comes from here, nothing runs that is not a file of ours, nobody frames it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What every page says to the browser that shows it.
pub(super) async fn with_policy(request: Request, next: Next) -> Response<Body> {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Lets in who comes from this machine and says so: a page from elsewhere can make a browser ask here under a name
/// of its own, and would read the answer.
pub(super) async fn only_nearby(
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    mut request: Request,
    next: Next,
) -> Response<Body> {
    let headers = request.headers();
    if !(address.ip().to_canonical().is_loopback() && asks_for_this_machine(headers)) {
        let detail = "these pages are for this machine: open them as http://localhost";
        return Failure::from(Problem::new(Code::NotAllowed, detail)).into_response();
    }
    if is_of_another_page(headers) {
        let detail = "a page from elsewhere asks: open these pages themselves";
        return Failure::from(Problem::new(Code::NotAllowed, detail)).into_response();
    }
    request.extensions_mut().insert(Arc::new(Connection::nearby(address)));
    next.run(request).await
}

/// Whether a browser says that another site's page asks, and not a person who follows a link. It could not read the answer, and
/// need not have one made.
fn is_of_another_page(headers: &HeaderMap) -> bool {
    let said = |name: &str| headers.get(name).map(HeaderValue::as_bytes);
    let from = said("sec-fetch-site");
    let elsewhere = matches!(from, Some(b"cross-site" | b"same-site"));
    elsewhere && said("sec-fetch-mode") != Some(b"navigate")
}

fn asks_for_this_machine(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name =
        host.rsplit_once(':').filter(|(_, port)| is_port(port)).map_or(host, |(name, _)| name);
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

fn is_port(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The pages where others reach them: over TLS, for administrators.
#[derive(Clone)]
pub struct ForAdministrators(pub Router);

impl Answers for ForAdministrators {
    async fn answer(self, mut request: Request, connection: Arc<Connection>) -> Response<Body> {
        match connection.peer() {
            Err(failure) => return failure.into_response(),
            Ok(peer) if !peer.administrator => {
                let detail = "these pages are for administrators";
                return Failure::from(Problem::new(Code::NotAllowed, detail)).into_response();
            }
            Ok(_) => {}
        }
        request.extensions_mut().insert(connection);
        self.0.oneshot(request).await.into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::{HOST, HeaderMap, HeaderValue, asks_for_this_machine, is_of_another_page};

    #[test]
    fn what_a_page_from_elsewhere_asks_is_told_from_a_link_and_from_our_own_pages() {
        let asks = |site: &'static str, mode: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("sec-fetch-site", HeaderValue::from_static(site));
            headers.insert("sec-fetch-mode", HeaderValue::from_static(mode));
            is_of_another_page(&headers)
        };
        for mode in ["no-cors", "cors", "websocket", "same-origin"] {
            assert!(asks("cross-site", mode) && asks("same-site", mode), "{mode}");
            assert!(!asks("same-origin", mode) && !asks("none", mode), "{mode}");
        }
        assert!(!asks("cross-site", "navigate"));
        assert!(!is_of_another_page(&HeaderMap::new()), "programs say nothing");
    }

    #[test]
    fn only_names_of_this_machine_are_asked_for() {
        let asks = |host: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static(host));
            asks_for_this_machine(&headers)
        };
        for host in ["localhost", "localhost:8082", "127.0.0.1:8082", "[::1]:8082", "LOCALHOST:1"] {
            assert!(asks(host), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:8082",
            "127.0.0.1.evil.example",
            "10.0.0.1:8082",
            "",
            "localhost.evil.example:80",
        ] {
            assert!(!asks(host), "{host}");
        }
        assert!(!asks_for_this_machine(&HeaderMap::new()));
    }
}
