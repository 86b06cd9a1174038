//! Many at once, and people who edit the same objects meanwhile.

use std::fmt::Write;
use std::thread;

use rear_testbed::eventually;

use super::stage::{Stage, cores, reservation};

#[test]
fn a_hundred_reservations_at_once_are_all_answered_and_none_twice() {
    let stage = Stage::shared();
    // Room for 90 of them.
    stage.lend("default", "paris", "90", "900Gi");
    let mut all = String::new();
    for number in 0..100 {
        write!(all, "---\n{}", reservation(&format!("r{number}"), &cores("1"))).unwrap();
    }
    let kubectl = stage.kubectl();
    let edits = thread::spawn(move || {
        for round in 0..20 {
            // Whoever comes too late or too early is refused, which is fine.
            let lie = r#"{"spec":{"resources":{"reserved":{"cpu":"0","memory":"0"}}}}"#;
            drop(kubectl.run(&[
                "patch",
                "clusteradvertisement",
                "paris-adv",
                "--type=merge",
                "-p",
                lie,
            ]));
            let status = r#"{"status":{"phase":"Active","message":"edited"}}"#;
            let name = format!("r{round}");
            drop(kubectl.run(&[
                "patch",
                "reservation",
                &name,
                "--subresource=status",
                "--type=merge",
                "-p",
                status,
            ]));
        }
    });
    stage.kubectl().run_with_input(&["create", "-n", "default", "-f", "-"], &all).unwrap();
    edits.join().unwrap();
    let phases = || {
        let shown = stage.ask(&[
            "get",
            "reservations",
            "-n",
            "default",
            "-o=jsonpath={.items[*].status.phase}",
        ]);
        let count = |phase: &str| shown.split_whitespace().filter(|word| *word == phase).count();
        (count("Reserved"), count("Failed"))
    };
    let mut last = (0, 0);
    eventually(|| {
        last = phases();
        (last == (90, 10)).then_some(())
    })
    .unwrap_or_else(|| panic!("90 should be reserved and 10 refused, and are {last:?}"));
    stage.until_left("default", "paris", "0");
    stage.until("default", "clusteradvertisement/paris-adv", ".spec.resources.reserved.cpu", "90");
    stage.ask(&["delete", "reservations", "--all", "-n", "default", "--timeout=120s"]);
    stage.until_left("default", "paris", "90");
    stage.end();
}
