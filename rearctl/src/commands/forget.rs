//! `rearctl forget`: a cluster is gone for good.

use clap::Args;
use rear_agent_sdk::communicator::ClusterId;
use serde::Serialize;

use crate::failure::Failure;
use crate::names;
use crate::output::{Format, document, pretty, put, say};
use crate::session::Session;

/// The flags of `forget`.
#[derive(Debug, Args)]
pub(crate) struct Forget {
    /// Which cluster
    #[arg(value_name = "CLUSTER")]
    cluster: String,
    /// Without this, nothing is done: what it promised and was promised ends, and cannot be brought back
    #[arg(long)]
    yes: bool,
}

impl Forget {
    pub(crate) async fn run(self, session: Session) -> Result<(), Failure> {
        let cluster = names::cluster(&self.cluster)?;
        if !self.yes {
            let meant = format!(
                "everything that `{cluster}` promised and was promised would end: say --yes if that is meant"
            );
            return Err(Failure::Usage(meant));
        }
        session.wait(session.broker.forget(&cluster)).await?;
        put(&told(&cluster, session.output.format))?;
        say(&format!("{cluster} is forgotten"));
        Ok(())
    }
}

/// What the API answers. It is made here, since the transport keeps of that answer only that it was a good one.
#[derive(Serialize)]
struct Forgotten<'a> {
    #[serde(rename = "clusterID")]
    cluster_id: &'a str,
}

/// There is nothing left of it to make a row of: people see its name.
fn told(cluster: &ClusterId, format: Format) -> String {
    let forgotten = Forgotten { cluster_id: cluster.as_str() };
    match format {
        Format::Json => pretty(&forgotten) + "\n",
        Format::Yaml => document(&forgotten),
        Format::Table | Format::Wide | Format::Name => format!("clusters/{cluster}\n"),
    }
}
