//! From what the broker said to the status of a `ResourceRequest`: pure.

use std::time::Duration;

use rear_agent_sdk::communicator::{Reservation, Timestamp};
use rear_agent_sdk::{Chain, Error, Refused};
use rear_api::moment;
use rear_api::problem::{Code, Obstacle};
use rear_api::reservation::PhaseName;

use super::asked::Asked;
use crate::clock::stamp;
use crate::resources::{
    Condition, RequestPhase, ResourceRequest, ResourceRequestStatus, Truth, set_condition,
};

const RESERVED: &str = "Reserved";

/// How often a request that waits for room is asked again: the pace at which the earlier system polled.
const WAITING: Duration = Duration::from_secs(5);

/// After an error that needs a person, such as a certificate that is not accepted.
const TROUBLED: Duration = Duration::from_secs(30);

/// Of more clusters than these, the reasons are not listed.
const MOST_REASONS: usize = 5;

/// What to show, and when to ask again.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) phase: RequestPhase,
    pub(super) reason: &'static str,
    pub(super) message: String,
    pub(super) reservation: Option<Reservation>,
    pub(super) again: Option<Duration>,
}

impl Answer {
    fn of(phase: RequestPhase, reason: &'static str, message: String) -> Self {
        Self { phase, reason, message, reservation: None, again: None }
    }

    /// There is nobody to ask.
    pub(super) fn no_broker() -> Self {
        let message = "No broker is configured (--broker-transport).".to_owned();
        Self::of(RequestPhase::Pending, "NoBroker", message)
    }

    /// A reservation, as it is now.
    pub(super) fn granted(reservation: Reservation) -> Self {
        let message = reservation.status.message.clone();
        let (phase, reason) = match reservation.status.phase {
            PhaseName::Released => (RequestPhase::Released, "Released"),
            PhaseName::Failed => (RequestPhase::Failed, "Ended"),
            PhaseName::Pending | PhaseName::Reserved | PhaseName::Active | PhaseName::Other(_) => {
                (RequestPhase::Reserved, "Reserved")
            }
        };
        Self { reservation: Some(reservation), ..Self::of(phase, reason, message) }
    }

    /// The reservation's time is over, by this cluster's clock: for brokers that do not tell.
    pub(super) fn expired() -> Self {
        Self::of(RequestPhase::Released, "Expired", "The reservation has expired.".to_owned())
    }

    /// No reservation, this time.
    pub(super) fn refused(
        error: &Error,
        asked: &Asked,
        wait_for: Option<&str>,
        now: Timestamp,
    ) -> Self {
        match error {
            Error::Refused(refused) if is_no_room(refused) && waits(asked, wait_for, now) => Self {
                again: Some(WAITING),
                ..Self::of(RequestPhase::Pending, "WaitingForRoom", reasons(refused))
            },
            Error::Refused(refused) => Self::of(RequestPhase::Failed, "Refused", reasons(refused)),
            // To ask again could be granted twice.
            Error::OutcomeUnknown { .. } => {
                Self::of(RequestPhase::Failed, "OutcomeUnknown", trouble(error))
            }
            error => Self {
                again: Some(if error.is_transient() { WAITING } else { TROUBLED }),
                ..Self::of(RequestPhase::Pending, "BrokerUnavailable", trouble(error))
            },
        }
    }

    /// The status that shows it, if the request has another.
    pub(super) fn status(
        &self,
        request: &ResourceRequest,
        asked: Option<&Asked>,
        now: Timestamp,
    ) -> Option<ResourceRequestStatus> {
        let known = request.status.clone().unwrap_or_default();
        let mut new = known.clone();
        new.phase = Some(self.phase);
        new.message = Some(self.message.clone());
        new.observed_generation = asked.map(|asked| asked.generation);
        if known.observed_generation != new.observed_generation {
            (new.target_cluster_id, new.reservation_name, new.expires_at) = (None, None, None);
        }
        if let Some(reservation) = &self.reservation {
            new.target_cluster_id = Some(reservation.target_cluster_id.clone());
            new.reservation_name = Some(reservation.id.clone());
            new.expires_at.clone_from(&reservation.status.expires_at);
        }
        set_condition(&mut new.conditions, self.condition(asked, now));
        (new != known).then(|| {
            new.last_update_time = Some(stamp(now));
            new
        })
    }

    fn condition(&self, asked: Option<&Asked>, now: Timestamp) -> Condition {
        let status = match self.phase {
            RequestPhase::Reserved => Truth::True,
            RequestPhase::Pending => Truth::Unknown,
            RequestPhase::Released | RequestPhase::Failed => Truth::False,
        };
        Condition {
            kind: RESERVED.to_owned(),
            status,
            reason: self.reason.to_owned(),
            message: self.message.clone(),
            last_transition_time: stamp(now),
            observed_generation: asked.map(|asked| asked.generation),
        }
    }
}

/// A broker of the earlier system says only that it is a conflict.
fn is_no_room(refused: &Refused) -> bool {
    match refused.code {
        Some(code) => code == Code::NoRoom,
        None => refused.status == 409,
    }
}

fn waits(asked: &Asked, wait_for: Option<&str>, now: Timestamp) -> bool {
    let end = || {
        let length = wait_for?.parse::<rear_agent_sdk::Length>().ok()?;
        Some(moment::read(&asked.since).ok()?.plus(length))
    };
    end().is_some_and(|end| now < end)
}

/// The broker's words, and what was missing where.
fn reasons(refused: &Refused) -> String {
    let told = |obstacle: &Obstacle| {
        let why = obstacle.detail.as_ref().unwrap_or(&obstacle.reason);
        match &obstacle.cluster_id {
            Some(cluster) => format!("{cluster}: {why}"),
            None => why.clone(),
        }
    };
    let listed: Vec<_> = refused.candidates.iter().take(MOST_REASONS).map(told).collect();
    if listed.is_empty() {
        return refused.text.clone();
    }
    format!("{} ({})", refused.text, listed.join("; "))
}

fn trouble(error: &Error) -> String {
    format!("{}. {}", Chain(error), error.remedy())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::ResourceRequestSpec;

    fn asked() -> Asked {
        let since = "1970-01-01T00:00:00Z".to_owned();
        Asked { generation: 1, since, request: rear_agent_sdk::request("1", "1Gi") }
    }

    fn no_room() -> Error {
        let rome = serde_json::from_str(
            r#"{"clusterID":"rome","reason":"insufficient","detail":"cpu 2 is asked for, 1 is left"}"#,
        );
        let text = "no cluster has room".to_owned();
        Error::Refused(Refused::new(409, Some(Code::NoRoom), text, vec![rome.unwrap()]))
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    #[test]
    fn refused_is_failed_with_the_reasons() {
        let answer = Answer::refused(&no_room(), &asked(), None, at(1));
        assert_eq!(answer.phase, RequestPhase::Failed);
        let expected = "no cluster has room (rome: cpu 2 is asked for, 1 is left)";
        assert_eq!((answer.message.as_str(), answer.again), (expected, None));
    }

    #[test]
    fn a_request_that_may_wait_is_asked_again_until_its_time_is_over() {
        let waiting = Answer::refused(&no_room(), &asked(), Some("10m"), at(599));
        assert_eq!((waiting.phase, waiting.again), (RequestPhase::Pending, Some(WAITING)));
        let over = Answer::refused(&no_room(), &asked(), Some("10m"), at(600));
        assert_eq!((over.phase, over.again), (RequestPhase::Failed, None));
    }

    #[test]
    fn only_a_lack_of_room_is_waited_for() {
        let invalid = Refused::new(422, Some(Code::Invalid), "duration".into(), Vec::new());
        let answer = Answer::refused(&invalid.into(), &asked(), Some("10m"), at(1));
        assert_eq!(answer.phase, RequestPhase::Failed);
    }

    #[test]
    fn a_broker_that_is_away_is_waited_for() {
        let answer = Answer::refused(&Error::TimedOut { seconds: 30 }, &asked(), None, at(1));
        assert_eq!((answer.phase, answer.again), (RequestPhase::Pending, Some(WAITING)));
    }

    #[test]
    fn what_may_have_been_granted_is_not_asked_for_twice() {
        let unknown = Error::OutcomeUnknown { source: "lost".into() };
        assert_eq!(Answer::refused(&unknown, &asked(), Some("10m"), at(1)).again, None);
    }

    #[test]
    fn the_status_is_written_once_and_forgets_the_target_of_an_older_spec() {
        let mut request = ResourceRequest::new("r", ResourceRequestSpec::default());
        let reservation = r#"{"id":"rsv-1","requesterID":"rome","targetClusterID":"paris",
            "requestedResources":{"cpu":"1","memory":"1Gi"},
            "status":{"phase":"Active","message":"Use paris"}}"#;
        let granted = Answer::granted(serde_json::from_str(reservation).unwrap());
        let status = granted.status(&request, Some(&asked()), at(1)).unwrap();
        assert_eq!(status.phase, Some(RequestPhase::Reserved));
        assert_eq!(status.target_cluster_id.as_deref(), Some("paris"));
        request.status = Some(status);
        assert_eq!(granted.status(&request, Some(&asked()), at(2)), None);
        let newer = Asked { generation: 2, ..asked() };
        let refused = Answer::refused(&no_room(), &newer, None, at(3));
        let status = refused.status(&request, Some(&newer), at(3)).unwrap();
        assert_eq!((status.target_cluster_id, status.reservation_name), (None, None));
    }
}
