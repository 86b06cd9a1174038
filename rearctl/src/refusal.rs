//! A refusal as an explanation: the closest clusters, what each lacked, and what would fit.
//!
//! What would fit is not computed here: the broker is asked again, without locking, for what the closest clusters say
//! that they have, until it says that this would be granted.

use rear_agent_sdk::communicator::ReservationRequest;
use rear_agent_sdk::{BrokerCommunicator, Refused};
use rear_api::amounts::{QuantityText, RequestedResources};
use rear_api::dry_run::Candidate;
use rear_api::problem::Obstacle;

use crate::ask::flags;
use crate::output::{Cell, Colours, Table, indented, printable, tell};
use crate::session::Session;

/// How many of the closest clusters are asked about: more would be a list, not an explanation.
const ASKED: usize = 3;

/// A request has four amounts, and each question lowers one.
const QUESTIONS: usize = 5;

/// Explains on the standard error why nobody has room.
pub(crate) async fn explain(
    session: &Session,
    request: &ReservationRequest,
    refused: &Refused,
    colours: Colours,
) {
    let mut text = format!("rearctl: {}\n", printable(&refused.text));
    if !refused.candidates.is_empty() {
        text.push_str("\nThe closest clusters, and what each lacks:\n");
        text.push_str(&indented(&lacks(&refused.candidates, colours)));
    }
    let fitting = what_would_fit(session, request, &refused.candidates).await;
    if fitting.is_empty() {
        text.extend(["\n", advice(&refused.candidates), "\n"]);
    } else {
        text.push_str("\nWhat would fit now:\n");
        text.push_str(&indented(&fitting.concat()));
    }
    tell(&text);
}

fn lacks(candidates: &[Obstacle], colours: Colours) -> String {
    let rows: Vec<Vec<Cell>> = candidates
        .iter()
        .map(|it| {
            let text = |quantity: &Option<QuantityText>| {
                Cell::new(quantity.as_ref().map_or("", |quantity| &quantity.0))
            };
            vec![
                Cell::new(it.cluster_id.as_deref().unwrap_or("(not told)")),
                Cell::new(it.dimension.as_deref().unwrap_or_default()),
                text(&it.requested),
                text(&it.available),
                Cell::new(it.detail.as_deref().unwrap_or(&it.reason)),
            ]
        })
        .collect();
    Table::new(&["CLUSTER", "LACKS", "NEEDED", "FREE", "WHY"], true, colours).rows(&rows)
}

/// Lines such as `on rome: --cpu 2 --memory 3Gi`, each of which the broker would grant at this moment.
async fn what_would_fit(
    session: &Session,
    request: &ReservationRequest,
    candidates: &[Obstacle],
) -> Vec<String> {
    let mut fitting: Vec<String> = Vec::new();
    for obstacle in candidates.iter().take(ASKED) {
        let Some(smaller) = smaller(request, obstacle) else { continue };
        if let Some(line) = granted(session, smaller).await
            && !fitting.contains(&line)
        {
            fitting.push(line);
        }
    }
    fitting
}

/// Asks for less and less of what is missing on one cluster.
async fn granted(session: &Session, mut request: ReservationRequest) -> Option<String> {
    for _ in 0..QUESTIONS {
        // Nobody has to be told if this does not work: it is an extra.
        let answer = session.wait(session.broker.dry_run(&request)).await.ok()?;
        if let Some(target) = &answer.target {
            let wanted = flags(&request.requested_resources);
            return Some(format!("on {}: {}\n", printable(target), printable(&wanted)));
        }
        let mut lacking = answer.candidates.iter().filter_map(|candidate| match candidate {
            Candidate::Lacking(it) => Some(&it.obstacle),
            Candidate::Fitting(_) => None,
        });
        request = smaller(&request, lacking.next()?)?;
    }
    None
}

/// The request with what is free on a cluster in place of what it lacks there, if there is any of it.
fn smaller(request: &ReservationRequest, obstacle: &Obstacle) -> Option<ReservationRequest> {
    let (dimension, free) = (obstacle.dimension.as_deref()?, obstacle.available.as_ref()?);
    let mut smaller = request.clone();
    let RequestedResources { cpu, memory, gpu, storage } = &mut smaller.requested_resources;
    let none = free.0 == "0";
    match dimension {
        "cpu" if !none => *cpu = free.clone(),
        "memory" if !none => *memory = free.clone(),
        "gpu" => *gpu = (!none).then(|| free.clone()),
        "storage" => *storage = (!none).then(|| free.clone()),
        _ => return None,
    }
    smaller.target_cluster_id = obstacle.cluster_id.clone().or(smaller.target_cluster_id);
    (smaller != *request).then_some(smaller)
}

/// What to do where less of it would not help.
fn advice(candidates: &[Obstacle]) -> &'static str {
    match candidates.first().map(|closest| closest.reason.as_str()) {
        None => "No other cluster advertises: nothing can be reserved until one does.",
        Some("unknown") => "No cluster of that name advertises: leave out --target, or correct it.",
        Some("own-cluster") => "A cluster does not borrow from itself: leave out --target.",
        Some("recovering") => {
            "After a restore, clusters first say what they hold: try again in a minute."
        }
        Some("stale") => "The agents of these clusters are silent: `rearctl check` says which.",
        Some("overcommitted") => {
            "They have promised more than they have: wait until something ends there."
        }
        Some("label") => {
            "Ask with fewer or other labels: `rearctl clusters list -o wide` shows them."
        }
        Some("unpriced" | "too-expensive") => "Ask with a higher --max-price, or for less.",
        _ => "Ask for less, for something else, or later.",
    }
}
