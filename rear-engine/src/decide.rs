//! Decisions: pure functions from a fleet, a command and a time to changes and events, or to a refusal.

mod activate;
mod adopt;
mod advertise;
mod ending;
mod expire;
mod forget;
mod hear;
mod mark_stale;
mod reject;
mod release;
mod renew;
mod reserve;
mod retire;
mod rights;

use self::adopt::Held;
use crate::command::Command;
use crate::decision::Decision;
use crate::fleet::Fleet;
use crate::refusal::Refusal;
use crate::time::Timestamp;

pub use advertise::refreshment;
pub use reserve::explain;

/// Decides one command. The same fleet, command and time always give the same decision; nothing is
/// changed before [`Fleet::apply`].
pub fn decide(fleet: &Fleet, command: Command, now: Timestamp) -> Result<Decision, Refusal> {
    match command {
        Command::Advertise { cluster, advertisement, holding } => {
            let held = holding.map_or(Held::Unsaid, Held::All);
            advertise::advertise(fleet, &cluster, *advertisement, held, now)
        }
        Command::Adopt { cluster, advertisement, holding, limit } => {
            let held = Held::More { holding, limit };
            advertise::advertise(fleet, &cluster, *advertisement, held, now)
        }
        Command::Hear { cluster } => Ok(hear::hear(fleet, cluster, now)),
        Command::Reserve { id, ask, key, by } => reserve::reserve(fleet, id, *ask, key, by, now),
        Command::Activate { id, by } => activate::activate(fleet, id, by, now),
        Command::Renew { id, until, by } => renew::renew(fleet, id, until, by, now),
        Command::Reject { id, reason, by } => reject::reject(fleet, id, reason, by, now),
        Command::Release { id, by } => release::release(fleet, id, by, now),
        Command::Expire { limit } => expire::expire(fleet, limit, now),
        Command::MarkStale { limit } => Ok(mark_stale::mark_stale(fleet, limit, now)),
        Command::Retire { limit } => Ok(retire::retire(fleet, limit, now)),
        Command::Forget { cluster, by } => forget::forget(fleet, cluster, by, now),
        Command::Clear { cluster, limit, by } => forget::clear(fleet, cluster, limit, by, now),
        Command::EndRecovery { cluster, by } => adopt::end_recovery(fleet, cluster, by, now),
    }
}
