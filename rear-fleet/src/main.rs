//! `rear-fleet`: see [`rear_fleet::cli`].

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    rear_fleet::cli::run().await
}
