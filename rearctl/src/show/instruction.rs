//! An instruction: a reservation told to one side as something to do.

use rear_agent_sdk::communicator::{Reservation, Timestamp};
use rear_api::reservation::PhaseName;
use serde::Serialize;

use super::reservation::{described, row};
use super::{Described, Description, Shown};
use crate::output::Cell;

/// An instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Instruction(pub(crate) Reservation);

impl From<Reservation> for Instruction {
    fn from(told: Reservation) -> Self {
        Self(told)
    }
}

impl Instruction {
    /// How far it has come: `phase` itself reads `Reserved` while it lives, for older agents.
    fn phase(&self) -> &PhaseName {
        self.0.status.reservation_phase.as_ref().unwrap_or(&self.0.status.phase)
    }
}

impl Shown for Instruction {
    const KIND: &'static str = "instructions";
    const HEADING: &'static [&'static str] =
        &["ID", "PHASE", "REQUESTER", "PROVIDER", "CPU", "MEMORY", "GPU", "ENDS-IN", "MESSAGE"];
    const WIDE: &'static [&'static str] = &[
        "ID",
        "PHASE",
        "REQUESTER",
        "PROVIDER",
        "CPU",
        "MEMORY",
        "GPU",
        "ENDS-IN",
        "MESSAGE",
        "STORAGE",
    ];

    fn name(&self) -> String {
        self.0.id.clone()
    }

    fn row(&self, now: Timestamp) -> Vec<Cell> {
        let mut row = row(&self.0, self.phase(), now);
        row.push(Cell::new(&self.0.status.message));
        row
    }

    fn wide_row(&self, now: Timestamp) -> Vec<Cell> {
        let mut row = self.row(now);
        let storage = self.0.requested_resources.storage.as_ref();
        row.push(storage.map_or("", |quantity| &quantity.0).into());
        row
    }
}

impl Described for Instruction {
    fn describe(&self, now: Timestamp) -> Description {
        described(&self.0, self.phase(), now)
    }
}
