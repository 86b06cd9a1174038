//! The decision engine of REAR: exact quantities, pure decisions that explain themselves, a search that
//! stays fast with a hundred thousand clusters.
//!
//! No IO, no async, no clock, no randomness; time and ids are arguments. [`decide()`] looks at a
//! [`Fleet`] and returns a [`Decision`]: changes and events as data. Someone else makes it durable and
//! then true with [`Fleet::apply_all`].
//!
//! ```
//! use rear_engine::testing::{advertisement, cluster, id, resources};
//! use rear_engine::{Actor, Ask, Command, Fleet, Policy, Subject, Terms, Timestamp, decide};
//!
//! let now = Timestamp::from_seconds(1_800_000_000);
//! let mut fleet = Fleet::new(Policy::default());
//!
//! let advertise = Command::Advertise {
//!     cluster: cluster("rome"),
//!     advertisement: Box::new(advertisement("8", "16Gi", now)),
//!     holding: None,
//! };
//! let decision = decide(&fleet, advertise, now)?;
//! fleet.apply_all(decision)?;
//!
//! let paris = cluster("paris");
//! let ask = Box::new(Ask::new(paris.clone(), resources("2", "4Gi"), Terms::default())?);
//! let reserve = Command::Reserve { id: id(1), ask, key: None, by: Actor::Cluster(paris) };
//! let decision = decide(&fleet, reserve, now)?;
//! assert_eq!(decision.subject, Subject::Reservation(id(1)));
//! fleet.apply_all(decision)?;
//!
//! let rome = fleet.cluster(&cluster("rome")).expect("it has advertised");
//! assert_eq!(rome.available().map(|left| left.shown()), Some(resources("6", "12Gi")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(clippy::float_arithmetic)]

pub mod advertisement;
pub mod ask;
pub mod audit;
pub mod command;
mod decide;
mod decimal;
pub mod decision;
pub mod duration;
pub mod fleet;
pub mod id;
pub mod labels;
pub mod ledger;
pub mod place;
pub mod policy;
pub mod position;
pub mod price;
pub mod quantity;
pub mod refusal;
pub mod reservation;
pub mod resources;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod text;
pub mod time;

pub use advertisement::Advertisement;
pub use ask::{Ask, Strategy, Terms};
pub use command::{Actor, Command};
pub use decide::{decide, explain, refreshment};
pub use decision::{Change, Decision, Event, Happening, Subject};
pub use duration::Duration;
pub use fleet::Fleet;
pub use id::{ClusterId, IdempotencyKey, ReservationId};
pub use place::rank::{Ranking, dry_run};
pub use policy::Policy;
pub use position::{EventId, Position};
pub use quantity::Quantity;
pub use refusal::{NoRoom, Obstacle, Reason, Refusal};
pub use reservation::{Phase, Reservation};
pub use resources::{Dimension, Resources};
pub use time::Timestamp;
