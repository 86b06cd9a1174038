//! What a command works with: the broker, and where to print.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use rear_agent_sdk::{Error, HttpCommunicator};

use crate::contexts::{self, Context, ContextError, Contexts};
use crate::failure::Failure;
use crate::show::Output;

/// Which broker, and with which certificate.
#[derive(Debug, Clone, Args)]
pub(crate) struct Whom {
    /// The context to use instead of the current one
    #[arg(long, global = true, value_name = "NAME", env = "REARCTL_CONTEXT")]
    pub(crate) context: Option<String>,
    /// The broker's address: `https://HOST:PORT`; of brokers that share a ledger, all of them with commas between
    #[arg(long, global = true, value_name = "URL", env = "REARCTL_BROKER")]
    pub(crate) broker: Option<String>,
    /// A folder with tls.crt, tls.key and ca.crt
    #[arg(long, global = true, value_name = "DIR", env = "REARCTL_CERTS")]
    pub(crate) certs: Option<PathBuf>,
}

impl Whom {
    /// What the flags say, and for the rest the context.
    pub(crate) fn resolve(self) -> Result<Context, ContextError> {
        let Self { context, broker, certs } = self;
        if let (None, Some(broker), Some(certificates)) = (&context, &broker, &certs) {
            return Ok(Context { broker: broker.clone(), certificates: certificates.clone() });
        }
        let contexts = Contexts::read(&contexts::path()?)?;
        let found = contexts.find(context.as_deref());
        let found = match found {
            Err(ContextError::None) if broker.is_some() || certs.is_some() => {
                return Err(ContextError::Half);
            }
            other => other?.clone(),
        };
        Ok(Context {
            broker: broker.unwrap_or(found.broker),
            certificates: certs.unwrap_or(found.certificates),
        })
    }
}

/// What a command works with.
pub(crate) struct Session {
    pub(crate) broker: Arc<HttpCommunicator>,
    /// How it was found.
    pub(crate) context: Context,
    pub(crate) output: Output,
}

impl Session {
    pub(crate) fn new(context: Context, output: Output) -> Result<Self, Failure> {
        let broker = HttpCommunicator::new(&context.broker, &context.certificates)?;
        Ok(Self { broker: Arc::new(broker), context, output })
    }

    /// Waits for an answer of the broker's.
    pub(crate) async fn wait<T>(
        &self,
        doing: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Failure> {
        Ok(self.output.progress.during("waiting for the broker", doing).await?)
    }
}
