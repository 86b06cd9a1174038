//! Calls of an administrator to a broker that runs: for commands that its own files cannot answer while it has them.

use std::io::{self, Read};
use std::path::PathBuf;

use clap::Args;
use rear_agent_sdk::http::client;
use rear_api::problem::Problem;
use reqwest::{Client, Method, Response, Url};
use serde_json::Value;
use thiserror::Error;
use tokio::runtime::Runtime;

/// How to reach a broker as its administrator.
#[derive(Debug, Clone, Args)]
pub struct Reach {
    /// The broker, as https://HOST:PORT
    #[arg(long, value_name = "URL", default_value = "https://localhost:8443", value_parser = address)]
    pub url: Url,
    /// A folder with tls.crt, tls.key and ca.crt of an administrator
    #[arg(long, value_name = "DIR")]
    pub certificates: PathBuf,
}

/// Nobody speaks to an administrator without TLS.
pub(crate) fn address(text: &str) -> Result<Url, String> {
    let url: Url = text.parse().map_err(|error| format!("{error}: it is https://HOST:PORT"))?;
    match (url.scheme(), url.has_host()) {
        ("https", true) => Ok(url),
        _ => Err("it is https://HOST:PORT".to_owned()),
    }
}

/// Why a call came to nothing.
#[derive(Debug, Error)]
pub enum CallError {
    /// There is no client to be had.
    #[error("no call can be made")]
    Runtime(#[source] io::Error),
    /// The certificates cannot be used.
    #[error("the certificates cannot be used")]
    Certificates(#[source] rear_agent_sdk::Error),
    /// The broker does not answer.
    #[error("{url} does not answer")]
    Unreachable {
        /// Where it was looked for.
        url: Url,
        /// Why not.
        source: reqwest::Error,
    },
    /// The broker says no.
    #[error("the broker answers {status}: {detail}")]
    Refused {
        /// The status.
        status: u16,
        /// What it says.
        detail: String,
    },
}

/// A broker, and who calls it.
pub struct Administrator {
    runtime: Runtime,
    client: Client,
    url: Url,
}

impl Administrator {
    /// With the certificate in a folder.
    pub fn new(reach: Reach) -> Result<Self, CallError> {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().map_err(CallError::Runtime)?;
        let client = client(&reach.certificates).map_err(CallError::Certificates)?;
        Ok(Self { runtime, client, url: reach.url })
    }

    /// Calls an address of the API, and returns what is answered if that is a success.
    pub fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer<'_>, CallError> {
        let mut url = self.url.clone();
        url.set_path(path);
        let unreachable = |source| CallError::Unreachable { url: self.url.clone(), source };
        let mut request = self.client.request(method, url);
        if let Some(body) = body {
            request = request.body(body.to_string());
        }
        let response = self.runtime.block_on(request.send()).map_err(unreachable)?;
        let status = response.status();
        if status.is_success() {
            return Ok(Answer { runtime: &self.runtime, response, rest: axum::body::Bytes::new() });
        }
        let bytes = self.runtime.block_on(response.bytes()).map_err(unreachable)?;
        let problem = serde_json::from_slice::<Problem>(&bytes);
        let detail = problem.map_or_else(|_| "nothing that can be read".to_owned(), |it| it.error);
        Err(CallError::Refused { status: status.as_u16(), detail })
    }
}

/// What is answered, as a stream.
pub struct Answer<'a> {
    runtime: &'a Runtime,
    response: Response,
    rest: axum::body::Bytes,
}

impl Read for Answer<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            let next = self.runtime.block_on(self.response.chunk()).map_err(io::Error::other)?;
            let Some(next) = next else { return Ok(0) };
            self.rest = next;
        }
        let length = into.len().min(self.rest.len());
        into[..length].copy_from_slice(&self.rest.split_to(length));
        Ok(length)
    }
}
