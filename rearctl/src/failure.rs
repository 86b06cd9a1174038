//! Why a command did not do what it should: how it ends, what is said, and what can be done about it.

use std::io::{self, ErrorKind};

use rear_agent_sdk::{Chain, Error};
use rear_api::problem::Code;
use thiserror::Error as ThisError;

use crate::contexts::ContextError;
use crate::exit::{self, Exit};
use crate::output::printable;

/// Why a command did not do what it should.
#[derive(Debug, ThisError)]
pub(crate) enum Failure {
    /// The broker, or the way to it.
    #[error(transparent)]
    Broker(#[from] Error),
    /// Nobody has room, which was explained already.
    #[error("no cluster has room")]
    NoCapacity,
    /// Which broker to ask.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// What was given cannot be meant.
    #[error("{0}")]
    Usage(String),
    /// Not there.
    #[error("{0}")]
    NotFound(String),
    /// What was waited for.
    #[error("{0}")]
    NotMet(String),
    /// `check` has told what.
    #[error("trouble was found")]
    Trouble,
    /// Files and terminals.
    #[error("{what}")]
    Io {
        /// What was to be done.
        what: String,
        /// Why it could not.
        source: io::Error,
    },
    /// The standard output.
    #[error("the output cannot be written")]
    Output(#[from] io::Error),
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

impl Failure {
    /// How the program ends.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Broker(error) => of_broker(error),
            Self::NoCapacity => exit::NO_CAPACITY,
            Self::Context(_) => exit::CONTEXT,
            Self::Usage(_) => exit::USAGE,
            Self::NotFound(_) => exit::NOT_FOUND,
            Self::NotMet(_) => exit::NOT_MET,
            Self::Trouble => exit::TROUBLE,
            // A reader that has seen enough is no error.
            Self::Output(error) if error.kind() == ErrorKind::BrokenPipe => exit::DONE,
            Self::Output(_) | Self::Io { .. } => exit::OTHER,
            Self::Interrupted => exit::INTERRUPTED,
        }
    }

    /// What is said on the standard error; nothing where all has been said, or where silence is wanted.
    pub(crate) fn told(&self) -> Option<String> {
        match self {
            Self::NoCapacity | Self::Trouble | Self::Interrupted => None,
            Self::Output(error) if error.kind() == ErrorKind::BrokenPipe => None,
            Self::Broker(error) => Some(format!("{}\n{}", line(error), error.remedy())),
            Self::Context(error) => Some(format!("{}\n{}", line(error), error.remedy())),
            other => Some(line(other)),
        }
    }
}

fn line(error: &(dyn std::error::Error + 'static)) -> String {
    printable(&Chain(error).to_string()).into_owned()
}

fn of_broker(error: &Error) -> Exit {
    match error {
        Error::Refused(refused) if refused.code == Some(Code::NoRoom) => exit::NO_CAPACITY,
        Error::Refused(_) => exit::REFUSED,
        Error::NotFound { .. } => exit::NOT_FOUND,
        Error::Unreachable { .. }
        | Error::Interrupted { .. }
        | Error::TimedOut { .. }
        | Error::Busy { .. }
        | Error::Unavailable { .. } => exit::UNREACHABLE,
        Error::Credentials { .. }
        | Error::NoCertificate { .. }
        | Error::OtherCluster { .. }
        | Error::UnknownAuthority { .. }
        | Error::OtherName { .. }
        | Error::ClockSkew { .. } => exit::NOT_LET_IN,
        Error::Address { .. } => exit::CONTEXT,
        _ => exit::OTHER,
    }
}
