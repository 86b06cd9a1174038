//! A command line of another program as a value: shown, run, or asked for its output.

use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::failed::Failed;

/// A program, its arguments and what it needs in its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Invocation {
    words: Vec<String>,
    environment: Vec<(&'static str, &'static str)>,
}

impl Invocation {
    /// The line is split at white space: no quoting, as in the tables nothing needs it.
    pub(crate) fn new(line: &str) -> Self {
        Self {
            words: line.split_whitespace().map(str::to_owned).collect(),
            environment: Vec::new(),
        }
    }

    pub(crate) fn env(mut self, name: &'static str, value: &'static str) -> Self {
        self.environment.push((name, value));
        self
    }

    /// Arguments as they were given to this program.
    pub(crate) fn with(mut self, arguments: &[String]) -> Self {
        self.words.extend_from_slice(arguments);
        self
    }

    /// The program and its arguments.
    #[cfg(test)]
    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }

    /// Prints the line, then runs it with its output streaming to the terminal.
    pub(crate) fn run(&self, root: &Path) -> Result<(), Failed> {
        println!("   {self}");
        match self.command(root).status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => {
                eprintln!("error: `{self}` ended with {status}");
                Err(Failed)
            }
            Err(error) => {
                eprintln!("error: `{self}` could not be started: {error}");
                Err(Failed)
            }
        }
    }

    /// What the program printed on its standard output, if it ran and ended well.
    pub(crate) fn output(&self, root: &Path) -> Option<String> {
        let output = self.command(root).stderr(Stdio::null()).stdin(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn command(&self, root: &Path) -> Command {
        let (program, arguments) =
            self.words.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
        let mut command = Command::new(program);
        command.args(arguments).envs(self.environment.iter().copied()).current_dir(root);
        command
    }
}

/// As it would be typed in a shell at the workspace root.
impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.environment {
            write!(f, "{name}='{value}' ")?;
        }
        f.write_str(&self.words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_shown_as_it_would_be_typed() {
        let line = Invocation::new("cargo doc  --no-deps").env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(line.to_string(), "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps");
    }

    #[test]
    fn a_program_that_ends_well_is_a_success_and_its_output_can_be_read() {
        assert_eq!(Invocation::new("true").run(Path::new(".")), Ok(()));
        let cargo = Invocation::new("cargo --version");
        assert!(cargo.output(Path::new(".")).expect("cargo runs").starts_with("cargo "));
    }

    #[test]
    fn a_failing_or_missing_program_is_a_failure_without_output() {
        for line in ["false", "no-such-program-anywhere", ""] {
            let invocation = Invocation::new(line);
            assert_eq!(invocation.run(Path::new(".")), Err(Failed), "{line:?}");
            assert_eq!(invocation.output(Path::new(".")), None, "{line:?}");
        }
    }
}
