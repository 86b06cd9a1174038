//! TLS: which certificate the broker shows, and whose it believes.
//!
//! Nothing of a session is kept for resumption: a resumed session would outlive the expiry and the
//! revocation of the certificate that it was made with.

mod credentials;
mod reload;
mod revocations;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls_pki_types::{CertificateDer, UnixTime};

pub use credentials::{CredentialError, Credentials};
pub use reload::watch;
pub use revocations::ListError;

/// What the broker shows and believes at the moment: swapped as a whole when the files change.
#[derive(Debug)]
pub struct Trust {
    present: ArcSwap<Credentials>,
    /// Counts the swaps, so that a connection notices that it has to be looked at again.
    generation: AtomicU64,
}

impl Trust {
    /// Begins with these.
    #[must_use]
    pub fn new(credentials: Credentials) -> Self {
        Self { present: ArcSwap::from_pointee(credentials), generation: AtomicU64::new(0) }
    }

    /// From now on these count, also for connections that are open.
    pub fn replace(&self, credentials: Credentials) {
        self.present.store(Arc::new(credentials));
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// For the next handshake.
    #[must_use]
    pub fn server_config(&self) -> Arc<ServerConfig> {
        self.present.load().server.clone()
    }

    /// How often the credentials were replaced.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// What the broker shows and believes at the moment.
    #[must_use]
    pub fn credentials(&self) -> Arc<Credentials> {
        self.present.load_full()
    }

    /// Why a chain is not believed (any more), if it is not.
    pub fn verify(&self, chain: &[CertificateDer<'_>], now: UnixTime) -> Result<(), rustls::Error> {
        let (end_entity, others) =
            chain.split_first().ok_or(rustls::Error::NoCertificatesPresented)?;
        self.present.load().clients.verify_client_cert(end_entity, others, now).map(drop)
    }
}
