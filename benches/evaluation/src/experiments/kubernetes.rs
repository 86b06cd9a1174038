//! The Kubernetes agent on two real API servers: its measuring program, run as a process, with what it tells as tables.

use std::process::{Command, Stdio};

use rear_testbed::artifacts::{Artifact, Places};
use serde::Deserialize;

use crate::outcome::{Cell, Outcome, Table};
use crate::raw::Limits;
use crate::stage::{Size, Stage, Trouble};

pub(super) fn clusters(_: Size) -> usize {
    1
}

/// What `rear-agent/examples/figures` tells with `--json`.
#[derive(Debug, Deserialize)]
struct Figures {
    provider: Provider,
    first_advertisement_ms: f64,
    status_write: Times,
    reserved: Times,
    instructed: Times,
    idle: Idle,
}

#[derive(Debug, Deserialize)]
struct Provider {
    nodes: u64,
    pods: u64,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Times {
    count: u64,
    p50_ms: f64,
    p95_ms: f64,
    p99_ms: f64,
    max_ms: f64,
}

#[derive(Debug, Deserialize)]
struct Idle {
    percent: f64,
    resident_kb: u64,
    most_kb: u64,
}

#[expect(clippy::unused_async, reason = "the form that every test has")]
pub(super) async fn run(stage: &Stage, _: &Limits) -> Result<Outcome, Trouble> {
    let places = Places::from_environment();
    for artifact in Artifact::FOR_API_SERVER {
        places.find(*artifact).map_err(|missing| Trouble::Missing(missing.to_string()))?;
    }
    stage.programs().path("rear-agent")?;
    let program = stage.programs().path("examples/figures")?;
    let progress = stage.progress("kubernetes", 1);
    progress.at("two API servers, a broker, two agents");
    let mut command = Command::new(program);
    command.arg("--json").args(stage.pick(None, Some("--short"))).stderr(Stdio::inherit());
    let output = tokio::task::block_in_place(|| command.output())?;
    progress.done();
    if !output.status.success() {
        return Err(Trouble::Other(format!("the measuring program ended with {}", output.status)));
    }
    let figures: Figures = serde_json::from_slice(&output.stdout).map_err(|error| {
        Trouble::Other(format!("the measuring program says something else: {error}"))
    })?;
    Ok(outcome(&figures))
}

fn outcome(figures: &Figures) -> Outcome {
    let Figures { provider, first_advertisement_ms, status_write, reserved, instructed, idle } =
        figures;
    let mut outcome = Outcome::default();
    let Provider { nodes, pods } = provider;
    let mut latency = Table::new(
        &format!("By watches, with {nodes} nodes and {pods} pods at the provider"),
        &["", "trials", "p50", "p95", "p99", "max", "p50 in status writes"],
    );
    let steps = [
        ("one bare status write", status_write),
        ("`ResourceRequest` created until `Reserved` in its status", reserved),
        ("`ResourceRequest` created until the provider's `ProviderInstruction`", instructed),
    ];
    for (what, times) in steps {
        let Times { count, p50_ms, p95_ms, p99_ms, max_ms } = *times;
        latency.row([
            Cell::text(what),
            Cell::Count(count),
            Cell::Ms(p50_ms),
            Cell::Ms(p95_ms),
            Cell::Ms(p99_ms),
            Cell::Ms(max_ms),
            Cell::times(p50_ms, status_write.p50_ms),
        ]);
    }
    let mut agent = Table::new(
        "The provider's agent",
        &["start until its first advertisement", "idle: processor, of a core", "memory", "at most"],
    );
    agent.row([
        Cell::Ms(*first_advertisement_ms),
        Cell::Percent(idle.percent),
        Cell::Bytes(idle.resident_kb * 1024),
        Cell::Bytes(idle.most_kb * 1024),
    ]);
    outcome.count("reserved", reserved.count);
    outcome.count("instructed", instructed.count);
    outcome.expect(*first_advertisement_ms > 0.0, || "there was no advertisement".to_owned());
    outcome.expect(instructed.count == reserved.count, || {
        format!("{} were reserved, {} instructed", reserved.count, instructed.count)
    });
    outcome.tables.extend([latency, agent]);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_that_was_not_instructed_is_found() {
        let times = |count: u64| {
            format!(r#"{{"count": {count}, "p50_ms": 1, "p95_ms": 2, "p99_ms": 3, "max_ms": 4}}"#)
        };
        let figures = |instructed: u64| -> Figures {
            let text = format!(
                r#"{{"provider": {{"nodes": 1, "pods": 2}}, "first_advertisement_ms": 5, "status_write": {one},
                    "reserved": {one}, "instructed": {other}, "writes": 1.0,
                    "idle": {{"percent": 0.1, "resident_kb": 9, "most_kb": 10}}}}"#,
                one = times(3),
                other = times(instructed),
            );
            serde_json::from_str(&text).unwrap()
        };
        assert_eq!(outcome(&figures(3)).broken, Vec::<String>::new());
        assert_eq!(outcome(&figures(2)).broken, ["3 were reserved, 2 instructed"]);
    }
}
