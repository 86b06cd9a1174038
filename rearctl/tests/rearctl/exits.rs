//! Every exit code, each with its cause.

use super::between::Between;
use super::certificates::{Days, Odd};
use super::program::Ctl;
use super::stage::{Stage, idle};

#[test]
fn done_is_0_and_a_command_line_that_makes_no_sense_64() {
    let stage = Stage::start();
    assert_eq!(stage.admin(&["clusters", "list"]).run().code, 0);
    for (wrong, words) in [
        (&["clusters", "lst"][..], "lst"),
        (&["reserve", "--cpu", "1"], "--memory"),
        (&["reserve", "--cpu", "much", "--memory", "1Gi"], "quantity"),
        (&["renew", "rsv-1"], "--until"),
        (&["wait", "rome", "--for", "active"], "clusters/NAME"),
        (&["wait", "clusters/rome", "--for", "happy"], "overcommitted"),
        (&["clusters", "get", "reservations/rome"], "clusters"),
        (&["clusters", "get", "Rome!"], "Rome!"),
        (&["clusters", "list", "--chunk-size", "0"], "0"),
        (&["events"], "--follow"),
        // A picture is no data: who wants that is told where it is.
        (&["top", "-o", "json"], "clusters list"),
        (&["top", "-o", "yaml"], "clusters list"),
        (&["top", "--once", "-o", "name"], "clusters list"),
    ] {
        let told = stage.admin(wrong).run();
        assert_eq!((told.code, told.out.as_str()), (64, ""), "{wrong:?}: {told:?}");
        assert!(told.err.contains(words), "{words} in {told:?}");
    }
    let help = Ctl::new(stage.folder.path(), &["--help"]).run();
    assert_eq!((help.code, help.err.as_str()), (0, ""));
}

#[test]
fn no_capacity_is_2() {
    let stage = Stage::start();
    stage.advertise(&idle("rome", "8", "16Gi"));
    let wish = ["reserve", "--cpu", "100", "--memory", "4Gi"];
    for more in [&[][..], &["--dry-run"], &["--explain"]] {
        let told = stage.ctl("paris", &[&wish[..], more].concat()).run();
        assert_eq!(told.code, 2, "{told:?}");
    }
}

#[test]
fn what_is_not_there_is_3() {
    let stage = Stage::start();
    stage.advertise(&idle("rome", "8", "16Gi"));
    let id = "rsv-00000000000000000000000000000001";
    for missing in [
        &["clusters", "get", "moon"][..],
        &["clusters", "describe", "moon"],
        &["reservations", "get", id],
        &["instructions", "get", id],
        &["release", id],
        &["renew", id, "--for", "1h"],
        &["activate", id],
        &["reject", id, "--reason", "no"],
        &["forget", "moon", "--yes"],
        &["wait", "reservations/rsv-0", "--for", "ended"],
    ] {
        let told = stage.admin(missing).run();
        assert_eq!((told.code, told.out.as_str()), (3, ""), "{missing:?}: {told:?}");
    }
    // What is not yours is not there.
    assert_eq!(stage.ctl("paris", &["clusters", "get", "rome"]).run().code, 3);
}

#[test]
fn what_the_broker_refuses_for_another_reason_is_4() {
    let stage = Stage::start();
    stage.advertise(&idle("rome", "8", "16Gi"));
    let made = stage.reserve("paris", "1", "1Gi");
    for (who, refused) in [
        ("rome", &["activate", &made.id][..]),
        ("paris", &["reject", &made.id, "--reason", "no"]),
        ("paris", &["renew", &made.id, "--until", "2001-01-01T00:00:00Z"]),
        ("paris", &["reserve", "--cpu", "0", "--memory", "1Gi"]),
        ("paris", &["forget", "paris", "--yes"]),
    ] {
        let told = stage.ctl(who, refused).run();
        assert_eq!((told.code, told.out.as_str()), (4, ""), "{refused:?}: {told:?}");
    }
}

#[test]
fn a_broker_that_is_not_there_is_5() {
    let stage = Stage::start();
    let ctl = stage.admin(&["clusters", "list"]);
    stage.kill();
    let told = ctl.run();
    assert_eq!((told.code, told.out.as_str()), (5, ""), "{told:?}");
    assert!(told.err.contains("Check that the broker runs"), "{told:?}");
}

#[test]
fn a_certificate_that_does_not_count_is_6() {
    let stage = Stage::start();
    let expired = Odd { names: &["rome"], until: Days(-2) }.client(&stage, "expired");
    let foreign = Stage::prepared(&[]);
    let unknown = foreign.certificates("rome");
    for folder in [&expired, &unknown, &stage.path("nowhere")] {
        let ctl = Ctl::new(stage.folder.path(), &["clusters", "list"]).to(&stage.url(), folder);
        let told = ctl.run();
        assert_eq!(told.code, 6, "{}: {told:?}", folder.display());
        assert!(told.err.lines().count() >= 2, "the error and its remedy: {told:?}");
    }
    // The certificate of a cluster does not ask for another one.
    let told = stage
        .ctl("rome", &["reserve", "--cpu", "1", "--memory", "1Gi", "--on-behalf-of", "paris"])
        .run();
    assert_eq!(told.code, 6, "{told:?}");
}

#[test]
fn an_answer_that_makes_no_sense_is_1() {
    let stage = Stage::start();
    let between = Between::before(&stage, |_, reply| reply.body = "hello".to_owned());
    let list = ["clusters", "list"];
    let told =
        Ctl::new(stage.folder.path(), &list).to(&between.url(), &stage.certificates("admin")).run();
    assert_eq!(told.code, 1, "{told:?}");
    assert!(told.err.contains("cannot be understood"), "{told:?}");
}

#[test]
fn a_wait_that_cannot_end_well_is_7() {
    let stage = Stage::start();
    stage.advertise(&idle("rome", "8", "16Gi"));
    let made = stage.reserve("paris", "1", "1Gi");
    let name = format!("reservations/{}", made.id);
    let late = stage.admin(&["wait", &name, "--for", "Active", "--timeout", "1s"]).run();
    assert_eq!(late.code, 7, "{late:?}");
    stage.ctl("paris", &["release", &made.id]).out();
    let never = stage.admin(&["wait", &name, "--for", "phase=Active"]).run();
    assert_eq!(never.code, 7, "{never:?}");
    assert!(never.err.contains("Released for good"), "{never:?}");
}
