//! The custom resources of a broker cluster, in `broker.fluidos.eu/v1alpha1`: what agents and users of the Kubernetes
//! interface write and read, and what of it is the broker's.
//!
//! Fields of the earlier system have their names and meanings; what is new is optional. The ledger is the truth: what
//! the broker writes into these objects is a view of it. `rear-broker crds` prints the definitions, and
//! `deploy/broker/crds/` has what it prints.
//!
//! | direction | advertisement | reservation |
//! |---|---|---|
//! | object → body of the wire | [`ClusterAdvertisementSpec::request`], [`ClusterAdvertisement::shown`] | [`ReservationSpec::request`], [`Reservation::shown`] |
//! | body of the wire → object | [`ClusterAdvertisementSpec::telling`], [`ClusterAdvertisementStatus::of`] | [`ReservationSpec::asking`], [`ReservationStatus::of`] |

// Of several printer columns, those with the same type are not duplicates.
#![allow(clippy::duplicated_attributes)]

pub mod amounts;
pub mod cluster_advertisement;
pub mod conditions;
pub mod mark;
pub mod names;
pub mod reservation;
pub mod schema;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

pub use amounts::Amounts;
pub use cluster_advertisement::{
    ClusterAdvertisement, ClusterAdvertisementSpec, ClusterAdvertisementStatus, CostTexts,
};
pub use conditions::{Condition, Truth, condition, is_true, set_condition};
pub use mark::Mark;
pub use reservation::{Reservation, ReservationSpec, ReservationStatus};

/// All definitions, in the order of their names.
#[must_use]
pub fn definitions() -> [CustomResourceDefinition; 2] {
    [ClusterAdvertisement::crd(), Reservation::crd()]
}

/// The definitions as one YAML text, each its own document.
pub fn definitions_as_yaml() -> Result<String, serde_saphyr::ser::Error> {
    let mut text = String::new();
    for definition in definitions() {
        let document = serde_saphyr::to_string(&definition)?;
        text.extend(["---\n", document.trim_end(), "\n"]);
    }
    Ok(text)
}
