//! The custom resources of an agent's cluster, in `rear.fluidos.eu/v1alpha1`: what users write and read.
//!
//! Fields of the earlier system have their names and meanings; what is new is optional. `rear-agent crds` prints the
//! definitions, and `deploy/agent/crds/` has what it prints.

// Of several printer columns, those with the same type are not duplicates.
#![allow(clippy::duplicated_attributes)]

pub mod advertisement;
pub mod provider_instruction;
pub mod reservation_instruction;
pub mod resource_request;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

pub use advertisement::{
    Advertisement, AdvertisementSpec, AdvertisementStatus, AmountsOf, CostTexts, OwnResources,
};
pub use provider_instruction::{
    ProviderInstruction, ProviderInstructionSpec, ProviderInstructionStatus,
};
pub use rear_api::resources::{Condition, Truth, set_condition};
pub use reservation_instruction::{
    ReservationInstruction, ReservationInstructionSpec, ReservationInstructionStatus,
};
pub use resource_request::{
    RequestPhase, ResourceRequest, ResourceRequestSpec, ResourceRequestStatus,
};

/// The name under which the agent writes its fields.
pub const FIELD_MANAGER: &str = "rear-agent";

/// All definitions, in the order of their names.
#[must_use]
pub fn definitions() -> [CustomResourceDefinition; 4] {
    [
        Advertisement::crd(),
        ProviderInstruction::crd(),
        ReservationInstruction::crd(),
        ResourceRequest::crd(),
    ]
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_committed_definitions_are_what_the_program_prints() {
        let file = "../deploy/agent/crds/rear.fluidos.eu.yaml";
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        assert!(
            fs::read_to_string(file).unwrap() == definitions_as_yaml().unwrap(),
            "cargo run -p rear-agent -- crds > deploy/agent/crds/rear.fluidos.eu.yaml"
        );
    }
}
