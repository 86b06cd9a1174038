//! What the programs of REAR have in common as daemons: where their operators' listeners are, and which of several copies works.

mod bind_address;
pub mod leadership;

pub use bind_address::{BindAddress, BindAddressError};
