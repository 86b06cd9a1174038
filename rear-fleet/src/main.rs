//! `rear-fleet`: certificates to try a broker with, a simulated fleet, and load.

mod cli;

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    cli::run().await
}
