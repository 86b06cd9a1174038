//! One file for each command: its flags, and what it does.

pub(crate) mod check;
pub(crate) mod clusters;
pub(crate) mod completion;
pub(crate) mod context;
pub(crate) mod events;
pub(crate) mod followups;
pub(crate) mod forget;
pub(crate) mod instructions;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod reservations;
pub(crate) mod reserve;
pub(crate) mod top;
pub(crate) mod wait;

use clap::Subcommand;

use crate::failure::Failure;
use crate::session::{Session, Whom};
use crate::show::Output;

/// What can be asked.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Asking(Asking),
    /// Look for trouble between here and the broker, and in what it says; each with a remedy
    Check(check::Check),
    #[command(flatten)]
    Here(Here),
}

/// What a broker is asked.
#[derive(Debug, Subcommand)]
pub(crate) enum Asking {
    /// Look at clusters
    #[command(subcommand, visible_alias = "cluster")]
    Clusters(clusters::Clusters),
    /// Look at reservations
    #[command(subcommand, visible_alias = "reservation")]
    Reservations(reservations::Reservations),
    /// Look at what this cluster has to do
    #[command(subcommand, visible_alias = "instruction")]
    Instructions(instructions::Instructions),
    /// Ask for capacity
    Reserve(Box<reserve::Reserve>),
    /// Give reservations back; repeating it is fine
    Release(followups::Release),
    /// Let a reservation end at another time
    Renew(followups::Renew),
    /// Confirm that a reservation is used
    Activate(followups::Activate),
    /// Refuse, as its provider, to keep a reservation
    Reject(followups::Reject),
    /// Forget a cluster and end everything with it (administrators)
    Forget(forget::Forget),
    /// Tell what happens
    Events(events::Events),
    /// Wait until something is so
    Wait(wait::Wait),
    /// Show how full each cluster is, live on a terminal
    Top(top::Top),
}

/// What needs no broker.
#[derive(Debug, Subcommand)]
pub(crate) enum Here {
    /// Name brokers and their certificates
    #[command(subcommand)]
    Context(context::ContextCommand),
    /// Print a script that completes commands in a shell
    Completion(completion::Completion),
    /// Write manual pages
    Man(man::Man),
}

impl Command {
    /// Does it. `check` looks itself at how the broker is found: that may be the trouble.
    pub(crate) async fn run(self, whom: Whom, output: Output) -> Result<(), Failure> {
        match self {
            Self::Asking(asking) => asking.run(Session::new(whom.resolve()?, output)?).await,
            Self::Check(check) => check.run(whom, output).await,
            Self::Here(here) => here.run(whom, output),
        }
    }
}

impl Asking {
    async fn run(self, session: Session) -> Result<(), Failure> {
        match self {
            Self::Clusters(command) => command.run(session).await,
            Self::Reservations(command) => command.run(session).await,
            Self::Instructions(command) => command.run(session).await,
            Self::Reserve(command) => command.run(session).await,
            Self::Release(command) => command.run(session).await,
            Self::Renew(command) => command.run(session).await,
            Self::Activate(command) => command.run(session).await,
            Self::Reject(command) => command.run(session).await,
            Self::Forget(command) => command.run(session).await,
            Self::Events(command) => command.run(session).await,
            Self::Wait(command) => command.run(session).await,
            Self::Top(command) => command.run(session).await,
        }
    }
}

impl Here {
    fn run(self, whom: Whom, output: Output) -> Result<(), Failure> {
        match self {
            Self::Context(command) => command.run(whom, output),
            Self::Completion(command) => command.run(),
            Self::Man(command) => command.run(),
        }
    }
}
