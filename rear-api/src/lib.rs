//! What clusters and the broker say to each other: the JSON bodies of version 1, and what they mean to the engine.
//!
//! The types of this crate hold texts exactly as they stand on the wire; a conversion checks them once and
//! names the member at fault. No decision is made here: whose certificate it was, whether there is room and
//! who may do what are questions for the broker and the engine.
//!
//! | direction | at the broker | at an agent |
//! |---|---|---|
//! | request | [`body::read`], then `ask`, `into_command`, … | `Serialize` |
//! | answer | `From` and `of` the engine's types | [`body::read_answer`], tolerant of members that it does not know |
//!
//! ```
//! use rear_api::body;
//! use rear_api::reservation::ReservationRequest;
//! use rear_engine::testing::{cluster, resources};
//!
//! let sent = br#"{"requestedResources": {"cpu": "1500m", "memory": "4Gi"}, "duration": "1h30m"}"#;
//! let request: ReservationRequest = body::read(sent)?;
//! let ask = request.ask(&cluster("rome"))?;
//! assert_eq!(ask.resources(), resources("1500m", "4Gi"));
//!
//! // A misspelt duration must not mean for ever.
//! let sent = br#"{"requestedResources": {"cpu": "1", "memory": "4Gi"}, "duratoin": "1h30m"}"#;
//! let refused = body::read::<ReservationRequest>(sent).unwrap_err();
//! assert!(refused.to_string().starts_with("duratoin: unknown field `duratoin`"));
//! # Ok::<(), rear_api::body::BodyError>(())
//! ```

pub mod advertisement;
pub mod amounts;
pub mod body;
pub mod dry_run;
pub mod event;
mod gapped;
pub mod instruction;
pub mod labels;
pub mod moment;
pub mod page;
pub mod problem;
pub mod reservation;
#[cfg(feature = "resources")]
pub mod resources;
pub mod revision;
