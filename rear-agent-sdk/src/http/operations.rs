//! Each operation of the trait as what is sent for it.

use std::time::Duration;

use rear_api::amounts::ResourceList;
use rear_api::moment;
use rear_api::reservation::{RejectRequest, RenewRequest};
use reqwest::{Method, Url};

use super::call::{Call, DEADLINE};
use super::events::Events;
use super::kind::Kind;
use super::{HttpCommunicator, text};
use crate::communicator::{
    Advertisement, AdvertisementAnswer, AdvertisementRequest, Answering, BrokerCommunicator,
    ClusterId, DryRun, EventId, EventStream, Intent, Level, Reservation, ReservationRequest, Role,
    Timestamp, Wait,
};
use crate::error::Error;

/// More pages than this is a broker that goes in circles: it is above a million reservations.
const MAX_PAGES: usize = 1024;

impl BrokerCommunicator for HttpCommunicator {
    fn ping(&self) -> Answering<'_, ()> {
        Box::pin(async move {
            self.get("health", self.url(&["healthz"], &[])).await?;
            Ok(())
        })
    }

    fn publish<'a>(
        &'a self,
        advertisement: &'a AdvertisementRequest,
    ) -> Answering<'a, AdvertisementAnswer> {
        Box::pin(self.tell(advertisement))
    }

    fn advertisement<'a>(&'a self, cluster: &'a ClusterId) -> Answering<'a, Option<Advertisement>> {
        Box::pin(self.shown(cluster.as_str()))
    }

    fn reserve<'a>(
        &'a self,
        request: &'a ReservationRequest,
        intent: &'a Intent,
    ) -> Answering<'a, Reservation> {
        Box::pin(self.lock(request, intent))
    }

    fn dry_run<'a>(&'a self, request: &'a ReservationRequest) -> Answering<'a, DryRun> {
        const OPERATION: &str = "dry run";
        Box::pin(async move {
            self.kind().await?.must_be_current(OPERATION)?;
            let url = self.api(&["reservations"], &[("dryRun", "true")]);
            let call =
                Call { body: Some(text(request)?), ..Call::new(OPERATION, Method::POST, url) };
            self.repeatedly(&call).await?.read()
        })
    }

    fn reservations(&self, role: Role) -> Answering<'_, Vec<Reservation>> {
        const OPERATION: &str = "list of the requester's reservations";
        Box::pin(async move {
            match (self.kind().await?, role) {
                (Kind::Current, _) => {
                    let url = self.api(&["reservations"], &[("role", role.name())]);
                    Ok(self.pages("list of reservations", url, DEADLINE).await?.instructions)
                }
                // What it tells a provider to do is all that it says about reservations.
                (Kind::Earlier, Role::Provider) => Ok(self.level(role, None).await?.instructions),
                (Kind::Earlier, Role::Requester) => {
                    Err(Error::Unsupported { operation: OPERATION })
                }
            }
        })
    }

    fn reservation<'a>(&'a self, id: &'a str) -> Answering<'a, Reservation> {
        Box::pin(async move {
            self.say("look at a reservation", Method::GET, &["reservations", id], None).await
        })
    }

    fn activate<'a>(&'a self, id: &'a str) -> Answering<'a, Reservation> {
        Box::pin(async move {
            self.say("activation", Method::POST, &["reservations", id, "activate"], None).await
        })
    }

    fn renew<'a>(&'a self, id: &'a str, until: Timestamp) -> Answering<'a, Reservation> {
        Box::pin(async move {
            let body = text(&RenewRequest { expires_at: moment::text(until) })?;
            self.say("renewal", Method::POST, &["reservations", id, "renew"], Some(body)).await
        })
    }

    fn reject<'a>(&'a self, id: &'a str, reason: &'a str) -> Answering<'a, Reservation> {
        Box::pin(async move {
            let body = text(&RejectRequest { reason: reason.to_owned() })?;
            self.say("rejection", Method::POST, &["reservations", id, "reject"], Some(body)).await
        })
    }

    fn release<'a>(&'a self, id: &'a str) -> Answering<'a, Reservation> {
        Box::pin(
            async move { self.say("release", Method::DELETE, &["reservations", id], None).await },
        )
    }

    fn instructions(&self, role: Role, wait: Option<Wait>) -> Answering<'_, Level> {
        Box::pin(self.level(role, wait))
    }

    fn events(&self, after: Option<EventId>) -> Answering<'_, Box<dyn EventStream>> {
        const OPERATION: &str = "stream of events";
        Box::pin(async move {
            self.kind().await?.must_be_current(OPERATION)?;
            let call = Call::new(OPERATION, Method::GET, self.api(&["events"], &[]));
            Ok(Box::new(self.listen(&call, after).await?) as Box<dyn EventStream>)
        })
    }

    fn close(&self) {
        self.closed.send_replace(true);
    }
}

impl HttpCommunicator {
    async fn shown(&self, cluster: &str) -> Result<Option<Advertisement>, Error> {
        let url = self.api(&["advertisements", cluster], &[]);
        match self.get("advertisements", url).await {
            Ok(reply) => reply.read().map(Some),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Which broker it is and what it has locked is asked anew for each attempt: a body of before would erase the
    /// locks that an earlier broker has made since. Nor is it repeated to a ledger that was restored since: from its
    /// first advertisement that one learns what a cluster holds, and this one may be from before the last promise.
    async fn tell(&self, told: &AdvertisementRequest) -> Result<AdvertisementAnswer, Error> {
        let (mut attempt, mut sent_in) = (0, None);
        loop {
            let kind = self.kind().await?;
            let life = self.learnt.life();
            if *sent_in.get_or_insert(life) != life {
                return Err(Error::Restored);
            }
            let body = match kind {
                Kind::Current => text(told)?,
                Kind::Earlier => text(&self.with_its_locks(told).await?)?,
            };
            let url = self.api(&["advertisements"], &[]);
            let call = Call { body: Some(body), ..Call::new("advertisements", Method::POST, url) };
            let error = match self.once(&call).await {
                Ok(reply) => return reply.read(),
                Err(error) => error,
            };
            self.pause(error, attempt).await?;
            attempt += 1;
        }
    }

    /// The earlier broker keeps its locks in what the agent sends: without them they are erased. So they are
    /// asked for, and what is left is computed for it.
    async fn with_its_locks(
        &self,
        told: &AdvertisementRequest,
    ) -> Result<AdvertisementRequest, Error> {
        let shown = self.shown(&told.cluster_id).await?;
        let mut told = told.clone();
        let reserved = shown.and_then(|shown| shown.resources.reserved);
        let amounts = |list: &ResourceList| {
            list.resources().map_err(|error| Error::Garbage { detail: error.to_string() })
        };
        let mut left = amounts(&told.resources.allocatable)?
            .saturating_sub(amounts(&told.resources.allocated)?);
        if let Some(reserved) = &reserved {
            left = left.saturating_sub(amounts(reserved)?);
        }
        told.resources.available = Some(left.into());
        told.resources.reserved = reserved;
        Ok(told)
    }

    async fn level(&self, role: Role, wait: Option<Wait>) -> Result<Level, Error> {
        let kind = self.kind().await?;
        if kind == Kind::Earlier {
            if role == Role::Requester {
                return Err(Error::Unsupported { operation: "instructions for requesters" });
            }
            return self.pages("instructions", self.api(&["instructions"], &[]), DEADLINE).await;
        }
        let Some(Wait { after, at_most }) = wait else {
            let url = self.api(&["instructions"], &[("role", role.name())]);
            return self.pages("instructions", url, DEADLINE).await;
        };
        let (held, after) = (format!("{}ms", at_most.as_millis()), after.to_string());
        let query = [("role", role.name()), ("wait", held.as_str()), ("after", after.as_str())];
        self.pages("instructions", self.api(&["instructions"], &query), at_most + DEADLINE).await
    }

    /// A whole list, page after page, with the state of the first: what changed since is told again.
    async fn pages(
        &self,
        operation: &'static str,
        url: Url,
        deadline: Duration,
    ) -> Result<Level, Error> {
        let mut call = Call { deadline, ..Call::new(operation, Method::GET, url) };
        let mut reply = self.repeatedly(&call).await?;
        let revision = reply.revision;
        let mut found: Vec<Reservation> = reply.read()?;
        for _ in 0..MAX_PAGES {
            let Some(next) = reply.next() else { return Ok(Level::new(found, revision)) };
            call.url = self.page(next)?;
            reply = self.repeatedly(&call).await?;
            found.append(&mut reply.read()?);
        }
        Err(Error::Garbage { detail: format!("a list has more than {MAX_PAGES} pages") })
    }

    pub(super) fn page(&self, link: &str) -> Result<Url, Error> {
        let elsewhere = || Error::Garbage { detail: "the next page is elsewhere".to_owned() };
        self.brokers.follow(link).ok_or_else(elsewhere)
    }

    /// A stream from the first broker that gives one; each is asked once.
    async fn listen(&self, call: &Call, after: Option<EventId>) -> Result<Events, Error> {
        let mut attempt = 0;
        loop {
            let (asked, url) = self.brokers.aim(&call.url);
            let client = self.connection.client();
            let opened = Events::open(&client, call, url, after, self.closed.subscribe()).await;
            let Err(error) = opened else { return opened };
            self.brokers.turn_from(asked, &error);
            if !self.brokers.another_is_left(&error, attempt) {
                return Err(error);
            }
            attempt += 1;
        }
    }
}
