//! What can go wrong between an agent and its broker, and what to do about it.

use std::error::Error as StdError;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use rear_api::problem::{Code, Obstacle};
use thiserror::Error;

/// What led to an error; its text is told by whoever prints the chain.
pub type Source = Box<dyn StdError + Send + Sync>;

/// Why an operation did not succeed.
///
/// ```
/// use rear_agent_sdk::Error;
///
/// let error = Error::TimedOut { seconds: 30 };
/// assert!(error.is_transient());
/// assert_eq!(error.to_string(), "no answer within 30 s");
/// assert!(!error.remedy().is_empty());
/// ```
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The address of the broker cannot be used.
    #[error("`{address}` is not the address of a broker")]
    Address {
        /// As it was given.
        address: String,
    },
    /// A file of the certificate folder cannot be used.
    #[error("the certificate in {} cannot be used", path.display())]
    Credentials {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: Source,
    },
    /// The broker wants a certificate, and got none that counts.
    #[error("the broker does not accept the certificate: {detail}")]
    NoCertificate {
        /// In the broker's words.
        detail: String,
    },
    /// What is said names another cluster than the certificate.
    #[error("the certificate is another cluster's: {detail}")]
    OtherCluster {
        /// In the broker's words.
        detail: String,
    },
    /// The broker's certificate was not signed by the authority in `ca.crt`.
    #[error("the broker's certificate is not from the authority in ca.crt")]
    UnknownAuthority {
        /// What the verification said.
        source: Source,
    },
    /// The broker's certificate is for another name than the address.
    #[error("the broker's certificate is for another name")]
    OtherName {
        /// What the verification said.
        source: Source,
    },
    /// A certificate has expired or is not valid yet, by the clock of one side.
    #[error("a certificate is not valid at this time")]
    ClockSkew {
        /// What the verification said.
        source: Source,
    },
    /// Nobody answers at the address. Nothing was sent.
    #[error("the broker cannot be reached")]
    Unreachable {
        /// Why.
        source: Source,
    },
    /// The connection broke before the answer was complete.
    #[error("the connection broke before the answer was complete")]
    Interrupted {
        /// Why.
        source: Source,
    },
    /// The answer did not come in time.
    #[error("no answer within {seconds} s")]
    TimedOut {
        /// How long was waited.
        seconds: u64,
    },
    /// The broker says that it is asked too often.
    #[error("the broker is asked too often: {detail}")]
    Busy {
        /// In the broker's words.
        detail: String,
        /// When to come again, if the broker says.
        retry_after: Option<Duration>,
    },
    /// The broker, or what stands before it, cannot answer at the moment.
    #[error("the broker cannot answer at the moment (status {status}): {detail}")]
    Unavailable {
        /// The status of the answer.
        status: u16,
        /// In the broker's words.
        detail: String,
        /// When to come again, if the broker says.
        retry_after: Option<Duration>,
    },
    /// The broker has decided: no.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// There is no such reservation or cluster, or it is not the caller's.
    #[error("{detail}")]
    NotFound {
        /// In the broker's words.
        detail: String,
    },
    /// What was remembered is from before a restore of the broker: list again.
    #[error("the broker's ledger was restored since: list again")]
    Restored,
    /// The broker speaks to clusters in another way than this transport.
    #[error("the broker is not reached this way: {detail}")]
    OtherTransport {
        /// In the broker's words, or what is missing where it should be.
        detail: String,
    },
    /// The answer is not one that a broker gives.
    #[error("the answer cannot be understood: {detail}")]
    Garbage {
        /// What is wrong with it.
        detail: String,
    },
    /// The broker, or the transport, does not have this operation.
    #[error("this broker has no {operation}")]
    Unsupported {
        /// What was wanted.
        operation: &'static str,
    },
    /// The request was sent once, its answer is lost, and the broker has no way to recognise it a second time.
    #[error("it is not known whether the request was executed")]
    OutcomeUnknown {
        /// How the answer was lost.
        source: Source,
    },
    /// A newer copy of the same agent has taken over.
    #[error("a newer agent speaks for this cluster (epoch {theirs}, this one has {ours})")]
    Replaced {
        /// The epoch of this agent.
        ours: u64,
        /// The epoch that the broker listens to.
        theirs: u64,
    },
    /// The agent's own collector or handler failed; nothing was sent.
    #[error("the agent does not know the state of its cluster")]
    Local {
        /// What it said.
        source: Source,
    },
    /// The communicator was closed.
    #[error("the communicator was closed")]
    Closed,
}

/// The broker's decision against a request, with its reasons.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text}")]
#[non_exhaustive]
pub struct Refused {
    /// The status of the answer.
    pub status: u16,
    /// What kind of refusal, if it is one that is known here; a broker of the earlier system does not say.
    pub code: Option<Code>,
    /// In the broker's words.
    pub text: String,
    /// For a reservation: what was missing on the closest clusters.
    pub candidates: Vec<Obstacle>,
}

impl Refused {
    /// A refusal, for transports of your own.
    #[must_use]
    pub fn new(status: u16, code: Option<Code>, text: String, candidates: Vec<Obstacle>) -> Self {
        Self { status, code, text, candidates }
    }

    /// What a person can do about it.
    fn remedy(&self) -> &'static str {
        match self.code {
            Some(
                Code::Unreadable
                | Code::Invalid
                | Code::ConsumedBeyondAllocated
                | Code::TooLong
                | Code::EndHasPassed
                | Code::TooLarge,
            ) => "Correct what is named there, and ask again.",
            Some(Code::KeyReused | Code::IdTaken) => {
                "Use the key for the same request only, and another key for another request."
            }
            Some(Code::TooManyReservations) => {
                "Use the reservations that there are, or have the operator raise max-reservations."
            }
            Some(Code::AlreadyEnded) => "Reserve anew, if it is still needed.",
            Some(Code::NotAllowed) => "Have it done by whom it is for, or by an administrator.",
            _ => "See the reasons; ask for less, for something else, or later.",
        }
    }
}

impl Error {
    /// Whether it is open what became of the request: it may have been done, and its answer lost, also by what stands before
    /// the broker.
    #[must_use]
    pub fn leaves_open(&self) -> bool {
        matches!(
            self,
            Self::Interrupted { .. }
                | Self::TimedOut { .. }
                | Self::Garbage { .. }
                | Self::OutcomeUnknown { .. }
                | Self::Unavailable { status: 502 | 504, .. }
        )
    }

    /// Whether the same request may succeed later without anyone doing anything.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Interrupted { .. }
            | Self::TimedOut { .. }
            | Self::Busy { .. }
            | Self::Unavailable { .. }
            | Self::Local { .. } => true,
            Self::Address { .. }
            | Self::Credentials { .. }
            | Self::NoCertificate { .. }
            | Self::OtherCluster { .. }
            | Self::UnknownAuthority { .. }
            | Self::OtherName { .. }
            | Self::ClockSkew { .. }
            | Self::Refused(_)
            | Self::NotFound { .. }
            | Self::Restored
            | Self::OtherTransport { .. }
            | Self::Garbage { .. }
            | Self::Unsupported { .. }
            | Self::OutcomeUnknown { .. }
            | Self::Replaced { .. }
            | Self::Closed => false,
        }
    }

    /// Whether the request cannot have reached the broker.
    #[must_use]
    pub fn was_not_sent(&self) -> bool {
        matches!(
            self,
            Self::Address { .. }
                | Self::Credentials { .. }
                | Self::UnknownAuthority { .. }
                | Self::OtherName { .. }
                | Self::Unreachable { .. }
                | Self::Unsupported { .. }
                | Self::Local { .. }
                | Self::Closed
        )
    }

    /// When the broker wants to be asked again, if it said so.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { retry_after, .. } | Self::Unavailable { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// What a person can do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Address { .. } => "Give the broker's address as https://HOST:PORT.",
            Self::Credentials { .. } => {
                "Put tls.crt, tls.key and ca.crt, in PEM, into the certificate folder."
            }
            Self::NoCertificate { .. } => {
                "Have a certificate issued by the broker's authority, with the cluster's id as its only common name."
            }
            Self::OtherCluster { .. } => {
                "Use the cluster id that is the common name of the certificate, or the certificate of that cluster."
            }
            Self::UnknownAuthority { .. } => {
                "Put the authority that signed the broker's certificate into ca.crt."
            }
            Self::OtherName { .. } => "Use a name or address that the broker's certificate has.",
            Self::ClockSkew { .. } => {
                "Compare the clocks of both machines and the validity of both certificates."
            }
            Self::Unreachable { .. } => {
                "Check that the broker runs and that its address and port are right and not blocked."
            }
            Self::Interrupted { .. } | Self::TimedOut { .. } => {
                "Try again; if it stays so, look at the network and the broker's load."
            }
            Self::Busy { .. } => "Ask less often.",
            Self::Unavailable { .. } => "Wait; if it stays so, look at the broker's log.",
            Self::Refused(refused) => refused.remedy(),
            Self::NotFound { .. } => {
                "Check the name; a cluster is shown what is its own, and only an administrator everything."
            }
            Self::Restored => "List again and go on from there.",
            Self::OtherTransport { .. } => {
                "Use the transport that the broker serves (its --broker-interface), or have it serve this one too."
            }
            Self::Garbage { .. } => {
                "Check that the address is a broker's and not another server's."
            }
            Self::Unsupported { .. } => "Use a newer broker, or do without.",
            Self::OutcomeUnknown { .. } => {
                "Look at the broker's reservations before asking again: a second request could be granted twice."
            }
            Self::Replaced { .. } => "Stop this copy of the agent, or the other one.",
            Self::Local { .. } => "See what the collector or the handler says.",
            Self::Closed => "Make a new communicator.",
        }
    }
}

/// An error with everything that led to it, for people: `error: source: its source`.
#[derive(Debug)]
pub struct Chain<'a>(pub &'a (dyn StdError + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_says_what_can_be_done_about_it() {
        for (code, words) in [
            (Some(Code::Unreadable), "Correct what is named"),
            (Some(Code::TooLarge), "Correct what is named"),
            (Some(Code::KeyReused), "another key"),
            (Some(Code::IdTaken), "another key"),
            (Some(Code::TooManyReservations), "max-reservations"),
            (Some(Code::AlreadyEnded), "Reserve anew"),
            (Some(Code::NotAllowed), "an administrator"),
            (Some(Code::Outdated), "See the reasons"),
            (None, "See the reasons"),
        ] {
            let error = Error::from(Refused::new(422, code, String::new(), Vec::new()));
            assert!(error.remedy().contains(words), "{code:?}: {}", error.remedy());
        }
    }

    #[test]
    fn a_chain_names_every_cause() {
        let source = Error::Unreachable { source: "nobody listens".into() }.into();
        let told = Chain(&Error::OutcomeUnknown { source }).to_string();
        let causes =
            ["it is not known whether the request was executed", "the broker cannot be reached"];
        assert_eq!(told, format!("{}: {}: nobody listens", causes[0], causes[1]));
    }
}
