//! `rear-broker recover` and `rear-broker confirm-clock`: decisions that a running broker leaves to an administrator.

use clap::Args;
use rear_engine::ClusterId;
use reqwest::Method;
use serde_json::json;

use crate::administrator::{Administrator, Reach};
use crate::cli::{Failure, Said};
use crate::routes::addresses::{CONFIRM_CLOCK, END_RECOVERY};

/// The flags of `recover`.
#[derive(Debug, Args)]
pub struct Recover {
    /// The cluster that will not say what it holds
    #[arg(value_name = "CLUSTER", required_unless_present = "all", conflicts_with = "all")]
    cluster: Option<ClusterId>,
    /// Every cluster, also those that are not known yet
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    reach: Reach,
}

/// The flags of `confirm-clock`.
#[derive(Debug, Args)]
pub struct ConfirmClock {
    #[command(flatten)]
    reach: Reach,
}

impl Recover {
    pub(crate) fn run(self) -> Result<Said, Failure> {
        let (body, who) = match &self.cluster {
            Some(cluster) => (json!({"clusterID": cluster.as_str()}), cluster.to_string()),
            None => (json!({"all": true}), "every cluster".to_owned()),
        };
        let broker = Administrator::new(self.reach)?;
        broker.call(Method::POST, END_RECOVERY, Some(&body))?;
        Ok(Said::done(format!("{who} may get reservations again\n")))
    }
}

impl ConfirmClock {
    pub(crate) fn run(self) -> Result<Said, Failure> {
        let broker = Administrator::new(self.reach)?;
        broker.call(Method::POST, CONFIRM_CLOCK, None)?;
        Ok(Said::done("the broker believes its clock\n"))
    }
}
