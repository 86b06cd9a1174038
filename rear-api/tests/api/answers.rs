//! What the broker answers, to the letter.

use rear_api::advertisement::{Advertisement, AdvertisementAnswer, AdvertisementRequest, Seen};
use rear_api::body;
use rear_api::dry_run::{Candidate, DryRun, Fitting};
use rear_api::instruction;
use rear_api::problem::Names;
use rear_api::reservation::Reservation;
use rear_engine::testing::{all_resources, cluster, id, resources};
use rear_engine::{
    Actor, Ask, Command, Duration, Fleet, Policy, Position, Resources, Strategy, Terms, Timestamp,
    decide, dry_run,
};
use serde_json::json;

use crate::bodies::{ADVERTISEMENT, json, read, with};

const NOW: Timestamp = Timestamp::from_seconds(1_767_366_245);

/// A fleet with Rome, as its agent says, and what became of it.
struct Stage(Fleet);

impl Stage {
    fn new() -> Self {
        let mut stage = Self(Fleet::new(Policy::default()));
        stage.advertise(ADVERTISEMENT);
        stage
    }

    fn advertise(&mut self, body: &str) {
        let request: AdvertisementRequest = read(body).unwrap();
        self.run(request.into_command().unwrap());
    }

    fn run(&mut self, command: Command) {
        let decision = decide(&self.0, command, NOW).unwrap();
        self.0.apply_all(decision).unwrap();
    }

    fn reserve(&mut self, amounts: Resources, terms: Terms) -> rear_engine::Reservation {
        let ask = Box::new(Ask::new(cluster("paris"), amounts, terms).unwrap());
        let by = Actor::Cluster(cluster("paris"));
        self.run(Command::Reserve { id: id(42), ask, key: None, by });
        self.reservation()
    }

    fn reservation(&self) -> rear_engine::Reservation {
        self.0.reservation(id(42)).unwrap().clone()
    }

    fn shown(&self, name: &str, now: Timestamp) -> Advertisement {
        let seen = Seen::of(&self.0, self.0.cluster(&cluster(name)).unwrap(), now).unwrap();
        Advertisement::of(seen).unwrap()
    }
}

#[test]
fn an_advertisement_is_shown_with_what_is_reserved_and_what_is_left() {
    let mut stage = Stage::new();
    stage.reserve(all_resources("3", "6Gi", "3", "0"), Terms::default());
    let expected = json!({
        "clusterID": "rome",
        "clusterName": "Rome, second floor",
        "timestamp": "2026-01-02T15:04:05.25Z",
        "resources": {
            "capacity": {"cpu": "64", "memory": "256Gi", "gpu": "4", "storage": "2Ti"},
            "allocatable": {"cpu": "62", "memory": "250Gi", "gpu": "4", "storage": "2Ti"},
            "allocated": {"cpu": "10", "memory": "20Gi", "gpu": "1", "storage": "100Gi"},
            "reserved": {"cpu": "3", "memory": "6Gi", "gpu": "3", "storage": "0"},
            // Paris uses 2 cores, 4Gi and a device of it already.
            "available": {"cpu": "51", "memory": "228Gi", "gpu": "1", "storage": "1948Gi"},
        },
        "cost": {"cpuCost": "0.05", "memoryCost": "0.01", "gpuCost": "1.5", "currency": "EUR"},
        "labels": {"region": "eu", "tier": "gold"},
        "endpointURL": "https://rome.example:6443",
        "consumed": [{"requesterID": "paris", "cpu": "2", "memory": "4Gi", "gpu": "1"}],
        "epoch": 7,
        "sequence": 3,
        "status": {
            "active": true,
            "score": "86.72",
            "overcommitted": false,
            "recovering": false,
            "receivedAt": "2026-01-02T15:04:05Z",
        },
    });
    assert_eq!(json(&stage.shown("rome", NOW)), expected);
}

#[test]
fn dimensions_that_a_cluster_does_not_have_are_left_out() {
    let mut stage = Stage::new();
    stage.advertise(&include_str!("data/earlier-advertisement.json").replace("rome", "oslo"));
    let shown = json(&stage.shown("oslo", NOW));
    for list in ["capacity", "allocatable", "allocated", "reserved", "available"] {
        let amounts = shown["resources"][list].as_object().unwrap();
        assert!(amounts.keys().eq(["cpu", "memory"]), "{list}: {amounts:?}");
    }
    assert_eq!(shown["resources"]["reserved"], json!({"cpu": "0", "memory": "0"}));
    for absent in ["cost", "labels", "endpointURL", "consumed", "epoch", "sequence"] {
        assert_eq!(shown.get(absent), None, "{absent}");
    }
}

#[test]
fn a_cluster_that_is_silent_or_promised_too_much_is_shown_so() {
    let mut stage = Stage::new();
    stage.reserve(resources("50", "6Gi"), Terms::default());
    let full = with(ADVERTISEMENT, "/resources/allocated/cpu", json!("60"));
    stage.advertise(&full);
    let shown = stage.shown("rome", NOW.plus(Duration::from_seconds(600)));
    let status = shown.status.unwrap();
    assert!(status.overcommitted && !status.active);
    assert_eq!(shown.resources.available.cpu.to_string(), "0");
}

#[test]
fn instructions_are_piggybacked_only_where_there_are_any() {
    let mut stage = Stage::new();
    let reservation = stage.reserve(resources("3", "6Gi"), Terms::default());
    let advertisement = stage.shown("rome", NOW);
    let none = AdvertisementAnswer { advertisement, provider_instructions: None };
    assert_eq!(json(&none).get("providerInstructions"), None);
    let one = vec![instruction::for_provider(&reservation)];
    let some = AdvertisementAnswer { provider_instructions: Some(one), ..none };
    assert_eq!(
        json(&some)["providerInstructions"][0]["status"]["message"],
        "Hold 3 CPU / 6Gi Memory for requester paris"
    );
}

#[test]
fn a_reservation_is_shown_whole() {
    let terms = Terms {
        priority: 7,
        duration: Some(Duration::from_seconds(5400)),
        strategy: Some(Strategy::Binpack),
        ..Terms::default()
    };
    let reservation = Stage::new().reserve(all_resources("1500m", "4Gi", "1", "0"), terms);
    let expected = json!({
        "id": "rsv-0000000000000000000000000000002a",
        "requesterID": "paris",
        "targetClusterID": "rome",
        "requestedResources": {"cpu": "1500m", "memory": "4Gi", "gpu": "1"},
        "priority": 7,
        "duration": "1h30m0s",
        "createdAt": "2026-01-02T15:04:05Z",
        "status": {
            "phase": "Reserved",
            "message": "Use rome for 1500m CPU / 4Gi Memory / 1 GPU",
            "reservedAt": "2026-01-02T15:04:05Z",
            "expiresAt": "2026-01-02T16:34:05Z",
        },
    });
    assert_eq!(json(&Reservation::from(&reservation)), expected);
}

#[test]
fn an_instruction_reads_reserved_while_the_promise_lives() {
    let mut stage = Stage::new();
    let by = || Actor::Cluster(cluster("paris"));
    let reserved = stage.reserve(resources("3", "6Gi"), Terms::default());
    stage.run(Command::Activate { id: id(42), by: by() });
    let active = stage.reservation();
    stage.run(Command::Release { id: id(42), by: by() });
    let released = stage.reservation();
    for (reservation, phase, true_phase, message) in [
        (&reserved, "Reserved", "Reserved", "Hold 3 CPU / 6Gi Memory for requester paris"),
        (&active, "Reserved", "Active", "Hold 3 CPU / 6Gi Memory for requester paris"),
        (&released, "Released", "Released", "released by the requester"),
    ] {
        let told = json(&instruction::for_provider(reservation));
        assert_eq!(told["status"]["phase"], phase);
        assert_eq!(told["status"]["reservationPhase"], true_phase);
        assert_eq!(told["status"]["message"], message);
    }
    assert_eq!(json(&Reservation::from(&active))["status"]["phase"], "Active");
    assert_eq!(json(&Reservation::from(&active))["status"].get("reservationPhase"), None);
    let to_requester = json(&instruction::for_requester(&active));
    assert_eq!(to_requester["status"]["phase"], "Reserved");
    assert_eq!(to_requester["status"]["message"], "Use rome for 3 CPU / 6Gi Memory");
}

#[test]
fn an_ended_reservation_says_how_it_ended() {
    let mut stage = Stage::new();
    stage.reserve(resources("3", "6Gi"), Terms::default());
    let reason = "disk failed".parse().unwrap();
    let by = Actor::Cluster(cluster("rome"));
    stage.run(Command::Reject { id: id(42), reason, by });
    let status = Reservation::from(&stage.reservation()).status;
    assert_eq!(json(&status.phase), "Failed");
    assert_eq!(status.message, "rejected by the provider: disk failed");
}

fn explained(names: Names, cpu: &str) -> serde_json::Value {
    let mut stage = Stage::new();
    stage.advertise(&include_str!("data/earlier-advertisement.json").replace("rome", "oslo"));
    let ask = rear_engine::testing::ask("paris", resources(cpu, "6Gi"));
    let ranking = dry_run(&stage.0, &ask, NOW);
    json(&DryRun::of(&ranking, Position { incarnation: 2, number: 41 }, names))
}

#[test]
fn a_dry_run_ranks_those_that_fit_and_explains_the_others() {
    let expected = json!({
        "target": "rome",
        "revision": "2.41",
        "candidates": [
            {
                "clusterID": "rome",
                "fits": true,
                "score": "79.27",
                "parts": {"cpu": "68.95", "memory": "89.60"},
            },
            {
                "clusterID": "oslo",
                "fits": false,
                "reason": "insufficient",
                "detail": "needs 9250m cpu, 7050m free",
                "dimension": "cpu",
                "requested": "9250m",
                "available": "7050m",
            },
        ],
    });
    assert_eq!(explained(Names::Shown, "9250m"), expected);
}

#[test]
fn a_dry_run_that_nobody_fits_has_a_target_of_null() {
    let explained = explained(Names::Shown, "9000");
    assert_eq!(explained.get("target"), Some(&json!(null)));
    assert_eq!(explained["candidates"].as_array().unwrap().len(), 2);
}

#[test]
fn with_names_left_out_a_dry_run_names_the_target_alone() {
    for (cpu, fitting) in [("1", 2), ("9250m", 1)] {
        let named = explained(Names::Shown, cpu);
        assert_eq!(named["candidates"][0]["clusterID"], "rome");
        assert_eq!(named["candidates"][1]["clusterID"], "oslo");
        let nameless = explained(Names::LeftOut, cpu);
        assert_eq!(nameless["candidates"][0]["clusterID"], "rome");
        assert_eq!(nameless["candidates"][1].get("clusterID"), None);
        assert_eq!(nameless["candidates"][1]["fits"], fitting == 2);
        assert!(!nameless.to_string().contains("oslo"));
    }
}

#[test]
fn whether_a_candidate_fits_is_what_it_says_and_not_what_it_looks_like() {
    let both = r#"{"fits": false, "score": "1.00", "parts": {}, "reason": "stale"}"#;
    let read = body::read_answer::<Candidate>(both.as_bytes()).unwrap();
    assert!(matches!(read, Candidate::Lacking(_)), "{read:?}");
    let refused = body::read_answer::<Fitting>(both.as_bytes()).unwrap_err();
    assert_eq!(refused.to_string(), "fits: expected true");
    let neither = r#"{"fits": true, "reason": "stale"}"#;
    assert!(body::read_answer::<Candidate>(neither.as_bytes()).is_err());
}
