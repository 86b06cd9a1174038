//! The nodes of etcd: one is asked until it does not answer, then the next; what is written goes to the leader, where it is known.

use std::future::Future;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use etcd_client::{
    Certificate, Client, ConnectOptions, GetOptions, GetResponse, Identity, KvClient, TlsOptions,
};
use tokio::time::timeout;

use super::keys::Keys;
use super::{EtcdOptions, QUESTION};
use crate::journal::JournalError;
use crate::position::Position;
use crate::records::head::open_head;
use crate::shared::Head;

/// A connection on which nothing comes for so long is asked whether it lives.
const KEEP_ALIVE: Duration = Duration::from_secs(2);

/// How many entries are read at once.
const PAGE: i64 = 16;

/// Entries of a page, and what a transaction shows of its place, are no longer than this.
const MAX_ANSWER: usize = 64 << 20;

/// No place of a node.
const NOBODY: usize = usize::MAX;

/// What a node says of the leader.
#[derive(Debug, Clone, Copy)]
struct Said {
    /// The last term that it knows.
    term: u64,
    /// Its place, if it is the leader.
    place: Option<usize>,
}

/// The leader, unless others know of a later one.
fn leader_of(said: &[Said]) -> Option<usize> {
    let last = said.iter().map(|said| said.term).max()?;
    said.iter().find_map(|said| said.place.filter(|_| said.term == last))
}

/// The nodes.
pub(super) struct Remote {
    options: EtcdOptions,
    pub(super) keys: Keys,
    clients: Mutex<Vec<Option<Client>>>,
    /// Which of them is asked.
    favourite: AtomicUsize,
    /// Which of them orders what is written; [`NOBODY`] where that is not known.
    leader: AtomicUsize,
    retries: AtomicU64,
}

/// Why a node has not done what it should.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It says no: nothing has happened.
    Refused(String),
    /// It has no space. It may have found that out after it had done what it was asked for.
    Full(String),
    /// Nobody knows what has happened.
    Unheard(String),
}

impl Trouble {
    pub(super) fn into_text(self) -> String {
        match self {
            Self::Refused(why) | Self::Full(why) | Self::Unheard(why) => why,
        }
    }
}

impl From<Trouble> for JournalError {
    fn from(trouble: Trouble) -> Self {
        Self::OutOfReach(trouble.into_text())
    }
}

impl Remote {
    pub(super) fn new(options: EtcdOptions) -> Self {
        let clients = options.endpoints.iter().map(|_| None).collect();
        Self {
            keys: Keys::below(&options.prefix),
            options,
            clients: Mutex::new(clients),
            favourite: AtomicUsize::new(0),
            leader: AtomicUsize::new(NOBODY),
            retries: AtomicU64::new(0),
        }
    }

    pub(super) fn options(&self) -> &EtcdOptions {
        &self.options
    }

    /// How often a question was asked again.
    pub(super) fn retries(&self) -> u64 {
        self.retries.load(Ordering::Relaxed)
    }

    /// A question is asked again.
    pub(super) fn retry(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    /// Asks one node, and takes another for the next question if this one does not answer.
    pub(super) async fn once<T, F: Future<Output = Result<T, etcd_client::Error>>>(
        &self,
        question: impl FnOnce(Client) -> F,
    ) -> Result<T, Trouble> {
        self.ask(self.favourite(), question).await
    }

    /// The same of the leader, where it is known: what is written elsewhere takes the way over it.
    pub(super) async fn once_of_leader<T, F: Future<Output = Result<T, etcd_client::Error>>>(
        &self,
        question: impl FnOnce(Client) -> F,
    ) -> Result<T, Trouble> {
        let leader = Some(self.leader.load(Ordering::Relaxed)).filter(|leader| *leader != NOBODY);
        self.ask(leader.unwrap_or_else(|| self.favourite()), question).await
    }

    /// Finds out which node is the leader: the one that says so in the latest term that any of them knows.
    pub(super) async fn find_leader(&self) {
        let mut said = Vec::new();
        for place in 0..self.options.endpoints.len() {
            let status = self.ask(place, |mut client| async move { client.status().await }).await;
            let Ok(status) = status else { continue };
            let own = status.header().map(etcd_client::ResponseHeader::member_id);
            let leads = own == Some(status.leader());
            said.push(Said { term: status.raft_term(), place: leads.then_some(place) });
        }
        self.leader.store(leader_of(&said).unwrap_or(NOBODY), Ordering::Relaxed);
    }

    fn favourite(&self) -> usize {
        self.favourite.load(Ordering::Relaxed) % self.options.endpoints.len().max(1)
    }

    async fn ask<T, F: Future<Output = Result<T, etcd_client::Error>>>(
        &self,
        place: usize,
        question: impl FnOnce(Client) -> F,
    ) -> Result<T, Trouble> {
        let asked = async {
            let client = self.client(place).await?;
            question(client).await
        };
        let trouble = match timeout(QUESTION, asked).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => trouble(&error),
            Err(_) => Trouble::Unheard(format!("{} does not answer", self.address(place))),
        };
        if matches!(trouble, Trouble::Unheard(_)) {
            self.turn_away_from(place);
        }
        Err(trouble)
    }

    /// Asks one node after the other what may be asked twice.
    pub(super) async fn each<T, F: Future<Output = Result<T, etcd_client::Error>>>(
        &self,
        question: impl Fn(Client) -> F,
    ) -> Result<T, Trouble> {
        let mut last = Trouble::Refused("no node of etcd is named".to_owned());
        for attempt in 0..self.options.endpoints.len() {
            if attempt > 0 {
                self.retry();
            }
            match self.once(&question).await {
                Err(trouble @ Trouble::Unheard(_)) => last = trouble,
                settled => return settled,
            }
        }
        Err(last)
    }

    fn address(&self, place: usize) -> &str {
        self.options.endpoints.get(place).map_or("", String::as_str)
    }

    async fn client(&self, place: usize) -> Result<Client, etcd_client::Error> {
        if let Some(client) = self.clients().get(place).cloned().flatten() {
            return Ok(client);
        }
        let client = Client::connect([self.address(place)], Some(self.connect_options())).await?;
        if let Some(kept) = self.clients().get_mut(place) {
            *kept = Some(client.clone());
        }
        Ok(client)
    }

    fn connect_options(&self) -> ConnectOptions {
        let mut options = ConnectOptions::new()
            .with_connect_timeout(QUESTION)
            .with_keep_alive(KEEP_ALIVE, KEEP_ALIVE)
            .with_require_leader(true)
            .with_auto_token_refresh(true);
        if let Some((name, password)) = &self.options.user {
            options = options.with_user(name, password);
        }
        if let Some(tls) = &self.options.tls {
            let authority = Certificate::from_pem(&tls.authority);
            let mut wanted = TlsOptions::new().ca_certificate(authority);
            if let Some((certificate, key)) = &tls.identity {
                wanted = wanted.identity(Identity::from_pem(certificate, key));
            }
            options = options.with_tls(wanted);
        }
        options
    }

    fn turn_away_from(&self, place: usize) {
        if let Some(kept) = self.clients().get_mut(place) {
            *kept = None;
        }
        let (relaxed, leader) = (Ordering::Relaxed, &self.leader);
        let _ = leader.compare_exchange(place, NOBODY, relaxed, relaxed);
        // Only the first to notice moves on.
        let next = (place + 1) % self.options.endpoints.len().max(1);
        let _ = self.favourite.compare_exchange(place, next, relaxed, relaxed);
    }

    fn clients(&self) -> std::sync::MutexGuard<'_, Vec<Option<Client>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the journal ends at this moment, and etcd's own revision.
    pub(super) async fn head(&self) -> Result<(Option<Head>, i64), JournalError> {
        let key = self.keys.head();
        let answer = self.each(|client| get(client, key.clone(), None)).await?;
        let revision = answer.header().map_or(0, etcd_client::ResponseHeader::revision);
        let head = answer.kvs().first().map(|kept| open_head(kept.value())).transpose()?;
        Ok((head, revision))
    }

    /// Some entries from this one on, oldest first.
    pub(super) async fn entries(
        &self,
        from: Position,
    ) -> Result<Vec<(Position, Vec<u8>)>, JournalError> {
        let first = self.keys.entry(from);
        let end = self.keys.entry(Position { number: u64::MAX, ..from });
        let options = GetOptions::new().with_range(end).with_limit(PAGE);
        let answer = self.each(|client| get(client, first.clone(), Some(options.clone()))).await?;
        let entry = |kept: &etcd_client::KeyValue| {
            Some((self.keys.position_of(kept.key())?, kept.value().to_vec()))
        };
        Ok(answer.kvs().iter().filter_map(entry).collect())
    }

    /// The value of one key.
    pub(super) async fn value(&self, key: String) -> Result<Option<Vec<u8>>, Trouble> {
        let answer = self.each(|client| get(client, key.clone(), None)).await?;
        Ok(answer.kvs().first().map(|kept| kept.value().to_vec()))
    }
}

/// A client that accepts long answers.
pub(super) fn kv(client: &Client) -> KvClient {
    client.kv_client().max_decoding_message_size(MAX_ANSWER)
}

/// A linearizable read.
pub(super) async fn get(
    client: Client,
    key: String,
    options: Option<GetOptions>,
) -> Result<GetResponse, etcd_client::Error> {
    kv(&client).get(key, options).await
}

/// What etcd itself refuses has not happened, but for lack of space; of everything else nobody knows.
fn trouble(error: &etcd_client::Error) -> Trouble {
    use etcd_client::Error;
    let text = error.to_string();
    match error {
        Error::GRpcStatus(status) => {
            let refused = ["InvalidArgument", "PermissionDenied", "Unauthenticated"];
            let code = format!("{:?}", status.code());
            let full = code == "ResourceExhausted" && text.contains("etcdserver");
            if full {
                Trouble::Full(status.message().to_owned())
            } else if refused.contains(&code.as_str()) {
                Trouble::Refused(status.message().to_owned())
            } else {
                Trouble::Unheard(status.message().to_owned())
            }
        }
        Error::InvalidArgs(_) | Error::InvalidUri(_) => Trouble::Refused(text),
        _ => Trouble::Unheard(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leader_that_others_know_to_be_replaced_is_none() {
        let said = |term, place| Said { term, place };
        let (first, third) = (Some(0), Some(2));
        assert_eq!(leader_of(&[]), None, "nobody answers");
        assert_eq!(leader_of(&[said(4, None), said(4, None), said(4, third)]), third);
        assert_eq!(leader_of(&[said(4, first), said(5, None), said(5, third)]), third);
        assert_eq!(leader_of(&[said(4, first), said(5, None)]), None, "it cannot be reached");
    }
}
