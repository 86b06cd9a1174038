//! Promises as custom resources, and back.

use rear_agent_sdk::communicator::{ClusterId, Reservation};
use rear_api::amounts::{QuantityText, ResourceList};
use rear_api::reservation::{PhaseName, ReservationStatus};

use super::names;
use crate::resources::{
    ProviderInstruction, ProviderInstructionSpec, ReservationInstruction,
    ReservationInstructionSpec,
};

/// An instruction, seen as the promise that it is about.
pub trait Instruction {
    /// The names that it can have.
    fn names(&self) -> Vec<String>;
    /// The reservation's id.
    fn reservation(&self) -> &str;
    /// Who was promised, and who keeps it aside; one of them is this cluster.
    fn sides<'a>(&'a self, this: &'a str) -> (&'a str, &'a str);
    /// How much.
    fn amounts(&self) -> ResourceList;
    /// When it ends by itself.
    fn expires_at(&self) -> Option<&str>;
    /// What to do.
    fn message(&self) -> Option<&str>;
}

macro_rules! instruction {
    ($kind:ty, $names:expr, $reservation:expr, $sides:expr) => {
        impl Instruction for $kind {
            fn names(&self) -> Vec<String> {
                let names: fn(&Self) -> Vec<String> = $names;
                names(self)
            }

            fn reservation(&self) -> &str {
                let reservation: fn(&Self) -> &str = $reservation;
                reservation(self)
            }

            fn sides<'a>(&'a self, this: &'a str) -> (&'a str, &'a str) {
                let sides: fn(&'a Self, &'a str) -> (&'a str, &'a str) = $sides;
                sides(self, this)
            }

            fn amounts(&self) -> ResourceList {
                ResourceList {
                    cpu: QuantityText(self.spec.requested_cpu.clone()),
                    memory: QuantityText(self.spec.requested_memory.clone()),
                    gpu: self.spec.requested_gpu.clone().map(QuantityText),
                    storage: self.spec.requested_storage.clone().map(QuantityText),
                }
            }

            fn expires_at(&self) -> Option<&str> {
                self.spec.expires_at.as_deref()
            }

            fn message(&self) -> Option<&str> {
                self.spec.message.as_deref()
            }
        }
    };
}

instruction!(
    ReservationInstruction,
    |it| vec![it.spec.reservation_name.clone()],
    |it| &it.spec.reservation_name,
    |it, this| (this, &it.spec.target_cluster_id)
);
instruction!(
    ProviderInstruction,
    |it| {
        let name = &it.spec.reservation_name;
        let others = it.spec.reservation_id.iter();
        let others =
            others.flat_map(|id| [names::of_provider_apart(name, id), names::of_provider(id)]);
        [names::of_provider(name)].into_iter().chain(others).collect()
    },
    |it| it.spec.reservation_id.as_deref().unwrap_or(&it.spec.reservation_name),
    |it, this| (&it.spec.requester_cluster_id, this)
);

/// The promise that an instruction is about, as far as it says.
pub fn as_promise(this: &ClusterId, instruction: &impl Instruction) -> Reservation {
    let (requester, provider) = instruction.sides(this.as_str());
    Reservation {
        id: instruction.reservation().to_owned(),
        name: None,
        requester_id: requester.to_owned(),
        target_cluster_id: provider.to_owned(),
        requested_resources: instruction.amounts(),
        priority: 0,
        duration: None,
        created_at: None,
        status: ReservationStatus {
            phase: PhaseName::Reserved,
            reservation_phase: None,
            message: instruction.message().unwrap_or_default().to_owned(),
            reserved_at: None,
            expires_at: instruction.expires_at().map(str::to_owned),
        },
    }
}

/// Use that cluster.
#[must_use]
pub fn reservation_instruction(promise: &Reservation) -> ReservationInstruction {
    let ResourceList { cpu, memory, gpu, storage } = promise.requested_resources.clone();
    // A broker of the earlier system says something else; this is what users know.
    let message =
        format!("Use {} for {} CPU / {} Memory", promise.target_cluster_id, cpu.0, memory.0);
    let spec = ReservationInstructionSpec {
        reservation_name: promise.id.clone(),
        target_cluster_id: promise.target_cluster_id.clone(),
        message: Some(message),
        requested_cpu: cpu.0,
        requested_memory: memory.0,
        requested_gpu: gpu.map(|text| text.0),
        requested_storage: storage.map(|text| text.0),
        expires_at: promise.status.expires_at.clone(),
    };
    ReservationInstruction::new(&promise.id, spec)
}

/// Keep this aside, as an object of this name if there is one already, else of its own.
#[must_use]
pub fn provider_instruction(promise: &Reservation, named: Option<String>) -> ProviderInstruction {
    let name = names::of_user(promise);
    let ResourceList { cpu, memory, gpu, storage } = promise.requested_resources.clone();
    let hold =
        format!("Hold {} CPU / {} Memory for requester {}", cpu.0, memory.0, promise.requester_id);
    let spec = ProviderInstructionSpec {
        reservation_name: name.unwrap_or(&promise.id).to_owned(),
        reservation_id: name.map(|_| promise.id.clone()),
        requester_cluster_id: promise.requester_id.clone(),
        message: Some(hold),
        requested_cpu: cpu.0,
        requested_memory: memory.0,
        requested_gpu: gpu.map(|text| text.0),
        requested_storage: storage.map(|text| text.0),
        expires_at: promise.status.expires_at.clone(),
    };
    let named = named.unwrap_or_else(|| names::of_provider(name.unwrap_or(&promise.id)));
    ProviderInstruction::new(&named, spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn promise() -> Reservation {
        let text = r#"{"id":"rsv-1","requesterID":"rome","targetClusterID":"paris",
            "requestedResources":{"cpu":"2","memory":"4Gi","gpu":"1"},
            "status":{"phase":"Reserved","message":"","expiresAt":"2026-01-02T15:04:05Z"}}"#;
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_promise_comes_back_from_both_kinds_of_instructions() {
        let told = promise();
        let at_rome = as_promise(&"rome".parse().unwrap(), &reservation_instruction(&told));
        let at_paris = as_promise(&"paris".parse().unwrap(), &provider_instruction(&told, None));
        for kept in [at_rome, at_paris] {
            assert_eq!(kept.requester_id, "rome");
            assert_eq!(kept.target_cluster_id, "paris");
            assert_eq!(kept.requested_resources, told.requested_resources);
            assert_eq!(kept.status.expires_at, told.status.expires_at);
        }
    }

    #[test]
    fn names_and_messages_are_those_that_users_know() {
        let (used, kept) =
            (reservation_instruction(&promise()), provider_instruction(&promise(), None));
        assert_eq!(used.metadata.name.as_deref(), Some("rsv-1"));
        assert_eq!(used.spec.message.as_deref(), Some("Use paris for 2 CPU / 4Gi Memory"));
        assert_eq!(kept.metadata.name.as_deref(), Some("rsv-1-provider"));
        let hold = "Hold 2 CPU / 4Gi Memory for requester rome";
        assert_eq!(kept.spec.message.as_deref(), Some(hold));
    }

    #[test]
    fn a_reservation_that_a_user_has_named_keeps_its_name_and_its_id() {
        let named = Reservation { name: Some("database".to_owned()), ..promise() };
        let kept = provider_instruction(&named, None);
        assert_eq!(kept.metadata.name.as_deref(), Some("database-provider"));
        assert_eq!(kept.spec.reservation_name, "database");
        assert_eq!(as_promise(&"paris".parse().unwrap(), &kept).id, "rsv-1");
        assert!(kept.names().contains(&"database-provider".to_owned()));
    }
}
