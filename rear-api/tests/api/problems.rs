//! The error document: every refusal has a code of its own, and every code one status.

use std::collections::BTreeSet;

use rear_api::body::{self, BodyError, Unreadable};
use rear_api::problem::{Code, Names, Problem, code_of_refusal};
use rear_engine::ledger::LedgerError;
use rear_engine::testing::{cluster, id};
use rear_engine::{Dimension, Duration, NoRoom, Obstacle, Reason, Refusal};
use serde_json::json;

use crate::bodies::json;

/// One refusal of each kind, with its code and status. The match does not compile when a kind is added, which
/// must then get a line here.
fn every_refusal() -> Vec<(Refusal, &'static str, u16)> {
    let ledger = |source| Refusal::Ledger { cluster: cluster("rome"), source };
    let consumed = Refusal::ConsumedBeyondAllocated { dimension: Dimension::Gpu, allocated: 1 };
    let refusals = vec![
        (Refusal::UnknownReservation(id(1)), "unknown-reservation", 404),
        (Refusal::UnknownCluster(cluster("rome")), "unknown-cluster", 404),
        (Refusal::NotAllowed { allowed: "the requester" }, "not-allowed", 403),
        (Refusal::KeyReused(id(1)), "key-reused", 409),
        (Refusal::IdTaken(id(1)), "id-taken", 409),
        (Refusal::TooManyReservations { limit: 1 }, "too-many-reservations", 409),
        (consumed, "consumed-beyond-allocated", 422),
        (Refusal::Outdated { kept: None }, "outdated", 409),
        (Refusal::AlreadyEnded(id(1)), "already-ended", 409),
        (Refusal::TooLong(Duration::from_seconds(60)), "too-long", 422),
        (Refusal::EndHasPassed, "end-has-passed", 422),
        (Refusal::ProviderStale(cluster("rome")), "provider-stale", 409),
        (Refusal::ProviderRecovering(cluster("rome")), "provider-stale", 409),
        (Refusal::ProviderOvercommitted(cluster("rome")), "provider-overcommitted", 409),
        (ledger(LedgerError::Overflow), "ledger-full", 409),
        (ledger(LedgerError::Underflow), "internal", 500),
        (Refusal::NoRoom(no_room()), "no-room", 409),
    ];
    for (refusal, ..) in &refusals {
        match refusal {
            Refusal::UnknownReservation(_)
            | Refusal::UnknownCluster(_)
            | Refusal::NotAllowed { .. }
            | Refusal::KeyReused(_)
            | Refusal::IdTaken(_)
            | Refusal::TooManyReservations { .. }
            | Refusal::ConsumedBeyondAllocated { .. }
            | Refusal::Outdated { .. }
            | Refusal::AlreadyEnded(_)
            | Refusal::TooLong(_)
            | Refusal::EndHasPassed
            | Refusal::ProviderStale(_)
            | Refusal::ProviderRecovering(_)
            | Refusal::ProviderOvercommitted(_)
            | Refusal::Ledger { source: LedgerError::Overflow | LedgerError::Underflow, .. }
            | Refusal::NoRoom(_) => {}
        }
    }
    refusals
}

fn no_room() -> NoRoom {
    let obstacle = |name: &str, reason| Obstacle { cluster: cluster(name), reason };
    let lacks =
        Reason::Lacks { dimension: Dimension::Memory, requested: 4 << 30, available: 1 << 29 };
    let label = Reason::LacksLabel { key: "region".to_owned(), value: "eu".to_owned() };
    NoRoom {
        candidates: vec![
            obstacle("rome", lacks),
            obstacle("oslo", label),
            obstacle("paris", Reason::Own),
        ],
        considered: 3,
    }
}

#[test]
fn every_refusal_has_its_code_and_its_status() {
    let mut seen = BTreeSet::new();
    for (refusal, code, status) in every_refusal() {
        let problem = Problem::refused(&refusal, Names::Shown);
        assert_eq!((problem.code.as_str(), problem.status), (code, status));
        assert_eq!(problem.known_code(), Some(code_of_refusal(&refusal)));
        assert_eq!(problem.detail, refusal.to_string());
        // Either way the provider has to speak first, and whoever knows one of them knows what to do.
        let shares_a_code = matches!(refusal, Refusal::ProviderRecovering(_));
        assert_eq!(seen.insert(problem.code), !shares_a_code, "{code}");
    }
}

#[test]
fn the_codes_are_these_and_stay_these() {
    let table: Vec<_> = Code::ALL.iter().map(|code| (code.name(), code.status())).collect();
    let expected = [
        ("unreadable", 400),
        ("no-certificate", 401),
        ("bad-identity", 401),
        ("other-cluster", 403),
        ("not-allowed", 403),
        ("not-found", 404),
        ("unknown-reservation", 404),
        ("unknown-cluster", 404),
        ("method-not-allowed", 405),
        ("too-slow", 408),
        ("no-room", 409),
        ("key-reused", 409),
        ("id-taken", 409),
        ("too-many-reservations", 409),
        ("outdated", 409),
        ("already-ended", 409),
        ("provider-stale", 409),
        ("provider-overcommitted", 409),
        ("ledger-full", 409),
        ("older-incarnation", 410),
        ("too-large", 413),
        ("other-interface", 421),
        ("invalid", 422),
        ("consumed-beyond-allocated", 422),
        ("too-long", 422),
        ("end-has-passed", 422),
        ("too-many", 429),
        ("internal", 500),
        ("not-ready", 503),
    ];
    assert_eq!(table, expected);
}

#[test]
fn every_code_has_one_name_and_a_title() {
    let names: BTreeSet<_> = Code::ALL.iter().map(|code| code.name()).collect();
    assert_eq!(names.len(), Code::ALL.len());
    for code in Code::ALL {
        assert_eq!(code.name().parse(), Ok(*code));
        assert!(!code.title().is_empty() && !code.title().ends_with('.'), "{code}");
    }
    assert!("No-room".parse::<Code>().is_err());
}

#[test]
fn a_refused_reservation_says_for_each_cluster_what_was_missing() {
    let problem = Problem::refused(&Refusal::NoRoom(no_room()), Names::Shown);
    let text = "none of 3 clusters fits; the closest: rome needs 4Gi memory, 512Mi free";
    let expected = json!({
        "type": "urn:rear:problem:no-room",
        "title": "No cluster has room",
        "status": 409,
        "detail": text,
        "code": "no-room",
        "error": text,
        "candidates": [
            {
                "clusterID": "rome",
                "reason": "insufficient",
                "detail": "needs 4Gi memory, 512Mi free",
                "dimension": "memory",
                "requested": "4Gi",
                "available": "512Mi",
            },
            {"clusterID": "oslo", "reason": "label", "detail": "lacks the label region=eu"},
            {"clusterID": "paris", "reason": "own-cluster", "detail": "is the requester itself"},
        ],
    });
    assert_eq!(json(&problem), expected);
}

#[test]
fn with_names_left_out_no_name_is_told_anywhere() {
    let problem = Problem::refused(&Refusal::NoRoom(no_room()), Names::LeftOut);
    let text = json(&problem).to_string();
    for name in ["rome", "oslo", "paris", "clusterID"] {
        assert!(!text.contains(name), "{name} in {text}");
    }
    assert_eq!(problem.detail, "no cluster fits; the closest one needs 4Gi memory, 512Mi free");
    let nobody = Problem::refused(&Refusal::NoRoom(NoRoom::default()), Names::LeftOut);
    assert_eq!(nobody.detail, "no cluster advertises capacity");
    assert_eq!(json(&nobody)["candidates"], json!([]));
}

#[test]
fn other_problems_have_no_candidates() {
    let problem = Problem::new(Code::NotFound, "there is nothing at /x");
    let expected = json!({
        "type": "urn:rear:problem:not-found",
        "title": "There is nothing here",
        "status": 404,
        "detail": "there is nothing at /x",
        "code": "not-found",
        "error": "there is nothing at /x",
    });
    assert_eq!(json(&problem), expected);
}

#[test]
fn bodies_are_refused_with_three_statuses() {
    let invalid = body::read::<Problem>(b"[]").unwrap_err();
    for (error, code, status) in [
        (BodyError::TooLarge, "too-large", 413),
        (BodyError::Unreadable(Unreadable::Empty), "unreadable", 400),
        (invalid, "invalid", 422),
    ] {
        let problem = Problem::from(&error);
        assert_eq!((problem.code.as_str(), problem.status), (code, status));
        assert_eq!(problem.detail, error.to_string());
    }
}

#[test]
fn a_code_that_is_not_known_yet_does_not_make_an_answer_unreadable() {
    let later = br#"{"code": "moon-phase", "status": 418, "title": "Moon", "extra": {}}"#;
    let problem: Problem = body::read_answer(later).unwrap();
    assert_eq!((problem.known_code(), problem.text()), (None, "Moon"));
}

#[test]
fn the_reference_lists_every_code_as_it_is() {
    let page = include_str!("../../../docs/reference/problem-codes.md");
    let listed: Vec<_> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let row = |code: &Code| format!("| `{code}` | {} | {} |", code.status(), code.title());
    assert_eq!(listed, Code::ALL.iter().map(row).collect::<Vec<_>>());
}

#[test]
fn the_reference_lists_every_reason_of_a_candidate() {
    let page = include_str!("../../../docs/reference/problem-codes.md");
    let currency = || "EUR".parse().unwrap();
    let price = || "1".parse().unwrap();
    for reason in [
        Reason::Unknown,
        Reason::Own,
        Reason::Recovering,
        Reason::Stale,
        Reason::Overcommitted,
        Reason::Lacks { dimension: Dimension::Cpu, requested: 2, available: 1 },
        Reason::LacksLabel { key: String::new(), value: String::new() },
        Reason::Unpriced(currency()),
        Reason::TooExpensive { price: price(), ceiling: price() },
    ] {
        assert!(page.contains(&format!("`{}`", reason.code())), "{reason:?}");
    }
}
