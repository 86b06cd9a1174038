//! A new configuration for a broker that runs: what can count at once does, the rest is named.

use std::sync::Arc;

use rear_agent_sdk::Chain;
use tracing::{error, info, warn};

use crate::audit::Audit;
use crate::broker::Broker;
use crate::config::{Config, ConfigErrors, Key, Loaded, Reload};
use crate::log::Log;

/// What can be changed while the broker runs.
pub(crate) struct Changeable {
    pub(crate) broker: Arc<Broker>,
    pub(crate) log: Log,
    pub(crate) audit: Audit,
}

impl Changeable {
    /// Takes a new configuration, if it can be used; else the old one stays.
    pub(crate) async fn take(&self, present: &mut Config, new: Result<Loaded, ConfigErrors>) {
        let new = match new {
            Ok(loaded) => loaded.config,
            Err(errors) => return error!(%errors, "the old configuration stays"),
        };
        let changes = present.changes(&new);
        let part = |when| changes.iter().filter(move |key| key.reload == when);
        let names = |when| part(when).map(|key: &&Key| key.name).collect::<Vec<_>>().join(", ");
        // An audit log that was moved away is made anew, also if nothing else has changed.
        if let Err(error) = self.audit.reopen(new.audit_log.as_deref()) {
            let error = Chain(&error);
            return error!(%error, "the audit log cannot be opened: the old configuration stays");
        }
        if let Err(error) = self.log.set_level(&new) {
            error!(error = %Chain(&error), "the level of the log stays");
        }
        if (present.requests_per_second, present.request_burst)
            != (new.requests_per_second, new.request_burst)
        {
            self.broker.limit_to(new.rate_limit());
        }
        self.broker.tell(new.telling());
        if let Err(error) = self.tell_the_store(&new).await {
            error!(%error, "the store's settings stay");
        }
        info!(changed = names(Reload::AtOnce), "the configuration was reloaded");
        if part(Reload::AtRestart).next().is_some() {
            warn!(keys = names(Reload::AtRestart), "these count after a restart");
        }
        *present = new.with_restart_keys_of(present);
    }

    async fn tell_the_store(&self, new: &Config) -> Result<(), String> {
        let (broker, settings) = (self.broker.clone(), new.settings());
        // The store answers after its next batch: nobody else should wait for that.
        let told = tokio::task::spawn_blocking(move || broker.store.reconfigure(settings));
        let told = told.await.map_err(|error| error.to_string())?;
        told.map(drop).map_err(|error| error.to_string())
    }
}
