//! `rear-agent`: see [`rear_agent::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    rear_agent::cli::main()
}
