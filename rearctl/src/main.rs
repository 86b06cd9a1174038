//! `rearctl`: see [`rearctl::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    rearctl::cli::run()
}
