//! What a cluster does about its promises: the half of an agent that acts.

use std::collections::HashMap;
use std::future::{Future, pending};
use std::pin::Pin;

use thiserror::Error;

use crate::collector::Doing;
use crate::communicator::{Reservation, Role};
use crate::error::Source;

/// Acts on instructions.
///
/// The agent compares what the broker wants with [`kept`](Self::kept) and asks for the difference. So each promise is
/// handed over at least once, and no more once it is among what is kept: remember it where a restart finds it, in the
/// same step that puts it into effect, or make the effect one that can be repeated.
pub trait InstructionHandler: Send + Sync + 'static {
    /// What is in effect on a side. As a [provider](Role::Provider), this is also told to the broker, which after the
    /// loss of its data learns from it what it had promised.
    fn kept(&self, role: Role) -> Doing<'_, Vec<Reservation>>;

    /// As a provider: keep this aside. As a [requester](Role::Requester): use that cluster. It is asked again when the
    /// amounts or the end have changed.
    fn keep<'a>(&'a self, role: Role, promise: &'a Reservation) -> Keeping<'a>;

    /// The promise has ended: undo it.
    fn give_back<'a>(&'a self, role: Role, promise: &'a Reservation) -> Doing<'a, ()>;

    /// Ends when what is kept may have been changed by others; it is then compared again. Without it, that happens with
    /// the next news of the broker.
    fn disturbed(&self, _role: Role) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(pending())
    }
}

/// A promise that is being put into effect.
pub type Keeping<'a> = Pin<Box<dyn Future<Output = Result<(), NotKept>> + Send + 'a>>;

/// Why a promise is not in effect.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NotKept {
    /// It cannot be, for this reason: the agent rejects it (as a provider) or releases it (as a requester).
    #[error("{0}")]
    Refused(String),
    /// Not this time: it is asked again.
    #[error("it could not be put into effect")]
    Failed(#[source] Source),
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    GiveBack(Reservation),
    Keep(Reservation),
}

/// From what is kept to what is wanted: what frees capacity first. A provider may have ten thousand of each, so that
/// both are looked up by id.
pub(crate) fn steps(wanted: &[Reservation], kept: &[Reservation]) -> Vec<Step> {
    let (wanted_ids, kept_ids) = (by_id(wanted), by_id(kept));
    let is_wanted = |kept: &&Reservation| {
        wanted_ids.get(kept.id.as_str()).is_some_and(|wanted| same_sides(kept, wanted))
    };
    let is_kept = |wanted: &&Reservation| {
        let same = |kept: &Reservation| same_sides(kept, wanted) && same_terms(kept, wanted);
        kept_ids.get(wanted.id.as_str()).is_some_and(|kept| same(kept))
    };
    let ended = kept.iter().filter(|kept| !is_wanted(kept)).cloned().map(Step::GiveBack);
    let new = wanted.iter().filter(|wanted| !is_kept(wanted)).cloned().map(Step::Keep);
    ended.chain(new).collect()
}

pub(crate) fn by_id(promises: &[Reservation]) -> HashMap<&str, &Reservation> {
    promises.iter().map(|promise| (promise.id.as_str(), promise)).collect()
}

/// Whether two promises of one name are one: a name that a user has given may come again, between others. A handler may leave out
/// its own side.
pub(crate) fn same_sides(left: &Reservation, right: &Reservation) -> bool {
    let same = |left: &str, right: &str| left == right || left.is_empty() || right.is_empty();
    same(&left.target_cluster_id, &right.target_cluster_id)
        && same(&left.requester_id, &right.requester_id)
}

/// Whether nothing has changed that a side would act on.
fn same_terms(left: &Reservation, right: &Reservation) -> bool {
    left.requested_resources == right.requested_resources
        && left.status.expires_at == right.status.expires_at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn promise(id: &str, target: &str, cpu: &str) -> Reservation {
        let text = format!(
            r#"{{"id":"{id}","requesterID":"rome","targetClusterID":"{target}",
            "requestedResources":{{"cpu":"{cpu}","memory":"1Gi"}},"status":{{"phase":"Reserved"}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn what_has_ended_goes_before_what_is_new_or_has_changed_comes() {
        let (same, ended) = (promise("same", "paris", "1"), promise("ended", "paris", "1"));
        let (smaller, larger) = (promise("grown", "paris", "1"), promise("grown", "paris", "2"));
        let new = promise("new", "paris", "1");
        let kept = [same.clone(), smaller, ended.clone()];
        let wanted = [new.clone(), same, larger.clone()];
        let expected = [Step::GiveBack(ended), Step::Keep(new), Step::Keep(larger)];
        assert_eq!(steps(&wanted, &kept), expected);
    }

    #[test]
    fn a_name_that_comes_again_for_another_cluster_is_another_promise() {
        let (old, new) = (promise("db", "paris", "1"), promise("db", "oslo", "1"));
        let expected = [Step::GiveBack(old.clone()), Step::Keep(new.clone())];
        assert_eq!(steps(std::slice::from_ref(&new), &[old]), expected);
        let without_side = Reservation { target_cluster_id: String::new(), ..new.clone() };
        assert_eq!(steps(&[new], &[without_side]), []);
    }
}
