//! Instructions: a reservation told to one side as something to do. They follow from the state; nobody keeps them.
//!
//! Agents of the earlier system act on the phase `Reserved` alone, so that this is what every live promise
//! reads; the true phase stands beside it.
//!
//! ```
//! use rear_api::instruction;
//! use rear_engine::reservation::Pending;
//! use rear_engine::testing::{ask, cluster, id, resources};
//! use rear_engine::{Phase, Reservation, Timestamp};
//!
//! let now = Timestamp::from_seconds(1_800_000_000);
//! let pending = Pending { id: id(1), ask: ask("paris", resources("2", "4Gi")), key: None };
//! let reserved = pending.grant(cluster("rome"), now, None);
//! let active = Reservation { phase: reserved.phase.clone().activated(now)?, ..reserved };
//!
//! let told = serde_json::to_value(instruction::for_provider(&active))?;
//! assert_eq!(told["status"]["phase"], "Reserved");
//! assert_eq!(told["status"]["reservationPhase"], "Active");
//! assert_eq!(told["status"]["message"], "Hold 2 CPU / 4Gi Memory for requester paris");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use rear_engine::{ClusterId, Dimension, Phase};

use crate::amounts::QuantityText;
use crate::reservation::{PhaseName, Reservation};

/// What the provider has to do: keep this aside.
#[must_use]
pub fn for_provider(reservation: &rear_engine::Reservation) -> Reservation {
    let mut told = told(reservation);
    if reservation.phase.is_live() {
        told.status.message = hold_message(reservation);
    }
    told
}

/// What the requester has to do: use that cluster.
#[must_use]
pub fn for_requester(reservation: &rear_engine::Reservation) -> Reservation {
    told(reservation)
}

fn told(reservation: &rear_engine::Reservation) -> Reservation {
    let mut told = Reservation::from(reservation);
    told.status.phase = match &reservation.phase {
        Phase::Reserved(_) | Phase::Active(_) => PhaseName::Reserved,
        Phase::Released(_) => PhaseName::Released,
        Phase::Failed(_) => PhaseName::Failed,
    };
    told.status.reservation_phase = Some((&reservation.phase).into());
    told
}

/// `Use rome for 2 CPU / 4Gi Memory`: the words that users of the earlier system know, with GPU and storage
/// after them where they were asked for.
pub(crate) fn use_message(reservation: &rear_engine::Reservation) -> String {
    format!("Use {} for {}", reservation.provider, amounts(reservation))
}

fn hold_message(reservation: &rear_engine::Reservation) -> String {
    let requester: &ClusterId = reservation.requester();
    format!("Hold {} for requester {requester}", amounts(reservation))
}

/// Most amounts are shorter: their text need not grow.
const MOST_AMOUNTS: usize = 32;

fn amounts(reservation: &rear_engine::Reservation) -> String {
    let mut text = String::with_capacity(MOST_AMOUNTS);
    for dimension in reservation.ask.dimensions() {
        let amount = reservation.ask.resources().get(dimension);
        if !text.is_empty() {
            text.push_str(" / ");
        }
        text.push_str(&QuantityText::of(dimension, amount).0);
        text.push(' ');
        text.push_str(word(dimension));
    }
    text
}

const fn word(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Cpu => "CPU",
        Dimension::Memory => "Memory",
        Dimension::Gpu => "GPU",
        Dimension::Storage => "Storage",
    }
}
