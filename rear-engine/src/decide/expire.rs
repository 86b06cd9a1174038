//! Expire: what is due ends, by the broker's time, exactly once.

use super::ending::Endings;
use crate::command::Actor;
use crate::decision::{Decision, Subject};
use crate::duration::Duration;
use crate::fleet::Fleet;
use crate::refusal::Refusal;
use crate::reservation::{Ending, Release};
use crate::time::Timestamp;

/// Ends at most `limit` reservations: those whose end has come, then those whose requester is gone.
pub(super) fn expire(fleet: &Fleet, limit: usize, now: Timestamp) -> Result<Decision, Refusal> {
    let silence = fleet.policy().requester_gone_after;
    let last_sign = now.plus(Duration::from_nanos(-silence.as_nanos()));
    let expired = fleet.timeline().ended_by(now).map(|id| (id, Release::Expired));
    let could_be_heard = fleet.gone_not_before() <= now;
    let silent = could_be_heard.then(|| fleet.timeline().silent_since(last_sign));
    let gone = silent.into_iter().flatten().map(|id| (id, Release::RequesterGone));
    let mut endings = Endings::new(fleet, Actor::Broker, now);
    for (id, why) in expired.chain(gone).take(limit) {
        let reservation = fleet.reservation(id).ok_or(Refusal::UnknownReservation(id))?;
        endings.end(reservation, Ending::Released(why))?;
    }
    Ok(endings.decide(Subject::Fleet))
}
