//! Finding a provider: filter, score, select, and the explanation of both outcomes.
//!
//! `filter` and [`score`] are exact and say what is right. `index` and its columns are approximate
//! and only say where it is not worth looking; `select` brings them together.

mod columns;
pub(crate) mod explain;
pub(crate) mod filter;
pub(crate) mod index;
mod members;
mod order;
pub mod rank;
pub mod score;
mod search;
pub(crate) mod select;
