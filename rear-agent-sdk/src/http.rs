//! The HTTP transport: JSON over mTLS, to a broker of version 1 or of the earlier system.
//!
//! What it promises beyond the [trait](crate::communicator): a deadline on everything; few, spaced repetitions of what
//! is transient and safe to repeat, on the next broker where several share a ledger; the certificate folder is read
//! again when it has changed; no proxy and no redirect is followed.

mod brokers;
mod call;
mod connection;
mod credentials;
mod diagnose;
mod events;
mod failure;
mod kind;
mod operations;
mod operator;
mod pages;
mod retry;

use std::path::PathBuf;
use std::sync::Arc;

use reqwest::{Method, Url};
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::communicator::{ClusterId, IdempotencyKey, Intent, Reservation, ReservationRequest};
use crate::error::{Chain, Error};
use brokers::Brokers;
use call::{Call, Reply};
use connection::Connection;
use credentials::Protocols;
use diagnose::certificate_trouble;
use kind::{Kind, Learnt};
use retry::pause_after;

/// For the other crates of this workspace alone: it shows a type of an HTTP client, which may become another.
#[doc(hidden)]
pub use connection::client;
#[cfg(feature = "testing")]
pub use events::read_events;
pub use operator::Readiness;
pub use pages::{NextPage, Page, ReservationFilter};

/// Speaks to a broker over HTTPS, with the certificate of a cluster.
///
/// ```no_run
/// use rear_agent_sdk::{BrokerCommunicator, HttpCommunicator};
///
/// # async fn example() -> Result<(), rear_agent_sdk::Error> {
/// let broker = HttpCommunicator::new("https://broker.example:8443", "/etc/rear/certs")?;
/// broker.ping().await?;
/// # Ok(())
/// # }
/// ```
pub struct HttpCommunicator {
    brokers: Arc<Brokers>,
    connection: Connection,
    learnt: Learnt,
    closed: watch::Sender<bool>,
}

impl HttpCommunicator {
    /// To the broker at `https://HOST:PORT`, with `tls.crt`, `tls.key` and `ca.crt` from a folder.
    ///
    /// Where several brokers share a ledger, their addresses with commas between, the preferred one first: when one
    /// does not answer, the next is asked, a reservation under the same key.
    pub fn new(address: &str, certificates: impl Into<PathBuf>) -> Result<Self, Error> {
        Self::with(address, certificates.into(), Protocols::Both)
    }

    /// For whoever asks one thing after the other: HTTP/1.1, which costs both sides less than HTTP/2. What is asked
    /// at the same time has a connection each.
    pub fn one_at_a_time(address: &str, certificates: impl Into<PathBuf>) -> Result<Self, Error> {
        Self::with(address, certificates.into(), Protocols::Http1)
    }

    fn with(address: &str, certificates: PathBuf, protocols: Protocols) -> Result<Self, Error> {
        Ok(Self {
            brokers: Brokers::parse(address)?,
            connection: Connection::new(certificates, protocols)?,
            learnt: Learnt::default(),
            closed: watch::Sender::new(false),
        })
    }

    /// The cluster as which the broker will see this one: the common name of the certificate.
    pub fn cluster(&self) -> Result<ClusterId, Error> {
        self.connection.cluster()
    }

    /// The address of something; whatever an id contains stays one part of the path.
    fn url(&self, path: &[&str], query: &[(&str, &str)]) -> Url {
        self.brokers.url(path, query)
    }

    fn api(&self, path: &[&str], query: &[(&str, &str)]) -> Url {
        self.url(&[&["api", "v1"], path].concat(), query)
    }

    /// Sends it once, or once more if the certificate was not accepted and has just been rotated: then nothing was
    /// executed.
    async fn once(&self, call: &Call) -> Result<Reply, Error> {
        let mut outcome = self.attempt(call).await;
        if matches!(outcome, Err(Error::NoCertificate { .. } | Error::ClockSkew { .. }))
            && self.connection.reload()
        {
            outcome = self.attempt(call).await;
        }
        self.learnt.learn(&outcome);
        outcome
    }

    async fn attempt(&self, call: &Call) -> Result<Reply, Error> {
        let client = self.connection.client();
        let mut closed = self.closed.subscribe();
        self.brokers.look_back(&client);
        let (asked, url) = self.brokers.aim(&call.url);
        let outcome = tokio::select! {
            biased;
            _ = closed.wait_for(|closed| *closed) => Err(Error::Closed),
            outcome = call.send(&client, url, self.brokers.at_least()) => outcome,
        };
        let outcome = outcome.inspect(|reply| self.brokers.saw(reply.revision));
        outcome.inspect_err(|error| self.brokers.turn_from(asked, error))
    }

    /// For what may be repeated safely.
    async fn repeatedly(&self, call: &Call) -> Result<Reply, Error> {
        let mut attempt = 0;
        loop {
            let error = match self.once(call).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            self.pause(error, attempt).await?;
            attempt += 1;
        }
    }

    /// Waits for the next attempt, if there should be one; else the error, with what can be found out about it.
    async fn pause(&self, error: Error, attempt: u32) -> Result<(), Error> {
        if self.brokers.another_is_left(&error, attempt) {
            return Ok(());
        }
        if let Some(pause) = pause_after(&error, attempt / self.brokers.count()) {
            sleep(pause).await;
            return Ok(());
        }
        if !matches!(error, Error::Interrupted { .. }) {
            return Err(error);
        }
        let trouble = certificate_trouble(self.connection.tls()?, self.brokers.asked().1).await;
        Err(trouble.unwrap_or(error))
    }

    async fn get(&self, operation: &'static str, url: Url) -> Result<Reply, Error> {
        self.repeatedly(&Call::new(operation, Method::GET, url)).await
    }

    /// A follow-up, which may be repeated: it names the state that it wants.
    async fn say(
        &self,
        operation: &'static str,
        method: Method,
        path: &[&str],
        body: Option<Vec<u8>>,
    ) -> Result<Reservation, Error> {
        self.kind().await?.must_be_current(operation)?;
        let call = Call { body, ..Call::new(operation, method, self.api(path, &[])) };
        self.repeatedly(&call).await?.read()
    }

    /// Which broker this is.
    async fn kind(&self) -> Result<Kind, Error> {
        if let Some(kind) = self.learnt.kind() {
            return Ok(kind);
        }
        let reply = self.get("health", self.url(&["healthz"], &[])).await?;
        Ok(if reply.revision.is_some() { Kind::Current } else { Kind::Earlier })
    }

    /// Asks under one key until the answer is known; a broker that has no keys is asked once.
    async fn lock(
        &self,
        request: &ReservationRequest,
        intent: &Intent,
    ) -> Result<Reservation, Error> {
        let key: &IdempotencyKey = intent.key();
        let url = self.api(&["reservations"], &[]);
        let call = Call {
            body: Some(text(request)?),
            key: Some(key.clone()),
            ..Call::new("reservations", Method::POST, url)
        };
        let mut attempt = 0;
        let mut lost: Option<(Option<u64>, String)> = None;
        // Whether an attempt may have been granted: then no failure of a later one may say that nothing was.
        let mut open = None;
        loop {
            let kind = self.kind().await.map_err(|error| still_open(open.take(), error))?;
            kind.must_understand(request)?;
            let life = self.learnt.life();
            // Another broker listens now than the one that was asked first, or one that has been restored since: it
            // does not know the key.
            if let Some((asked_in, why)) = &lost
                && (kind == Kind::Earlier || life != *asked_in)
            {
                return Err(Error::OutcomeUnknown { source: why.as_str().into() });
            }
            let error = match self.once(&call).await {
                Ok(reply) => return reply.read(),
                Err(error) => error,
            };
            if kind == Kind::Earlier && !error.was_not_sent() {
                return Err(outcome(error));
            }
            let sent = !error.was_not_sent();
            let why = Chain(&error).to_string();
            let lost_its_answer = error.leaves_open().then(|| why.clone());
            let paused = self.pause(error, attempt).await;
            paused.map_err(|error| still_open(open.take(), error))?;
            open = open.or(lost_its_answer);
            lost = lost.or(sent.then_some((life, why)));
            attempt += 1;
        }
    }
}

/// An error of a request that cannot be repeated.
fn outcome(error: Error) -> Error {
    if error.leaves_open() { Error::OutcomeUnknown { source: error.into() } } else { error }
}

/// Where the answer to an earlier attempt was lost, that nobody can be asked now is the smaller part of the truth.
fn still_open(lost: Option<String>, error: Error) -> Error {
    match lost {
        Some(why) if error.is_transient() => Error::Interrupted { source: why.into() },
        Some(_) | None => error,
    }
}

fn text(body: &impl Serialize) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(body).map_err(|error| Error::Garbage { detail: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_certain_is_told_also_after_an_answer_was_lost() {
        let told = |error| still_open(Some("an answer was lost".to_owned()), error);
        assert!(matches!(told(Error::Restored), Error::Restored));
        assert!(matches!(told(Error::TimedOut { seconds: 1 }), Error::Interrupted { .. }));
    }
}
