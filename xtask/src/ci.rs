//! `cargo xtask ci`: every check of a change, in order, until one fails.

use std::path::Path;

use crate::failed::Failed;
use crate::invocation::Invocation;
use crate::stopwatch::{Elapsed, Stopwatch};
use crate::{features, test, tidy};

struct Step {
    name: &'static str,
    run: fn(&Path) -> Result<(), Failed>,
}

/// The quick ones come first, so that most mistakes are told within seconds.
const STEPS: &[Step] = &[
    Step { name: "format", run: |root| cargo("fmt --all --check").run(root) },
    Step { name: "tidy", run: tidy::run },
    Step {
        name: "clippy",
        run: |root| {
            cargo("clippy --workspace --all-targets --all-features --locked -- -D warnings")
                .run(root)
        },
    },
    Step { name: "features", run: features::run },
    // Advisories need their database from the network: the hosted workflow checks them.
    Step {
        name: "dependencies",
        run: |root| cargo("deny --locked check bans licenses sources").run(root),
    },
    Step {
        name: "docs",
        run: |root| {
            cargo("doc --workspace --no-deps --locked").env("RUSTDOCFLAGS", "-D warnings").run(root)
        },
    },
    Step { name: "test", run: |root| test::run(root, true) },
];

pub(crate) fn run(root: &Path) -> Result<(), Failed> {
    run_steps(root, STEPS)
}

fn run_steps(root: &Path, steps: &[Step]) -> Result<(), Failed> {
    let whole = Stopwatch::start();
    for (number, step) in (1..).zip(steps) {
        println!("\n=== ci step {number} of {}: {}", steps.len(), step.name);
        let stopwatch = Stopwatch::start();
        let result = (step.run)(root);
        println!("{}", told(step.name, &result, stopwatch.elapsed()));
        result?;
    }
    println!("\nci: all {} steps passed in {}", steps.len(), whole.elapsed());
    Ok(())
}

fn told(name: &str, result: &Result<(), Failed>, elapsed: Elapsed) -> String {
    match result {
        Ok(()) => format!("=== {name} passed in {elapsed}"),
        Err(Failed) => format!("\nci: stopped, `{name}` failed after {elapsed}"),
    }
}

fn cargo(arguments: &str) -> Invocation {
    Invocation::new(&format!("cargo {arguments}"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_failing_step_is_named_and_ends_the_run() {
        let steps = [
            Step { name: "good", run: |_| Ok(()) },
            Step { name: "bad", run: |_| Err(Failed) },
            Step { name: "never", run: |_| panic!("must not run after a failure") },
        ];
        assert_eq!(run_steps(Path::new("."), &steps), Err(Failed));
        let line = told("bad", &Err(Failed), Elapsed(Duration::from_secs(2)));
        assert_eq!(line, "\nci: stopped, `bad` failed after 2.0 s");
    }

    #[test]
    fn steps_that_all_pass_are_a_success() {
        let steps = [Step { name: "good", run: |_| Ok(()) }];
        assert_eq!(run_steps(Path::new("."), &steps), Ok(()));
    }
}
