//! Every kind of problem in one table: the code for programs, the status, the title for people.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $code:ident = $name:literal, $status:literal, $title:literal;)+) => {
        /// A kind of problem. Names and statuses never change; new kinds may appear.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[doc = $doc])+ $code,)+
        }

        impl Code {
            /// Every code, by status.
            pub const ALL: &'static [Self] = &[$(Self::$code),+];

            /// Its name on the wire.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$code => $name,)+ }
            }

            /// The status of an answer with it.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(Self::$code => $status,)+ }
            }

            /// What it means, for people.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$code => $title,)+ }
            }
        }
    };
}

codes! {
    /// The body or a part of the address is not what its grammar demands.
    Unreadable = "unreadable", 400, "The request cannot be read";
    /// The connection has no client certificate.
    NoCertificate = "no-certificate", 401, "A client certificate is needed";
    /// The certificate names no cluster, or more than one.
    BadIdentity = "bad-identity", 401, "The certificate does not name exactly one cluster";
    /// The body names another cluster than the certificate.
    OtherCluster = "other-cluster", 403, "The body names another cluster than the certificate";
    /// It is visible to the caller, who may not do this with it.
    NotAllowed = "not-allowed", 403, "This is for someone else to do";
    /// There is nothing at this address.
    NotFound = "not-found", 404, "There is nothing here";
    /// There is no such reservation, or it is not the caller's.
    UnknownReservation = "unknown-reservation", 404, "There is no such reservation";
    /// There is no such cluster, or it is not the caller.
    UnknownCluster = "unknown-cluster", 404, "There is no such cluster";
    /// The address exists, the method does not.
    MethodNotAllowed = "method-not-allowed", 405, "This method does not exist here";
    /// The request took too long to arrive.
    TooSlow = "too-slow", 408, "The request took too long to arrive";
    /// Nobody has room.
    NoRoom = "no-room", 409, "No cluster has room";
    /// The idempotency key was used for another request.
    KeyReused = "key-reused", 409, "The idempotency key was used for another request";
    /// The id was given to another reservation.
    IdTaken = "id-taken", 409, "The reservation exists already";
    /// The requester has as many reservations as the operator allows.
    TooManyReservations = "too-many-reservations", 409, "The requester has too many reservations";
    /// A newer advertisement is known.
    Outdated = "outdated", 409, "A newer advertisement is known";
    /// The reservation has ended.
    AlreadyEnded = "already-ended", 409, "The reservation has ended";
    /// The provider has not been heard of for too long, or has not said yet what it holds after a restore.
    ProviderStale = "provider-stale", 409, "The provider has not been heard of for too long, or not since a restore";
    /// The provider has promised or used more than it has.
    ProviderOvercommitted = "provider-overcommitted", 409, "The provider is overcommitted";
    /// The sum of the promises on a cluster cannot be represented.
    LedgerFull = "ledger-full", 409, "The ledger of the cluster cannot hold this";
    /// A cursor or an event id of an older incarnation: list again.
    OlderIncarnation = "older-incarnation", 410, "The ledger was restored since: list again";
    /// The body is too large.
    TooLarge = "too-large", 413, "The body is too large";
    /// Clusters reach this broker through another interface.
    OtherInterface = "other-interface", 421, "The broker does not speak to clusters over HTTP";
    /// The body can be read, and a member of it is wrong.
    Invalid = "invalid", 422, "The request can be read but is not valid";
    /// More is reported as consumed than is allocated.
    ConsumedBeyondAllocated = "consumed-beyond-allocated", 422, "More is consumed than is allocated";
    /// The duration exceeds what the operator allows.
    TooLong = "too-long", 422, "The duration is longer than this broker grants";
    /// The new end has passed already.
    EndHasPassed = "end-has-passed", 422, "The new end has passed already";
    /// The caller sends too many requests, or has too many streams open.
    TooMany = "too-many", 429, "Too many requests";
    /// The broker failed.
    Internal = "internal", 500, "The broker failed";
    /// The broker cannot decide at the moment.
    NotReady = "not-ready", 503, "The broker is not ready";
}

/// A text that is no code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("unknown problem code")]
pub struct UnknownCode;

impl FromStr for Code {
    type Err = UnknownCode;

    fn from_str(text: &str) -> Result<Self, UnknownCode> {
        Self::ALL.iter().copied().find(|code| code.name() == text).ok_or(UnknownCode)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
