//! What must be true of agents that are only connected.

use rear_fleet::Report;

/// What was seen of agents that are connected and advertise.
#[derive(Debug, Clone, Default)]
pub struct Connected {
    /// How many there are.
    pub agents: usize,
    /// How many connections the broker has.
    pub connections: u64,
    /// How often they had advertised before they were watched.
    pub advertised: u64,
    /// What they saw.
    pub report: Report,
}

/// Every agent has a connection and has advertised; none gave up, and every promise was kept.
#[must_use]
pub fn connected(seen: &Connected) -> Vec<String> {
    let Connected { agents, connections, advertised, report } = seen;
    let each = u64::try_from(*agents).unwrap_or(u64::MAX);
    let mut broken = gave_up(report);
    if *advertised < each {
        broken.push(format!("{advertised} advertisements"));
    }
    if *connections < each {
        broken.push(format!("{connections} connections"));
    }
    broken.iter().map(|broken| format!("{agents} agents: {broken}")).collect()
}

/// Agents whose operations had no answer in the end, and promises that were not kept.
#[must_use]
pub fn gave_up(report: &Report) -> Vec<String> {
    let failed = report.failed.iter().map(|(why, many)| format!("{many} times no answer: {why}"));
    let mut broken: Vec<_> = failed.chain(report.broken.iter().map(ToString::to_string)).collect();
    if report.broken_count > 0 && report.broken.is_empty() {
        broken.push(format!("{} promises were broken", report.broken_count));
    }
    broken
}

/// Agents that came back after the broker was gone: none was turned away, none gave up.
#[must_use]
pub fn came_back(refused: u64, answers: bool, report: &Report) -> Vec<String> {
    let mut broken = gave_up(report);
    if refused > 0 {
        broken.push(format!("{refused} connections were refused"));
    }
    if !answers {
        broken.push("the broker does not answer".to_owned());
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed() -> Report {
        let mut report = Report::default();
        report.failed.insert("no answer within 30s".to_owned(), 3);
        report
    }

    #[test]
    fn an_agent_without_a_connection_or_an_advertisement_is_found() {
        let fine =
            Connected { agents: 5, connections: 6, advertised: 5, report: Report::default() };
        assert_eq!(connected(&fine), Vec::<String>::new());
        for (planted, found) in [
            (Connected { connections: 4, ..fine.clone() }, "5 agents: 4 connections"),
            (Connected { advertised: 4, ..fine.clone() }, "5 agents: 4 advertisements"),
            (Connected { report: failed(), ..fine }, "3 times no answer"),
        ] {
            let broken = connected(&planted);
            assert!(broken.len() == 1 && broken[0].contains(found), "{broken:?}");
        }
    }

    #[test]
    fn a_broken_promise_is_found_also_without_its_words() {
        let mut report = Report::default();
        report.broken_count = 2;
        assert_eq!(gave_up(&report), ["2 promises were broken"]);
    }

    #[test]
    fn who_does_not_come_back_is_found() {
        assert_eq!(came_back(0, true, &Report::default()), Vec::<String>::new());
        assert_eq!(came_back(1, true, &Report::default()).len(), 1);
        assert_eq!(came_back(0, false, &Report::default()).len(), 1);
        assert_eq!(came_back(0, true, &failed()).len(), 1);
    }
}
