//! What is printed looks as it looked: committed pictures, rewritten with `BLESS=1`.

use std::fs;
use std::path::Path;

use super::stage::{Stage, amounts, cluster, idle};

/// What stands for every moment.
const MOMENT: &str = "MOMENT";

/// Holds an output against its committed picture.
pub(crate) fn compare(name: &str, output: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rearctl/pictures").join(name);
    let path = path.with_extension("txt");
    let output = settled(output);
    if std::env::var_os("BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &output).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(output, expected, "{} differs; BLESS=1 rewrites it", path.display());
}

/// The same output at any time: ids, moments and seconds are replaced by words of the same width.
fn settled(output: &str) -> String {
    output.lines().map(|line| settled_line(line) + "\n").collect()
}

fn settled_line(line: &str) -> String {
    let mut settled = String::new();
    let mut rest = line;
    while !rest.is_empty() {
        let word_end = rest.find(' ').unwrap_or(rest.len());
        let (word, after) = rest.split_at(word_end);
        let gap = after.len() - after.trim_start().len();
        let new = settled_word(word);
        settled.push_str(&new);
        if gap > 0 {
            // A column stays as wide as it was; a moment has as many decimals as it needs, and is in none.
            let width = (word.chars().count() + gap).saturating_sub(new.chars().count()).max(1);
            let as_it_is = word.is_empty() || new == MOMENT;
            settled.extend(std::iter::repeat_n(' ', if as_it_is { gap } else { width }));
        }
        rest = &after[gap..];
    }
    settled
}

fn settled_word(word: &str) -> String {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if word.len() == 36 && word.starts_with("rsv-") && !word.starts_with("rsv-0000") {
        return format!("rsv-{}", "i".repeat(32));
    }
    if word.len() > 19 && word.ends_with('Z') && word.as_bytes()[10] == b'T' {
        return MOMENT.to_owned();
    }
    // An age; in what is pictured, thousandths of a core have more digits than minutes have.
    let number = word.trim_start_matches('(');
    let age = match number.strip_suffix(['s', 'm']) {
        Some(minutes) if number.ends_with('m') => digits(minutes) && minutes.len() <= 2,
        Some(seconds) => digits(seconds),
        None => false,
    };
    if age { word.replace(number, "Ns") } else { word.to_owned() }
}

/// Three clusters in three states, and two reservations.
fn small() -> (Stage, String) {
    let stage = Stage::start();
    let mut rome = cluster("rome", amounts("8", "16Gi"), amounts("1500m", "2Gi"));
    for list in [&mut rome.resources.capacity, &mut rome.resources.allocatable] {
        (list.gpu, list.storage) = (Some("2".into()), Some("100Gi".into()));
    }
    rome.cluster_name = Some("Roma, Italia".into());
    rome.labels = Some(rear_api::labels::LabelTexts(
        [("zone".to_owned(), "south".to_owned())].into_iter().collect(),
    ));
    rome.cost = Some(rear_api::advertisement::CostBody {
        cpu_cost: "0.031".into(),
        memory_cost: "0.004".into(),
        gpu_cost: Some("1.5".into()),
        currency: "EUR".into(),
    });
    stage.advertise(&rome);
    stage.advertise(&idle("milan", "4", "8Gi"));
    stage.advertise(&idle("a-cluster-with-a-long-name", "1", "1Gi"));
    let first = stage.reserve("paris", "4", "4Gi");
    stage.reserve("london", "3", "6Gi");
    stage.advertise(&cluster("milan", amounts("4", "8Gi"), amounts("2", "8Gi")));
    (stage, first.id)
}

#[test]
fn a_small_fleet_looks_like_this() {
    let (stage, id) = small();
    for (name, arguments) in [
        ("small-clusters", &["clusters", "list"][..]),
        ("small-clusters-wide", &["clusters", "list", "-o", "wide"]),
        ("small-cluster", &["clusters", "describe", "rome"]),
        ("small-reservations", &["reservations", "list"]),
        ("small-reservations-wide", &["reservations", "list", "-o", "wide"]),
        ("small-reservation", &["reservations", "describe", &id]),
        ("small-explanation", &["reserve", "--cpu", "2", "--memory", "2Gi", "--explain"]),
    ] {
        compare(name, &stage.admin(arguments).out());
    }
    let top = stage.admin(&["top"]).out();
    // The broker's address differs from run to run.
    let (_, top) = top.split_once('\n').unwrap();
    compare("small-top", top);
    let refused =
        stage.ctl("paris", &["reserve", "--cpu", "6", "--memory", "4Gi", "--gpu", "1"]).run();
    compare("small-refusal", &refused.err);
    let checked = stage.admin(&["check"]).run().out;
    let stable =
        checked.lines().filter(|line| !line.contains("context") && !line.contains("valid until"));
    compare("small-check", &stable.collect::<Vec<_>>().join("\n"));
}
