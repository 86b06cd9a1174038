//! What both ends say to each other: a line with a question, then lines with answers. Each question has a connection of
//! its own, so that whoever loses patience closes it.

use std::io;
use std::time::Duration;

use rear_agent_sdk::communicator::{
    AdvertisementRequest, BrokerEvent, EventData, Level, Reservation, ReservationRequest, Wait,
};
use rear_agent_sdk::{Chain, Error, Refused};
use rear_api::problem::Obstacle;
use serde::{Deserialize, Serialize};

/// A question.
#[derive(Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "camelCase")]
pub(crate) enum Question {
    Ping,
    Publish { advertisement: Box<AdvertisementRequest> },
    Advertisement { cluster: String },
    Reserve { request: ReservationRequest, intent: String },
    DryRun { request: ReservationRequest },
    Reservations { role: String },
    Reservation { id: String },
    Activate { id: String },
    Renew { id: String, until_nanos: i64 },
    Reject { id: String, reason: String },
    Release { id: String },
    Instructions { role: String, wait: Option<WaitLine> },
    Events { after: Option<String> },
}

/// How long to hold an answer.
#[derive(Serialize, Deserialize)]
pub(crate) struct WaitLine {
    after: String,
    millis: u64,
}

/// A level of instructions.
#[derive(Serialize, Deserialize)]
pub(crate) struct LevelLine {
    instructions: Vec<Reservation>,
    revision: Option<String>,
}

/// An event.
#[derive(Serialize, Deserialize)]
pub(crate) struct EventLine {
    id: String,
    name: String,
    data: EventData,
}

/// Why there is no answer, in as many kinds as callers tell apart.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub(crate) enum Failure {
    Refused { status: u16, code: Option<String>, text: String, candidates: Vec<Obstacle> },
    NotFound { detail: String },
    OtherCluster { detail: String },
    Unsupported,
    Restored,
    OutcomeUnknown { detail: String },
    Unavailable { detail: String },
    Other { detail: String },
}

impl WaitLine {
    pub(crate) fn of(wait: Wait) -> Self {
        let millis = u64::try_from(wait.at_most.as_millis()).unwrap_or(u64::MAX);
        Self { after: wait.after.to_string(), millis }
    }

    pub(crate) fn read(&self) -> Result<Wait, Error> {
        let after = self.after.parse().map_err(garbage)?;
        Ok(Wait { after, at_most: Duration::from_millis(self.millis) })
    }
}

impl LevelLine {
    pub(crate) fn of(level: Level) -> Self {
        let revision = level.revision.map(|revision| revision.to_string());
        Self { instructions: level.instructions, revision }
    }

    pub(crate) fn read(self) -> Result<Level, Error> {
        let revision = self.revision.map(|text| text.parse().map_err(garbage)).transpose()?;
        Ok(Level::new(self.instructions, revision))
    }
}

impl EventLine {
    pub(crate) fn of(event: BrokerEvent) -> Self {
        Self { id: event.id.to_string(), name: event.name, data: event.data }
    }

    pub(crate) fn read(self) -> Result<BrokerEvent, Error> {
        Ok(BrokerEvent::new(self.id.parse().map_err(garbage)?, self.name, self.data))
    }
}

impl Failure {
    pub(crate) fn of(error: &Error) -> Self {
        let detail = Chain(error).to_string();
        match error {
            Error::Refused(refused) => {
                let Refused { status, code, text, candidates, .. } = refused.clone();
                let code = code.map(|code| code.name().to_owned());
                Self::Refused { status, code, text, candidates }
            }
            Error::NotFound { .. } => Self::NotFound { detail },
            Error::OtherCluster { .. } => Self::OtherCluster { detail },
            Error::Unsupported { .. } => Self::Unsupported,
            Error::Restored => Self::Restored,
            Error::OutcomeUnknown { .. } => Self::OutcomeUnknown { detail },
            transient if transient.is_transient() => Self::Unavailable { detail },
            _ => Self::Other { detail },
        }
    }

    pub(crate) fn into_error(self, operation: &'static str) -> Error {
        match self {
            Self::Refused { status, code, text, candidates } => {
                let code = code.and_then(|name| name.parse().ok());
                Refused::new(status, code, text, candidates).into()
            }
            Self::NotFound { detail } => Error::NotFound { detail },
            Self::OtherCluster { detail } => Error::OtherCluster { detail },
            Self::Unsupported => Error::Unsupported { operation },
            Self::Restored => Error::Restored,
            Self::OutcomeUnknown { detail } => Error::OutcomeUnknown { source: detail.into() },
            Self::Unavailable { detail } => {
                Error::Unavailable { status: 503, detail, retry_after: None }
            }
            Self::Other { detail } => Error::Garbage { detail },
        }
    }
}

pub(crate) fn line(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

pub(crate) fn garbage(error: impl std::fmt::Display) -> Error {
    Error::Garbage { detail: error.to_string() }
}
