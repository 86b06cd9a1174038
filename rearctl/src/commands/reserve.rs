//! `rearctl reserve`: ask for capacity, or what would be the answer.

use std::io;

use clap::Args;
use rear_agent_sdk::communicator::{DryRun, ReservationRequest};
use rear_agent_sdk::{BrokerCommunicator, Error, Intent, Refused};
use rear_api::dry_run::Candidate;
use rear_api::problem::Code;

use crate::ask::Ask;
use crate::failure::Failure;
use crate::output::{Colours, Format, document, pretty, printable, put, say};
use crate::refusal;
use crate::session::Session;
use crate::show::{explanation, fit_in_one_line};

/// The flags of `reserve`.
#[derive(Debug, Args)]
pub(crate) struct Reserve {
    #[command(flatten)]
    ask: Ask,
    /// Say who would get it, and lock nothing
    #[arg(long, conflicts_with = "explain")]
    dry_run: bool,
    /// Say of every cluster that was looked at why it would get it or not, and lock nothing
    #[arg(long)]
    explain: bool,
    /// The same key and the same wish give the same reservation, however often it is asked; one is made up if not given
    #[arg(long, value_name = "KEY", conflicts_with_all = ["dry_run", "explain"])]
    idempotency_key: Option<Intent>,
}

impl Reserve {
    pub(crate) async fn run(self, session: Session) -> Result<(), Failure> {
        let request = self.ask.request()?;
        if self.dry_run || self.explain {
            return self.look(&session, &request).await;
        }
        let intent = self.idempotency_key.unwrap_or_default();
        let asking = Asking::new(&intent);
        let answer = session.wait(session.broker.reserve(&request, &intent)).await;
        asking.answered(&answer);
        match answer {
            Ok(reservation) => {
                session.output.one(&reservation)?;
                say(&reservation.status.message);
                Ok(())
            }
            Err(Failure::Broker(Error::Refused(refused))) if refused.code == Some(Code::NoRoom) => {
                refusal::explain(&session, &request, &refused, Colours::of(io::stderr())).await;
                Err(Failure::NoCapacity)
            }
            Err(failure) => Err(failure),
        }
    }

    async fn look(&self, session: &Session, request: &ReservationRequest) -> Result<(), Failure> {
        let dry_run = session.wait(session.broker.dry_run(request)).await?;
        self.print(session, &dry_run)?;
        if dry_run.target.is_some() {
            return Ok(());
        }
        if !self.explain {
            refusal::explain(session, request, &refused(&dry_run), Colours::of(io::stderr())).await;
        }
        Err(Failure::NoCapacity)
    }

    fn print(&self, session: &Session, dry_run: &DryRun) -> Result<(), Failure> {
        let output = &session.output;
        match output.format {
            Format::Json => put(&(pretty(dry_run) + "\n")),
            Format::Yaml => put(&document(dry_run)),
            Format::Name => match &dry_run.target {
                Some(target) => put(&format!("clusters/{}\n", printable(target))),
                None => Ok(()),
            },
            Format::Table | Format::Wide if self.explain => {
                put(&explanation(dry_run, output.colours))
            }
            Format::Table | Format::Wide => match fit_in_one_line(dry_run) {
                Some(line) => put(&(line + "\n")),
                None => Ok(()),
            },
        }
    }
}

/// A dry run that found nobody, as the refusal that the request itself would get.
fn refused(dry_run: &DryRun) -> Refused {
    let lacking = dry_run.candidates.iter().filter_map(|candidate| match candidate {
        Candidate::Lacking(it) => Some(it.obstacle.clone()),
        Candidate::Fitting(_) => None,
    });
    let (code, text) = (Code::NoRoom, "no cluster fits at the moment".to_owned());
    Refused::new(code.status(), Some(code), text, lacking.collect())
}

/// A request under way. If the program is interrupted, whether it was granted is not known: the key finds it out.
struct Asking<'a>(Option<&'a Intent>);

impl<'a> Asking<'a> {
    fn new(intent: &'a Intent) -> Self {
        Self(Some(intent))
    }

    /// An answer that was lost leaves it open as an interruption does.
    fn answered<T>(mut self, answer: &Result<T, Failure>) {
        let open = matches!(answer, Err(Failure::Broker(error)) if error.leaves_open());
        if !open {
            self.0 = None;
        }
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if let Some(intent) = self.0 {
            say(&format!(
                "it is not known whether this was granted: ask again with --idempotency-key '{intent}'"
            ));
        }
    }
}
