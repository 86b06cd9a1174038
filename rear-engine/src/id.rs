//! Names of things: clusters, reservations, idempotency keys. Parsed once, never invalid afterwards.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;

/// A cluster id becomes a file name and a Kubernetes resource name: the length of a DNS label.
pub const MAX_ID_LENGTH: usize = 63;

/// An idempotency key is chosen by a client; what the common libraries send (a UUID) is far shorter.
pub const MAX_KEY_LENGTH: usize = 255;

/// A participant: the Common Name of its certificate.
///
/// Lower case letters, digits, `-` and `.`, as in a DNS name, at most 63 characters.
///
/// ```
/// use rear_engine::id::ClusterId;
///
/// assert!("rome-1.example".parse::<ClusterId>().is_ok());
/// assert!("../rome".parse::<ClusterId>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterId(Arc<str>);

/// Why a text is not a cluster id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ClusterIdError {
    /// Empty, or more than [`MAX_ID_LENGTH`] characters.
    #[error("a cluster id has 1 to {MAX_ID_LENGTH} characters")]
    Length,
    /// A character that has no place in a DNS name.
    #[error("a cluster id consists of lower case letters, digits, '-' and '.'")]
    Character,
    /// A dot or dash where a DNS name has none.
    #[error("each part of a cluster id between dots begins and ends with a letter or a digit")]
    Shape,
}

impl ClusterId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ClusterId {
    type Err = ClusterIdError;

    fn from_str(text: &str) -> Result<Self, ClusterIdError> {
        if text.is_empty() || text.len() > MAX_ID_LENGTH {
            return Err(ClusterIdError::Length);
        }
        if !text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.')) {
            return Err(ClusterIdError::Character);
        }
        let well_formed =
            |part: &str| !part.is_empty() && !part.starts_with('-') && !part.ends_with('-');
        if !text.split('.').all(well_formed) {
            return Err(ClusterIdError::Shape);
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A reservation, for ever: `rsv-` and 32 hexadecimal digits.
///
/// The 128 bits come from whoever queues the command and ascend with time (a version 7 UUID does), so
/// that records are appended in key order, ids are unique across brokers and restarts, and the text is
/// a valid Kubernetes name with room for a suffix.
///
/// ```
/// use rear_engine::id::ReservationId;
///
/// let id = ReservationId::from_bits(0x0193_0000_0000_7000_8000_0000_0000_002a);
/// assert_eq!(id.to_string(), "rsv-019300000000700080000000 0000002a".replace(' ', ""));
/// assert_eq!(id.to_string().parse(), Ok(id));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReservationId(u128);

/// A text that is not a reservation id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a reservation id is rsv- followed by 32 lower case hexadecimal digits")]
pub struct ReservationIdError;

const RESERVATION_PREFIX: &str = "rsv-";
const RESERVATION_DIGITS: usize = 32;
const HEXADECIMAL: &[u8; 16] = b"0123456789abcdef";

impl ReservationId {
    /// An id from bits that ascend with time and never repeat.
    #[must_use]
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    /// Its bits, in the order that records are kept in.
    #[must_use]
    pub const fn to_bits(self) -> u128 {
        self.0
    }
}

impl fmt::Display for ReservationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // In every answer: by hand, as `{:032x}` of 128 bits takes ten times as long, and at once, so that a text grows once.
        let mut text = [0; RESERVATION_PREFIX.len() + RESERVATION_DIGITS];
        let (prefix, digits) = text.split_at_mut(RESERVATION_PREFIX.len());
        prefix.copy_from_slice(RESERVATION_PREFIX.as_bytes());
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0.to_be_bytes()) {
            pair[0] = HEXADECIMAL[usize::from(byte >> 4)];
            pair[1] = HEXADECIMAL[usize::from(byte & 0xf)];
        }
        f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl FromStr for ReservationId {
    type Err = ReservationIdError;

    fn from_str(text: &str) -> Result<Self, ReservationIdError> {
        let digits = text.strip_prefix(RESERVATION_PREFIX).ok_or(ReservationIdError)?;
        // One reservation has one name: no upper case, no sign, no missing zeros.
        let canonical = digits.len() == RESERVATION_DIGITS
            && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if !canonical {
            return Err(ReservationIdError);
        }
        u128::from_str_radix(digits, 16).map(Self).map_err(|_| ReservationIdError)
    }
}

/// What a client calls one intent, so that a retry of it is recognised.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdempotencyKey(Arc<str>);

/// A text that is not an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("an idempotency key has 1 to {MAX_KEY_LENGTH} printable ASCII characters")]
pub struct IdempotencyKeyError;

impl IdempotencyKey {
    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for IdempotencyKey {
    type Err = IdempotencyKeyError;

    fn from_str(text: &str) -> Result<Self, IdempotencyKeyError> {
        let printable = text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
        if text.is_empty() || text.len() > MAX_KEY_LENGTH || !printable {
            return Err(IdempotencyKeyError);
        }
        Ok(Self(text.into()))
    }
}
