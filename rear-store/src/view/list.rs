//! Lists in pages: by whom they concern and by phase, each page going on where the last one ended.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Bound;
use std::str::FromStr;

use rear_engine::fleet::Cluster;
use rear_engine::{ClusterId, Phase, Reservation, ReservationId};
use thiserror::Error;

use super::View;
use crate::position::Position;

/// The longest page: more is neither read by people nor needed by programs.
pub const MAX_PAGE: usize = 1000;

/// How many rows are looked at for one page: a filter that fits little gives short pages, never a long wait.
pub const MAX_SCANNED: usize = 10_000;

/// Some rows, and where the next page begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// In the order of their ids.
    pub items: Vec<T>,
    /// Where to go on; `None` at the end. A page may be short or empty and still have a next one.
    pub next: Option<Cursor>,
}

/// Where a list goes on. What is in it is nobody's business but ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// The state that the page before it was made from.
    position: Position,
    /// The last row that was looked at.
    after: String,
}

/// Why a cursor cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CursorError {
    /// Not one of ours.
    #[error("this is not a cursor of a list")]
    Malformed,
    /// Made before a restore: what it stood in is no more.
    #[error("the cursor is of incarnation {found}, the ledger is in {present}: list again")]
    Gone {
        /// Of which incarnation it is.
        found: u64,
        /// Which one it is now.
        present: u64,
    },
}

/// Which reservations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    /// Those of one cluster only.
    pub side: Option<Side>,
    /// Those in one phase only.
    pub phase: Option<PhaseName>,
}

/// Whose reservations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Side {
    /// Those that were promised to it.
    Requester(ClusterId),
    /// Those that it promised.
    Provider(ClusterId),
    /// Both.
    Either(ClusterId),
}

/// A phase without what belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PhaseName {
    /// Locked.
    Reserved,
    /// In use.
    Active,
    /// Given back as agreed.
    Released,
    /// Given back otherwise.
    Failed,
}

impl From<&Phase> for PhaseName {
    fn from(phase: &Phase) -> Self {
        match phase {
            Phase::Reserved(_) => Self::Reserved,
            Phase::Active(_) => Self::Active,
            Phase::Released(_) => Self::Released,
            Phase::Failed(_) => Self::Failed,
        }
    }
}

impl View {
    /// A page of reservations, oldest first.
    pub fn reservations(
        &self,
        query: &Query,
        from: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<&Reservation>, CursorError> {
        let after = self.resume::<ReservationId>(from)?;
        let rows = self.ids_after(query.side.as_ref(), after);
        let fits = |kept: &Reservation| {
            query.phase.is_none_or(|phase| phase == PhaseName::from(&kept.phase))
        };
        Ok(self.page(rows, limit, |id| self.fleet.reservation(*id).filter(|kept| fits(kept))))
    }

    /// A page of clusters, also of those that only ask, in the order of their ids.
    pub fn clusters(
        &self,
        from: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<&Cluster>, CursorError> {
        let after = self.resume::<ClusterId>(from)?;
        let rows = rest_of(Some(&self.cluster_ids), after);
        Ok(self.page(rows, limit, |id| self.fleet.cluster(id)))
    }

    fn resume<I: FromStr>(&self, from: Option<&Cursor>) -> Result<Option<I>, CursorError> {
        let Some(Cursor { position, after }) = from else { return Ok(None) };
        let (found, present) = (position.incarnation, self.position.incarnation);
        if found != present {
            return Err(CursorError::Gone { found, present });
        }
        after.parse().map(Some).map_err(|_| CursorError::Malformed)
    }

    /// Looks at rows until the page is full or enough were looked at.
    fn page<I: fmt::Display, T>(
        &self,
        rows: impl Iterator<Item = I>,
        limit: usize,
        find: impl Fn(&I) -> Option<T>,
    ) -> Page<T> {
        let limit = limit.clamp(1, MAX_PAGE);
        let mut items = Vec::new();
        let mut rows = rows.enumerate().peekable();
        while let Some((looked_at, id)) = rows.next() {
            items.extend(find(&id));
            let enough = items.len() == limit || looked_at + 1 == MAX_SCANNED;
            if enough && rows.peek().is_some() {
                let cursor = Cursor { position: self.position, after: id.to_string() };
                return Page { items, next: Some(cursor) };
            }
        }
        Page { items, next: None }
    }

    fn ids_after(
        &self,
        side: Option<&Side>,
        after: Option<ReservationId>,
    ) -> Box<dyn Iterator<Item = ReservationId> + '_> {
        let requested = |cluster| rest_of(self.by_requester.get(cluster), after);
        let provided = |cluster| rest_of(self.by_provider.get(cluster), after);
        match side {
            None => Box::new(rest_of(Some(&self.reservation_ids), after)),
            Some(Side::Requester(cluster)) => Box::new(requested(cluster)),
            Some(Side::Provider(cluster)) => Box::new(provided(cluster)),
            Some(Side::Either(cluster)) => Box::new(merge(requested(cluster), provided(cluster))),
        }
    }
}

fn rest_of<I: Ord + Clone>(ids: Option<&BTreeSet<I>>, after: Option<I>) -> impl Iterator<Item = I> {
    let range = (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
    ids.into_iter().flat_map(move |ids| ids.range(range.clone())).cloned()
}

/// Two ascending lists that share nothing, as one.
fn merge<I: Ord>(
    one: impl Iterator<Item = I>,
    other: impl Iterator<Item = I>,
) -> impl Iterator<Item = I> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    std::iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some(a), Some(b)) if b < a => other.next(),
        (Some(_), _) => one.next(),
        (None, _) => other.next(),
    })
}

/// Parts a cursor; in no id and no position.
const SEPARATOR: char = '~';

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{SEPARATOR}{}", self.position, self.after)
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let (position, after) = text.split_once(SEPARATOR).ok_or(CursorError::Malformed)?;
        let position = position.parse().map_err(|_| CursorError::Malformed)?;
        Ok(Self { position, after: after.to_owned() })
    }
}
