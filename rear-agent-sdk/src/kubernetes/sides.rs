//! Which of the objects in a namespace concern the cluster as which side, and as what it knows them.

use rear_api::reservation::{PhaseName, Reservation as Body};
use rear_api::resources::Reservation;
use rear_api::resources::names::{PROVIDERS_VIEW, TRANSIENT_LABEL, VIEW_LABEL};

use kube::ResourceExt;
use kube::core::ObjectMeta;
use rear_engine::ReservationId;

use crate::communicator::{ClusterId, Role};

/// For whom a namespace is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Namespace {
    /// For this cluster alone.
    Own,
    /// For everyone.
    Shared,
}

/// Whether an object concerns the cluster in this role.
pub(super) fn concerns(
    object: &Reservation,
    cluster: &ClusterId,
    role: Role,
    namespace: Namespace,
) -> bool {
    let is_copy = object.labels().get(VIEW_LABEL).is_some_and(|view| view == PROVIDERS_VIEW);
    let spec = &object.spec;
    let named = |name: &Option<String>| name.as_deref() == Some(cluster.as_str());
    if spec.dry_run == Some(true) {
        return false;
    }
    match (role, namespace) {
        (Role::Provider, Namespace::Own) => is_copy,
        (Role::Requester, Namespace::Own) => !is_copy,
        (Role::Provider, Namespace::Shared) => {
            let status = object.status.as_ref();
            status.is_some_and(|status| named(&status.target_cluster_id))
        }
        (Role::Requester, Namespace::Shared) => named(&spec.requester_id),
    }
}

/// The reservation, as the cluster knows it in this role: by the name that a user gave it as its requester, else by its id
/// in the ledger, which is the same for both sides.
pub(super) fn shown(object: &Reservation, cluster: &ClusterId, role: Role) -> Option<Body> {
    let status = object.status.as_ref()?;
    let has_users_name = !object.labels().contains_key(TRANSIENT_LABEL);
    let id = match role {
        Role::Requester if has_users_name => object.name_any(),
        Role::Requester | Role::Provider => status.reservation_id.clone()?,
    };
    let mut body = object.shown(&id)?;
    if role == Role::Requester && body.requester_id.is_empty() {
        body.requester_id = cluster.to_string();
    }
    is_decided(&body.status.phase).then_some(body)
}

/// The ids by which a side may know the reservation of an object that cannot be read: by its name, or by its id in the ledger,
/// which is the name of a copy, and the UID of any other.
pub(super) fn ids_of(meta: &ObjectMeta) -> impl Iterator<Item = String> {
    let uid = meta.uid.as_deref().and_then(|uid| uuid::Uuid::parse_str(uid).ok());
    let id = uid.map(|uid| ReservationId::from_bits(uid.as_u128()).to_string());
    meta.name.clone().into_iter().chain(id)
}

fn is_decided(phase: &PhaseName) -> bool {
    matches!(
        phase,
        PhaseName::Reserved | PhaseName::Active | PhaseName::Released | PhaseName::Failed
    )
}

/// Whether capacity is kept aside.
pub(super) fn is_live(phase: &PhaseName) -> bool {
    matches!(phase, PhaseName::Reserved | PhaseName::Active)
}

/// The same as an instruction: agents act on the phase `Reserved`.
pub(super) fn instruction(mut body: Body) -> Option<Body> {
    if !is_live(&body.status.phase) {
        return None;
    }
    let phase = std::mem::replace(&mut body.status.phase, PhaseName::Reserved);
    body.status.reservation_phase = Some(phase);
    Some(body)
}
