//! The way to the broker: whether it is reached and lets us in, its certificate, its clock, which broker it is.

use rear_agent_sdk::communicator::Timestamp;
use rear_agent_sdk::http::Readiness;
use rear_agent_sdk::{BrokerCommunicator, Chain, Error};

use super::{Finding, validity};
use crate::certificate::Certificate;
use crate::session::Session;
use crate::show::rough;

/// The version of the API that this program knows.
const API: &str = "v1";

const THIS: &str = concat!("rearctl/", env!("CARGO_PKG_VERSION"));

const SECOND: i64 = 1_000_000_000;

/// Beyond this, spans that are shown here are visibly wrong.
const CLOCK_CAREFUL: i64 = 5 * SECOND;

/// Beyond this, short reservations end at another time than people think, and fresh certificates do not count yet.
const CLOCK_TROUBLE: i64 = 60 * SECOND;

/// The broker's clock, if it can be asked more.
pub(super) async fn examine(session: &Session, findings: &mut Vec<Finding>) -> Option<Timestamp> {
    if let Err(error) = let_in(session).await {
        findings.push(Finding::trouble("connection", Chain(&error).to_string(), error.remedy()));
        return None;
    }
    findings.push(Finding::good("connection", "the broker is reached and accepts the certificate"));
    findings.push(certificate(session).await);
    let before = rear_agent_sdk::now();
    let readiness = match session.broker.readiness().await {
        Ok(readiness) => readiness,
        Err(error) => {
            findings.push(Finding::trouble("readiness", Chain(&error).to_string(), error.remedy()));
            return None;
        }
    };
    let after = rear_agent_sdk::now();
    findings.push(ready(&readiness));
    findings.push(clock(readiness.clock, before, after));
    findings.push(version(session, &readiness).await);
    readiness.revision.is_some().then(|| readiness.clock.unwrap_or(after))
}

/// Health needs no certificate: the smallest page of a list does.
async fn let_in(session: &Session) -> Result<(), Error> {
    let progress = session.output.progress;
    progress.during("looking for the broker", session.broker.ping()).await?;
    match progress.during("showing the certificate", session.broker.clusters_page(Some(1))).await {
        // What a broker of the earlier system lacks is told later.
        Ok(_) | Err(Error::Unsupported { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

async fn certificate(session: &Session) -> Finding {
    const CHECK: &str = "broker's";
    let remedy = "Have the broker's operator renew its certificate.";
    match session.broker.broker_certificate().await {
        Ok(der) => match Certificate::of_der(&der) {
            Some(certificate) => validity(CHECK, &certificate, rear_agent_sdk::now(), remedy),
            None => Finding::careful(CHECK, "its certificate cannot be read", remedy),
        },
        Err(error) => Finding::trouble(CHECK, Chain(&error).to_string(), error.remedy()),
    }
}

fn ready(readiness: &Readiness) -> Finding {
    if readiness.ready {
        return Finding::good("readiness", "the broker takes decisions");
    }
    let found = format!("the broker takes no decisions: {}", readiness.said);
    Finding::trouble(
        "readiness",
        found,
        "Look at the broker's log; a restart recovers a stopped store.",
    )
}

/// The answer was made between two looks at our clock, and its date is rounded down to a second.
fn clock(theirs: Option<Timestamp>, before: Timestamp, after: Timestamp) -> Finding {
    let remedy =
        "Synchronise both machines' clocks (NTP); `date -u` on both shows which one is wrong.";
    let Some(theirs) = theirs else {
        return Finding::careful("clock", "the broker does not tell its time", remedy);
    };
    let behind = before.since(theirs).as_nanos() - SECOND;
    let ahead = theirs.since(after).as_nanos();
    let (off, word) = if ahead > behind { (ahead, "ahead of") } else { (behind, "behind") };
    let found = || format!("the broker's clock is {} {word} this machine's", rough(off));
    match off {
        ..CLOCK_CAREFUL => Finding::good("clock", "both clocks agree"),
        CLOCK_CAREFUL..CLOCK_TROUBLE => Finding::careful("clock", found(), remedy),
        _ => Finding::trouble("clock", found(), remedy),
    }
}

async fn version(session: &Session, readiness: &Readiness) -> Finding {
    if readiness.revision.is_none() {
        let found = "it is a broker of the earlier system, without lists and events";
        return Finding::trouble("version", found, "Use a broker of version 1.");
    }
    let program = readiness.program.as_deref().unwrap_or("a broker that does not say its version");
    match session.broker.api_version().await {
        Ok(version) if version == API => {
            let found = format!("{program} with API {API}; this is {THIS}");
            Finding::good("version", found)
        }
        Ok(version) => {
            let found = format!("{program} with API {version}; this is {THIS}, for API {API}");
            Finding::trouble("version", found, "Use the rearctl that came with the broker.")
        }
        Err(error) => Finding::trouble("version", Chain(&error).to_string(), error.remedy()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    fn verdict(theirs: i64) -> Verdict {
        let at = Timestamp::from_seconds;
        clock(Some(at(theirs)), at(1000), at(1001)).verdict
    }

    #[test]
    fn clocks_that_differ_by_the_time_of_an_answer_agree() {
        assert_eq!([verdict(999), verdict(1001), verdict(1004)], [Verdict::Good; 3]);
        assert_eq!([verdict(990), verdict(1010)], [Verdict::Careful; 2]);
        assert_eq!([verdict(900), verdict(1100)], [Verdict::Trouble; 2]);
    }
}
