//! The command line: what can be asked of the program, and how it ends.

use std::process::ExitCode;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::commands::Command;
use crate::exit;
pub use crate::exit::{ALL as EXITS, Exit};
use crate::failure::Failure;
use crate::output::{Colours, Format, Progress, Restored, indented, tell};
use crate::session::Whom;
use crate::show::Output;

/// A command that is interrupted gets this long to say what it left behind.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Look at a REAR broker, ask it for capacity, and give it back.
#[derive(Debug, Parser)]
#[command(name = "rearctl", version, about, max_term_width = 100, disable_help_subcommand = true)]
pub struct CommandLine {
    #[command(flatten)]
    whom: Whom,
    #[command(flatten)]
    how: How,
    #[command(subcommand)]
    command: Command,
}

/// How things are printed.
#[derive(Debug, Clone, Copy, Args)]
struct How {
    /// How data is printed
    #[arg(short, long, global = true, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    /// Leave out the heading of tables
    #[arg(long, global = true)]
    no_headers: bool,
}

/// What clap knows of the command line, for completions, manual pages and the reference.
#[must_use]
pub fn grammar() -> clap::Command {
    CommandLine::command()
}

/// Does what the command line asks for.
#[must_use]
pub fn run() -> ExitCode {
    let line = match CommandLine::try_parse() {
        Ok(line) => line,
        Err(error) => return usage(&error),
    };
    let outcome = started(line);
    Restored::restore();
    let Err(failure) = outcome else { return ExitCode::SUCCESS };
    if let Some(text) = failure.told() {
        let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
        tell(&format!("rearctl: {first}\n{}", indented(rest)));
    }
    ExitCode::from(failure.exit().code)
}

/// Help that was asked for is no mistake; everything else is, and 2 has another meaning here.
fn usage(error: &clap::Error) -> ExitCode {
    // Whoever closed the stream does not want to know.
    drop(error.print());
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::SUCCESS,
        _ => ExitCode::from(exit::USAGE.code),
    }
}

fn started(line: CommandLine) -> Result<(), Failure> {
    let CommandLine { whom, how, command } = line;
    let output = Output {
        format: how.output,
        headed: !how.no_headers,
        colours: Colours::of(std::io::stdout()),
        progress: Progress::new(),
    };
    let failed = |source| Failure::Io { what: "the program cannot start".into(), source };
    let working = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let working = working.map_err(failed)?;
    let listening = Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let running = working.spawn(command.run(whom, output));
    let outcome = listening.block_on(until_interrupted(running));
    // A thread that waits for a key, or for a pipe that nobody reads, is not waited for.
    working.shutdown_background();
    outcome
}

/// Signals are listened to apart from the work: a pipe that nobody reads must not keep Ctrl-C waiting.
async fn until_interrupted(mut running: JoinHandle<Result<(), Failure>>) -> Result<(), Failure> {
    let listening = |kind| {
        signal(kind)
            .map_err(|source| Failure::Io { what: "signals cannot be heard".into(), source })
    };
    let (mut interrupt, mut terminate, mut hangup) = (
        listening(SignalKind::interrupt())?,
        listening(SignalKind::terminate())?,
        listening(SignalKind::hangup())?,
    );
    let ended = tokio::select! {
        ended = &mut running => Some(ended),
        _ = interrupt.recv() => None,
        _ = terminate.recv() => None,
        _ = hangup.recv() => None,
    };
    match ended {
        Some(Ok(outcome)) => outcome,
        Some(Err(panic)) => std::panic::resume_unwind(panic.into_panic()),
        None => {
            running.abort();
            drop(timeout(LAST_WORDS, running).await);
            Err(Failure::Interrupted)
        }
    }
}
