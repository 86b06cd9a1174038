//! Waiting for a server to become ready, unless it ends first.

use super::patience::eventually;
use super::process::Process;
use super::start_error::StartError;

/// Asks until it is ready; `Err` says what is not ready yet.
pub(crate) fn await_ready(
    process: &mut Process,
    mut ask: impl FnMut() -> Result<(), String>,
) -> Result<(), StartError> {
    let mut unready = String::new();
    eventually(|| {
        if !process.is_running() {
            return Some(Err(ended(process)));
        }
        ask().map_err(|told| unready = told).ok().map(Ok)
    })
    .unwrap_or_else(|| {
        let (name, last_words) = (process.name().to_owned(), process.last_words());
        Err(StartError::NotReady { name, unready, last_words })
    })
}

fn ended(process: &Process) -> StartError {
    StartError::Ended { name: process.name().to_owned(), last_words: process.last_words() }
}
