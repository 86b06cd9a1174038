//! Something that happened.

use rear_agent_sdk::communicator::{BrokerEvent, EventData, Timestamp};
use serde::Serialize;
use serde::ser::SerializeStruct;

use super::Shown;
use crate::output::Cell;

/// An event as it is printed: its id and name beside what it says.
pub(crate) struct Told<'a>(&'a BrokerEvent);

impl<'a> From<&'a BrokerEvent> for Told<'a> {
    fn from(event: &'a BrokerEvent) -> Self {
        Self(event)
    }
}

impl Serialize for Told<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut told = serializer.serialize_struct("Event", 3)?;
        told.serialize_field("id", &self.0.id.to_string())?;
        told.serialize_field("event", &self.0.name)?;
        told.serialize_field("data", &self.0.data)?;
        told.end()
    }
}

/// What an event is about, as a name for other commands.
fn about(data: &EventData) -> String {
    match (&data.reservation, &data.cluster_id) {
        (Some(reservation), _) => format!("reservations/{}", reservation.id),
        (None, Some(cluster)) => format!("clusters/{cluster}"),
        (None, None) => String::new(),
    }
}

impl Shown for Told<'_> {
    const KIND: &'static str = "events";
    const HEADING: &'static [&'static str] = &["AT", "REASON", "ABOUT", "BY"];
    const WIDE: &'static [&'static str] =
        &["AT", "REASON", "ABOUT", "BY", "ID", "REQUESTER", "PROVIDER", "MESSAGE"];

    fn name(&self) -> String {
        self.0.id.to_string()
    }

    fn row(&self, _: Timestamp) -> Vec<Cell> {
        let data = &self.0.data;
        vec![
            Cell::new(&data.at),
            Cell::new(data.reason.as_deref().unwrap_or(&self.0.name)),
            about(data).into(),
            Cell::new(data.by.as_deref().unwrap_or("broker")),
        ]
    }

    fn wide_row(&self, now: Timestamp) -> Vec<Cell> {
        let mut row = self.row(now);
        let reservation = self.0.data.reservation.as_ref();
        row.extend([
            self.0.id.to_string().into(),
            reservation.map_or("", |it| &it.requester_id).into(),
            reservation.map_or("", |it| &it.target_cluster_id).into(),
            Cell::new(reservation.map_or("", |it| &it.status.message)),
        ]);
        row
    }
}
