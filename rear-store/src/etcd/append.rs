//! Appending an entry, and finding out who has won its place when the answer is lost.

use std::time::Duration;

use etcd_client::{Client, Compare, CompareOp, Txn, TxnOp, TxnOpResponse, TxnResponse};
use tokio::time::{Instant, sleep};

use super::hub::Hub;
use super::remote::{Trouble, kv};
use crate::journal::JournalError;
use crate::records::head::{open_head, seal_head};
use crate::shared::{Head, Place, judge_place};

/// Between two tries of the same put.
const PAUSE: Duration = Duration::from_millis(50);

/// An entry that wants a place.
#[derive(Debug, Clone)]
pub(super) struct Proposal {
    pub(super) bytes: Vec<u8>,
    pub(super) before: Head,
    pub(super) after: Head,
}

/// What etcd says to a put.
enum Answer {
    Appended,
    /// The head is another: it, and what is in the place.
    Moved(Option<Head>, Option<Vec<u8>>),
}

/// Puts an entry until some entry stands in its place, or for so long. `in_doubt`: it was put before, and that may still be
/// on its way.
pub(super) async fn append(
    hub: &Hub,
    proposal: &Proposal,
    patience: Duration,
    mut in_doubt: bool,
) -> Result<Place, JournalError> {
    let began = Instant::now();
    loop {
        let asked = Instant::now();
        let why = match put(hub, proposal).await? {
            Ok(Answer::Appended) => {
                hub.confirmed(asked);
                return Ok(Place::Mine);
            }
            Ok(Answer::Moved(head, in_place)) => return found(hub, proposal, head, in_place),
            Err(Trouble::Refused(why)) if !in_doubt => return Err(JournalError::OutOfReach(why)),
            Err(Trouble::Refused(why)) => why,
            // The answer came before the put was ordered or after it was applied: it is not on its way any more, so looking settles it.
            Err(Trouble::Full(why)) => match look(hub, proposal).await? {
                Ok((Some(head), _)) if head == proposal.before && !in_doubt => {
                    return Err(JournalError::OutOfReach(why));
                }
                Ok((Some(head), _)) if head == proposal.before => why,
                Ok((head, in_place)) => return found(hub, proposal, head, in_place),
                Err(_) => {
                    in_doubt = true;
                    why
                }
            },
            Err(Trouble::Unheard(why)) => {
                in_doubt = true;
                why
            }
        };
        if began.elapsed() >= patience {
            return Err(JournalError::InDoubt(why));
        }
        hub.remote.retry();
        sleep(PAUSE).await;
    }
}

/// Whose the place is, of which this was found.
fn found(
    hub: &Hub,
    proposal: &Proposal,
    head: Option<Head>,
    in_place: Option<Vec<u8>>,
) -> Result<Place, JournalError> {
    let mine = proposal.after.hash;
    let place = judge_place(&proposal.before, mine, head.as_ref(), in_place.as_deref())?;
    if let Some(bytes) = in_place {
        hub.hear(proposal.after.position, &bytes);
    }
    if let Some(head) = head {
        hub.know_of(head.position);
    }
    Ok(place)
}

/// The head, and what is in the place of an entry.
type Found = (Option<Head>, Option<Vec<u8>>);

/// Looks for an entry without putting it.
async fn look(hub: &Hub, proposal: &Proposal) -> Result<Result<Found, Trouble>, JournalError> {
    let keys = &hub.remote.keys;
    let txn = Txn::new().and_then([
        TxnOp::get(keys.head(), None),
        TxnOp::get(keys.entry(proposal.after.position), None),
    ]);
    match hub.remote.once(|client: Client| async move { kv(&client).txn(txn).await }).await {
        Ok(answer) => got(&answer).map(Ok),
        Err(trouble) => Ok(Err(trouble)),
    }
}

fn got(answer: &TxnResponse) -> Result<Found, JournalError> {
    let mut found = answer.op_responses().into_iter().map(|found| match found {
        TxnOpResponse::Get(got) => got.kvs().first().map(|kept| kept.value().to_vec()),
        _ => None,
    });
    let head = found.next().flatten().map(|bytes| open_head(&bytes)).transpose()?;
    Ok((head, found.next().flatten()))
}

async fn put(hub: &Hub, proposal: &Proposal) -> Result<Result<Answer, Trouble>, JournalError> {
    let keys = &hub.remote.keys;
    let (head, entry) = (keys.head(), keys.entry(proposal.after.position));
    let (before, after) = (seal_head(&proposal.before)?, seal_head(&proposal.after)?);
    let txn = Txn::new()
        .when([Compare::value(head.clone(), CompareOp::Equal, before)])
        .and_then([
            TxnOp::put(entry.clone(), proposal.bytes.clone(), None),
            TxnOp::put(head.clone(), after, None),
        ])
        .or_else([TxnOp::get(head, None), TxnOp::get(entry, None)]);
    let asked =
        hub.remote.once_of_leader(|client: Client| async move { kv(&client).txn(txn).await });
    let answer = match asked.await {
        Ok(answer) => answer,
        Err(trouble) => return Ok(Err(trouble)),
    };
    if answer.succeeded() {
        return Ok(Ok(Answer::Appended));
    }
    let (head, in_place) = got(&answer)?;
    Ok(Ok(Answer::Moved(head, in_place)))
}
