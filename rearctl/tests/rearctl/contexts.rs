//! Contexts: brokers under names, in one file of the user's.

use super::program::{Ctl, Told};
use super::stage::{Stage, idle};

/// The program, which finds its broker by itself.
fn plain(stage: &Stage, arguments: &[&str]) -> Told {
    Ctl::new(stage.folder.path(), arguments).run()
}

fn add(stage: &Stage, name: &str, who: &str, more: &[&str]) -> Told {
    let arguments = [&["context", "add", name], more].concat();
    Ctl::new(stage.folder.path(), &arguments).to(&stage.url(), &stage.certificates(who)).run()
}

#[test]
fn the_first_context_is_used_until_another_is_chosen() {
    let stage = Stage::start();
    stage.advertise(&idle("rome", "8", "16Gi"));
    stage.advertise(&idle("paris", "8", "16Gi"));
    assert_eq!(add(&stage, "as-rome", "rome", &[]).code, 0);
    assert_eq!(add(&stage, "as-admin", "admin", &[]).code, 0);
    let names = |arguments: &[&str]| plain(&stage, arguments).out;
    let list = ["clusters", "list", "-o", "name"];
    assert_eq!(names(&list), "clusters/rome\n");
    assert_eq!(names(&[&list[..], &["--context", "as-admin"]].concat()).lines().count(), 2);
    assert_eq!(plain(&stage, &["context", "use", "as-admin"]).code, 0);
    assert_eq!(names(&list).lines().count(), 2);
    let listed = names(&["context", "list"]);
    let current: Vec<&str> = listed.lines().filter(|line| line.starts_with('*')).collect();
    assert!(current.len() == 1 && current[0].contains("as-admin"), "{listed}");
    let json: serde_json::Value =
        serde_json::from_str(&names(&["context", "list", "-o", "json"])).unwrap();
    assert_eq!(json[0]["name"], "as-admin");
    assert_eq!(json[0]["current"], true);
    // A flag is over the environment, which is over the file.
    let ctl = Ctl::new(stage.folder.path(), &list).env("REARCTL_CONTEXT", "as-rome");
    assert_eq!(ctl.out(), "clusters/rome\n");
}

#[test]
fn a_context_is_not_replaced_by_mistake_nor_added_without_a_certificate() {
    let stage = Stage::start();
    assert_eq!(add(&stage, "one", "rome", &[]).code, 0);
    let told = add(&stage, "one", "admin", &[]);
    assert_eq!(told.code, 78, "{told:?}");
    assert!(told.err.contains("--replace"), "{told:?}");
    assert_eq!(add(&stage, "one", "admin", &["--replace"]).code, 0);
    let nowhere = Ctl::new(stage.folder.path(), &["context", "add", "two"])
        .to(&stage.url(), &stage.path("nowhere"))
        .run();
    assert_ne!(nowhere.code, 0);
    let plain_http = Ctl::new(stage.folder.path(), &["context", "add", "two"])
        .to("http://localhost:1", &stage.certificates("rome"))
        .run();
    assert_eq!(plain_http.code, 78, "{plain_http:?}");
}

#[test]
fn a_context_that_is_not_there_or_not_readable_is_told_with_a_remedy() {
    let stage = Stage::prepared(&[]);
    let none = plain(&stage, &["clusters", "list"]);
    assert_eq!(none.code, 78);
    assert!(none.err.contains("rearctl context add"), "{none:?}");
    let unknown = plain(&stage, &["clusters", "list", "--context", "moon"]);
    assert_eq!(unknown.code, 78);
    assert!(unknown.err.contains("`moon`"), "{unknown:?}");
    std::fs::write(stage.path("broken.json"), "{").unwrap();
    let broken = Ctl::new(stage.folder.path(), &["clusters", "list"])
        .env("REARCTL_CONTEXTS", stage.path("broken.json"))
        .run();
    assert_eq!(broken.code, 78);
    assert!(broken.err.contains("broken.json"), "{broken:?}");
}
