//! Lists page by page, for programs that show or count what a whole broker has and keep one page at a time.

use std::marker::PhantomData;

use rear_api::reservation::PhaseName;
use reqwest::Url;
use serde::de::DeserializeOwned;

use super::HttpCommunicator;
use crate::communicator::{Advertisement, Answering, Position, Reservation, Role};
use crate::error::Error;

/// One page of a list.
///
/// ```no_run
/// use rear_agent_sdk::HttpCommunicator;
///
/// # async fn example() -> Result<(), rear_agent_sdk::Error> {
/// let broker = HttpCommunicator::new("https://broker.example:8443", "/etc/rear/certs")?;
/// let mut page = broker.clusters_page(None).await?;
/// let mut count = page.items.len();
/// while let Some(next) = &page.next {
///     page = broker.next_page(next).await?;
///     count += page.items.len();
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page<T> {
    /// What is on it; it may be short, and even empty, and have a next one.
    pub items: Vec<T>,
    /// The state that it is from.
    pub revision: Option<Position>,
    /// Where the list goes on.
    pub next: Option<NextPage<T>>,
}

/// Where a list goes on, as the broker says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextPage<T> {
    link: String,
    of: PhantomData<fn() -> T>,
}

/// Which reservations are wanted; without a filter, all that the certificate lets one see.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReservationFilter {
    /// Only those in which the caller has this role.
    pub role: Option<Role>,
    /// Only those in this phase.
    pub phase: Option<PhaseName>,
}

impl HttpCommunicator {
    /// The first page of the clusters, of at most so many; the broker's page length if not given.
    pub fn clusters_page(&self, limit: Option<usize>) -> Answering<'_, Page<Advertisement>> {
        self.first_page("list of clusters", "advertisements", &[("limit", text(limit))])
    }

    /// The first page of the reservations.
    pub fn reservations_page(
        &self,
        filter: &ReservationFilter,
        limit: Option<usize>,
    ) -> Answering<'_, Page<Reservation>> {
        let ReservationFilter { role, phase } = filter;
        let query = [
            ("role", role.map(|role| role.name().to_owned())),
            ("phase", phase.as_ref().map(|phase| phase.name().to_owned())),
            ("limit", text(limit)),
        ];
        self.first_page("list of reservations", "reservations", &query)
    }

    /// The first page of a side's live promises; how long it is, the broker decides.
    pub fn instructions_page(&self, role: Role) -> Answering<'_, Page<Reservation>> {
        let query = [("role", Some(role.name().to_owned()))];
        self.first_page("instructions", "instructions", &query)
    }

    /// The next page of a list.
    pub fn next_page<T: DeserializeOwned + 'static>(
        &self,
        next: &NextPage<T>,
    ) -> Answering<'_, Page<T>> {
        let url = self.page(&next.link);
        Box::pin(async move { self.one_page("next page of a list", url?).await })
    }

    fn first_page<T: DeserializeOwned + 'static>(
        &self,
        operation: &'static str,
        list: &str,
        query: &[(&str, Option<String>)],
    ) -> Answering<'_, Page<T>> {
        let given = query.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?)));
        let url = self.api(&[list], &given.collect::<Vec<_>>());
        Box::pin(self.one_page(operation, url))
    }

    /// A list that is not there is a broker without it, not a list without members.
    async fn one_page<T: DeserializeOwned + 'static>(
        &self,
        operation: &'static str,
        url: Url,
    ) -> Result<Page<T>, Error> {
        let reply = self.get(operation, url).await.map_err(|error| match error {
            Error::NotFound { .. } => Error::Unsupported { operation },
            other => other,
        })?;
        let next = reply.next().map(|link| NextPage { link: link.to_owned(), of: PhantomData });
        Ok(Page { items: reply.read()?, revision: reply.revision, next })
    }
}

fn text(limit: Option<usize>) -> Option<String> {
    limit.map(|limit| limit.to_string())
}
