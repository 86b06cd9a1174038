//! The processes that are measured: a broker, an echo, and a store without a network.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::routing::{MethodRouter, post};
use axum::{Json, Router};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rear_broker::config::{Environment, Flags, load};
use rear_broker::serve::serve;
use rear_broker::tls::{Credentials, Trust};
use rear_engine::testing::{advertisement, ask, cluster, id, resources};
use rear_engine::{Actor, Command as Order, Policy};
use rear_store::clock::{Clock, SystemClock};
use rear_store::{Commit, RedbJournal, Store};
use serde_json::Value;
use tokio_rustls::TlsAcceptor;

/// Ticks of the processor's clock in a second, as Linux counts them for everyone.
const TICKS: u32 = 100;

/// A process of this program in another role.
pub(crate) struct Process {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Process {
    pub(crate) fn start(role: &str, folder: &Path) -> Self {
        let mut child = spawn(role, folder, Stdio::piped());
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let address = lines.next().expect("a line").expect("text").parse().expect("an address");
        Self { child, address }
    }

    /// The processor time that it has used.
    pub(crate) fn cpu(&self) -> Duration {
        cpu_of(self.child.id())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn spawn(role: &str, folder: &Path, out: Stdio) -> Child {
    let program = std::env::current_exe().expect("this program");
    Command::new(program).arg(role).arg(folder).stdout(out).spawn().expect("a process")
}

fn cpu_of(process: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("a process");
    let fields = stat.rsplit_once(')').expect("a name").1;
    let tick =
        |place: usize| fields.split_whitespace().nth(place).and_then(|n| n.parse::<u32>().ok());
    let ticks = tick(11).unwrap_or(0) + tick(12).unwrap_or(0);
    Duration::from_secs(1) * ticks / TICKS
}

/// Plays a role, if it is one.
pub(crate) fn play(role: &str, folder: &Path) -> bool {
    let runtime = || tokio::runtime::Runtime::new().expect("threads");
    match role {
        "--as-echo" => runtime().block_on(echo(folder, post(|body: Bytes| async move { body }))),
        "--as-reading-echo" => {
            let reading = post(|Json(body): Json<Value>| async move { Json(body) });
            runtime().block_on(echo(folder, reading));
        }
        "--as-broker" => runtime().block_on(broker(folder, "data")),
        "--as-fresh-broker" => runtime().block_on(broker(folder, "fresh")),
        "--as-store" => store(folder),
        _ => return false,
    }
    true
}

fn say(line: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("a reader");
}

/// The same TLS and the same HTTP, and a handler that does nothing, or reads the JSON and writes it again.
async fn echo(folder: &Path, echo: MethodRouter) {
    let trust = Trust::new(Credentials::read(folder).expect("certificates"));
    let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    say(&socket.local_addr().expect("a port").to_string());
    let router = Router::new()
        .route("/api/v1/advertisements", echo.clone())
        .route("/api/v1/reservations", echo);
    loop {
        let (stream, _) = socket.accept().await.expect("a connection");
        let acceptor = TlsAcceptor::from(trust.server_config());
        let router = router.clone();
        tokio::spawn(async move {
            stream.set_nodelay(true).expect("a socket");
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let service = TowerToHyperService::new(router);
            let builder = Builder::new(TokioExecutor::new());
            // The end of a connection is no error here.
            drop(builder.serve_connection(TokioIo::new(stream), service).await);
        });
    }
}

async fn broker(folder: &Path, data: &str) {
    // The port is not known before it is bound: bind it, free it, take it.
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("a port");
    drop(free);
    let text = |path: PathBuf| path.into_os_string().into_string().expect("text");
    let keys = [
        ("REAR_DATA", text(folder.join(data))),
        ("REAR_HTTP_PORT", address.port().to_string()),
        ("REAR_HTTP_CERT_PATH", text(folder.to_owned())),
        ("REAR_METRICS_BIND_ADDRESS", "0".to_owned()),
        ("REAR_HEALTH_PROBE_BIND_ADDRESS", "0".to_owned()),
        ("REAR_OPERATIONS_BIND_ADDRESS", "0".to_owned()),
        ("REAR_AUDIT_LOG", text(folder.join("audit.log"))),
    ];
    let keys: Environment = keys.map(|(key, value)| (key.to_owned(), value)).into_iter().collect();
    let read = move || load(&Flags::default(), &keys);
    let loaded = read().expect("a configuration");
    let announce = tokio::spawn(async move {
        while tokio::net::TcpStream::connect(address).await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        say(&address.to_string());
    });
    serve(loaded, read).await.expect("it serves");
    announce.abort();
}

/// What a reservation costs without the network.
pub(crate) struct StoreCost {
    /// Processor time for each reservation.
    pub(crate) cpu: Duration,
    /// How long a commit takes.
    pub(crate) commit: Duration,
}

pub(crate) fn store_cpu(folder: &Path, span: Duration) -> StoreCost {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .arg("--as-store")
        .arg(folder)
        .env("REAR_SPAN", span.as_millis().to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut number =
        || -> u64 { lines.next().expect("a line").expect("text").parse().expect("a number") };
    let (cpu, commit) = (number(), number());
    child.wait().expect("its end");
    StoreCost { cpu: Duration::from_nanos(cpu), commit: Duration::from_nanos(commit) }
}

/// As many callers as the network has, and none of it.
fn store(folder: &Path) {
    let span = std::env::var("REAR_SPAN").expect("a span").parse().expect("a number");
    let path = folder.join("store.redb");
    let journal = RedbJournal::create(&path, 1, Commit::TwoPhase).expect("a new ledger");
    let clock = SystemClock::default();
    let told = advertisement("1000000", "1000Ti", clock.read().wall);
    let store = Store::start(journal, Policy::default(), clock).expect("it starts");
    let advertise =
        Order::Advertise { cluster: cluster("p"), advertisement: Box::new(told), holding: None };
    store.submit(advertise).expect("accepted");
    let (next, stop) = (AtomicU64::new(1), AtomicBool::new(false));
    let stop = Arc::new(stop);
    let before = (cpu_of(std::process::id()), store.meters().read().commits);
    let began = Instant::now();
    thread::scope(|scope| {
        for _ in 0..crate::CALLERS {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let ask = Box::new(ask("r", resources("1m", "1Mi")));
                    let by = Actor::Cluster(cluster("r"));
                    let reserve = Order::Reserve { id: id(number.into()), ask, key: None, by };
                    store.submit(reserve).expect("granted");
                }
            });
        }
        thread::sleep(Duration::from_millis(span));
        stop.store(true, Ordering::Relaxed);
    });
    let used = cpu_of(std::process::id()).saturating_sub(before.0);
    let commits = (store.meters().read().commits - before.1).max(1);
    let made = next.load(Ordering::Relaxed).max(1);
    say(&(u64::try_from(used.as_nanos()).unwrap_or(u64::MAX) / made).to_string());
    say(&(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX) / commits).to_string());
    drop(store);
    std::fs::remove_file(path).expect("it is there");
}
