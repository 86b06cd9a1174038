//! A refusal reads like an explanation, and what it says would fit does fit.

use super::stage::{Stage, idle};

#[test]
fn a_refusal_names_the_closest_clusters_what_each_lacks_and_what_would_fit() {
    let stage = Stage::start();
    stage.advertise(&idle("rome", "8", "16Gi"));
    stage.advertise(&idle("milan", "64", "2Gi"));
    let told = stage.ctl("paris", &["reserve", "--cpu", "12", "--memory", "32Gi"]).run();
    assert_eq!((told.code, told.out.as_str()), (2, ""), "{told:?}");
    for words in ["The closest clusters, and what each lacks:", "What would fit now:"] {
        assert!(told.err.contains(words), "{}", told.err);
    }
    let lacks: Vec<Vec<&str>> =
        told.err.lines().map(|line| line.split_whitespace().take(4).collect()).collect();
    assert!(lacks.contains(&vec!["rome", "cpu", "12", "8"]), "{}", told.err);
    assert!(lacks.contains(&vec!["milan", "memory", "32Gi", "2Gi"]), "{}", told.err);
    // Both of Rome's shortages were found, one after the other.
    assert!(told.err.contains("on rome: --cpu 8 --memory 16Gi"), "{}", told.err);
    assert!(told.err.contains("on milan: --cpu 12 --memory 2Gi"), "{}", told.err);
    // Nothing was locked by looking, and what was said is true.
    assert_eq!(stage.admin(&["reservations", "list", "-o", "json"]).out(), "[]\n");
    let fits = ["reserve", "--cpu", "8", "--memory", "16Gi", "--target", "rome"];
    stage.ctl("paris", &fits).out();
}

#[test]
fn where_less_would_not_help_it_says_what_would() {
    let stage = Stage::start();
    let wish = ["reserve", "--cpu", "1", "--memory", "1Gi"];
    let alone = stage.ctl("paris", &wish).run();
    assert!(alone.err.contains("No other cluster advertises"), "{}", alone.err);
    stage.advertise(&idle("rome", "8", "16Gi"));
    let label = stage.ctl("paris", &[&wish[..], &["--label", "zone=north"]].concat()).run();
    assert!(label.err.contains("fewer or other labels"), "{}", label.err);
    assert!(label.err.contains("zone=north"), "{}", label.err);
    let target = stage.ctl("paris", &[&wish[..], &["--target", "moon"]].concat()).run();
    assert!(target.err.contains("No cluster of that name"), "{}", target.err);
}

#[test]
fn a_broker_that_hides_names_is_explained_without_them() {
    let stage = Stage::start_with(&["--hide-names"]);
    stage.advertise(&idle("rome", "8", "16Gi"));
    let told = stage.ctl("paris", &["reserve", "--cpu", "12", "--memory", "4Gi"]).run();
    assert_eq!(told.code, 2);
    assert!(told.err.contains("(not told)") && told.err.contains("cpu"), "{}", told.err);
}
