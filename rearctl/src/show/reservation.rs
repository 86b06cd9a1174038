//! A reservation, as both its sides see it.

use rear_agent_sdk::communicator::{Reservation, Timestamp};
use rear_api::amounts::ResourceList;
use rear_api::reservation::PhaseName;

use super::span::{since, until};
use super::{Described, Description, Shown};
use crate::output::{Cell, Style};

impl Shown for Reservation {
    const KIND: &'static str = "reservations";
    const HEADING: &'static [&'static str] =
        &["ID", "PHASE", "REQUESTER", "PROVIDER", "CPU", "MEMORY", "GPU", "ENDS-IN"];
    const WIDE: &'static [&'static str] = &[
        "ID",
        "PHASE",
        "REQUESTER",
        "PROVIDER",
        "CPU",
        "MEMORY",
        "GPU",
        "ENDS-IN",
        "STORAGE",
        "PRIORITY",
        "DURATION",
        "AGE",
        "MESSAGE",
    ];

    fn name(&self) -> String {
        self.id.clone()
    }

    fn row(&self, now: Timestamp) -> Vec<Cell> {
        row(self, &self.status.phase, now)
    }

    fn wide_row(&self, now: Timestamp) -> Vec<Cell> {
        let mut row = self.row(now);
        let storage = self.requested_resources.storage.as_ref();
        let age = self.created_at.as_deref().map(|moment| since(moment, now));
        row.extend([
            Cell::from(storage.map_or("", |quantity| &quantity.0)),
            self.priority.to_string().into(),
            self.duration.as_deref().unwrap_or_default().into(),
            age.unwrap_or_default().into(),
            Cell::new(&self.status.message),
        ]);
        row
    }
}

/// The columns that reservations and instructions share.
pub(super) fn row(reservation: &Reservation, phase: &PhaseName, now: Timestamp) -> Vec<Cell> {
    let ResourceList { cpu, memory, gpu, .. } = &reservation.requested_resources;
    let ends = if is_over(phase) { None } else { reservation.status.expires_at.as_deref() };
    vec![
        Cell::new(&reservation.id),
        Cell::styled(phase.name(), style(phase)),
        Cell::new(&reservation.requester_id),
        Cell::new(&reservation.target_cluster_id),
        Cell::new(&cpu.0),
        Cell::new(&memory.0),
        gpu.as_ref().map_or("", |gpu| &gpu.0).into(),
        until(ends, now).into(),
    ]
}

pub(super) fn style(phase: &PhaseName) -> Style {
    match phase {
        PhaseName::Active => Style::Good,
        PhaseName::Failed => Style::Bad,
        PhaseName::Released => Style::Faint,
        PhaseName::Pending => Style::Careful,
        PhaseName::Reserved | PhaseName::Other(_) => Style::Plain,
    }
}

/// Whether it has ended: what becomes of it is known.
pub(crate) fn is_over(phase: &PhaseName) -> bool {
    matches!(phase, PhaseName::Released | PhaseName::Failed)
}

impl Described for Reservation {
    fn describe(&self, now: Timestamp) -> Description {
        described(self, &self.status.phase, now)
    }
}

pub(super) fn described(it: &Reservation, phase: &PhaseName, now: Timestamp) -> Description {
    let status = &it.status;
    let ends = status.expires_at.as_ref().map(|moment| {
        let rest = if is_over(phase) {
            String::new()
        } else {
            format!(" (in {})", until(Some(moment), now))
        };
        format!("{moment}{rest}")
    });
    let ends = ends.unwrap_or_else(|| "while its requester is heard of".to_owned());
    let ResourceList { cpu, memory, gpu, storage } = &it.requested_resources;
    Description::default()
        .field("ID", &it.id)
        .styled("Phase", phase.name(), style(phase))
        .field("Message", &status.message)
        .field("Requester", &it.requester_id)
        .field("Provider", &it.target_cluster_id)
        .field("CPU", &cpu.0)
        .field("Memory", &memory.0)
        .field("GPU", gpu.as_ref().map_or("", |gpu| &gpu.0))
        .field("Storage", storage.as_ref().map_or("", |storage| &storage.0))
        .field("Priority", &it.priority.to_string())
        .field("Duration", it.duration.as_deref().unwrap_or_default())
        .field("Created", it.created_at.as_deref().unwrap_or_default())
        .field("Ends", &ends)
}
