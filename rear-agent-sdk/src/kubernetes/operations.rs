//! What is said to the broker, each as what is written for it and what is waited for.

use std::sync::Arc;

use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use rear_api::moment;
use rear_api::problem::Code;
use rear_api::reservation::{PhaseName, Reservation as Body};
use rear_api::resources::names::{
    PROVIDER_REJECTED, PROVIDERS_VIEW, RENEWED, REQUESTER_ACTIVE, REQUESTER_RELEASED,
    TRANSIENT_LABEL, VIEW_LABEL, advertisement_name,
};
use rear_api::resources::{
    ClusterAdvertisement, ClusterAdvertisementSpec, Mark, Reservation, ReservationSpec, Truth,
    condition, is_true,
};
use serde_json::json;

use super::failure::{of_kube, of_refusal, refused};
use super::sides::{concerns, is_live, shown};
use super::{KubernetesCommunicator, MANAGER, names};
use crate::communicator::{
    AdvertisementAnswer, AdvertisementRequest, DryRun, Intent, Position, ReservationRequest, Role,
    Timestamp,
};
use crate::error::{Error, Refused};

/// The state of the ledger that an object was last written from.
pub(super) fn mark_of(object: &Reservation) -> Option<Position> {
    let mark: Mark = object.status.as_ref()?.ledger.as_deref()?.parse().ok()?;
    Some(mark.position)
}

pub(super) fn unknown(id: &str) -> Error {
    Error::NotFound { detail: format!("there is no reservation {id}") }
}

fn phase_of(object: &Reservation) -> Option<PhaseName> {
    object.status.as_ref()?.phase_name()
}

fn apply() -> PatchParams {
    PatchParams::apply(MANAGER).force()
}

impl KubernetesCommunicator {
    /// Writes the advertisement, without what is the broker's, and waits until the broker has looked at it.
    pub(super) async fn tell(
        &self,
        advertisement: &AdvertisementRequest,
    ) -> Result<AdvertisementAnswer, Error> {
        self.presence().await?;
        let name = advertisement_name(&advertisement.cluster_id);
        let spec = ClusterAdvertisementSpec::telling(advertisement);
        let object = ClusterAdvertisement::new(&name, spec);
        let api = self.advertisements_api();
        let written = api.patch(&name, &apply(), &Patch::Apply(&object)).await.map_err(of_kube)?;
        let (uid, generation) = (written.uid(), written.metadata.generation);
        let seen = self
            .until(|contents| {
                let object =
                    contents.advertisements.get(&name).filter(|known| known.uid() == uid)?;
                let status = object.status.as_ref()?;
                (status.observed_generation >= generation).then(|| object.clone())
            })
            .await?;
        let status = seen.status.as_ref();
        if let Some(code) = status.and_then(|status| status.code.as_deref()) {
            let text = status.and_then(|status| status.message.as_deref()).unwrap_or_default();
            return Err(refused(code, text));
        }
        let nothing = || Error::Garbage { detail: "the advertisement has no status".to_owned() };
        let advertisement = seen.shown().ok_or_else(nothing)?;
        Ok(AdvertisementAnswer { advertisement, provider_instructions: None })
    }

    /// Creates the object of an intent, if it is not there yet, and waits for its answer.
    pub(super) async fn ask(
        &self,
        request: &ReservationRequest,
        intent: &Intent,
    ) -> Result<Body, Error> {
        let name = names::of_intent(intent);
        let object = self.create(&name, request, None).await?;
        let answered = self.until_answered(&object).await?;
        if phase_of(&answered) == Some(PhaseName::Failed) && !was_granted(&answered) {
            // Only grants are remembered: a refused wish may be tried again under its intent.
            self.forget(&answered).await?;
            return Err(answered.status.as_ref().map_or_else(|| unknown(&name), of_refusal));
        }
        shown(&answered, &self.cluster, Role::Requester).ok_or_else(|| unknown(&name))
    }

    async fn create(
        &self,
        name: &str,
        request: &ReservationRequest,
        dry_run: Option<bool>,
    ) -> Result<Reservation, Error> {
        self.presence().await?;
        if request.on_behalf_of.is_some() {
            return Err(Error::Unsupported { operation: "way to ask for another cluster" });
        }
        let spec = ReservationSpec::asking(request, Some(self.cluster.as_str()));
        let spec = ReservationSpec { dry_run, ..spec };
        let mut object = Reservation::new(name, spec);
        object.labels_mut().insert(TRANSIENT_LABEL.to_owned(), "true".to_owned());
        let api = self.reservations_api();
        let params =
            PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        loop {
            match api.create(&params, &object).await {
                Ok(created) => return Ok(created),
                Err(kube::Error::Api(status)) if status.is_already_exists() => {}
                Err(error) => return Err(of_kube(error)),
            }
            let Some(known) = api.get_opt(name).await.map_err(of_kube)? else { continue };
            if !known.spec.asks_the_same_as(&object.spec) {
                let text = "the intent was used before, for another request".to_owned();
                return Err(Refused::new(409, Some(Code::KeyReused), text, Vec::new()).into());
            }
            let is_refused = phase_of(&known) == Some(PhaseName::Failed) && !was_granted(&known);
            if known.metadata.deletion_timestamp.is_none() && !is_refused {
                return Ok(known);
            }
            if is_refused {
                self.forget(&known).await?;
            }
            let uid = known.uid();
            self.until(|contents| {
                let there = contents.reservations.get(name);
                there.is_none_or(|there| there.uid() != uid).then_some(())
            })
            .await?;
        }
    }

    /// Until it is refused, or both sides have been told.
    async fn until_answered(&self, object: &Reservation) -> Result<Arc<Reservation>, Error> {
        self.until_so(object, |known| match phase_of(known) {
            Some(PhaseName::Reserved | PhaseName::Active) => known.is_held(),
            Some(PhaseName::Released | PhaseName::Failed) => !known.is_held(),
            _ => false,
        })
        .await
    }

    async fn until_so(
        &self,
        object: &Reservation,
        is_so: impl Fn(&Reservation) -> bool,
    ) -> Result<Arc<Reservation>, Error> {
        let (name, uid) = (object.name_any(), object.uid());
        self.until(|contents| {
            let known = contents.reservations.get(&name).filter(|known| known.uid() == uid)?;
            is_so(known).then(|| known.clone())
        })
        .await
    }

    async fn forget(&self, object: &Reservation) -> Result<(), Error> {
        let api = self.reservations_api();
        match api.delete(&object.name_any(), &DeleteParams::default()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            Err(error) => Err(of_kube(error)),
        }
    }

    /// Has it explained who would get it.
    pub(super) async fn have_explained(
        &self,
        request: &ReservationRequest,
    ) -> Result<DryRun, Error> {
        let name = format!("dry-{}", uuid::Uuid::new_v4().simple());
        let object = self.create(&name, request, Some(true)).await?;
        let answered = self.until_so(&object, |known| {
            matches!(phase_of(known), Some(PhaseName::Failed | PhaseName::Other(_)))
        });
        let answered = answered.await?;
        self.forget(&answered).await?;
        let status = answered.status.clone().unwrap_or_default();
        if status.phase_name() == Some(PhaseName::Failed) {
            return Err(of_refusal(&status));
        }
        let told = status.explanation.unwrap_or_default();
        serde_json::from_value(told).map_err(|error| Error::Garbage { detail: error.to_string() })
    }

    /// All of a role.
    pub(super) async fn list(&self, role: Role) -> Result<Vec<Body>, Error> {
        let namespace = self.presence().await?.namespace;
        let (all, _) = self.all_reservations().await?;
        let concerned =
            all.iter().filter(|object| concerns(object, &self.cluster, role, namespace));
        let shown = concerned.filter_map(|object| shown(object, &self.cluster, role));
        Ok(shown.filter(|body| !body.target_cluster_id.is_empty()).collect())
    }

    /// The object of a reservation, and the role in which this cluster knows it by this id.
    pub(super) async fn find(&self, id: &str) -> Result<(Reservation, Role), Error> {
        let namespace = self.presence().await?.namespace;
        let api = self.reservations_api();
        if let Some(object) = api.get_opt(id).await.map_err(of_kube)? {
            let is_copy =
                object.labels().get(VIEW_LABEL).is_some_and(|view| view == PROVIDERS_VIEW);
            let role = if is_copy { Role::Provider } else { Role::Requester };
            let is_ours = concerns(&object, &self.cluster, role, namespace);
            if is_ours {
                return Ok((object, role));
            }
        }
        let (all, _) = self.all_reservations().await?;
        let named = all.into_iter().find(|object| {
            let status = object.status.as_ref();
            status.is_some_and(|status| status.reservation_id.as_deref() == Some(id))
        });
        let object = named.ok_or_else(|| unknown(id))?;
        let is_side = |role: &Role| concerns(&object, &self.cluster, *role, namespace);
        let role = Role::ALL.into_iter().find(is_side).ok_or_else(|| unknown(id))?;
        Ok((object, role))
    }

    /// Says something about a reservation by a condition.
    async fn say(&self, object: &Reservation, kind: &str, message: &str) -> Result<(), Error> {
        let name = object.name_any();
        let condition = json!({
            "type": kind, "status": "True", "reason": "Said", "message": message,
            "lastTransitionTime": moment::text(crate::clock::now()),
        });
        let body = json!({
            "apiVersion": "broker.fluidos.eu/v1alpha1",
            "kind": "Reservation",
            "metadata": { "name": name, "uid": object.uid() },
            "status": { "conditions": [condition] },
        });
        let api = self.reservations_api();
        api.patch_status(&name, &apply(), &Patch::Apply(body)).await.map(drop).map_err(of_kube)
    }

    fn body(&self, object: &Reservation, role: Role, id: &str) -> Result<Body, Error> {
        shown(object, &self.cluster, role).ok_or_else(|| unknown(id))
    }

    pub(super) async fn confirm(&self, id: &str) -> Result<Body, Error> {
        let object = self.find_live(id).await?;
        self.say(&object, REQUESTER_ACTIVE, "").await?;
        let seen = self.until_so(&object, |known| {
            let phase = phase_of(known);
            phase == Some(PhaseName::Active) || phase.is_some_and(|phase| !is_live(&phase))
        });
        let seen = seen.await?;
        still_live(&seen, id)?;
        self.body(&seen, Role::Requester, id)
    }

    /// What has ended cannot be used any more.
    async fn find_live(&self, id: &str) -> Result<Reservation, Error> {
        let (object, _) = self.find(id).await?;
        still_live(&object, id)?;
        Ok(object)
    }

    pub(super) async fn prolong(&self, id: &str, until: Timestamp) -> Result<Body, Error> {
        let object = self.find_live(id).await?;
        let end = moment::text(until);
        if was_taken(&object, &end) {
            // A wish that has not changed is not heard again: it is taken back first.
            self.want_end(&object, None).await?;
            let is_forgotten =
                |known: &Reservation| condition(known.conditions(), RENEWED).is_none();
            self.until_so(&object, is_forgotten).await?;
        }
        self.want_end(&object, Some(&end)).await?;
        let refusal = |known: &Reservation| {
            let said = condition(known.conditions(), RENEWED)?;
            let is_refused = said.status == Truth::False && said.message.starts_with(&end);
            is_refused.then(|| refused(&said.reason, &said.message))
        };
        let is_so = |known: &Reservation| {
            let shown = known.status.as_ref().and_then(|status| status.expires_at.as_deref());
            let has_ended = phase_of(known).is_some_and(|phase| !is_live(&phase));
            shown == Some(end.as_str()) || has_ended || refusal(known).is_some()
        };
        let seen = self.until_so(&object, is_so).await?;
        still_live(&seen, id)?;
        match refusal(&seen) {
            Some(error) => Err(error),
            None => self.body(&seen, Role::Requester, id),
        }
    }

    async fn want_end(&self, object: &Reservation, end: Option<&str>) -> Result<(), Error> {
        let body = json!({ "metadata": { "uid": object.uid() }, "spec": { "expiresAt": end } });
        let params =
            PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        let api = self.reservations_api();
        let patched = api.patch(&object.name_any(), &params, &Patch::Merge(body)).await;
        patched.map(drop).map_err(of_kube)
    }

    pub(super) async fn refuse(&self, id: &str, reason: &str) -> Result<Body, Error> {
        let (object, role) = self.find(id).await?;
        if role != Role::Provider {
            let text = "only the provider may do this".to_owned();
            return Err(Refused::new(403, Some(Code::NotAllowed), text, Vec::new()).into());
        }
        self.say(&object, PROVIDER_REJECTED, reason).await?;
        let ended = |known: &Reservation| phase_of(known).is_some_and(|phase| !is_live(&phase));
        let seen = self.until_so(&object, ended).await?;
        self.body(&seen, role, id)
    }

    pub(super) async fn give_back(&self, id: &str) -> Result<Body, Error> {
        let (object, role) = self.find(id).await?;
        if role != Role::Requester {
            let text = "only the requester or an administrator may do this".to_owned();
            return Err(Refused::new(403, Some(Code::NotAllowed), text, Vec::new()).into());
        }
        if phase_of(&object).is_none_or(|phase| is_live(&phase)) {
            self.say(&object, REQUESTER_RELEASED, "").await?;
        }
        let ended = |known: &Reservation| {
            !known.is_held() && phase_of(known).is_some_and(|phase| !is_live(&phase))
        };
        let seen = self.until_so(&object, ended).await?;
        self.body(&seen, role, id)
    }
}

/// Whether it was ever granted: it has an id in the ledger.
fn was_granted(object: &Reservation) -> bool {
    object.status.as_ref().is_some_and(|status| status.reservation_id.is_some())
}

/// Whether an end is wanted already, was taken, and another one has been agreed on since.
fn was_taken(object: &Reservation, end: &str) -> bool {
    let shown = object.status.as_ref().and_then(|status| status.expires_at.as_deref());
    object.spec.expires_at.as_deref() == Some(end)
        && shown != Some(end)
        && is_true(object.conditions(), RENEWED)
}

fn still_live(object: &Reservation, id: &str) -> Result<(), Error> {
    if phase_of(object).is_some_and(|phase| is_live(&phase)) {
        return Ok(());
    }
    let text = format!("reservation {id} has ended");
    Err(Refused::new(409, Some(Code::AlreadyEnded), text, Vec::new()).into())
}
