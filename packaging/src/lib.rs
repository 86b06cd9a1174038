//! What is made of the programs for those who install and read: the Helm chart from the manifests, reference pages from
//! the command lines and custom resources, container files, documents whose commands are tried.
//!
//! Everything here is pure: text in, text out. `tests/packaging` compares it with what is committed, and tries it: packages
//! in a chroot, charts on API servers, tutorials in a shell.

pub mod chart;
pub mod container_file;
pub mod document;
pub mod monitoring;
pub mod reference;
pub mod typed;
