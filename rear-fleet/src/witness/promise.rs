//! One promise, as both sides have seen it.

use std::time::Duration;

use rear_agent_sdk::communicator::Reservation;
use rear_api::moment;
use rear_engine::{ClusterId, Resources, Timestamp};
use tokio::time::Instant;

use super::broken::{Broken, Side};

/// A promise that ends by itself may end so much earlier by the clock of another machine.
const CLOCKS_APART: rear_engine::Duration = rear_engine::Duration::from_seconds(2);

/// What is known of a promise, from whoever spoke of it first.
#[derive(Default)]
pub(super) struct Promise {
    terms: Option<Terms>,
    grant: Option<Grant>,
    /// When someone asked for its end, or its time was over.
    ended: Option<Instant>,
    requester: Seen,
    provider: Seen,
}

#[derive(Clone, PartialEq, Eq)]
struct Terms {
    requester: String,
    provider: String,
    amounts: Resources,
    expires_at: Option<String>,
}

#[derive(Clone, Copy)]
struct Grant {
    asked: Instant,
    answered: Instant,
}

/// What one side has seen of it.
#[derive(Default)]
struct Seen {
    told: Option<Instant>,
    keeps: bool,
}

impl Promise {
    /// How long it took until sides were told that were faster than the answer.
    pub(super) fn granted(
        &mut self,
        made: &Reservation,
        asked: Instant,
        now: Instant,
    ) -> Vec<Duration> {
        self.terms.get_or_insert_with(|| terms(made));
        self.grant = self.grant.or(Some(Grant { asked, answered: now }));
        let told = [&self.requester, &self.provider].into_iter().filter_map(|seen| seen.told);
        told.map(|told| told.saturating_duration_since(asked)).collect()
    }

    /// How long it took until this side was told, if the request was answered before; an error names what both sides
    /// were told differently.
    pub(super) fn told(
        &mut self,
        side: Side,
        cluster: &ClusterId,
        told: &Reservation,
        now: Instant,
    ) -> Result<Option<Duration>, &'static str> {
        let found = terms(told);
        let known = self.terms.get_or_insert_with(|| found.clone()).clone();
        let asked = self.grant.map(|grant| grant.asked);
        let seen = self.of(side);
        let first = seen.told.is_none();
        (seen.told, seen.keeps) = (seen.told.or(Some(now)), true);
        let whose = match side {
            Side::Requester => &known.requester,
            Side::Provider => &known.provider,
        };
        let differs = [
            (cluster.as_str() == whose, "cluster"),
            (known.requester == found.requester, "requester"),
            (known.provider == found.provider, "provider"),
            (known.amounts == found.amounts, "amount"),
            (known.expires_at == found.expires_at, "end"),
        ];
        if let Some((_, differs)) = differs.iter().find(|(same, _)| !same) {
            return Err(differs);
        }
        Ok(asked.filter(|_| first).map(|asked| now.saturating_duration_since(asked)))
    }

    /// Whether that was in order. What others than this fleet were granted is theirs to end.
    pub(super) fn given_back(&mut self, side: Side, now: Instant, wall: Timestamp) -> bool {
        self.expire(now, wall);
        self.of(side).keeps = false;
        self.ended.is_some() || self.grant.is_none()
    }

    pub(super) fn ends(&mut self, now: Instant) {
        self.ended = self.ended.or(Some(now));
    }

    /// Its time may be over.
    pub(super) fn expire(&mut self, now: Instant, wall: Timestamp) {
        let end = self.terms.as_ref().and_then(|terms| terms.expires_at.as_deref());
        let end = end.and_then(|end| moment::read(end).ok());
        if end.is_some_and(|end| wall.plus(CLOCKS_APART) >= end) {
            self.ends(now);
        }
    }

    /// It was granted, and nobody has asked for its end.
    pub(super) fn is_live(&self) -> bool {
        self.grant.is_some() && self.ended.is_none()
    }

    /// It was live at this moment and is so still.
    pub(super) fn is_live_since(&self, since: Instant) -> bool {
        self.is_live() && self.grant.is_some_and(|grant| grant.answered <= since)
    }

    pub(super) fn ended_for(&self, span: Duration, now: Instant) -> bool {
        let kept = self.requester.keeps || self.provider.keeps;
        !kept && self.ended.is_some_and(|ended| now - ended >= span)
    }

    /// It has ended, and a side was told to keep it, or was not told of its end.
    pub(super) fn is_kept_after_its_end(&self) -> bool {
        self.ended.is_some() && (self.requester.keeps || self.provider.keeps)
    }

    pub(super) fn amounts(&self) -> Resources {
        self.terms.as_ref().map(|terms| terms.amounts).unwrap_or_default()
    }

    pub(super) fn requester(&self) -> Option<&str> {
        self.terms.as_ref().map(|terms| terms.requester.as_str())
    }

    /// What is wrong with it once everything has been told to everyone.
    pub(super) fn disagreements(&self, id: &str) -> Vec<Broken> {
        let sides = [(Side::Requester, &self.requester), (Side::Provider, &self.provider)];
        let wrong = |(side, seen): (Side, &Seen)| {
            let id = id.to_owned();
            match (self.grant, self.ended, seen.keeps) {
                (_, Some(_), true) => Some(Broken::NotGivenBack { id, side }),
                (Some(_), None, false) => Some(Broken::NotTold { id, side }),
                (None, None, true) => Some(Broken::NobodyAsked { id, side }),
                (_, Some(_), false) | (Some(_), None, true) | (None, None, false) => None,
            }
        };
        sides.into_iter().filter_map(wrong).collect()
    }

    fn of(&mut self, side: Side) -> &mut Seen {
        match side {
            Side::Requester => &mut self.requester,
            Side::Provider => &mut self.provider,
        }
    }
}

fn terms(told: &Reservation) -> Terms {
    Terms {
        requester: told.requester_id.clone(),
        provider: told.target_cluster_id.clone(),
        amounts: told.requested_resources.resources().unwrap_or_default(),
        expires_at: told.status.expires_at.clone(),
    }
}
