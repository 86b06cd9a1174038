//! The side of a reservation that a list is asked for: `?role=requester` or `?role=provider`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A side of a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Who was promised.
    Requester,
    /// Who keeps the capacity aside.
    Provider,
}

/// A text that is no role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("unknown role: use requester or provider")]
pub struct UnknownRole;

impl Role {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Requester, Self::Provider];

    /// Its name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requester => "requester",
            Self::Provider => "provider",
        }
    }
}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        Self::ALL.into_iter().find(|role| role.name() == text).ok_or(UnknownRole)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
