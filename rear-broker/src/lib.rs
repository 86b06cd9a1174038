//! The REAR broker: one process on one ledger, which clusters reach over mTLS.
//!
//! A request comes in through [`listen`], is known by the certificate of its connection ([`identity`],
//! [`caller`]), finds its route ([`routes`]), becomes a command for the store and is answered when the decision
//! is durable ([`answer`]). Nothing here adds or subtracts a quantity.

pub mod answer;
pub mod caller;
pub mod identity;
pub mod limits;
pub mod listen;
pub mod metrics;
pub mod operations;
pub mod routes;
pub mod serve;
pub mod tls;
