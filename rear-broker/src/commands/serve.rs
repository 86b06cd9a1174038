//! `rear-broker serve`: the flags of a broker.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;
use rear_api::problem::Names;
use rear_engine::{ClusterId, Duration, Policy};
use rear_store::{Commit, Settings};
use tracing_subscriber::EnvFilter;

use super::pasted;
use crate::cli::{Failure, Said, exit};
use crate::identity::{ADMINISTRATORS, Administrators};
use crate::operations::BindAddress;
use crate::pki::Layout;
use crate::serve::{Options, serve};

/// Its flags.
#[derive(Debug, Args)]
pub struct Serve {
    /// Where the ledger is kept; made if it is not there
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The port of the API
    #[arg(long, value_name = "PORT", default_value_t = 8443)]
    http_port: u16,
    /// The address of the API; all interfaces if not given
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V6(Ipv6Addr::UNSPECIFIED))]
    http_address: IpAddr,
    /// A folder with tls.crt, tls.key and ca.crt, and ca.crl if certificates were revoked; what
    /// `init` made below the data directory if not given
    #[arg(long, value_name = "DIR")]
    http_cert_path: Option<PathBuf>,
    /// Where the metrics are: HOST:PORT, :PORT for all interfaces, 0 for nowhere
    #[arg(long, value_name = "ADDRESS", default_value = ":8080")]
    metrics_bind_address: BindAddress,
    /// The organisational unit in the certificates of administrators
    #[arg(long, value_name = "UNIT", default_value = ADMINISTRATORS)]
    administrator_unit: String,
    /// The common name of an administrator's certificate; may be repeated
    #[arg(long = "administrator", value_name = "NAME")]
    administrators: Vec<ClusterId>,
    /// Silence after which a cluster gets no new reservations
    #[arg(long, value_name = "DURATION", default_value = "10m")]
    stale_after: Duration,
    /// The duration of requests that name none; without it they last while their requester is heard of
    #[arg(long, value_name = "DURATION")]
    default_duration: Option<Duration>,
    /// The longest duration that is granted
    #[arg(long, value_name = "DURATION")]
    max_duration: Option<Duration>,
    /// One sync for a commit instead of two: faster, and a torn write is told by checksums alone
    #[arg(long)]
    one_phase_commit: bool,
    /// Leave out the names of other clusters where a reservation is refused
    #[arg(long)]
    hide_names: bool,
}

impl Serve {
    /// Serves until it is told to stop.
    pub(crate) fn run(self) -> Result<Said, Failure> {
        self.look_for_certificates()?;
        start_log();
        let runtime = tokio::runtime::Runtime::new();
        let runtime = runtime.map_err(|error| Failure::new(error, exit::OTHER))?;
        runtime.block_on(serve(self.into()))?;
        Ok(Said::done(""))
    }

    /// Who has forgotten `init` is told so, before a ledger is made.
    fn look_for_certificates(&self) -> Result<(), Failure> {
        let tls = Layout::of(&self.data).tls();
        if self.http_cert_path.is_some() || tls.exists() {
            return Ok(());
        }
        let data = pasted(&self.data);
        let missing = format!(
            "there are no certificates in {}: make them with `rear-broker init --data {data}`, or name a folder with `--http-cert-path`",
            tls.display()
        );
        Err(Failure::new(missing, exit::CERTIFICATES))
    }
}

fn start_log() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}

impl From<Serve> for Options {
    fn from(line: Serve) -> Self {
        let policy = Policy {
            stale_after: line.stale_after,
            default_duration: line.default_duration,
            max_duration: line.max_duration,
            ..Policy::default()
        };
        let certificates = line.http_cert_path.unwrap_or_else(|| Layout::of(&line.data).tls());
        Self {
            data: line.data,
            address: SocketAddr::new(line.http_address, line.http_port),
            certificates,
            metrics: line.metrics_bind_address,
            administrators: Administrators {
                unit: line.administrator_unit,
                named: line.administrators.into_iter().collect(),
            },
            settings: Settings::from(policy),
            commit: if line.one_phase_commit { Commit::OnePhase } else { Commit::TwoPhase },
            names: if line.hide_names { Names::LeftOut } else { Names::Shown },
        }
    }
}
