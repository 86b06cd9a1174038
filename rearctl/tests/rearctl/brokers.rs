//! Several addresses of brokers that share a ledger: the next one is asked, under the same key, and nothing is made twice.

use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::between::Between;
use super::program::Ctl;
use super::stage::{Stage, idle};

const WISH: &[&str] = &["reserve", "--cpu", "1", "--memory", "1Gi", "-o", "name"];

fn to_both(stage: &Stage, first: &str, arguments: &[&str]) -> Ctl {
    let both = format!("{first},{}", stage.url());
    Ctl::new(stage.folder.path(), arguments).to(&both, &stage.certificates("paris"))
}

#[test]
fn a_broker_that_is_not_there_is_left_for_the_next() {
    let stage = Stage::start();
    stage.advertise(&idle("rome", "8", "16Gi"));
    // Nobody listens there any more.
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let gone = format!("https://{gone}");
    let made = to_both(&stage, &gone, WISH).out();
    assert!(made.starts_with("reservations/"), "{made}");
    let listed = to_both(&stage, &gone, &["reservations", "list", "-o", "name"]).out();
    assert_eq!(listed, made);
}

/// How many answers were lost.
static LOST: AtomicUsize = AtomicUsize::new(0);

#[test]
fn an_answer_that_is_lost_with_its_broker_is_found_at_the_next() {
    let stage = Stage::start();
    stage.advertise(&idle("rome", "8", "16Gi"));
    // The broker has decided when this one vanishes.
    let between = Between::before_as(&stage, "paris", |line, reply| {
        reply.vanish = line.starts_with("POST");
        LOST.fetch_add(usize::from(reply.vanish), Ordering::SeqCst);
    });
    let made = to_both(&stage, &between.url(), WISH).out();
    assert_eq!(LOST.load(Ordering::SeqCst), 1, "{:?}", between.requests());
    let all = stage.admin(&["reservations", "list", "-o", "name"]).out();
    assert_eq!(all.lines().collect::<Vec<_>>(), [made.trim()], "one, and it is the one told");
}
