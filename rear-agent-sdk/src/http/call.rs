//! One request and its reply: sent once, within a deadline.

use std::time::Duration;

use rear_api::page::next_of;
use rear_api::revision::{AT_LEAST_HEADER, REVISION_HEADER};
use reqwest::header::{CONTENT_TYPE, HeaderMap, LINK, RETRY_AFTER};
use reqwest::{Client, Method, Response, Url};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::failure::{lost, refusal};
use crate::communicator::{IdempotencyKey, Position};
use crate::error::Error;

/// What agents of the earlier system wait too: enough for a broker that has just started on a slow disk.
pub(super) const DEADLINE: Duration = Duration::from_secs(30);

/// The longest answer that is read: a page of ten thousand instructions is a third of it.
const MAX_ANSWER: usize = 16 << 20;

const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// What is to be sent.
pub(super) struct Call {
    /// What it is called when a broker does not have it.
    pub(super) operation: &'static str,
    pub(super) method: Method,
    /// Its path and query; which broker it is sent to is known when it is.
    pub(super) url: Url,
    pub(super) body: Option<Vec<u8>>,
    pub(super) key: Option<IdempotencyKey>,
    pub(super) deadline: Duration,
}

/// What was answered, and it was a success.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) revision: Option<Position>,
    next: Option<String>,
    body: Vec<u8>,
}

impl Call {
    pub(super) fn new(operation: &'static str, method: Method, url: Url) -> Self {
        Self { operation, method, url, body: None, key: None, deadline: DEADLINE }
    }

    /// Sends it once, to the broker of this address, and takes the whole answer.
    pub(super) async fn send(
        &self,
        client: &Client,
        to: Url,
        at_least: Option<Position>,
    ) -> Result<Reply, Error> {
        let late = |_| Error::TimedOut { seconds: self.deadline.as_secs() };
        timeout(self.deadline, self.exchange(client, to, at_least)).await.map_err(late)?
    }

    async fn exchange(
        &self,
        client: &Client,
        to: Url,
        at_least: Option<Position>,
    ) -> Result<Reply, Error> {
        let response = self.open(client, to, at_least).await?;
        let revision = revision(response.headers());
        let next = header(response.headers(), LINK.as_str()).and_then(next_of).map(str::to_owned);
        Ok(Reply { revision, next, body: whole_body(response).await? })
    }

    /// Sends it once; the head of a successful answer, whose body is still to come.
    async fn open(
        &self,
        client: &Client,
        to: Url,
        at_least: Option<Position>,
    ) -> Result<Response, Error> {
        let mut request = client.request(self.method.clone(), to);
        if let Some(seen) = at_least.filter(|_| self.method == Method::GET) {
            request = request.header(AT_LEAST_HEADER, seen.to_string());
        }
        if let Some(body) = &self.body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.clone());
        }
        if let Some(key) = &self.key {
            request = request.header(IDEMPOTENCY_KEY, key.as_str());
        }
        self.succeeded(request.send().await.map_err(lost)?).await
    }

    pub(super) async fn succeeded(&self, response: Response) -> Result<Response, Error> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let retry_after = header(response.headers(), RETRY_AFTER.as_str())
            .and_then(|seconds| seconds.parse().ok())
            .map(Duration::from_secs);
        let body = whole_body(response).await?;
        Err(refusal(self.operation, status.as_u16(), retry_after, &body))
    }
}

impl Reply {
    /// Reads the body.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        rear_api::body::read_answer(&self.body)
            .map_err(|error| Error::Garbage { detail: error.to_string() })
    }

    /// Where the next page is.
    pub(super) fn next(&self) -> Option<&str> {
        self.next.as_deref()
    }
}

pub(super) fn revision(headers: &HeaderMap) -> Option<Position> {
    header(headers, REVISION_HEADER)?.parse().ok()
}

pub(super) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

pub(super) async fn whole_body(mut response: Response) -> Result<Vec<u8>, Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(lost)? {
        if body.len() + chunk.len() > MAX_ANSWER {
            return Err(Error::Garbage { detail: format!("it has more than {MAX_ANSWER} bytes") });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
