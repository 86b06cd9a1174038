//! Follows the instructions of one side: observes, decides what differs, has it done.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;
use tracing::{info, warn};

use super::backoff::Backoff;
use super::{Agent, Parts, Wish};
use crate::communicator::{Level, Reservation, Role};
use crate::error::{Chain, Error};
use crate::handler::{NotKept, Step, by_id, same_sides, steps};
use crate::recovery::Recovery;
use crate::watch::Watch;

pub(super) struct Follower {
    parts: Arc<Parts>,
    role: Role,
    watch: Watch,
    wish: mpsc::Sender<Wish>,
    pause: Duration,
    backoff: Backoff,
    /// The life of the ledger in which the broker knows all that is kept.
    known_in: Option<u64>,
    recovery: Recovery,
}

impl Follower {
    pub(super) fn new(agent: &Agent, role: Role, wish: mpsc::Sender<Wish>) -> Self {
        let parts = agent.parts.clone();
        let watch = Watch::new(parts.communicator.clone(), role);
        let (pause, backoff) = (agent.pause, Backoff::new(agent.pause));
        let recovery = Recovery::default();
        Self { parts, role, watch, wish, pause, backoff, known_in: None, recovery }
    }

    /// Until the communicator is closed.
    pub(super) async fn run(&mut self) -> Result<Infallible, Error> {
        let mut last: Option<Level> = None;
        let mut unfinished = false;
        loop {
            let (level, before) = match last.take() {
                None => (self.watch.next().await, None),
                // News replaces what was known; without news it is looked at again when it could not be done, or was
                // undone.
                Some(level) => tokio::select! {
                    news = self.watch.next() => (news, Some(level)),
                    () = sleep(self.pause), if unfinished => (Ok(level), None),
                    () = self.parts.handler.disturbed(self.role) => (Ok(level), None),
                },
            };
            let level = match level {
                Ok(level) => self.settled(level).await,
                Err(error) => Err(error),
            };
            match level {
                Ok(level) => {
                    self.backoff.worked();
                    let done = self.reconcile(&level, before.as_ref()).await;
                    unfinished = !done || !self.recovery.is_over();
                    last = Some(level);
                }
                Err(Error::Closed) => return Err(Error::Closed),
                // A broker of the earlier system tells providers only. Another may take its place.
                Err(Error::Unsupported { .. }) => sleep(self.pause).await,
                Err(error) => {
                    warn!(role = %self.role, error = %Chain(&error), remedy = error.remedy(), "no instructions");
                    sleep(self.backoff.failed(&error)).await;
                }
            }
        }
    }

    /// A level from which it can be told what has ended: the broker knows all that this side keeps, or it is known
    /// what the broker may have forgotten.
    async fn settled(&mut self, mut level: Level) -> Result<Level, Error> {
        while life(&level) != self.known_in {
            let seen = life(&level);
            match self.role {
                // It learns of its promises from the provider: what it has not been told must not be given back.
                Role::Provider => self.have_it_told().await,
                Role::Requester => {
                    if !self.look_for_forgotten(&level).await? {
                        self.known_in = seen;
                        break;
                    }
                }
            }
            // What has been said meanwhile is in a later level.
            let later = self.parts.communicator.instructions(self.role, None).await?;
            level = Level { fell_back: level.fell_back, ..later };
            if life(&level) != seen {
                continue;
            }
            if !self.recovery.is_over() {
                break;
            }
            self.known_in = seen;
        }
        Ok(level)
    }

    /// Whether the broker had to be asked about it.
    async fn look_for_forgotten(&mut self, level: &Level) -> Result<bool, Error> {
        let kept = self.parts.handler.kept(self.role).await;
        let kept = kept.map_err(|source| Error::Local { source })?;
        self.recovery.look(&*self.parts.communicator, level, &kept).await
    }

    /// Ends when the state has been published after this moment.
    async fn have_it_told(&self) {
        loop {
            let (told, done) = oneshot::channel();
            // Both end only together with the agent, or when an attempt failed.
            if self.wish.send(Some(told)).await.is_ok() && done.await.is_ok() {
                return;
            }
            sleep(self.pause).await;
        }
    }

    /// Whether all that differs has been done. `before` is the level that this one replaces, if it is news.
    async fn reconcile(&self, level: &Level, before: Option<&Level>) -> bool {
        let kept = match self.parts.handler.kept(self.role).await {
            Ok(kept) => kept,
            Err(error) => {
                warn!(role = %self.role, error = %Chain(&*error), "what is kept is not known");
                return false;
            }
        };
        let mut steps = steps(&level.instructions, &kept);
        let may_live = |kept: &Reservation| {
            level.fell_back || self.recovery.may_live(kept) || level.unreadable.contains(&kept.id)
        };
        steps.retain(|step| !matches!(step, Step::GiveBack(kept) if may_live(kept)));
        let mut done = self.leave_what_is_newer(&mut steps, level, before).await;
        for step in &steps {
            done &= self.take(step).await;
        }
        if !steps.is_empty() && self.role == Role::Provider {
            // A wish that waits already says the same.
            drop(self.wish.try_send(None));
        }
        done
    }

    /// What is kept and was in no level may have ended, or have been made and kept by others after this level was told:
    /// only a later level can tell, and without one it stays. Whether that is known.
    async fn leave_what_is_newer(
        &self,
        steps: &mut Vec<Step>,
        level: &Level,
        before: Option<&Level>,
    ) -> bool {
        let was_told = by_id(before.map_or(&[], |before| &before.instructions));
        let is_doubtful =
            |step: &Step| matches!(step, Step::GiveBack(kept) if !is_in(&was_told, kept));
        if !steps.iter().any(is_doubtful) {
            return true;
        }
        let later = self.parts.communicator.instructions(self.role, None).await;
        match later {
            Ok(later) if life(&later) == life(level) => {
                let wanted = by_id(&later.instructions);
                let may_live = |kept: &Reservation| {
                    is_in(&wanted, kept) || later.unreadable.contains(&kept.id)
                };
                steps.retain(|step| !matches!(step, Step::GiveBack(kept) if may_live(kept)));
                true
            }
            outcome => {
                if let Err(error) = outcome {
                    warn!(role = %self.role, error = %Chain(&error), remedy = error.remedy(), "what has ended is not known");
                }
                steps.retain(|step| !is_doubtful(step));
                false
            }
        }
    }

    async fn take(&self, step: &Step) -> bool {
        let outcome = match step {
            Step::GiveBack(promise) => {
                info!(role = %self.role, id = promise.id, "given back");
                let undone = self.parts.handler.give_back(self.role, promise).await;
                undone.map_err(NotKept::Failed)
            }
            Step::Keep(promise) => {
                info!(role = %self.role, id = promise.id, "kept");
                self.parts.handler.keep(self.role, promise).await
            }
        };
        let (Step::GiveBack(promise) | Step::Keep(promise)) = step;
        match outcome {
            Ok(()) => true,
            Err(NotKept::Refused(reason)) => self.refuse(promise, &reason).await,
            Err(error) => {
                warn!(role = %self.role, id = promise.id, error = %Chain(&error), "tried again later");
                false
            }
        }
    }

    /// The other side is told, through the broker.
    async fn refuse(&self, promise: &Reservation, reason: &str) -> bool {
        let communicator = &self.parts.communicator;
        let told = match self.role {
            Role::Provider => communicator.reject(&promise.id, reason).await,
            Role::Requester => communicator.release(&promise.id).await,
        };
        match told {
            Ok(_) => true,
            Err(error) => {
                warn!(id = promise.id, error = %Chain(&error), remedy = error.remedy(), "not refused");
                !error.is_transient()
            }
        }
    }
}

/// The incarnation of the ledger that a level is from.
fn life(level: &Level) -> Option<u64> {
    level.revision.map(|revision| revision.incarnation)
}

fn is_in(promises: &HashMap<&str, &Reservation>, kept: &Reservation) -> bool {
    promises.get(kept.id.as_str()).is_some_and(|promise| same_sides(promise, kept))
}
