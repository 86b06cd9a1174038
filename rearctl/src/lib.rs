//! The command line of a broker's operators and users: quick to type, honest in what it prints, good in scripts.
//!
//! The broker decides; this asks and tells. Data goes to the standard output, everything else to the standard error.
//! The library is there for the program and its tests.

mod ask;
mod certificate;
mod check;
pub mod cli;
mod commands;
mod contexts;
mod exit;
mod failure;
mod follow;
mod names;
mod output;
mod refusal;
mod session;
mod show;
