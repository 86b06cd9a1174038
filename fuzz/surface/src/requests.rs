//! Requests of anyone to a whole broker in this process: each gets an answer that is no failure of the broker, and in the end
//! its books are right. A fuzz target and a test of the broker look at inputs with it.
//!
//! An input is a script of requests, parted by a zero byte, each as text: `WHO METHOD ADDRESS`, lines of headers, an empty line,
//! the body. WHO is the first letter of a cluster, `a` for an administrator, `n` for someone without a certificate.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use rear_broker::audit::Audit;
use rear_broker::broker::{Broker, Telling};
use rear_broker::caller::Connection;
use rear_broker::identity::Administrators;
use rear_broker::limits::RateLimit;
use rear_broker::listen::Answers;
use rear_broker::metrics::Metrics;
use rear_broker::routes::Api;
use rear_broker::tls::{Credentials, Trust};
use rear_engine::audit::{Books, books};
use rear_store::clock::SystemClock;
use rear_store::{Memory, Settings, Store};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use tokio::sync::watch;
use tokio::time::timeout;

const NAMES: [&str; 4] = ["rome", "paris", "oslo", "admin"];

/// More requests of one input are left out: what they could find is found sooner by shorter ones.
const MAX_REQUESTS: usize = 24;

/// Questions for news are held much longer: who waits is gone by then.
const PATIENCE: Duration = Duration::from_millis(25);

/// Who everyone is.
struct People {
    trust: Arc<Trust>,
    chains: [Vec<CertificateDer<'static>>; 4],
}

impl People {
    fn get() -> &'static Self {
        static PEOPLE: OnceLock<People> = OnceLock::new();
        PEOPLE.get_or_init(|| {
            let folder = tempfile::tempdir().expect("a folder");
            let ids = NAMES.map(|name| name.parse().expect("an id"));
            rear_fleet::make_certificates(folder.path(), ids).expect("certificates");
            let credentials = Credentials::read(&folder.path().join("broker"));
            let chains = NAMES.map(|name| {
                let file = folder.path().join(name).join("tls.crt");
                let chain = CertificateDer::pem_file_iter(file).expect("certificates");
                chain.map(|certificate| certificate.expect("a certificate")).collect()
            });
            Self { trust: Arc::new(Trust::new(credentials.expect("credentials"))), chains }
        })
    }

    fn connection(&self, who: &str) -> Arc<Connection> {
        let administrators = Administrators {
            named: ["admin".parse().expect("an id")].into(),
            ..Default::default()
        };
        let place = NAMES.iter().position(|name| name.starts_with(who));
        let chain = place.map(|place| &*self.chains[place]).unwrap_or_default();
        let address: SocketAddr = ([127, 0, 0, 1], 1).into();
        Arc::new(Connection::new(chain, &administrators, &self.trust, address))
    }
}

/// Does all requests of an input.
pub fn check(bytes: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime").block_on(all(bytes));
}

async fn all(bytes: &[u8]) {
    let journal = Memory::new(9, 1, 1).expect("a ledger in memory");
    let store = Store::start(journal, Settings::default(), SystemClock::default());
    let (_stop, stopping) = watch::channel(false);
    let often = NonZeroU32::MAX;
    let broker = Arc::new(Broker::new(
        store.expect("a store"),
        Telling::default(),
        Arc::new(Metrics::new()),
        stopping,
        RateLimit::new(often, often),
        Audit::open(None).expect("an audit log"),
    ));
    let api = Api::new(broker.clone());
    for request in bytes.split(|byte| *byte == 0).take(MAX_REQUESTS) {
        let Some((who, request)) = read(request) else { continue };
        let connection = People::get().connection(&who);
        let wants_a_body = request.method() != Method::HEAD;
        let answer = timeout(PATIENCE, api.clone().answer(request, connection)).await;
        if let Ok(response) = answer {
            look_at(response, wants_a_body).await;
        }
    }
    let view = broker.store.view();
    assert_eq!(books(&Books::of(view.fleet())), Vec::new());
}

/// Who asks, and for what; nothing if HTTP itself would not let it through.
fn read(bytes: &[u8]) -> Option<(String, Request<Body>)> {
    let end = bytes.windows(2).position(|pair| pair == b"\n\n");
    let (head, body) = end.map_or((bytes, &[][..]), |end| (&bytes[..end], &bytes[end + 2..]));
    let mut lines = std::str::from_utf8(head).ok()?.lines();
    let mut words = lines.next()?.splitn(3, ' ');
    let (who, method, address) = (words.next()?, words.next()?, words.next()?);
    if who.len() != 1 {
        return None;
    }
    let mut request = Request::builder().method(method).uri(address);
    for line in lines {
        let (name, value) = line.split_once(": ")?;
        request = request.header(name, value);
    }
    Some((who.to_owned(), request.body(Body::from(body.to_vec())).ok()?))
}

async fn look_at(response: Response<Body>, wants_a_body: bool) {
    let (head, body) = response.into_parts();
    assert_ne!(head.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(head.headers.contains_key("rear-revision"));
    let kind = head.headers.get("content-type").and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or_default().to_owned();
    // A stream of events has no end.
    let Ok(body) = timeout(PATIENCE, body.collect()).await else { return };
    let body = body.expect("an answer arrives whole").to_bytes();
    if wants_a_body && kind.ends_with("json") {
        let read: Result<serde_json::Value, _> = serde_json::from_slice(&body);
        assert!(read.is_ok(), "{}: {}", head.status, String::from_utf8_lossy(&body));
    }
    assert!(head.status.is_success() || kind == "application/problem+json", "{}", head.status);
}
