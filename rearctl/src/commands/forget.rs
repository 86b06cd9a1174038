//! `rearctl forget`: a cluster is gone for good.

use clap::Args;

use crate::failure::Failure;
use crate::names;
use crate::output::{put, say};
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
        put(&format!("clusters/{cluster}\n"))?;
        say(&format!("{cluster} is forgotten"));
        Ok(())
    }
}
