//! What all lists share: one page at a time, at most so many, and the message of one that breaks off.

use clap::Args;
use rear_agent_sdk::Error;
use rear_agent_sdk::communicator::Position;
use rear_agent_sdk::http::{NextPage, Page};
use serde::de::DeserializeOwned;

use crate::failure::Failure;
use crate::output::{Format, say};
use crate::session::Session;
use crate::show::{Printer, Shown};

/// How much of a list is wanted.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Extent {
    /// At most so many
    #[arg(long, value_name = "COUNT")]
    pub(crate) limit: Option<usize>,
    /// How many are asked for at once: fewer come sooner, more need fewer requests
    #[arg(long, value_name = "COUNT", default_value_t = CHUNK, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) chunk_size: u16,
}

/// Soon on the screen, and still only twenty requests for ten thousand.
const CHUNK: u16 = 500;

impl Default for Extent {
    fn default() -> Self {
        Self { limit: None, chunk_size: CHUNK }
    }
}

impl Extent {
    /// What is asked for at once: no more than is printed.
    pub(crate) fn page(self) -> usize {
        let chunk = usize::from(self.chunk_size);
        self.limit.map_or(chunk, |limit| limit.clamp(1, chunk))
    }
}

/// Prints a list from its first page on; the state that it began in.
pub(crate) async fn print<Raw, T>(
    session: &Session,
    extent: Extent,
    printer: &mut Printer,
    first: impl Future<Output = Result<Page<Raw>, Error>>,
    wanted: impl Fn(&T) -> bool,
) -> Result<Option<Position>, Failure>
where
    Raw: DeserializeOwned + 'static,
    T: Shown + From<Raw>,
{
    let mut page = session.wait(first).await?;
    let revision = page.revision;
    loop {
        let items: Vec<T> = page.items.into_iter().map(T::from).filter(&wanted).collect();
        let left = extent.limit.map_or(usize::MAX, |limit| limit.saturating_sub(printer.printed()));
        printer.items(&items.iter().take(left).collect::<Vec<_>>())?;
        let full = extent.limit.is_some_and(|limit| printer.printed() >= limit);
        match page.next {
            Some(next) if !full => page = more(session, printer.printed(), &next).await?,
            _ => return Ok(revision),
        }
    }
}

async fn more<Raw: DeserializeOwned + 'static>(
    session: &Session,
    printed: usize,
    next: &NextPage<Raw>,
) -> Result<Page<Raw>, Failure> {
    let what = format!("{printed} so far, waiting for more");
    let page = session.output.progress.during(&what, session.broker.next_page(next)).await;
    page.map_err(|error| {
        say(&format!("the list is incomplete: it ends after {printed}"));
        error.into()
    })
}

/// A person who sees nothing is told that there is nothing.
pub(crate) fn nothing(session: &Session, printer: &Printer, kind: &str) {
    let for_people = matches!(session.output.format, Format::Table | Format::Wide);
    if printer.printed() == 0 && for_people {
        say(&format!("there are no {kind} to show"));
    }
}
