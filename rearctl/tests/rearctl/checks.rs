//! The doctor finds each planted trouble, and names its remedy.

use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rear_agent_sdk::Length as Duration;
use rear_agent_sdk::communicator::Timestamp;
use rear_agent_sdk::{BrokerCommunicator, Intent, request};
use rear_api::moment;
use serde_json::{Value, json};

use super::between::{Between, Reply};
use super::certificates::{Days, Odd, copy, expired_authority};
use super::program::Ctl;
use super::stage::{Stage, idle, runtime, until};

/// One line of the doctor's.
#[derive(Debug)]
struct Said {
    verdict: String,
    found: String,
    remedy: String,
}

/// What the doctor says of one thing, and how it ends.
fn found(stage: &Stage, url: &str, certificates: &Path, check: &str) -> (i32, Said) {
    let ctl = Ctl::new(stage.folder.path(), &["check", "-o", "json"]).to(url, certificates);
    let told = ctl.run();
    let findings: Value = serde_json::from_str(&told.out).unwrap();
    let finding = findings.as_array().unwrap().iter().find(|finding| finding["check"] == check);
    let finding = finding.unwrap_or_else(|| panic!("no {check} in {findings:#}"));
    let text = |member: &str| finding[member].as_str().unwrap_or_default().to_owned();
    let found = Said { verdict: text("verdict"), found: text("found"), remedy: text("remedy") };
    (told.code, found)
}

/// It is found to be trouble, with these words and a remedy.
fn is_trouble((code, found): (i32, Said), words: &str, remedy: &str) {
    assert_eq!((code, found.verdict.as_str()), (8, "trouble"), "{found:?}");
    assert!(found.found.contains(words), "{words} in {found:?}");
    assert!(found.remedy.contains(remedy), "{remedy} in {found:?}");
}

/// It is found to be something to be careful about.
fn is_careful((code, found): (i32, Said), words: &str, remedy: &str) {
    assert_eq!((code, found.verdict.as_str()), (0, "careful"), "{found:?}");
    assert!(found.found.contains(words), "{words} in {found:?}");
    assert!(found.remedy.contains(remedy), "{remedy} in {found:?}");
}

fn stage() -> Stage {
    let stage = Stage::start();
    stage.advertise(&idle("rome", "8", "16Gi"));
    stage
}

/// What the doctor says of a broker that answers otherwise.
fn altered(
    stage: &Stage,
    check: &str,
    change: impl Fn(&str, &mut Reply) + Send + Sync + 'static,
) -> (i32, Said) {
    let between = Between::before(stage, change);
    found(stage, &between.url(), &stage.certificates("admin"), check)
}

#[test]
fn a_healthy_broker_has_no_trouble_in_any_line() {
    let stage = stage();
    stage.reserve("paris", "1", "1Gi");
    let told = stage.admin(&["check", "--strict"]).run();
    assert_eq!((told.code, told.err.as_str()), (0, ""), "{told:?}");
    assert!(told.out.lines().count() >= 17, "{}", told.out);
    assert!(told.out.lines().all(|line| line.starts_with("ok ")), "{}", told.out);
}

#[test]
fn careful_is_a_failure_only_for_the_strict() {
    let stage = Stage::start();
    assert_eq!(stage.admin(&["check"]).run().code, 0);
    assert_eq!(stage.admin(&["check", "--strict"]).run().code, 8);
}

#[test]
fn trouble_no_context() {
    let stage = Stage::prepared(&[]);
    let told = Ctl::new(stage.folder.path(), &["check"]).run();
    assert_eq!(told.code, 8, "{told:?}");
    assert!(told.out.contains("no broker is named") && told.out.contains("rearctl context add"));
}

#[test]
fn trouble_a_missing_file_and_a_key_of_another_certificate() {
    let stage = stage();
    let folder = stage.path("damaged");
    copy(&stage.certificates("rome"), &folder);
    fs::remove_file(folder.join("tls.key")).unwrap();
    is_trouble(found(&stage, &stage.url(), &folder, "files"), "tls.key", "tls.key");
    fs::copy(stage.certificates("paris").join("tls.key"), folder.join("tls.key")).unwrap();
    is_trouble(found(&stage, &stage.url(), &folder, "files"), "tls.key", "tls.key");
}

#[test]
fn trouble_a_key_that_others_can_read() {
    let stage = stage();
    let folder = stage.path("open");
    copy(&stage.certificates("rome"), &folder);
    let open = fs::Permissions::from_mode(0o644);
    fs::set_permissions(folder.join("tls.key"), open).unwrap();
    is_careful(found(&stage, &stage.url(), &folder, "key"), "can read", "chmod 600");
}

#[test]
fn trouble_a_certificate_that_names_nobody_or_several() {
    let stage = stage();
    for (names, words) in [
        (&["Rome_1"][..], "Rome_1"),
        (&["rome", "paris"], "one common name"),
        (&[], "one common name"),
    ] {
        let folder = Odd { names, until: Days(100) }.client(&stage, "misnamed");
        is_trouble(found(&stage, &stage.url(), &folder, "identity"), words, "only common name");
    }
}

#[test]
fn trouble_certificates_that_have_expired_or_soon_will() {
    let stage = stage();
    let expired = Odd { names: &["rome"], until: Days(-3) }.client(&stage, "expired");
    let said = found(&stage, &stage.url(), &expired, "certificate");
    is_trouble(said, "expired", "certs issue");
    let ending = Odd { names: &["rome"], until: Days(3) }.client(&stage, "ending");
    is_careful(found(&stage, &stage.url(), &ending, "certificate"), "expires in 2d", "certs issue");
    let folder = stage.path("old-authority");
    copy(&stage.certificates("rome"), &folder);
    fs::write(folder.join("ca.crt"), expired_authority()).unwrap();
    is_trouble(found(&stage, &stage.url(), &folder, "authority"), "expired", "ca.crt");
}

#[test]
fn trouble_the_brokers_own_certificate_soon_expires() {
    let stage = stage();
    let shown = Odd { names: &["broker"], until: Days(5) }.server(&stage, "broker");
    let between = Between::at(&stage, Ipv4Addr::LOCALHOST, &shown, |_, _| {});
    let said = found(&stage, &between.url(), &stage.certificates("admin"), "broker's");
    is_careful(said, "expires in 4d", "operator");
}

#[test]
fn trouble_nobody_listens() {
    let stage = stage();
    let (url, folder) = (stage.url(), stage.certificates("admin"));
    stage.kill();
    is_trouble(found(&stage, &url, &folder, "connection"), "cannot be reached", "broker runs");
}

#[test]
fn trouble_one_of_several_brokers_is_away() {
    let stage = stage();
    let both = format!("https://127.0.0.1:1,{}", stage.url());
    let certificates = stage.certificates("rome");
    let away = found(&stage, &both, &certificates, "connection");
    is_trouble(away, "https://127.0.0.1:1: the broker cannot be reached", "address");
    let (_, ledger) = found(&stage, &both, &certificates, "fleet");
    assert_eq!(ledger.verdict, "good", "the other one is asked: {ledger:?}");
}

#[test]
fn trouble_another_authority_on_either_side() {
    let (stage, other) = (stage(), Stage::prepared(&[]));
    let folder = stage.path("mixed");
    copy(&stage.certificates("rome"), &folder);
    fs::copy(other.path("data/ca/ca.crt"), folder.join("ca.crt")).unwrap();
    let said = found(&stage, &stage.url(), &folder, "connection");
    is_trouble(said, "not from the authority", "ca.crt");
    copy(&other.certificates("rome"), &folder);
    fs::copy(stage.path("data/ca/ca.crt"), folder.join("ca.crt")).unwrap();
    let said = found(&stage, &stage.url(), &folder, "connection");
    is_trouble(said, "does not accept the certificate", "certificate issued");
}

#[test]
fn trouble_another_name() {
    let stage = stage();
    let elsewhere = Ipv4Addr::new(127, 0, 0, 2);
    let between = Between::at(&stage, elsewhere, &stage.path("data/tls"), |_, _| {});
    let said = found(&stage, &between.url(), &stage.certificates("admin"), "connection");
    is_trouble(said, "another name", "name or address");
}

#[test]
fn trouble_a_revoked_certificate() {
    let stage = Stage::prepared(&[]);
    let folder = stage.certificates("rome");
    stage.operate(&["certs", "revoke", "rome", "--data", "data"]);
    stage.serve();
    is_trouble(found(&stage, &stage.url(), &folder, "connection"), "revoked", "certificate issued");
}

#[test]
fn trouble_a_broker_that_is_not_ready() {
    let said = altered(&stage(), "readiness", |line, reply| {
        if line.ends_with("/readyz") {
            reply.status = "503 Service Unavailable".to_owned();
            reply.body = "the store has stopped: the disk is full\n".to_owned();
        }
    });
    is_trouble(said, "the disk is full", "log");
}

#[test]
fn trouble_clocks_that_disagree() {
    let said = altered(&stage(), "clock", |_, reply| {
        reply.header("date", Some("Sun, 06 Nov 1994 08:49:37 GMT"));
    });
    is_trouble(said, "behind this machine's", "NTP");
}

#[test]
fn trouble_another_version_and_the_earlier_system() {
    let stage = stage();
    let said = altered(&stage, "version", |line, reply| {
        if line.ends_with("/openapi.json") {
            reply.json(|body| body["info"]["version"] = json!("v2"));
        }
    });
    is_trouble(said, "API v2", "rearctl");
    let said = altered(&stage, "version", |_, reply| reply.header("rear-revision", None));
    is_trouble(said, "earlier system", "version 1");
}

#[test]
fn trouble_nobody_advertises() {
    let stage = Stage::start();
    let said = found(&stage, &stage.url(), &stage.certificates("admin"), "fleet");
    is_careful(said, "no cluster", "agents");
}

#[test]
fn trouble_a_silent_cluster() {
    let stage = Stage::start_with(&["--stale-after", "1s"]);
    stage.advertise(&idle("rome", "8", "16Gi"));
    let said = until("staleness", || {
        let said = found(&stage, &stage.url(), &stage.certificates("admin"), "staleness");
        (said.1.verdict != "good").then_some(said)
    });
    is_careful(said, "rome: silent", "agent");
}

#[test]
fn trouble_a_cluster_that_promised_more_than_it_has() {
    let stage = stage();
    stage.reserve("paris", "6", "1Gi");
    stage.advertise(&idle("rome", "4", "16Gi"));
    let said = found(&stage, &stage.url(), &stage.certificates("admin"), "overcommit");
    is_trouble(said, "rome: ", "release");
}

#[test]
fn trouble_a_cluster_that_is_recovering() {
    let stage = stage();
    stage.restore();
    let said = found(&stage, &stage.url(), &stage.certificates("admin"), "recovery");
    is_careful(said, "rome: ", "advertisement");
}

#[test]
fn trouble_an_agent_with_a_wrong_clock() {
    let stage = Stage::start();
    let an_hour_ago = rear_agent_sdk::now().plus(Duration::from_seconds(-3600));
    let mut rome = idle("rome", "8", "16Gi");
    rome.timestamp = moment::text(an_hour_ago);
    stage.advertise(&rome);
    let said = found(&stage, &stage.url(), &stage.certificates("admin"), "agents");
    is_careful(said, "rome: ", "NTP");
}

#[test]
fn trouble_books_that_do_not_add_up() {
    let stage = stage();
    stage.reserve("paris", "2", "1Gi");
    let alter = |member: &'static str| {
        move |line: &str, reply: &mut Reply| {
            if line.contains("/advertisements?") {
                // A page may be empty and have a next one.
                reply.json(|body| {
                    for cluster in body.as_array_mut().unwrap() {
                        cluster["resources"][member]["cpu"] = json!("1");
                    }
                });
            }
        }
    };
    let said = altered(&stage, "ledger", alter("reserved"));
    is_trouble(said, "rome: what is shown as reserved", "verify");
    let said = altered(&stage, "available", alter("available"));
    is_trouble(said, "rome: what is shown as available", "verify");
}

/// A broker that goes on between any two answers, and shows so much as reserved of each cluster, time after time.
fn never_quiet(
    reserved: impl Fn(u64) -> u64 + Send + Sync,
) -> impl Fn(&str, &mut Reply) + Send + Sync {
    let answers = AtomicU64::new(1);
    move |line, reply| {
        let number = answers.fetch_add(1, Ordering::Relaxed);
        reply.header("rear-revision", Some(&format!("1.{}", 1000 + number)));
        if line.contains("/advertisements?") {
            reply.json(|body| {
                for cluster in body.as_array_mut().unwrap() {
                    cluster["resources"]["reserved"]["cpu"] = json!(reserved(number).to_string());
                }
            });
        }
    }
}

#[test]
fn a_broker_that_is_too_busy_to_be_read_in_one_state_is_not_said_to_be_broken() {
    let stage = stage();
    stage.reserve("paris", "2", "1Gi");
    let said = altered(&stage, "ledger", never_quiet(|number| 3 + number));
    is_careful(said, "rome: not known, as there was no quiet moment", "again");
}

#[test]
fn trouble_books_that_are_wrong_in_the_same_way_however_busy_the_broker_is() {
    let stage = stage();
    stage.reserve("paris", "2", "1Gi");
    let said = altered(&stage, "ledger", never_quiet(|_| 1));
    is_trouble(said, "rome: what is shown as reserved", "verify");
}

#[test]
fn a_healthy_broker_under_load_has_no_trouble() {
    const CALLERS: usize = 8;
    const LOOKS: usize = 5;
    let stage = stage();
    let agent = Arc::new(stage.agent("paris"));
    let calls = (0..CALLERS).map(|_| {
        let agent = agent.clone();
        runtime().spawn(async move {
            loop {
                let asked = agent.reserve(&request("500m", "1Gi"), &Intent::new()).await;
                if let Ok(made) = asked {
                    // The next one says what is wrong.
                    drop(agent.release(&made.id).await);
                }
            }
        })
    });
    let calls: Vec<_> = calls.collect();
    for _ in 0..LOOKS {
        let told = stage.admin(&["check"]).run();
        assert!(told.code == 0 && !told.out.contains("TROUBLE"), "{told:?}");
    }
    for call in &calls {
        call.abort();
    }
}

#[test]
fn trouble_a_reservation_that_outlives_its_end() {
    let stage = stage();
    let made = stage.reserve("paris", "2", "1Gi");
    let past = moment::text(Timestamp::from_seconds(1_000_000_000));
    let said = altered(&stage, "expiry", move |line, reply| {
        if line.contains("phase=Reserved") {
            let past = past.clone();
            reply.json(move |body| body[0]["status"]["expiresAt"] = json!(past));
        }
    });
    is_trouble(said, &made.id, "log");
}
