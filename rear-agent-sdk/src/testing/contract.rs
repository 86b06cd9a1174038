//! The contract that every transport keeps, clause by clause, each checked against a broker.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use rear_agent_sdk::testing::contract;
//! use rear_agent_sdk::{BrokerCommunicator, HttpCommunicator};
//!
//! /// A broker of the test's own, and a folder with certificates for `lender-1`, `borrower-1` and so on.
//! struct Stage;
//!
//! impl contract::Stage for Stage {
//!     fn cluster(&self, name: &str) -> Arc<dyn BrokerCommunicator> {
//!         let http = HttpCommunicator::new("https://127.0.0.1:8443", format!("certs/{name}"));
//!         Arc::new(http.expect("certificates"))
//!     }
//! }
//!
//! # async fn example() {
//! let lacking = contract::check(&Stage).await.expect("every clause is kept");
//! assert!(lacking.is_empty());
//! # }
//! ```

mod clauses;
mod scene;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::communicator::BrokerCommunicator;
use crate::error::{Chain, Error};
use scene::Scene;

/// No clause takes so long with a transport that has deadlines.
const PATIENCE: Duration = Duration::from_mins(2);

/// Where a transport is tried: a broker that nobody else uses.
pub trait Stage: Sync {
    /// A new communicator that speaks for the cluster of this name. Names are `lender-N` and `borrower-N`, with N from 1
    /// to the number of [`CLAUSES`].
    fn cluster(&self, name: &str) -> Arc<dyn BrokerCommunicator>;
}

/// One clause of the contract.
#[derive(Debug, Clone, Copy)]
pub struct Clause {
    /// What the transport keeps.
    pub claim: &'static str,
    check: fn(Scene) -> Checking,
}

type Checking = Pin<Box<dyn Future<Output = Result<(), Ended>> + Send>>;

/// Why a check did not come to its end.
enum Ended {
    Unsupported,
    Broken(String),
}

/// A clause that is not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The claim of the clause.
    pub claim: &'static str,
    /// What was seen instead.
    pub seen: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.claim, self.seen)
    }
}

pub use clauses::CLAUSES;

/// Checks every clause; the claims that could not be checked because the broker or the transport does not have what
/// they need, or else all that were broken.
pub async fn check(stage: &dyn Stage) -> Result<Vec<&'static str>, Vec<Violation>> {
    let (mut lacking, mut broken) = (Vec::new(), Vec::new());
    for (number, clause) in (1..).zip(CLAUSES) {
        let scene = Scene::new(stage, number);
        let stuck = Err(Ended::Broken(format!("it is stuck after {} s", PATIENCE.as_secs())));
        match timeout(PATIENCE, (clause.check)(scene)).await.unwrap_or(stuck) {
            Ok(()) => {}
            Err(Ended::Unsupported) => lacking.push(clause.claim),
            Err(Ended::Broken(seen)) => broken.push(Violation { claim: clause.claim, seen }),
        }
    }
    if broken.is_empty() { Ok(lacking) } else { Err(broken) }
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        match error {
            Error::Unsupported { .. } => Self::Unsupported,
            other => Self::Broken(Chain(&other).to_string()),
        }
    }
}

/// Ends a check if something is not so.
fn ensure(so: bool, seen: impl fmt::Debug) -> Result<(), Ended> {
    if so { Ok(()) } else { Err(Ended::Broken(format!("{seen:?}"))) }
}
