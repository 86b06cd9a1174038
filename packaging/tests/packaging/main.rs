//! What is installed and read is what the programs are: packages, images, charts, references, tutorials.
// A test that is surprised should fail at once.
#![allow(clippy::unwrap_used)]

#[cfg(feature = "tools")]
mod charts;
#[cfg(feature = "tools")]
mod chroot;
mod commands;
#[cfg(feature = "tools")]
mod debian;
mod documents;
mod generated;
#[cfg(feature = "tools")]
mod how_tos;
#[cfg(feature = "tools")]
mod images;
#[cfg(feature = "tools")]
mod mistakes;
#[cfg(feature = "tools")]
mod patience;
#[cfg(feature = "tools")]
mod programs;
#[cfg(feature = "tools")]
mod session;
mod tree;
#[cfg(feature = "tools")]
mod tutorials;
#[cfg(feature = "tools")]
mod watching;
mod workflows;
