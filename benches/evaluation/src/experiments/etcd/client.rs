//! A client of etcd that can do one thing: one connection, HTTP/2, gRPC.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, TE};

use super::message::{self, Message};
use crate::stage::Trouble;

/// An answer that takes longer does not come.
const DEADLINE: Duration = Duration::from_secs(30);

pub(super) struct Client {
    http: reqwest::Client,
    endpoint: String,
}

/// What became of a compare-and-put.
pub(super) struct Answer {
    pub(super) succeeded: bool,
    /// Where the key was last changed.
    pub(super) revision: u64,
}

impl Client {
    pub(super) fn new(endpoint: &str) -> Result<Self, Trouble> {
        // The client of HTTP wants one, also where nothing is encrypted; another thread may have been faster.
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        let http = reqwest::Client::builder().http2_prior_knowledge().timeout(DEADLINE).no_proxy();
        let http = http.build().map_err(|error| other(&error))?;
        Ok(Self { http, endpoint: endpoint.to_owned() })
    }

    pub(super) async fn compare_and_put(
        &self,
        key: &str,
        revision: u64,
        value: &[u8],
    ) -> Result<Answer, Trouble> {
        let answer = self.call("Txn", &message::compare_and_put(key, revision, value)).await?;
        let answer = message::unframed(&answer).ok_or_else(cut_off)?;
        let succeeded = message::number(answer, 2) == 1;
        // A put changes the key at the revision of the answer; a read tells where it was changed last.
        let revision = if succeeded {
            message::inner(answer, &[1]).map_or(0, |header| message::number(header, 3))
        } else {
            message::inner(answer, &[3, 1, 2]).map_or(0, |key| message::number(key, 3))
        };
        Ok(Answer { succeeded, revision })
    }

    /// How often a key was put.
    pub(super) async fn version(&self, key: &str) -> Result<u64, Trouble> {
        let answer = self.call("Range", &message::read(key)).await?;
        let answer = message::unframed(&answer).ok_or_else(cut_off)?;
        Ok(message::inner(answer, &[2]).map_or(0, |key| message::number(key, 4)))
    }

    async fn call(&self, method: &str, message: &Message) -> Result<Vec<u8>, Trouble> {
        let url = format!("{}/etcdserverpb.KV/{method}", self.endpoint);
        let request =
            self.http.post(url).header(CONTENT_TYPE, "application/grpc").header(TE, "trailers");
        let response =
            request.body(message.framed()).send().await.map_err(|error| other(&error))?;
        if let Some(status) = response.headers().get("grpc-status") {
            return Err(Trouble::Other(format!("etcd answers {method} with status {status:?}")));
        }
        Ok(response.bytes().await.map_err(|error| other(&error))?.into())
    }
}

fn cut_off() -> Trouble {
    Trouble::Other("the answer of etcd is cut off".to_owned())
}

fn other(error: &reqwest::Error) -> Trouble {
    Trouble::Other(format!("etcd: {}", rear_agent_sdk::Chain(error)))
}
