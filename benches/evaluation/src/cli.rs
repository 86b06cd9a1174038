//! The command line.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use rear_agent_sdk::Chain;

use crate::experiments::Experiment;
use crate::outcome::Results;
use crate::raw::echo;
use crate::run::{Plan, evaluate};
use crate::soak::{self, Soak};
use crate::stage::{Programs, Size, Trouble};

/// Where the results are that are kept.
const KEPT: &str = "docs/evaluation";

/// The page with the figures alone.
const FIGURES: &str = "docs/figures.md";

/// Where those of short runs are.
const SHORT: &str = "target/evaluation";

/// Evaluates REAR: what a broker and its agents cost, how fast and how right they are.
#[derive(Debug, Parser)]
#[command(name = "rear-evaluation", version, about, max_term_width = 100)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line are")]
struct CommandLine {
    #[command(subcommand)]
    role: Option<Role>,
    /// Only this test; may be repeated. `--list` names all of them; `build` and `suites` are only done when they are named
    #[arg(long = "test", value_name = "NAME", value_parser = named)]
    tests: Vec<&'static Experiment>,
    /// Also how long the build and every suite of tests take: an hour more
    #[arg(long, conflicts_with_all = ["tests", "short"])]
    everything: bool,
    /// As little of each test as shows that it works, in seconds; its times say nothing
    #[arg(long)]
    short: bool,
    /// The same seed makes the same fleets and wishes
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The folder of the results: docs/evaluation, and target/evaluation for a short run
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// A folder on the disk that is to be measured, for ledgers; the system's for temporary files if not given
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Name every test, and how long it takes
    #[arg(long)]
    list: bool,
    /// Write the page and the charts anew from the data that is there, and measure nothing
    #[arg(long)]
    render: bool,
}

/// What this program does beside the tests, and what it is to itself.
#[derive(Debug, Subcommand)]
enum Role {
    /// Have a fleet live with a broker that is killed, restored and watched, for long
    Soak(SoakFlags),
    /// Echo over TLS: a raw limit
    #[command(hide = true)]
    Echo {
        /// A folder with tls.crt, tls.key and ca.crt
        certificates: PathBuf,
    },
}

#[derive(Debug, Args)]
struct SoakFlags {
    /// For how many minutes; half an hour shows growth
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(5..))]
    minutes: u64,
    /// The same seed makes the same clusters, wishes and faults
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The folder of the results
    #[arg(long, value_name = "DIR", default_value = KEPT)]
    out: PathBuf,
    /// A folder on the disk for ledgers; the system's for temporary files if not given
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
}

impl SoakFlags {
    async fn run(&self) -> Result<bool, Box<dyn std::error::Error>> {
        let soak = Soak {
            length: Duration::from_mins(self.minutes),
            seed: self.seed,
            size: Size::Full,
            programs: programs()?,
            work: self.work.clone().unwrap_or_else(std::env::temp_dir),
        };
        let record = soak.run().await?;
        soak::keep(&record, &self.out)?;
        for (what, many) in &record.outcome.counts {
            crate::child::say(&format!("{many:>9} {what}"))?;
        }
        for broken in &record.outcome.broken {
            crate::child::say(&format!("BROKEN: {broken}"))?;
        }
        Ok(record.outcome.broken.is_empty())
    }
}

fn named(name: &str) -> Result<&'static Experiment, String> {
    Experiment::named(name).ok_or_else(|| {
        let names: Vec<_> = Experiment::every().map(|experiment| experiment.name).collect();
        format!("the tests are {}", names.join(", "))
    })
}

/// Does what the arguments say: 1 if something was broken or could not be done.
#[must_use]
pub fn run() -> ExitCode {
    match CommandLine::parse().run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("rear-evaluation: {}", Chain(&*error));
            ExitCode::FAILURE
        }
    }
}

impl CommandLine {
    fn run(self) -> Result<bool, Box<dyn std::error::Error>> {
        let runtime = tokio::runtime::Runtime::new()?;
        match &self.role {
            Some(Role::Echo { certificates }) => {
                runtime.block_on(echo::serve(certificates))?;
                return Ok(true);
            }
            Some(Role::Soak(flags)) => return runtime.block_on(flags.run()),
            None => {}
        }
        if self.list {
            list()?;
            return Ok(true);
        }
        let results = self.results();
        if self.render {
            results.render()?;
            return Ok(true);
        }
        let size = if self.short { Size::Short } else { Size::Full };
        let house = if self.everything { Experiment::HOUSE } else { &[] };
        let every = || Experiment::ALL.iter().chain(house).collect();
        let plan = Plan {
            experiments: if self.tests.is_empty() { every() } else { self.tests },
            size,
            seed: self.seed,
            programs: programs()?,
            work: self.work.unwrap_or_else(std::env::temp_dir),
            bars: true,
        };
        let broken = runtime.block_on(evaluate(&plan, &results))?;
        Ok(broken == 0)
    }
}

impl CommandLine {
    fn results(&self) -> Results {
        match &self.out {
            Some(folder) => Results::new(folder),
            None if self.short => Results::new(SHORT),
            None => Results::new(KEPT).with_figures(FIGURES),
        }
    }
}

fn list() -> io::Result<()> {
    for Experiment { name, title, about_seconds, .. } in Experiment::every() {
        crate::child::say(&format!("{name:<16} {about_seconds:>5} s  {title}"))?;
    }
    Ok(())
}

/// Beside this program, where cargo puts them.
fn programs() -> Result<Programs, Trouble> {
    let own = std::env::current_exe()?;
    let folder = own.parent().map(Path::to_owned);
    let folder = folder.ok_or_else(|| Trouble::Other("this program is nowhere".to_owned()))?;
    Ok(Programs { own, folder })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn a_test_that_does_not_exist_is_refused_with_those_that_do() {
        let refused = CommandLine::try_parse_from(["e", "--test", "latencey"]).unwrap_err();
        assert!(refused.to_string().contains("exhaustion, "), "{refused}");
        let taken = CommandLine::try_parse_from(["e", "--test", "latency", "--short"]).unwrap();
        assert_eq!(taken.tests[0].name, "latency");
    }
}
