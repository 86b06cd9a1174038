//! Custom resources as anyone who may create them writes them: each becomes a request or is refused, and none makes its
//! reader panic.

use rear_agent::resources::{
    Advertisement, ProviderInstruction, ReservationInstruction, ResourceRequest,
};
use rear_agent_sdk::rear_engine::{ClusterId, Timestamp};
use rear_api::resources::{ClusterAdvertisement, ClusterAdvertisementSpec, Reservation};

/// Reads one as each of the kinds.
pub fn check(bytes: &[u8]) {
    let now = Timestamp::from_seconds(1_800_000_000);
    if let Ok(object) = serde_json::from_slice::<ClusterAdvertisement>(bytes) {
        let request = object.spec.request(now);
        if let Ok(command) = request.clone().into_command() {
            // What is written of it says the same.
            let again = ClusterAdvertisementSpec::telling(&request).request(now).into_command();
            assert_eq!(again, Ok(command));
        }
        let _ = object.shown();
    }
    if let Ok(object) = serde_json::from_slice::<Reservation>(bytes) {
        let caller: ClusterId = "rome".parse().expect("an id");
        let _ask_or_why_not = object.spec.request().ask(&caller);
        let _ = (object.is_held(), object.conditions());
        let _ = object.shown("rsv-00000000000000000000000000000001");
    }
    let _ = serde_json::from_slice::<ResourceRequest>(bytes);
    let _ = serde_json::from_slice::<Advertisement>(bytes);
    let _ = serde_json::from_slice::<ReservationInstruction>(bytes);
    let _ = serde_json::from_slice::<ProviderInstruction>(bytes);
}
