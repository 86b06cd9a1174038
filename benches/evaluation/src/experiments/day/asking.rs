//! What the clusters of the simulated fleet want, and what they do with what they were promised.

use std::collections::BTreeMap;

use rear_engine::{Actor, Ask, Command, Duration, ReservationId, Terms, Timestamp};
use rear_store::SubmitError;
use rear_store::clock::Clock;

use super::life::{Life, Wish, resources};
use crate::checks::Made;

const GIB: u64 = 1 << 30;

impl Life {
    /// Some promises are used, renewed, rejected or given back.
    pub(super) fn end_some(&mut self) -> Vec<(Command, Option<u128>)> {
        let mut commands = Vec::new();
        for _ in 0..self.chance.between(0, 14) {
            let at =
                usize::try_from(self.chance.next() % self.made.len().max(1) as u64).unwrap_or(0);
            let Some((&bits, promise)) = self.made.iter().nth(at) else { continue };
            let Some(wish) = self.wishes.get(&bits) else { continue };
            let (id, requester) = (ReservationId::from_bits(bits), wish.ask.requester().clone());
            let by = Actor::Cluster(requester);
            let provider = promise.provider.parse().map(Actor::Cluster);
            let until = self.clock.read().wall.plus(Duration::from_seconds(1800));
            commands.push(match self.chance.between(0, 9) {
                0..=1 => (Command::Activate { id, by }, None),
                2..=3 => (Command::Renew { id, until, by }, Some(bits)),
                4 => {
                    let Ok(by) = provider else { continue };
                    let reason = "full".parse().unwrap_or_default();
                    (Command::Reject { id, reason, by }, Some(bits))
                }
                _ => (Command::Release { id, by }, Some(bits)),
            });
        }
        commands
    }

    /// New wishes, and some old ones whose answer was lost. On whom something was granted.
    pub(super) fn ask(&mut self, wrong: &mut Vec<String>) -> Vec<String> {
        let mut commands = Vec::new();
        for _ in 0..self.chance.between(4, 20) {
            self.next += 1;
            let id = self.next;
            if let Some(wish) = self.wish() {
                commands.push((reserve(&wish, id), Some(id)));
                self.wishes.insert(id, wish);
            }
        }
        let mut again = BTreeMap::new();
        let before: Vec<u128> = self.made.keys().rev().take(2).copied().collect();
        for first in before {
            self.next += 1;
            let id = self.next;
            if let Some(wish) = self.wishes.get(&first) {
                commands.push((reserve(wish, id), Some(id)));
                again.insert(id, first);
            }
        }
        let mut granted_on = Vec::new();
        for ((_, id), outcome) in self.decide(commands) {
            let id = id.unwrap_or_default();
            let answered = outcome.map(|answer| answer.reservation);
            match (again.get(&id), answered) {
                (Some(first), Ok(Some(kept))) if kept.id == ReservationId::from_bits(*first) => {
                    self.count("asked again under the same key");
                }
                (Some(first), outcome) => {
                    wrong.push(format!("{first} was asked again: {outcome:?}"));
                }
                (None, Ok(Some(kept))) => {
                    self.count("granted");
                    let provider = kept.provider.to_string();
                    granted_on.push(provider.clone());
                    let ends = kept.expires_at.map_or(i64::MAX, Timestamp::as_nanos);
                    let amounts = kept.ask.resources().amounts();
                    self.made.insert(id, Made { provider, amounts, ends });
                }
                (None, Err(SubmitError::Refused(_))) => {
                    self.count("refused for lack of room");
                    self.wishes.remove(&id);
                }
                (None, outcome) => wrong.push(format!("{id}: {outcome:?}")),
            }
        }
        granted_on
    }

    fn wish(&mut self) -> Option<Wish> {
        let number = usize::try_from(self.chance.next() % self.members.len() as u64).unwrap_or(0);
        let amounts = [
            self.chance.between(1, 16) * 250,
            self.chance.between(1, 32) * GIB / 4,
            u64::from(self.chance.percent(5)),
            self.chance.between(0, 3) * GIB,
        ];
        let duration = Some(Duration::from_seconds(
            i64::try_from(self.chance.between(30, 7200)).unwrap_or(60),
        ));
        let terms = Terms { duration, ..Terms::default() };
        let ask = Ask::new(self.members[number].id.clone(), resources(amounts), terms).ok()?;
        Some(Wish { key: format!("wish-{}", self.next), ask })
    }
}

/// A wish as a command, under its key.
fn reserve(wish: &Wish, id: u128) -> Command {
    let by = Actor::Cluster(wish.ask.requester().clone());
    let (id, key) = (ReservationId::from_bits(id), wish.key.parse().ok());
    Command::Reserve { id, ask: Box::new(wish.ask.clone()), key, by }
}
