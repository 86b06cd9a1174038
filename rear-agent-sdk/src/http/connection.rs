//! The client that keeps a connection open, rebuilt when the certificate has been rotated.
//!
//! A connection keeps the identity that it was made with, so that new files need a new client; what still runs on
//! the old one is left to end by itself.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rear_engine::ClusterId;
use reqwest::{Client, redirect, retry};
use rustls::ClientConfig;
use tokio::time::Instant;
use tracing::{info, warn};

use super::credentials::{Credentials, Protocols};
use crate::error::{Chain, Error};

/// How often the folder is looked at: soon enough for certificates that live an hour.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Whoever does not take a connection in this time is not there.
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);

/// A peer that vanished is noticed in this time on a connection on which an answer is awaited.
const SIGN_OF_LIFE: Duration = Duration::from_secs(20);

/// Below the time after which the broker closes a connection on which nothing is asked (180 s), so that none is
/// used in the moment of its end.
const IDLE: Duration = Duration::from_mins(2);

pub(super) struct Connection {
    folder: PathBuf,
    protocols: Protocols,
    state: Mutex<State>,
}

struct State {
    credentials: Credentials,
    client: Client,
    looked_at: Instant,
}

impl Connection {
    pub(super) fn new(folder: PathBuf, protocols: Protocols) -> Result<Self, Error> {
        let credentials = Credentials::read(&folder)?;
        let client = client_with(credentials.tls(&folder, protocols)?, &folder)?;
        let state = State { credentials, client, looked_at: Instant::now() };
        Ok(Self { folder, protocols, state: Mutex::new(state) })
    }

    /// The client with the certificate of this time.
    pub(super) fn client(&self) -> Client {
        let mut state = self.lock();
        if state.looked_at.elapsed() >= LOOK_EVERY {
            self.look(&mut state);
        }
        state.client.clone()
    }

    /// How a broker is greeted at this time.
    pub(super) fn tls(&self) -> Result<ClientConfig, Error> {
        self.lock().credentials.tls(&self.folder, self.protocols)
    }

    /// Whom the certificate of this time names.
    pub(super) fn cluster(&self) -> Result<ClusterId, Error> {
        self.lock().credentials.cluster(&self.folder)
    }

    /// Looks at the folder now: the certificate was not accepted. Whether there was another.
    pub(super) fn reload(&self) -> bool {
        self.look(&mut self.lock())
    }

    /// Whether the files have changed. Files in the middle of a change, such as a key that is not the certificate's
    /// yet, are left for the next look.
    fn look(&self, state: &mut State) -> bool {
        state.looked_at = Instant::now();
        match self.changed(&state.credentials) {
            Ok(None) => false,
            Ok(Some((credentials, client))) => {
                info!(folder = %self.folder.display(), "the certificate has been rotated");
                (state.credentials, state.client) = (credentials, client);
                true
            }
            Err(error) => {
                warn!(error = %Chain(&error), "the certificate cannot be read anew: the old one stays");
                false
            }
        }
    }

    fn changed(&self, known: &Credentials) -> Result<Option<(Credentials, Client)>, Error> {
        let found = Credentials::read(&self.folder)?;
        if found == *known {
            return Ok(None);
        }
        let client = client_with(found.tls(&self.folder, self.protocols)?, &self.folder)?;
        Ok(Some((found, client)))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A client with the certificate in a folder, for calls that are no agent's.
pub fn client(folder: &Path) -> Result<Client, Error> {
    client_with(Credentials::read(folder)?.tls(folder, Protocols::Both)?, folder)
}

/// Straight to the broker: no proxy from the environment, no redirect, and no repetition that this crate does not
/// know of.
fn client_with(tls: ClientConfig, folder: &Path) -> Result<Client, Error> {
    Client::builder()
        .tls_backend_preconfigured(tls)
        .https_only(true)
        .no_proxy()
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .connect_timeout(CONNECT_DEADLINE)
        .pool_idle_timeout(IDLE)
        .http2_keep_alive_interval(SIGN_OF_LIFE)
        .http2_keep_alive_timeout(SIGN_OF_LIFE)
        .build()
        .map_err(|error| Error::Credentials { path: folder.into(), source: error.into() })
}
