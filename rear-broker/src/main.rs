//! `rear-broker`: see [`rear_broker::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    rear_broker::cli::run()
}
