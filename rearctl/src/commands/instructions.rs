//! `rearctl instructions`: list, get, describe, watch. A level: what is missing has ended.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::{Args, Subcommand};
use rear_agent_sdk::communicator::{Level, Reservation, Role};
use rear_agent_sdk::{BrokerCommunicator, Chain, Watch};
use tokio::time::sleep;

use super::list::{Extent, nothing, print};
use super::reservations::Side;
use crate::failure::Failure;
use crate::names::bare;
use crate::output::say;
use crate::session::Session;
use crate::show::{Instruction, Printer, Shown};

/// Between two attempts to find a broker that is gone.
const PAUSE: Duration = Duration::from_secs(1);

/// What can be done with instructions.
#[derive(Debug, Subcommand)]
pub(crate) enum Instructions {
    /// List them
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        of: Of,
        /// At most so many
        #[arg(long, value_name = "COUNT")]
        limit: Option<usize>,
        /// Go on with what changes
        #[arg(short, long)]
        watch: bool,
    },
    /// Show one
    Get {
        /// Of which reservation
        #[arg(value_name = "ID")]
        id: String,
        #[command(flatten)]
        of: Of,
        /// Go on with what changes
        #[arg(short, long)]
        watch: bool,
    },
    /// Show one on many lines
    Describe {
        /// Of which reservation
        #[arg(value_name = "ID")]
        id: String,
        #[command(flatten)]
        of: Of,
    },
    /// Show them, and then what changes, until Ctrl-C
    Watch {
        /// Only that of this reservation
        #[arg(value_name = "ID")]
        id: Option<String>,
        #[command(flatten)]
        of: Of,
    },
}

/// Whose instructions.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Of {
    /// As which side this cluster is told
    #[arg(long, value_enum, default_value = "provider")]
    role: Side,
}

impl Instructions {
    pub(crate) async fn run(self, session: Session) -> Result<(), Failure> {
        match self {
            Self::List { of, limit, watch: false } => list(&session, of, limit).await,
            Self::List { of, limit: _, watch: true } => watch(&session, of, None).await,
            Self::Get { id, of, watch: false } => {
                session.output.one(&one(&session, of, &id).await?)
            }
            Self::Get { id, of, watch: true } => watch(&session, of, Some(id)).await,
            Self::Describe { id, of } => session.output.described(&one(&session, of, &id).await?),
            Self::Watch { id, of } => watch(&session, of, id).await,
        }
    }
}

async fn list(session: &Session, of: Of, limit: Option<usize>) -> Result<(), Failure> {
    let mut printer = Printer::list(session.output);
    let extent = Extent { limit, ..Extent::default() };
    let first = session.broker.instructions_page(of.role.into());
    print::<Reservation, Instruction>(session, extent, &mut printer, first, |_| true).await?;
    nothing(session, &printer, Instruction::KIND);
    printer.end()
}

async fn one(session: &Session, of: Of, id: &str) -> Result<Instruction, Failure> {
    let id = bare(Instruction::KIND, id)?;
    let level = session.wait(session.broker.instructions(of.role.into(), None)).await?;
    let found = level.instructions.into_iter().find(|told| told.id == id);
    let unknown = || Failure::NotFound(format!("there is no instruction for `{id}`"));
    Ok(Instruction(found.ok_or_else(unknown)?))
}

/// Shows the level, then what is new or different in the next ones, and says what has ended.
async fn watch(session: &Session, of: Of, only: Option<String>) -> Result<(), Failure> {
    let only = only.as_deref().map(|id| bare(Instruction::KIND, id)).transpose()?;
    let mut printer = Printer::stream(session.output);
    let mut levels = Watch::new(session.broker.clone(), Role::from(of.role));
    let mut known: BTreeMap<String, Reservation> = BTreeMap::new();
    let mut lost = false;
    loop {
        match levels.next().await {
            Ok(level) => {
                if std::mem::take(&mut lost) {
                    say("the broker is back");
                }
                difference(&mut printer, &mut known, level, only)?;
            }
            Err(error) if error.is_transient() => {
                if !std::mem::replace(&mut lost, true) {
                    say(&format!("{}; trying again", Chain(&error)));
                }
                sleep(PAUSE).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn difference(
    printer: &mut Printer,
    known: &mut BTreeMap<String, Reservation>,
    level: Level,
    only: Option<&str>,
) -> Result<(), Failure> {
    let meant = level.instructions.into_iter().filter(|told| only.is_none_or(|id| told.id == id));
    let now: BTreeMap<String, Reservation> = meant.map(|told| (told.id.clone(), told)).collect();
    let news: Vec<Instruction> = now
        .iter()
        .filter(|(id, told)| known.get(*id) != Some(*told))
        .map(|(_, told)| Instruction(told.clone()))
        .collect();
    printer.items(&news.iter().collect::<Vec<_>>())?;
    for id in known.keys().filter(|id| !now.contains_key(*id)) {
        say(&format!("{}/{id} has ended", Instruction::KIND));
    }
    *known = now;
    Ok(())
}
