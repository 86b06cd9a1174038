//! How a `ResourceRequest` ends: its reservation is given back before the object goes.

use std::time::Duration;

use kube::ResourceExt;
use kube::runtime::controller::Action;
use kube::runtime::events::EventType;
use rear_agent_sdk::communicator::{
    BrokerCommunicator, Reservation, ReservationRequest, Timestamp,
};
use rear_agent_sdk::{Chain, Error, is_recovering};
use rear_api::moment;
use rear_api::problem::Code;
use tracing::{info, warn};

use super::asked::Asked;
use super::{FINALIZER, MANAGER, Requests, Shown, is_held, knows_keys, shown};
use crate::context::{ReconcileError, let_go};
use crate::resources::ResourceRequest;
use crate::steps::step;

/// How long a deletion waits to learn from the broker what it has granted. After that the object goes: a broker that is
/// gone for good must not keep it. A reservation that exists then shows up as a `ReservationInstruction`.
const PATIENCE: Duration = Duration::from_mins(5);

impl Requests {
    /// Gives back what was asked under an older spec, or for an object that goes.
    pub(super) async fn release(
        &self,
        broker: &dyn BrokerCommunicator,
        request: &ResourceRequest,
        asked: &Asked,
    ) -> Result<(), Error> {
        let id = match shown(request, asked) {
            Shown::Granted(id) => id.to_owned(),
            Shown::Over => return Ok(()),
            Shown::Nothing => match self.find_out(broker, request, asked).await? {
                Some(reservation) => reservation.id,
                None => return Ok(()),
            },
        };
        if release(broker, &id).await? == Release::Unknown {
            self.must_have_ended(broker, request, asked).await?;
        }
        step!("request-released");
        info!(request = request.name_any(), reservation = id, "released");
        // The broker's next level says the same; one of the earlier system does not.
        let removed = self.delivered.remove(&self.context, &id).await;
        step!("instruction-removed");
        removed.map_err(|error| Error::Local { source: error.into() })
    }

    /// What a broker does not know has ended, unless its ledger was restored and the provider has not spoken yet: then
    /// it comes back.
    pub(super) async fn must_have_ended(
        &self,
        broker: &dyn BrokerCommunicator,
        request: &ResourceRequest,
        asked: &Asked,
    ) -> Result<(), Error> {
        let target_cluster_id = request.status.as_ref().and_then(|it| it.target_cluster_id.clone());
        let promised = ReservationRequest { target_cluster_id, ..asked.request.clone() };
        match promised.target_cluster_id {
            Some(_) if is_recovering(broker, &promised).await? => Err(Error::Restored),
            _ => Ok(()),
        }
    }

    /// What was granted before the answer was shown: the same key and body give the same reservation. If it had not
    /// been granted, it may be now, and is released at once.
    async fn find_out(
        &self,
        broker: &dyn BrokerCommunicator,
        request: &ResourceRequest,
        asked: &Asked,
    ) -> Result<Option<Reservation>, Error> {
        // One of the earlier system has no keys: asked again, it makes another, and has no release for it.
        if !knows_keys(broker).await? {
            return Ok(None);
        }
        match broker.reserve(&asked.request, &asked.intent(request)).await {
            Ok(reservation) => Ok(Some(reservation)),
            Err(Error::Refused(_) | Error::OutcomeUnknown { .. } | Error::Unsupported { .. }) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The object goes: its reservation first.
    pub(super) async fn finish(
        &self,
        broker: &dyn BrokerCommunicator,
        request: &ResourceRequest,
        asked: Option<Asked>,
    ) -> Result<Action, ReconcileError> {
        let Some(asked) = asked else {
            self.let_go(request).await?;
            return Ok(Action::await_change());
        };
        match self.release(broker, request, &asked).await {
            Ok(()) => {}
            Err(error) => {
                warn!(request = request.name_any(), error = %Chain(&error), "not released");
                let remembered = match shown(request, &asked) {
                    // The instruction remembers that it is to be released, for as long as it takes.
                    Shown::Granted(id) => self.delivered.release_later(&self.context, id).await?,
                    Shown::Over => true,
                    Shown::Nothing => false,
                };
                // Else only the request does, as long as it is there.
                if !remembered && !is_out_of_patience(request) {
                    return Err(error.into());
                }
                if !remembered {
                    let why = Chain(&error);
                    let note = format!("The broker could not be asked what it has granted: {why}");
                    self.context.tell(request, EventType::Warning, "NotReleased", &note);
                }
            }
        }
        self.let_go(request).await?;
        Ok(Action::await_change())
    }

    pub(super) async fn let_go(&self, request: &ResourceRequest) -> Result<(), kube::Error> {
        if is_held(request) {
            let_go(&self.api(request), MANAGER, request, FINALIZER).await?;
            self.begun().remove(&request.uid().unwrap_or_default());
            step!("request-let-go");
        }
        Ok(())
    }
}

/// Whether a deletion has waited long enough.
fn is_out_of_patience(request: &ResourceRequest) -> bool {
    let deleted = request.metadata.deletion_timestamp.as_ref();
    let deleted = deleted.and_then(|time| moment::read(&time.0.to_string()).ok());
    let waited = |since: Timestamp| rear_agent_sdk::now().since(since).as_nanos();
    deleted.is_none_or(|since| u128::try_from(waited(since)).unwrap_or(0) > PATIENCE.as_nanos())
}

/// What came of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::controllers) enum Release {
    /// It has ended.
    Done,
    /// The broker does not know it.
    Unknown,
}

/// Repeating it is fine, and what has ended needs no release.
pub(in crate::controllers) async fn release(
    broker: &dyn BrokerCommunicator,
    id: &str,
) -> Result<Release, Error> {
    match broker.release(id).await {
        Ok(_) => Ok(Release::Done),
        Err(Error::NotFound { .. }) => Ok(Release::Unknown),
        Err(Error::Refused(refused)) if refused.code == Some(Code::AlreadyEnded) => {
            Ok(Release::Done)
        }
        // A broker of the earlier system frees it when its time is over.
        Err(Error::Unsupported { .. }) => {
            warn!(reservation = id, "this broker has no release: it ends at its time");
            Ok(Release::Done)
        }
        Err(error) => Err(error),
    }
}
