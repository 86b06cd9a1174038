//! The program `rear-evaluation`: parse, run, say what was broken.

use std::process::ExitCode;

fn main() -> ExitCode {
    rear_evaluation::cli::run()
}
