//! `rear-broker`: the command line.

use std::io::Write;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use rear_api::problem::Names;
use rear_broker::identity::{ADMINISTRATORS, Administrators};
use rear_broker::operations::BindAddress;
use rear_broker::serve::{Options, ServeError, serve};
use rear_engine::{ClusterId, Duration, Policy};
use rear_store::{Commit, Settings};
use tracing_subscriber::EnvFilter;

/// A broker of spare capacity: clusters advertise, ask, and are told.
#[derive(Debug, Parser)]
#[command(name = "rear-broker", version, about, max_term_width = 100)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the API until told to stop
    Serve(Box<Serve>),
    /// Print the description of the API (OpenAPI 3.1, JSON)
    Openapi,
}

#[derive(Debug, Args)]
struct Serve {
    /// Where the ledger is kept; made if it is not there
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The port of the API
    #[arg(long, value_name = "PORT", default_value_t = 8443)]
    http_port: u16,
    /// The address of the API; all interfaces if not given
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V6(Ipv6Addr::UNSPECIFIED))]
    http_address: IpAddr,
    /// A folder with tls.crt, tls.key and ca.crt, and ca.crl if certificates were revoked
    #[arg(long, value_name = "DIR")]
    http_cert_path: PathBuf,
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

/// The ledger's file or the data directory cannot be used, or the disk failed.
const EXIT_DATA: u8 = 74;
/// The certificates cannot be used.
const EXIT_CERTIFICATES: u8 = 78;
/// The address cannot be listened on.
const EXIT_ADDRESS: u8 = 69;
/// Something else.
const EXIT_OTHER: u8 = 1;

fn main() -> ExitCode {
    let options = match CommandLine::parse().command {
        Command::Serve(options) => *options,
        Command::Openapi => return print_description(),
    };
    start_log();
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error, EXIT_OTHER),
    };
    match runtime.block_on(serve(options.into())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error, exit_code(&error)),
    }
}

fn print_description() -> ExitCode {
    match rear_broker::routes::document().to_pretty_json() {
        Ok(text) => {
            // A reader that has seen enough is no error.
            drop(writeln!(std::io::stdout(), "{text}"));
            ExitCode::SUCCESS
        }
        Err(error) => fail(&error, EXIT_OTHER),
    }
}

fn start_log() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}

/// Says what is wrong, with everything that led to it.
fn fail(error: &dyn std::error::Error, code: u8) -> ExitCode {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    eprintln!("rear-broker: {text}");
    ExitCode::from(code)
}

fn exit_code(error: &ServeError) -> u8 {
    match error {
        ServeError::Data { .. }
        | ServeError::File(_)
        | ServeError::Ledger(_)
        | ServeError::Stopped(_) => EXIT_DATA,
        ServeError::Certificates(_) => EXIT_CERTIFICATES,
        ServeError::Listen { .. } => EXIT_ADDRESS,
        ServeError::Signals(_) => EXIT_OTHER,
    }
}

impl From<Serve> for Options {
    fn from(line: Serve) -> Self {
        let policy = Policy {
            stale_after: line.stale_after,
            default_duration: line.default_duration,
            max_duration: line.max_duration,
            ..Policy::default()
        };
        Self {
            data: line.data,
            address: SocketAddr::new(line.http_address, line.http_port),
            certificates: line.http_cert_path,
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
