//! The evaluation of REAR: tests of a broker that runs as a process, measured, plotted and repeatable.
//!
//! `cargo xtask evaluate` builds everything and runs it; `docs/evaluation/README.md` explains each test. The way of a
//! figure through this crate:
//!
//! ```text
//! cli run                          which tests, how large, with which seed; one after the other
//! stage broker child programs      certificates, the processes that are evaluated, a bar that shows how far it is
//! raw/                             what the machine can do at best, in the same run
//! experiments/                     one file for each test
//! soak/                            hours of one broker, apart from the tests: what happens to it, audits, growth
//! offer wire                       what clusters say of themselves; a proxy that counts bytes
//! checks/ oracle/                  pure: what is wrong with what was seen; who should have been chosen
//! outcome/ chart/ machine          tables, pictures and the machine; files that a further run replaces one by one
//! ```

pub mod chart;
pub mod checks;
pub mod cli;
pub mod experiments;
pub mod machine;
pub mod oracle;
pub mod outcome;
pub mod raw;
pub mod run;
pub mod soak;
pub mod stage;

mod broker;
mod child;
mod offer;
mod wire;
