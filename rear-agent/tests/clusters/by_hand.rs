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
fn an_instruction_for_nobody_is_taken_away() {
    let world = World::start();
    let invented = "apiVersion: rear.fluidos.eu/v1alpha1\nkind: ProviderInstruction\n\
        metadata: {name: invented, namespace: rear-agent}\n\
        spec: {reservationName: rsv-x, requesterClusterID: rome, requestedCPU: '4', requestedMemory: 1Gi}\n";
    world.paris.apply(invented);
    // The next level of the broker does not have it.
    world.reserved("a", "requestedCPU: '1', requestedMemory: 1Gi");
    world.paris.until_number("providerinstructions", 1);
}
