//! `rear-broker dev`: a broker with its own authority and a fleet of simulated agents that really speak to it, on this
//! machine only.

mod next_steps;

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rear_engine::{ClusterId, Timestamp};
use rear_fleet::{Fleet, name};
use thiserror::Error;

use crate::config::{ConfigErrors, Environment, Flags, load};
use crate::log::Log;
use crate::pki::{self, Layout, Order, PkiError};
use crate::serve::{House, ServeError, Signals};
use crate::supervisor::Supervisor;
use next_steps::NextSteps;

/// The port of the API, if it is free.
const PORT: u16 = 8443;

/// How often each cluster's own load changes, about: there is something to see, and nothing flickers.
const CHURN: Duration = Duration::from_mins(2);

/// About how often one of them borrows from another, and for how long: at any time a handful of promises live.
const WISHES: Duration = Duration::from_secs(8);
const LASTING: Duration = Duration::from_mins(1);

/// The clusters that the printed lines speak of are left to whoever pastes them.
const PLAYED: usize = 2;

/// How the variables begin that count here.
const LOGGING: &str = "REAR_LOG_";

/// Who may see and release everything.
const ADMINISTRATOR: &str = "admin";

/// What is wanted.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// How many clusters.
    pub clusters: usize,
    /// A directory that is kept.
    pub data: Option<PathBuf>,
    /// The port of the API.
    pub port: Option<u16>,
    /// Whether nobody borrows unless a person has them do so.
    pub calm: bool,
}

/// Why there is nothing to try.
#[derive(Debug, Error)]
pub enum DevError {
    /// There is no place for it.
    #[error("no temporary directory can be made")]
    Place(#[source] std::io::Error),
    /// The certificates cannot be made.
    #[error("the certificates cannot be made")]
    Certificates(#[from] PkiError),
    /// The configuration cannot be used.
    #[error(transparent)]
    Configuration(#[from] ConfigErrors),
    /// The broker does not serve.
    #[error(transparent)]
    Broker(#[from] ServeError),
    /// The clusters cannot speak to it.
    #[error("the simulated clusters cannot be started")]
    Fleet(#[source] rear_agent_sdk::Error),
}

/// Runs until it is told to stop.
pub async fn run(wanted: Wanted, now: Timestamp) -> Result<(), DevError> {
    let place = Place::of(wanted.data)?;
    let names: Vec<ClusterId> = (0..wanted.clusters).map(name).collect();
    let mut signals = Signals::of_a_trial()?;
    let issuing = Issuing { data: place.path().to_owned(), names: names.clone(), now };
    if !issuing.done_before(&mut signals).await? {
        return Ok(());
    }
    let loaded = load(&Flags::default(), &environment(place.path(), wanted.port))?;
    let log = Log::start(&loaded.config).map_err(ServeError::from)?;
    let mut config = loaded.config;
    let mut house = House::build(&config, log).await?;
    let issued = Layout::of(place.path()).issued();
    let url = format!("https://localhost:{}", house.addresses.api.port());
    let mut fleet = Fleet::builder(url.as_str(), &issued).clusters(wanted.clusters).churn(CHURN);
    // It takes two of them to borrow and to lend.
    let lively = !wanted.calm && wanted.clusters >= PLAYED + 2;
    if lively {
        fleet = fleet.bystanders(PLAYED).bursts(1, WISHES).lasting(LASTING);
    }
    let fleet = fleet.start().map_err(DevError::Fleet)?;
    fleet.advertised().await;
    let steps = NextSteps {
        names: &names,
        issued: &issued,
        addresses: &house.addresses,
        kept: place.is_kept(),
        lively,
    };
    // A reader that has seen enough is no error.
    drop(write!(std::io::stdout(), "{steps}"));
    let quiet = Supervisor::of_this_process();
    let unchanged = || load(&Flags::default(), &environment(place.path(), wanted.port));
    let reason = house.stay_open(signals, &mut config, unchanged, &quiet).await;
    fleet.stop().await;
    house.close().await;
    Ok(reason?)
}

/// Where everything is: for a while, or for good.
enum Place {
    Kept(PathBuf),
    ForNow(tempfile::TempDir),
}

impl Place {
    fn of(data: Option<PathBuf>) -> Result<Self, DevError> {
        if let Some(data) = data {
            // Lines that are pasted elsewhere name it.
            return std::path::absolute(data).map(Self::Kept).map_err(DevError::Place);
        }
        let made = tempfile::Builder::new().prefix("rear-dev-").tempdir();
        made.map(Self::ForNow).map_err(DevError::Place)
    }

    fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::ForNow(folder) => folder.path(),
        }
    }

    fn is_kept(&self) -> bool {
        matches!(self, Self::Kept(_))
    }
}

/// What is written last of a certificate.
const LAST: &str = "ca.crt";

/// An authority if there is none, and certificates for those who have none.
struct Issuing {
    data: PathBuf,
    names: Vec<ClusterId>,
    now: Timestamp,
}

impl Issuing {
    /// Whether it is done before someone wants to stop. In any case nothing is written any more afterwards.
    async fn done_before(self, signals: &mut Signals) -> Result<bool, PkiError> {
        let enough = Arc::<AtomicBool>::default();
        let told = enough.clone();
        let mut issuing = tokio::task::spawn_blocking(move || self.run(&told));
        let issued = tokio::select! {
            issued = &mut issuing => issued,
            () = signals.stopping() => {
                enough.store(true, Ordering::SeqCst);
                issuing.await
            }
        };
        issued.unwrap_or_else(|error| resume_unwind(error.into_panic()))?;
        Ok(!enough.load(Ordering::SeqCst))
    }

    fn run(&self, enough: &AtomicBool) -> Result<(), PkiError> {
        let layout = Layout::of(&self.data);
        let administrator: ClusterId =
            ADMINISTRATOR.parse().map_err(|_| PkiError::Unknown(ADMINISTRATOR.into()))?;
        if !layout.authority().exists() {
            pki::init(&self.data, &administrator, &[], self.now)?;
        }
        let clusters = self.names.iter().map(|name| (name, false));
        for (name, administrator) in clusters.chain([(&administrator, true)]) {
            if enough.load(Ordering::SeqCst) {
                break;
            }
            let folder = layout.issued().join(name.as_str());
            if folder.join(LAST).exists() {
                continue;
            }
            if folder.exists() {
                // What was interrupted was given to nobody.
                std::fs::remove_dir_all(&folder).map_err(PkiError::file(&folder))?;
            }
            let order = Order { name: name.clone(), administrator, valid_for: None, out: None };
            pki::issue(&self.data, &order, self.now)?;
        }
        Ok(())
    }
}

/// What the simulated broker is told. Of what others say by environment only how it logs counts: a shell in which a real broker is
/// operated must not bring its ledger, certificates or cluster into a trial.
fn environment(data: &Path, port: Option<u16>) -> Environment {
    let port = port.unwrap_or_else(|| if is_free(PORT) { PORT } else { 0 });
    let anywhere_here = "127.0.0.1:0".to_owned();
    let said = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with(LOGGING));
    let unless_said = [("REAR_LOG_LEVEL", "warn,audit=off".to_owned())];
    let fixed = [
        ("REAR_DATA", data.display().to_string()),
        ("REAR_HTTP_ADDRESS", Ipv4Addr::LOCALHOST.to_string()),
        ("REAR_HTTP_PORT", port.to_string()),
        ("REAR_METRICS_BIND_ADDRESS", anywhere_here.clone()),
        ("REAR_HEALTH_PROBE_BIND_ADDRESS", anywhere_here.clone()),
        ("REAR_OPERATIONS_BIND_ADDRESS", anywhere_here),
        // A trial shows all that there is to see.
        ("REAR_METRICS_PER_CLUSTER", "true".to_owned()),
    ];
    let ours = |(name, value): (&str, String)| (name.to_owned(), value);
    unless_said.into_iter().map(ours).chain(said).chain(fixed.into_iter().map(ours)).collect()
}

fn is_free(port: u16) -> bool {
    TcpListener::bind(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port)).is_ok()
}
