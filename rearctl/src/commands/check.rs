//! `rearctl check`: look for trouble, and name what helps.

use clap::Args;

use crate::check::{Finding, Verdict, examine};
use crate::failure::Failure;
use crate::output::{Format, put};
use crate::session::Whom;
use crate::show::{Output, Printer};

/// The flags of `check`.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// End with a failure also where something is only to be careful about
    #[arg(long)]
    strict: bool,
}

impl Check {
    pub(crate) async fn run(self, whom: Whom, output: Output) -> Result<(), Failure> {
        let findings = examine(whom, output).await;
        print(&findings, output)?;
        let bearable = if self.strict { Verdict::Good } else { Verdict::Careful };
        let worst = findings.iter().map(|finding| finding.verdict).max();
        if worst > Some(bearable) { Err(Failure::Trouble) } else { Ok(()) }
    }
}

fn print(findings: &[Finding], output: Output) -> Result<(), Failure> {
    if output.format == Format::Table {
        let text: String = findings.iter().map(|finding| finding.text(output.colours)).collect();
        return put(&text);
    }
    let mut printer = Printer::list(output);
    printer.items(&findings.iter().collect::<Vec<_>>())?;
    printer.end()
}
