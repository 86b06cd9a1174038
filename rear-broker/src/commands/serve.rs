//! `rear-broker serve`: the broker as it is configured.

use clap::Args;
use rear_store::is_missing;

use super::pasted;
use crate::cli::{Failure, Said, exit};
use crate::config::{Config, Environment, Flags, load, load_again};
use crate::pki::Layout;
use crate::serve::serve;

/// A flag for each key of the configuration.
#[derive(Debug, Args)]
pub struct Serve {
    #[command(flatten)]
    flags: Flags,
}

impl Serve {
    /// Serves until it is told to stop.
    pub(crate) fn run(self) -> Result<Said, Failure> {
        #[cfg(feature = "failpoints")]
        crate::kubernetes::steps::die_where_told()
            .map_err(|error| Failure::new(error, exit::OTHER))?;
        let environment = Environment::of_this_process();
        let loaded = load(&self.flags, &environment)?;
        look_for_certificates(&loaded.config)?;
        let runtime = tokio::runtime::Runtime::new();
        let runtime = runtime.map_err(|error| Failure::new(error, exit::OTHER))?;
        let file = loaded.file.clone();
        let again = move || load_again(&self.flags, &environment, file.as_deref());
        runtime.block_on(serve(loaded, again))?;
        Ok(Said::done(""))
    }
}

/// Who has forgotten `init` is told so, before a ledger is made.
fn look_for_certificates(config: &Config) -> Result<(), Failure> {
    let tls = Layout::of(&config.data).tls();
    if config.http_cert_path.is_some() || !is_missing(&tls) {
        return Ok(());
    }
    let data = pasted(&config.data);
    let missing = format!(
        "there are no certificates in {}: make them with `rear-broker init --data {data}`, or name a folder with `--http-cert-path`",
        tls.display()
    );
    Err(Failure::new(missing, exit::CONFIGURATION))
}
