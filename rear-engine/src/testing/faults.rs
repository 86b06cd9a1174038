//! Faults that can be planted, one at least for each invariant of the engine: the watchers must notice.

use std::sync::Arc;

use crate::command::Actor;
use crate::decision::{Change, Decision, Event, Happening, Subject};
use crate::fleet::{Cluster, Fleet};
use crate::refusal::Refusal;
use crate::reservation::{Ending, Phase, Release, Released, Reservation, Reserved};
use crate::resources::Resources;
use crate::time::Timestamp;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Invariant 1: a ledger row is one millicore too high.
    LedgerOffByOne,
    /// Invariant 4, the reverse of an ending: a grant does not reach the ledger.
    GrantWithoutLedger,
    /// Invariant 2: a refused request is granted on a cluster that lacks the room.
    GrantWithoutRoom,
    /// Invariant 4: an ending keeps its capacity.
    KeepCapacity,
    /// Invariant 5, before it is one of 4: what has ended is ended again, and its capacity given back twice.
    EndTwice,
    /// Invariant 4: everything live is treated as expired.
    ExpireEarly,
    /// Invariant 5: an activated reservation falls back to Reserved.
    FallBack,
    /// Invariant 6: a known key leads to a second reservation.
    ForgetKey,
    /// Invariant 7: an older advertisement replaces a newer one.
    AcceptOutdated,
    /// Invariant 7: an advertisement gives capacity back.
    AdvertiseAway,
    /// The provider is not the one with the best score.
    ChooseAnother,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 11] = [
        Self::LedgerOffByOne,
        Self::GrantWithoutLedger,
        Self::GrantWithoutRoom,
        Self::KeepCapacity,
        Self::EndTwice,
        Self::ExpireEarly,
        Self::FallBack,
        Self::ForgetKey,
        Self::AcceptOutdated,
        Self::AdvertiseAway,
        Self::ChooseAnother,
    ];

    /// Of which invariant of DESIGN §6 the check must notice it; `None` where a better provider was there.
    #[must_use]
    pub const fn breaks(self) -> Option<u8> {
        match self {
            Self::LedgerOffByOne => Some(1),
            Self::GrantWithoutRoom => Some(2),
            Self::GrantWithoutLedger | Self::KeepCapacity | Self::ExpireEarly => Some(4),
            Self::EndTwice | Self::FallBack => Some(5),
            Self::ForgetKey => Some(6),
            Self::AcceptOutdated | Self::AdvertiseAway => Some(7),
            Self::ChooseAnother => None,
        }
    }

    pub(super) fn plant(
        self,
        decided: Result<Decision, Refusal>,
        fleet: &Fleet,
        now: Timestamp,
    ) -> Result<Decision, Refusal> {
        match self {
            Self::LedgerOffByOne => decided.map(|mut decision| {
                each_ledger(&mut decision, |total| {
                    total.checked_add(Resources::from_amounts([1, 0, 0, 0]).unwrap()).unwrap()
                });
                decision
            }),
            Self::GrantWithoutLedger => decided
                .map(|decision| without_ledger(decision, |what| *what == Happening::Reserved)),
            Self::KeepCapacity => decided.map(|decision| {
                without_ledger(decision, |what| matches!(what, Happening::Ended(_)))
            }),
            Self::GrantWithoutRoom => decided.or_else(|refusal| force_grant(refusal, fleet, now)),
            Self::EndTwice => decided.map(|decision| end_again(decision, fleet, now)),
            Self::ExpireEarly => decided.map(|decision| expire_one(decision, fleet, now)),
            Self::FallBack => decided.map(|decision| fall_back(decision, fleet)),
            Self::ForgetKey => decided.map(|decision| copy_with_key(decision, fleet, now)),
            Self::AcceptOutdated => decided.map(|decision| outdate(decision, fleet)),
            Self::AdvertiseAway => decided.map(|decision| advertise_away(decision, fleet, now)),
            Self::ChooseAnother => decided.map(|decision| choose_another(decision, fleet)),
        }
    }
}

fn each_ledger(decision: &mut Decision, change: impl Fn(Resources) -> Resources) {
    for changed in &mut decision.changes {
        if let Change::Ledger { total, .. } = changed {
            *total = change(*total);
        }
    }
}

fn without_ledger(mut decision: Decision, told: impl Fn(&Happening) -> bool) -> Decision {
    if decision.events.iter().any(|event| told(&event.what)) {
        decision.changes.retain(|change| !matches!(change, Change::Ledger { .. }));
    }
    decision
}

fn live(fleet: &Fleet) -> Option<&Reservation> {
    fleet.reservations().filter(|kept| kept.phase.is_live()).min_by_key(|kept| kept.id)
}

fn ledger_of(fleet: &Fleet, kept: &Reservation) -> Resources {
    fleet.cluster(&kept.provider).map_or(Resources::NONE, |provider| provider.ledger().total())
}

fn told(subject: Subject, what: Happening, now: Timestamp) -> Event {
    Event { at: now, subject, what, by: Actor::Broker }
}

/// Grants the refused request, in the shape of an old promise, where there is least room.
fn force_grant(refusal: Refusal, fleet: &Fleet, now: Timestamp) -> Result<Decision, Refusal> {
    let full = |cluster: &&Cluster| {
        cluster.available().is_some_and(|left| left.shown().amounts()[0] < 250)
    };
    let (Refusal::NoRoom(_), Some(kept), Some(provider)) =
        (&refusal, fleet.reservations().next(), fleet.clusters().find(full))
    else {
        return Err(refusal);
    };
    let id = crate::id::ReservationId::from_bits(kept.id.to_bits() | 1 << 100);
    let provider = provider.record().id.clone();
    let phase = Phase::Reserved(Reserved);
    let granted = Reservation {
        id,
        provider: provider.clone(),
        key: None,
        reserved_at: now,
        phase,
        ..kept.clone()
    };
    let total = ledger_of(fleet, &granted).checked_add(granted.held()).unwrap();
    let subject = Subject::Reservation(id);
    Ok(Decision {
        changes: vec![
            Change::Reservation(Arc::new(granted)),
            Change::Ledger { cluster: provider, total },
        ],
        events: vec![told(subject.clone(), Happening::Reserved, now)],
        subject,
    })
}

fn end_again(mut decision: Decision, fleet: &Fleet, now: Timestamp) -> Decision {
    let ended = fleet.reservations().find(|kept| !kept.phase.is_live());
    let Some(kept) = ended.filter(|_| decision.changes.is_empty()) else {
        return decision;
    };
    let why = Release::ByRequester;
    let phase = Phase::Released(Released { at: now, why });
    let total = ledger_of(fleet, kept).saturating_sub(kept.ask.resources());
    decision.changes.push(Change::Reservation(Arc::new(Reservation { phase, ..kept.clone() })));
    decision.changes.push(Change::Ledger { cluster: kept.provider.clone(), total });
    decision.events.push(told(
        Subject::Reservation(kept.id),
        Happening::Ended(Ending::Released(why)),
        now,
    ));
    decision
}

fn expire_one(mut decision: Decision, fleet: &Fleet, now: Timestamp) -> Decision {
    let idle = decision.subject == Subject::Fleet && decision.changes.is_empty();
    let Some(kept) = live(fleet).filter(|_| idle) else {
        return decision;
    };
    let why = Release::Expired;
    let phase = Phase::Released(Released { at: now, why });
    let total = ledger_of(fleet, kept).saturating_sub(kept.held());
    decision.changes.push(Change::Reservation(Arc::new(Reservation { phase, ..kept.clone() })));
    decision.changes.push(Change::Ledger { cluster: kept.provider.clone(), total });
    decision
}

fn fall_back(mut decision: Decision, fleet: &Fleet) -> Decision {
    let active = fleet.reservations().find(|kept| matches!(kept.phase, Phase::Active(_)));
    if let Some(kept) = active.filter(|_| decision.changes.is_empty()) {
        let phase = Phase::Reserved(Reserved);
        decision.changes.push(Change::Reservation(Arc::new(Reservation { phase, ..kept.clone() })));
    }
    decision
}

fn copy_with_key(decision: Decision, fleet: &Fleet, now: Timestamp) -> Decision {
    let (Subject::Reservation(id), true) = (&decision.subject, decision.changes.is_empty()) else {
        return decision;
    };
    let Some(kept) = fleet.reservation(*id).filter(|kept| kept.key.is_some()) else {
        return decision;
    };
    let id = crate::id::ReservationId::from_bits(id.to_bits() | 1 << 101);
    let phase = Phase::Reserved(Reserved);
    let copy = Reservation { id, reserved_at: now, phase, ..kept.clone() };
    let total = ledger_of(fleet, kept).checked_add(copy.held()).unwrap();
    Decision {
        subject: Subject::Reservation(id),
        changes: vec![
            Change::Reservation(Arc::new(copy)),
            Change::Ledger { cluster: kept.provider.clone(), total },
        ],
        events: Vec::new(),
    }
}

fn outdate(mut decision: Decision, fleet: &Fleet) -> Decision {
    for change in &mut decision.changes {
        if let Change::Cluster(record) = change
            && let Some(kept) =
                fleet.cluster(&record.id).and_then(|kept| kept.record().advertisement())
            && let Some(new) = &mut record.advertised
        {
            new.advertisement.order = kept.order;
            new.advertisement.timestamp = kept.timestamp.plus(crate::Duration::from_seconds(-30));
            if let Some(order) = &mut new.advertisement.order {
                order.sequence = order.sequence.saturating_sub(1);
            }
        }
    }
    decision
}

fn advertise_away(mut decision: Decision, fleet: &Fleet, now: Timestamp) -> Decision {
    let advertised = decision.events.iter().any(|event| event.what == Happening::Advertised);
    if let Some(kept) = live(fleet).filter(|_| advertised) {
        let phase = Phase::Released(Released { at: now, why: Release::ByRequester });
        let total = ledger_of(fleet, kept).saturating_sub(kept.held());
        decision.changes.push(Change::Reservation(Arc::new(Reservation { phase, ..kept.clone() })));
        decision.changes.push(Change::Ledger { cluster: kept.provider.clone(), total });
    }
    decision
}

fn choose_another(mut decision: Decision, fleet: &Fleet) -> Decision {
    let granted = decision.events.iter().any(|event| event.what == Happening::Reserved);
    let mut chosen = None;
    for change in &mut decision.changes {
        if let Change::Reservation(new) = change
            && granted
            && fleet.reservation(new.id).is_none()
        {
            let roomy = |other: &&Cluster| {
                let id = &other.record().id;
                *id != new.provider
                    && *id != *new.requester()
                    && other.available().is_some_and(|left| {
                        new.held().first_beyond(left.shown()).is_none() && !left.is_overcommitted()
                    })
            };
            if let Some(other) = fleet.clusters().find(roomy) {
                Arc::make_mut(new).provider = other.record().id.clone();
                chosen = other
                    .ledger()
                    .total()
                    .checked_add(new.held())
                    .map(|total| (new.provider.clone(), total));
            }
        }
    }
    if let Some((cluster, total)) = chosen {
        decision.changes.truncate(1);
        decision.changes.push(Change::Ledger { cluster, total });
    }
    decision
}
