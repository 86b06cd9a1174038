//! Commands that one broker hands to another, what became of them, and where a broker takes them in.
//!
//! Only what may be decided twice without harm is handed over: a reservation brings its id along, and what is given back
//! stays given back.

use std::borrow::Cow;

use rear_engine::{Actor, Command, ReservationId};
use serde::{Deserialize, Serialize};

use super::ask::AskRecord;
use super::event::ActorRecord;
use super::seal::{open_in, seal_in};
use super::{InvalidField, SealError};
use crate::position::Position;
use crate::shared::Origin;

/// The names in the checksums.
const HANDED: &str = "handed";
const DECIDED: &str = "decided";
const DOOR: &str = "door";

/// The shapes that this program writes and reads. Brokers that do not know each other's do not hand over.
pub const SCHEMA: u8 = 1;

/// Commands on their way to another broker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandedRecord<'a> {
    ledger: u128,
    broker: u128,
    after: (u64, u64),
    commands: Vec<CommandRecord<'a>>,
}

/// What became of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecidedRecord {
    position: (u64, u64),
    decided: Vec<Option<u128>>,
    /// The entry that they are in, so that nobody has to wait for the watch.
    entry: Vec<u8>,
}

/// Where a broker takes commands in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoorRecord {
    /// Host and port.
    pub address: String,
    /// What whoever comes must know.
    pub token: u128,
    /// The certificate that it shows, as DER.
    pub certificate: Vec<u8>,
}

/// Variants are numbered by their order: new ones go to the end, with a new schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum CommandRecord<'a> {
    Reserve { id: u128, ask: Box<AskRecord<'a>>, key: Option<Cow<'a, str>>, by: ActorRecord<'a> },
    Release { id: u128, by: ActorRecord<'a> },
}

/// Whether a command may be decided elsewhere.
#[must_use]
pub fn may_be_handed(command: &Command) -> bool {
    matches!(command, Command::Reserve { .. } | Command::Release { .. })
}

impl<'a> HandedRecord<'a> {
    /// Commands of a broker; `None` if one of them is not handed over.
    #[must_use]
    pub fn of(ledger: u128, origin: Origin, commands: &[&'a Command]) -> Option<Self> {
        let Origin { broker, after: Position { incarnation, number } } = origin;
        let commands = commands.iter().map(|command| record(command)).collect::<Option<_>>()?;
        Some(Self { ledger, broker, after: (incarnation, number), commands })
    }

    /// Its bytes.
    pub fn seal(&self) -> Result<Vec<u8>, SealError> {
        seal_in(HANDED, SCHEMA, &[], self)
    }

    /// The ledger, whose they are, and the commands.
    pub fn open(bytes: &[u8]) -> Result<Self, SealError> {
        open_in(HANDED, SCHEMA, &[], bytes)
    }

    /// Which ledger they are for.
    #[must_use]
    pub fn ledger(&self) -> u128 {
        self.ledger
    }

    /// Whose they are, and the commands.
    pub fn into_commands(self) -> Result<(Origin, Vec<Command>), InvalidField> {
        let (incarnation, number) = self.after;
        let origin = Origin { broker: self.broker, after: Position { incarnation, number } };
        let commands = self.commands.into_iter().map(command).collect::<Result<_, _>>()?;
        Ok((origin, commands))
    }
}

impl DecidedRecord {
    /// What was decided: for each command the reservation that it is about, or nothing.
    #[must_use]
    pub fn of(position: Position, decided: &[Option<ReservationId>], entry: Vec<u8>) -> Self {
        let decided = decided.iter().map(|id| id.map(ReservationId::to_bits)).collect();
        Self { position: (position.incarnation, position.number), decided, entry }
    }

    /// Its bytes.
    pub fn seal(&self) -> Result<Vec<u8>, SealError> {
        seal_in(DECIDED, SCHEMA, &[], self)
    }

    /// From its bytes.
    pub fn open(bytes: &[u8]) -> Result<Self, SealError> {
        open_in(DECIDED, SCHEMA, &[], bytes)
    }

    /// The position at which it is so, what was decided, and the entry if it is there.
    #[must_use]
    pub fn into_parts(self) -> (Position, Vec<Option<ReservationId>>, Vec<u8>) {
        let (incarnation, number) = self.position;
        let decided = self.decided.into_iter().map(|id| id.map(ReservationId::from_bits));
        (Position { incarnation, number }, decided.collect(), self.entry)
    }
}

impl DoorRecord {
    /// Its bytes.
    pub fn seal(&self) -> Result<Vec<u8>, SealError> {
        seal_in(DOOR, SCHEMA, &[], self)
    }

    /// From its bytes.
    pub fn open(bytes: &[u8]) -> Result<Self, SealError> {
        open_in(DOOR, SCHEMA, &[], bytes)
    }
}

/// `None` for what is decided where it was said.
fn record(command: &Command) -> Option<CommandRecord<'_>> {
    Some(match command {
        Command::Reserve { id, ask, key, by } => CommandRecord::Reserve {
            id: id.to_bits(),
            ask: Box::new((&**ask).into()),
            key: key.as_ref().map(|key| key.as_str().into()),
            by: by.into(),
        },
        Command::Release { id, by } => CommandRecord::Release { id: id.to_bits(), by: by.into() },
        Command::Advertise { .. }
        | Command::Adopt { .. }
        | Command::Hear { .. }
        | Command::Activate { .. }
        | Command::Renew { .. }
        | Command::Reject { .. }
        | Command::Expire { .. }
        | Command::MarkStale { .. }
        | Command::Retire { .. }
        | Command::Forget { .. }
        | Command::Clear { .. }
        | Command::EndRecovery { .. } => return None,
    })
}

fn command(record: CommandRecord<'_>) -> Result<Command, InvalidField> {
    let (id, actor) = (ReservationId::from_bits, Actor::try_from);
    Ok(match record {
        CommandRecord::Reserve { id: bits, ask, key, by } => Command::Reserve {
            id: id(bits),
            ask: Box::new((*ask).try_into()?),
            key: key.map(|key| key.parse()).transpose().map_err(|_| InvalidField("key"))?,
            by: actor(by)?,
        },
        CommandRecord::Release { id: bits, by } => {
            Command::Release { id: id(bits), by: actor(by)? }
        }
    })
}
