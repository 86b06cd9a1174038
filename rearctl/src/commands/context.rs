//! `rearctl context`: brokers and their certificates under names.

use std::io;

use clap::{Args, Subcommand};
use rear_agent_sdk::communicator::Timestamp;
use serde::Serialize;

use crate::contexts::{self, Context, ContextError, Contexts};
use crate::failure::Failure;
use crate::output::{Cell, say};
use crate::session::Whom;
use crate::show::{Output, Printer, Shown};

/// What can be done with contexts.
#[derive(Debug, Subcommand)]
pub(crate) enum ContextCommand {
    /// Name a broker; the first one is used from then on
    Add(Add),
    /// Use this one from now on
    Use {
        /// Which context
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// List them
    #[command(visible_alias = "ls")]
    List,
}

/// The flags of `context add`, beside `--broker` and `--certs`, which every command has.
#[derive(Debug, Args)]
pub(crate) struct Add {
    /// What to call it
    #[arg(value_name = "NAME")]
    name: String,
    /// Also if there is one of this name
    #[arg(long)]
    replace: bool,
}

impl ContextCommand {
    pub(crate) fn run(self, whom: Whom, output: Output) -> Result<(), Failure> {
        match self {
            Self::Add(add) => add.run(whom),
            Self::Use { name } => choose(name),
            Self::List => list(output),
        }
    }
}

impl Add {
    fn run(self, whom: Whom) -> Result<(), Failure> {
        let Self { name, replace } = self;
        let (Some(broker), Some(certs)) = (whom.broker, whom.certs) else {
            return Err(ContextError::Half.into());
        };
        let path = contexts::path()?;
        let mut contexts = Contexts::read(&path)?;
        if contexts.contexts.contains_key(&name) && !replace {
            return Err(ContextError::Exists(name).into());
        }
        let absolute = |source: io::Error| Failure::Io {
            what: format!("the certificate folder {} cannot be found", certs.display()),
            source,
        };
        let certificates = std::fs::canonicalize(&certs).map_err(absolute)?;
        let context = Context { broker, certificates };
        // An address or a certificate that cannot be used is told now rather than later.
        rear_agent_sdk::HttpCommunicator::new(&context.broker, &context.certificates)?;
        contexts.contexts.insert(name.clone(), context);
        let current = contexts.current.get_or_insert(name.clone()).clone();
        contexts.write(&path)?;
        say(&format!("context `{name}` is added; `{current}` is in use"));
        Ok(())
    }
}

fn choose(name: String) -> Result<(), Failure> {
    let path = contexts::path()?;
    let mut contexts = Contexts::read(&path)?;
    contexts.find(Some(&name))?;
    say(&format!("context `{name}` is in use"));
    contexts.current = Some(name);
    Ok(contexts.write(&path)?)
}

fn list(output: Output) -> Result<(), Failure> {
    let Contexts { current, contexts } = Contexts::read(&contexts::path()?)?;
    let rows: Vec<Named> = contexts
        .into_iter()
        .map(|(name, context)| Named { current: current.as_deref() == Some(&name), name, context })
        .collect();
    let mut printer = Printer::list(output);
    printer.items(&rows.iter().collect::<Vec<_>>())?;
    printer.end()
}

/// A context in a list.
#[derive(Serialize)]
struct Named {
    name: String,
    current: bool,
    #[serde(flatten)]
    context: Context,
}

impl Shown for Named {
    const KIND: &'static str = "contexts";
    const HEADING: &'static [&'static str] = &["CURRENT", "NAME", "BROKER", "CERTIFICATES"];
    const WIDE: &'static [&'static str] = Self::HEADING;

    fn name(&self) -> String {
        self.name.clone()
    }

    fn row(&self, _: Timestamp) -> Vec<Cell> {
        vec![
            if self.current { "*" } else { "" }.into(),
            Cell::new(&self.name),
            Cell::new(&self.context.broker),
            Cell::new(&self.context.certificates.display().to_string()),
        ]
    }

    fn wide_row(&self, now: Timestamp) -> Vec<Cell> {
        self.row(now)
    }
}
