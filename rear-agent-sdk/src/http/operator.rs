//! What operators ask of a broker beyond what agents need: to forget a cluster, and how the broker itself is.

use rear_api::moment;
use reqwest::Method;
use reqwest::header::{DATE, SERVER};
use rustls::pki_types::CertificateDer;
use serde::Deserialize;
use tokio::time::timeout;

use super::call::{Call, DEADLINE, header, revision, whole_body};
use super::diagnose::certificate_of;
use super::failure::lost;
use super::{HttpCommunicator, outcome};
use crate::communicator::{Answering, ClusterId, Position, Timestamp};
use crate::error::Error;

/// Whether a broker can decide.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Readiness {
    /// Whether it can.
    pub ready: bool,
    /// In its words: why not.
    pub said: String,
    /// Its clock, to the second, when it answered.
    pub clock: Option<Timestamp>,
    /// Which program it is, such as `rear-broker/0.1.0`; absent from a broker of the earlier system.
    pub program: Option<String>,
    /// The state that it is in; absent from a broker of the earlier system.
    pub revision: Option<Position>,
}

/// The part of a broker's description that tells which API it has.
#[derive(Deserialize)]
struct Description {
    info: Info,
}

#[derive(Deserialize)]
struct Info {
    version: String,
}

impl HttpCommunicator {
    /// Ends everything with a cluster: what it promised and what it was promised. Only for administrators.
    ///
    /// Sent once: a second answer could not be told from that of a cluster which was never there.
    pub fn forget(&self, cluster: &ClusterId) -> Answering<'_, ()> {
        let url = self.api(&["advertisements", cluster.as_str()], &[]);
        let call = Call::new("forgetting of clusters", Method::DELETE, url);
        Box::pin(async move { self.once(&call).await.map(drop).map_err(outcome) })
    }

    /// Whether the broker can decide, and what its clock says. Asked once.
    pub fn readiness(&self) -> Answering<'_, Readiness> {
        let late = |_| Error::TimedOut { seconds: DEADLINE.as_secs() };
        Box::pin(async move { timeout(DEADLINE, self.ask_readiness()).await.map_err(late)? })
    }

    async fn ask_readiness(&self) -> Result<Readiness, Error> {
        let (_, url) = self.brokers.aim(&self.url(&["readyz"], &[]));
        let response = self.connection.client().get(url).send().await.map_err(lost)?;
        let (ready, headers) = (response.status().is_success(), response.headers());
        let clock = header(headers, DATE.as_str()).and_then(read_date);
        let program = header(headers, SERVER.as_str()).map(str::to_owned);
        let revision = revision(headers);
        let said = String::from_utf8_lossy(&whole_body(response).await?).trim().to_owned();
        Ok(Readiness { ready, said, clock, program, revision })
    }

    /// Which version of the API the broker says that it has, such as `v1`.
    pub fn api_version(&self) -> Answering<'_, String> {
        Box::pin(async move {
            let reply = self.get("description", self.api(&["openapi.json"], &[])).await?;
            let description: Description = reply.read()?;
            Ok(description.info.version)
        })
    }

    /// The certificate that the broker shows, in DER.
    pub fn broker_certificate(&self) -> Answering<'_, CertificateDer<'static>> {
        Box::pin(
            async move { certificate_of(self.connection.tls()?, self.brokers.asked().1).await },
        )
    }
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`, the one form that servers send.
fn read_date(text: &str) -> Option<Timestamp> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, date) = text.split_once(", ")?;
    let mut parts = date.strip_suffix(" GMT")?.split(' ');
    let (day, month, year, time) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    moment::read(&format!("{year}-{month:02}-{day}T{time}Z")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_of_an_answer_is_a_moment() {
        let read = read_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        assert_eq!(moment::text(read), "1994-11-06T08:49:37Z");
        assert_eq!(read_date("yesterday"), None);
    }
}
