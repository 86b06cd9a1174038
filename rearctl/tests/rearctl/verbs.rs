//! Every verb does what it says, with a real broker.

use rear_agent_sdk::BrokerCommunicator;
use rear_agent_sdk::communicator::Reservation;
use rear_api::reservation::PhaseName;

use super::stage::{Stage, idle, runtime};

/// Rome lends eight cores, Paris borrows.
fn two() -> Stage {
    let stage = Stage::start();
    stage.advertise(&idle("rome", "8", "16Gi"));
    stage.advertise(&idle("paris", "1", "1Gi"));
    stage
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn an_administrator_lists_every_cluster_and_a_cluster_itself() {
    let stage = two();
    let names = |who: &str| stage.ctl(who, &["clusters", "list", "-o", "name"]).out();
    assert_eq!(names("admin"), "clusters/paris\nclusters/rome\n");
    assert_eq!(names("rome"), "clusters/rome\n");
}

#[test]
fn a_cluster_is_shown_and_described() {
    let stage = two();
    let shown = stage.admin(&["clusters", "get", "rome"]).out();
    assert_eq!(shown.lines().count(), 2, "{shown}");
    assert!(shown.contains("rome   Active   100.00"), "{shown}");
    let described = stage.admin(&["cluster", "describe", "clusters/rome"]).out();
    for words in
        ["Name:           rome\n", "State:          Active\n", "  allocatable   8     16Gi"]
    {
        assert!(described.contains(words), "{words} in\n{described}");
    }
}

#[test]
fn capacity_is_reserved_used_prolonged_and_given_back() {
    let stage = two();
    let wish = ["reserve", "--cpu", "2", "--memory", "4Gi", "--duration", "1h", "-o", "name"];
    let told = stage.ctl("paris", &wish).run();
    assert_eq!(told.code, 0, "{told:?}");
    // A name on the standard output, for the next command; words on the standard error, for a person.
    let name = told.out.trim();
    assert!(name.starts_with("reservations/rsv-"), "{told:?}");
    assert_eq!(told.err, "rearctl: Use rome for 2 CPU / 4Gi Memory\n");
    let id = name.strip_prefix("reservations/").unwrap();
    let ends = |it: &Reservation| rear_api::moment::read(it.status.expires_at.as_ref().unwrap());
    let before = ends(&stage.reservation(id)).unwrap();

    let activated = stage.ctl("paris", &["activate", name, "-o", "json"]).out();
    assert_eq!(json(&activated)["status"]["phase"], "Active");
    stage.ctl("paris", &["renew", name, "--for", "3h"]).out();
    let renewed = ends(&stage.reservation(id)).unwrap();
    assert!(renewed.since(before).as_nanos() > 3_600_000_000_000, "{renewed:?} after {before:?}");
    stage.ctl("paris", &["renew", id, "--until", "2099-01-01T00:00:00Z"]).run();
    stage.ctl("paris", &["release", name]).out();
    assert_eq!(stage.reservation(id).status.phase, PhaseName::Released);
    // Repeating it is fine.
    stage.ctl("paris", &["release", name]).out();
}

#[test]
fn everything_that_can_be_wished_reaches_the_broker() {
    let stage = Stage::start();
    let mut rome = idle("rome", "8", "16Gi");
    for list in [&mut rome.resources.capacity, &mut rome.resources.allocatable] {
        (list.gpu, list.storage) = (Some("2".into()), Some("100Gi".into()));
    }
    rome.labels = Some(rear_api::labels::LabelTexts(
        [("zone".to_owned(), "south".to_owned())].into_iter().collect(),
    ));
    rome.cost = Some(rear_api::advertisement::CostBody {
        cpu_cost: "0.01".into(),
        memory_cost: "0.01".into(),
        gpu_cost: Some("0.5".into()),
        currency: "EUR".into(),
    });
    stage.advertise(&rome);
    let wish = [
        "reserve",
        "--cpu",
        "1500m",
        "--memory",
        "2Gi",
        "--gpu",
        "1",
        "--storage",
        "10Gi",
        "--duration",
        "1h30m",
        "--target",
        "rome",
        "--strategy",
        "balanced",
        "--label",
        "zone=south",
        "--prefer-label",
        "ssd=yes",
        "--max-price",
        "1.20EUR",
        "--priority",
        "-3",
        "--on-behalf-of",
        "paris",
        "--idempotency-key",
        "the wish",
        "-o",
        "json",
    ];
    let made = json(&stage.admin(&wish).out());
    assert_eq!(made["requesterID"], "paris");
    assert_eq!(made["priority"], -3);
    assert_eq!(made["duration"], "1h30m0s");
    let wanted =
        serde_json::json!({"cpu": "1500m", "memory": "2Gi", "gpu": "1", "storage": "10Gi"});
    assert_eq!(made["requestedResources"], wanted);
    // The same wish under the same key is the same reservation.
    assert_eq!(json(&stage.admin(&wish).out())["id"], made["id"]);
    let elsewhere = ["reserve", "--cpu", "1", "--memory", "1Gi", "--label", "zone=north"];
    assert_eq!(stage.ctl("paris", &elsewhere).run().code, 2);
    let cheap = ["reserve", "--cpu", "1", "--memory", "1Gi", "--max-price", "0.001EUR"];
    assert_eq!(stage.ctl("paris", &cheap).run().code, 2);
}

#[test]
fn a_dry_run_locks_nothing_and_an_explanation_tells_of_everyone() {
    let stage = two();
    let wish = ["reserve", "--cpu", "2", "--memory", "4Gi"];
    let dry = stage.ctl("london", &[&wish[..], &["--dry-run"]].concat()).out();
    assert_eq!(dry, "rome would get it with a score of 75.00\n");
    let explained = stage.ctl("london", &[&wish[..], &["--explain"]].concat()).out();
    let line =
        |name: &str| explained.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(line("rome").contains("chosen"), "{explained}");
    assert!(line("paris").contains("does not fit"), "{explained}");
    assert!(line("paris").contains("cpu"), "{explained}");
    assert_eq!(stage.admin(&["reservations", "list", "-o", "json"]).out(), "[]\n");
}

#[test]
fn a_provider_sees_what_it_has_to_do_and_may_refuse() {
    let stage = two();
    let made = stage.reserve("paris", "2", "4Gi");
    let told = stage.ctl("rome", &["instructions", "list"]).out();
    assert!(told.contains("Hold 2 CPU / 4Gi Memory for requester paris"), "{told}");
    let told = stage.ctl("paris", &["instructions", "list", "--role", "requester"]).out();
    assert!(told.contains("Use rome for 2 CPU / 4Gi Memory"), "{told}");
    stage.ctl("rome", &["instructions", "get", &made.id]).out();
    let described = stage.ctl("rome", &["instructions", "describe", &made.id]).out();
    assert!(described.contains("Requester:      paris"), "{described}");
    stage.ctl("rome", &["reject", &made.id, "--reason", "the roof leaks"]).out();
    let described = stage.ctl("paris", &["reservations", "describe", &made.id]).out();
    assert!(described.contains("Phase:          Failed"), "{described}");
    assert!(described.contains("the roof leaks"), "{described}");
    assert_eq!(stage.ctl("rome", &["instructions", "list", "-o", "json"]).out(), "[]\n");
}

#[test]
fn reservations_are_listed_by_role_and_phase() {
    let stage = two();
    let kept = stage.reserve("paris", "1", "1Gi");
    let ended = stage.reserve("paris", "1", "1Gi");
    runtime().block_on(stage.agent("paris").release(&ended.id)).unwrap();
    let listed = |who: &str, more: &[&str]| {
        let base = ["reservations", "list", "-o", "name"];
        stage.ctl(who, &[&base[..], more].concat()).out()
    };
    assert_eq!(listed("paris", &["--phase", "released"]), format!("reservations/{}\n", ended.id));
    assert_eq!(
        listed("rome", &["--role", "provider", "--phase", "Reserved"]),
        format!("reservations/{}\n", kept.id)
    );
    assert_eq!(listed("rome", &["--role", "requester"]), "");
    assert_eq!(listed("admin", &[]).lines().count(), 2);
    assert_eq!(listed("admin", &["--limit", "1"]).lines().count(), 1);
}

#[test]
fn several_reservations_are_released_at_once_from_a_pipe_of_names() {
    let stage = two();
    for _ in 0..3 {
        stage.reserve("paris", "1", "1Gi");
    }
    let names = stage.ctl("paris", &["reservations", "list", "-o", "name"]).out();
    let names: Vec<&str> = names.lines().collect();
    let released = stage.ctl("paris", &[&["release", "-o", "name"], &names[..]].concat()).out();
    assert_eq!(released.lines().collect::<Vec<_>>(), names);
    let left = stage.ctl("paris", &["reservations", "list", "--phase", "reserved", "-o", "json"]);
    assert_eq!(left.out(), "[]\n");
}

#[test]
fn nothing_is_released_if_one_of_the_names_is_wrong() {
    let stage = two();
    let (first, last) = (stage.reserve("paris", "1", "1Gi"), stage.reserve("paris", "1", "1Gi"));
    let told = stage.ctl("paris", &["release", &first.id, "clusters/rome", &last.id]).run();
    assert_eq!((told.code, told.out.as_str()), (64, ""), "{told:?}");
    assert!(told.err.contains("clusters/rome"), "{told:?}");
    for id in [&first.id, &last.id] {
        assert_eq!(stage.reservation(id).status.phase, PhaseName::Reserved, "{id}");
    }
}

#[test]
fn a_release_that_fails_does_not_keep_the_others() {
    let stage = two();
    let (first, last) = (stage.reserve("paris", "1", "1Gi"), stage.reserve("paris", "1", "1Gi"));
    let missing = "rsv-00000000000000000000000000000001";
    let told = stage.ctl("paris", &["release", &first.id, missing, &last.id, "-o", "name"]).run();
    assert_eq!(told.code, 3, "{told:?}");
    assert_eq!(told.out, format!("reservations/{}\nreservations/{}\n", first.id, last.id));
    for id in [&first.id, &last.id] {
        assert_eq!(stage.reservation(id).status.phase, PhaseName::Released, "{id}");
    }
}

#[test]
fn a_cluster_is_forgotten_only_by_whoever_means_it() {
    let stage = two();
    let made = stage.reserve("paris", "2", "4Gi");
    let told = stage.admin(&["forget", "rome"]).run();
    assert_eq!(told.code, 64, "{told:?}");
    assert!(told.err.contains("--yes"), "{told:?}");
    assert_eq!(stage.admin(&["forget", "rome", "--yes"]).out(), "clusters/rome\n");
    assert_eq!(stage.admin(&["clusters", "list", "-o", "name"]).out(), "clusters/paris\n");
    assert_eq!(stage.reservation(&made.id).status.phase, PhaseName::Failed);
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let stage = Stage::prepared(&[]);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = super::program::Ctl::new(stage.folder.path(), &["completion", shell]).out();
        assert!(script.contains("reservations"), "{shell}");
    }
    let folder = stage.path("man");
    let made = super::program::Ctl::new(stage.folder.path(), &["man", folder.to_str().unwrap()]);
    made.out();
    let page = std::fs::read_to_string(folder.join("rearctl-reserve.1")).unwrap();
    assert!(page.contains("idempotency") && page.contains("EXIT STATUS"), "{page}");
    let pages = std::fs::read_dir(&folder).unwrap().count();
    assert!(pages > 25, "{pages}");
}
