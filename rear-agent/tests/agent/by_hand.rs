//! People edit and delete what the agent wrote: it comes back as the broker has it.

use super::requests::{OBJECT, World, provider, requester};

#[test]
fn instructions_that_were_deleted_or_edited_come_back() {
    let world = World::start();
    let (rome, paris) = (&world.rome, &world.paris);
    let id = world.reserved("a", "requestedCPU: '2', requestedMemory: 4Gi");
    let (used, kept) = (requester(&id), provider(&id));
    paris.until(&kept, ".status.enforced", "true");
    let uid = paris.field(&kept, ".metadata.uid").unwrap();
    paris.ask(&["delete", &kept, "-n", "rear-agent"]);
    paris.until(&kept, ".status.enforced", "true");
    assert_ne!(paris.field(&kept, ".metadata.uid").unwrap(), uid);
    let edit = r#"{"spec":{"requestedCPU":"1"}}"#;
    paris.ask(&["patch", &kept, "-n", "rear-agent", "--type=merge", "-p", edit]);
    paris.until(&kept, ".spec.requestedCPU", "2");
    paris.until(OBJECT, ".spec.resources.available.cpu", "14");
    rome.ask(&["delete", &used, "-n", "rear-agent"]);
    rome.until(&used, ".spec.targetClusterID", "paris");
    rome.until_phase("a", "Reserved");
}

#[test]
fn an_instruction_that_someone_invents_neither_counts_nor_disturbs() {
    let world = World::start();
    let object = |kind: &str, name: &str, spec: &str| {
        format!(
            "apiVersion: rear.fluidos.eu/v1alpha1\nkind: {kind}\n\
             metadata: {{name: {name}, namespace: rear-agent}}\n\
             spec: {{reservationName: rsv-x, requestedCPU: '4', requestedMemory: 1Gi, {spec}}}\n"
        )
    };
    let paris = &world.paris;
    paris.apply(&object("ProviderInstruction", "rsv-x-provider", "requesterClusterID: rome"));
    paris.apply(&object("ProviderInstruction", "other", "requesterClusterID: 'No Cluster'"));
    for name in ["providerinstruction/rsv-x-provider", "providerinstruction/other"] {
        paris.until(name, ".status.conditions[0].reason", "NotOurs");
    }
    world.reserved("a", "requestedCPU: '1', requestedMemory: 1Gi");
    paris.until(OBJECT, ".spec.resources.available.cpu", "15");
    paris.until(OBJECT, ".status.published", "true");
}
