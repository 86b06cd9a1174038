//! The command line: the flags of the earlier agent with their names and defaults, and what is new.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use rear_agent_sdk::daemon::BindAddress;
use rear_agent_sdk::{Chain, Length};
use tracing_subscriber::EnvFilter;

use crate::offer::{currency, label, rate};
use crate::resources::definitions_as_yaml;
use crate::run::{RunError, run};

/// The Kubernetes agent of REAR: says what the cluster has, reserves for its users, keeps aside what others were promised.
#[derive(Debug, Parser)]
#[command(
    name = "rear-agent",
    version,
    args_conflicts_with_subcommands = true,
    args_override_self = true
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the definitions of the custom resources, for `kubectl apply -f -`.
    Crds,
}

/// How the agent runs.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// How the broker is reached; without one, only the local Advertisement is kept.
    #[arg(long, default_value = "", hide_default_value = true)]
    pub broker_transport: Transport,
    /// The broker's address for the transport http, such as <https://broker.example:8443>; of brokers that share a
    /// ledger, all of them with commas between, the preferred one first.
    #[arg(long, default_value = "")]
    pub broker_url: String,
    /// The folder with tls.crt, tls.key and ca.crt for the transport http.
    #[arg(long, default_value = "")]
    pub broker_cert_path: String,
    /// The broker cluster's kubeconfig for the transport kubernetes.
    #[arg(long, default_value = "")]
    pub broker_kubeconfig: String,
    /// The namespace of the broker's resources for the transport kubernetes.
    #[arg(long, default_value = "default")]
    pub broker_namespace: String,

    /// This cluster's id; if empty, the certificate's common name, else the UID of the namespace kube-system.
    #[arg(long, default_value = "")]
    pub cluster_id: String,
    /// The name of the local Advertisement.
    #[arg(long, default_value = "cluster-advertisement")]
    pub advertisement_name: String,
    /// The namespace of the local Advertisement.
    #[arg(long, default_value = "default")]
    pub advertisement_namespace: String,
    /// The namespace of instructions; if empty, that of the Advertisement.
    #[arg(long, default_value = "")]
    pub instruction_namespace: String,
    /// How often the state is published without a change; at multiples of it by the clock.
    #[arg(long, default_value = "30s", value_parser = period)]
    pub advertisement_requeue_interval: Duration,

    /// Where /metrics is served: :PORT, HOST:PORT, or 0 for nowhere.
    #[arg(long, default_value = ":8080")]
    pub metrics_bind_address: BindAddress,
    /// Where /healthz and /readyz are served: :PORT, HOST:PORT, or 0 for nowhere.
    #[arg(long, default_value = ":8081")]
    pub health_probe_bind_address: BindAddress,
    /// Have one of several copies work, by a Lease in the namespace `POD_NAMESPACE`.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", action = clap::ArgAction::Set)]
    pub leader_elect: bool,
    /// The agent's own namespace, where the Lease is.
    #[arg(long, env = "POD_NAMESPACE", default_value = "default", hide = true)]
    pub pod_namespace: String,

    /// Count nodes that are not ready or cordoned too, as the earlier agent did.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", action = clap::ArgAction::Set)]
    pub count_unready_nodes: bool,
    /// Resources that count as GPUs.
    #[arg(long, value_delimiter = ',', default_value = "nvidia.com/gpu")]
    pub gpu_resources: Vec<String>,
    /// What a core costs for an hour, such as 0.05; with --memory-cost and --currency.
    #[arg(long, value_parser = rate, requires_all = ["memory_cost", "currency"])]
    pub cpu_cost: Option<String>,
    /// What a GiB of memory costs for an hour; with --cpu-cost and --currency.
    #[arg(long, value_parser = rate, requires_all = ["cpu_cost", "currency"])]
    pub memory_cost: Option<String>,
    /// What a GPU costs for an hour; nothing, if absent.
    #[arg(long, value_parser = rate, requires = "cpu_cost")]
    pub gpu_cost: Option<String>,
    /// The currency of these prices, such as EUR; without prices, this cluster is left out where a request has a price ceiling.
    #[arg(long, value_parser = currency, requires = "cpu_cost")]
    pub currency: Option<String>,
    /// Properties by which requests can select this cluster: KEY=VALUE, with commas between.
    #[arg(long, value_delimiter = ',', value_parser = label)]
    pub labels: Vec<(String, String)>,
    /// Reject promises on this cluster that do not fit any more; never those in use.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", action = clap::ArgAction::Set)]
    pub reject_when_full: bool,

    /// Peer by Liqo, with CLUSTER.kubeconfig from this folder.
    #[arg(long, conflicts_with = "liqo_kubeconfig_secrets")]
    pub liqo_kubeconfig_dir: Option<PathBuf>,
    /// Peer by Liqo, with Secrets CLUSTER-kubeconfig (key: kubeconfig) of the instructions' namespace.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", action = clap::ArgAction::Set)]
    pub liqo_kubeconfig_secrets: bool,
    /// This cluster's kubeconfig for liqoctl; if absent, KUBECONFIG.
    #[arg(long)]
    pub liqo_local_kubeconfig: Option<PathBuf>,
    /// The program that peers.
    #[arg(long, default_value = "liqoctl")]
    pub liqoctl: PathBuf,
    /// How long one run of liqoctl may take.
    #[arg(long, default_value = "5m", value_parser = period)]
    pub liqo_timeout: Duration,
    /// How the gateway of the other side is reached.
    #[arg(long, default_value = "NodePort")]
    pub liqo_gw_server_service_type: String,
}

impl Options {
    /// The namespace of instructions.
    pub(crate) fn instructions(&self) -> &str {
        match self.instruction_namespace.as_str() {
            "" => &self.advertisement_namespace,
            named => named,
        }
    }
}

/// How the broker is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Transport {
    /// There is none.
    #[value(name = "")]
    None,
    /// HTTPS with client certificates.
    Http,
    /// Custom resources on a broker cluster.
    Kubernetes,
}

fn period(text: &str) -> Result<Duration, String> {
    let length: Length = text.parse().map_err(|error| format!("{error}"))?;
    let nanos = u64::try_from(length.as_nanos()).ok().filter(|nanos| *nanos > 0);
    nanos
        .map(Duration::from_nanos)
        .ok_or_else(|| "a length of time above zero is needed".to_owned())
}

/// What clap knows of the command line, for the reference.
#[must_use]
pub fn grammar() -> clap::Command {
    Cli::command()
}

/// Parses, runs, and says how it ended.
#[must_use]
pub fn main() -> ExitCode {
    let Cli { command, options } = Cli::parse();
    let ended = match command {
        Some(Command::Crds) => print_definitions(),
        None => {
            tracing_subscriber::fmt()
                .with_env_filter(
                    EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into()),
                )
                .with_writer(std::io::stderr)
                .init();
            work(options)
        }
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let remedy = error.downcast_ref().and_then(RunError::remedy);
            let remedy = remedy.map(|remedy| format!("\n  {remedy}")).unwrap_or_default();
            // Whoever closed it does not want to know.
            let _ = writeln!(std::io::stderr(), "rear-agent: {}{remedy}", Chain(&*error));
            ExitCode::FAILURE
        }
    }
}

fn print_definitions() -> Result<(), Box<dyn std::error::Error>> {
    Ok(std::io::stdout().write_all(definitions_as_yaml()?.as_bytes())?)
}

/// One thread is enough for what an agent does, and the smallest.
fn work(options: Options) -> Result<(), Box<dyn std::error::Error>> {
    #[cfg(feature = "failpoints")]
    crate::steps::die_where_told()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(run(options))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offer::Offer;

    fn options(arguments: &[&str]) -> Options {
        Cli::try_parse_from(["rear-agent"].iter().chain(arguments)).unwrap().options
    }

    #[test]
    fn flags_have_the_defaults_of_the_earlier_agent() {
        let options = options(&[]);
        assert_eq!(options.broker_transport, Transport::None);
        assert_eq!((options.broker_url.as_str(), options.broker_cert_path.as_str()), ("", ""));
        assert_eq!(options.broker_namespace, "default");
        assert_eq!(options.advertisement_name, "cluster-advertisement");
        assert_eq!(options.advertisement_namespace, "default");
        assert_eq!(options.instruction_namespace, "");
        assert_eq!(options.advertisement_requeue_interval, Duration::from_secs(30));
        assert_eq!(options.metrics_bind_address, ":8080".parse().unwrap());
        assert_eq!(options.health_probe_bind_address, ":8081".parse().unwrap());
        assert!(!options.leader_elect && !options.count_unready_nodes && !options.reject_when_full);
        assert_eq!(options.gpu_resources, ["nvidia.com/gpu"]);
    }

    #[test]
    fn flags_are_written_as_in_go() {
        let options = options(&[
            "--broker-transport=http",
            "--leader-elect",
            "--count-unready-nodes=false",
            "--advertisement-requeue-interval=1m30s",
            "--gpu-resources=nvidia.com/gpu,amd.com/gpu",
        ]);
        assert_eq!(options.broker_transport, Transport::Http);
        assert!(options.leader_elect && !options.count_unready_nodes);
        assert_eq!(options.advertisement_requeue_interval, Duration::from_secs(90));
        assert_eq!(options.gpu_resources.len(), 2);
        assert!(Cli::try_parse_from(["rear-agent", "--advertisement-requeue-interval=0"]).is_err());
        assert!(Cli::try_parse_from(["rear-agent", "--broker-transport=smoke"]).is_err());
    }

    #[test]
    fn a_price_is_whole_and_readable_or_refused() {
        let priced = ["--cpu-cost=0.05", "--memory-cost=0.01", "--currency=EUR"];
        let offer = Offer::of(&options(&priced)).unwrap();
        let cost = offer.cost.unwrap();
        assert_eq!((cost.cpu_cost.as_str(), cost.currency.as_str()), ("0.05", "EUR"));
        assert_eq!(Offer::of(&options(&[])).unwrap(), Offer::default());
        for wrong in [
            &["--cpu-cost=0.05"][..],
            &["--gpu-cost=1"],
            &["--currency=EUR"],
            &["--cpu-cost=-1", "--memory-cost=0", "--currency=EUR"],
            &["--cpu-cost=1", "--memory-cost=0", "--currency=E U R"],
        ] {
            let line = ["rear-agent"].iter().chain(wrong);
            assert!(Cli::try_parse_from(line).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn labels_are_pairs_within_the_limits_of_the_wire() {
        let offer = Offer::of(&options(&["--labels=region=eu,tier=gold"])).unwrap();
        assert_eq!(offer.labels["tier"], "gold");
        assert!(Cli::try_parse_from(["rear-agent", "--labels=region"]).is_err());
        assert!(Offer::of(&options(&[&format!("--labels={}=a", "k".repeat(1000))])).is_err());
    }
}
