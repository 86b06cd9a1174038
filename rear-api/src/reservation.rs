//! Reservations: what is asked, what was promised, and what each side may still say about it.

mod answer;
mod asked;
mod followup;
mod request;
mod role;

pub(crate) use asked::refused_ask;

pub use answer::{PhaseName, Reservation, ReservationStatus};
pub use asked::MAX_CONSTRAINT_BYTES;
pub use followup::{RejectRequest, RenewRequest};
pub use request::{Constraints, MaxPrice, ReservationRequest};
pub use role::{Role, UnknownRole};
