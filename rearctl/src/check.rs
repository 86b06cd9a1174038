//! The doctor: looks at everything between here and the broker, and at what the broker says, in the order in which
//! one thing depends on another. Nothing is changed.

mod books;
mod finding;
mod fleet;
mod here;
mod way;

pub(crate) use finding::{Finding, Verdict};

use rear_agent_sdk::communicator::Timestamp;

use crate::certificate::Certificate;
use crate::contexts::Context;
use crate::failure::Failure;
use crate::session::{Session, Whom};
use crate::show::{Output, rough};

/// A certificate is to be renewed this long before its end, or in the last third of a short life.
const SOON: i64 = 14 * 24 * 3600 * 1_000_000_000;

/// Everything that was looked at. What cannot be looked at because of a trouble before it is left out.
pub(crate) async fn examine(whom: Whom, output: Output) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(context) = context(whom, &mut findings) {
        let fit = here::examine(&context, rear_agent_sdk::now(), &mut findings);
        if fit {
            beyond(context, output, &mut findings).await;
        }
    }
    findings
}

fn context(whom: Whom, findings: &mut Vec<Finding>) -> Option<Context> {
    match whom.resolve() {
        Ok(context) => {
            let found = format!("{}, as {}", context.broker, context.certificates.display());
            findings.push(Finding::good("context", found));
            Some(context)
        }
        Err(error) => {
            findings.push(Finding::trouble("context", error.to_string(), error.remedy()));
            None
        }
    }
}

/// The way to each broker, and the fleet as the first that can be asked shows it.
async fn beyond(context: Context, output: Output, findings: &mut Vec<Finding>) {
    let brokers: Vec<_> = context.each_broker().collect();
    let several = brokers.len() > 1;
    let mut clock = None;
    for broker in brokers {
        let (address, before) = (broker.broker.clone(), findings.len());
        let Some(session) = session(broker, output, findings) else { return };
        let its_clock = way::examine(&session, findings).await;
        clock = clock.or(its_clock);
        if several {
            findings[before..].iter_mut().for_each(|finding| finding.is_of(&address));
        }
    }
    let Some(clock) = clock else { return };
    if let Some(session) = session(context, output, findings) {
        fleet::examine(&session, clock, findings).await;
    }
}

fn session(context: Context, output: Output, findings: &mut Vec<Finding>) -> Option<Session> {
    // The files were good a moment ago.
    let changed = |failure: Failure| {
        Finding::trouble("files", failure.to_string(), "Try again: they have just changed.")
    };
    Session::new(context, output).map_err(|failure| findings.push(changed(failure))).ok()
}

/// Whether a certificate counts at this time, and for how long.
fn validity(
    check: &'static str,
    certificate: &Certificate,
    now: Timestamp,
    remedy: &'static str,
) -> Finding {
    let Certificate { from, until, .. } = certificate;
    let text = rear_api::moment::text;
    let (left, life) = (until.since(now).as_nanos(), until.since(*from).as_nanos());
    if now < *from {
        let found = format!("it counts only from {} on", text(*from));
        let remedy = "Set this machine's clock; if it is right, have a new certificate issued.";
        return Finding::trouble(check, found, remedy);
    }
    if left <= 0 {
        return Finding::trouble(check, format!("it expired at {}", text(*until)), remedy);
    }
    if left < SOON.min(life / 3) {
        let found = format!("it expires in {}, at {}", rough(left), text(*until));
        return Finding::careful(check, found, remedy);
    }
    Finding::good(check, format!("valid until {}", text(*until)))
}
