//! On a terminal: colours, progress, and the live view.

use rustix::process::Signal;

use super::between::Between;
use super::program::Ctl;
use super::stage::{Stage, amounts, cluster, idle};
use super::terminal::Terminal;

fn stage() -> Stage {
    let stage = Stage::start();
    stage.advertise(&idle("rome", "8", "16Gi"));
    stage
}

#[test]
fn a_terminal_has_colours_unless_someone_objects() {
    let stage = stage();
    let shown = |change: fn(Ctl) -> Ctl| {
        let ctl = change(stage.admin(&["clusters", "list"]));
        let (code, screen) = Terminal::start(ctl, 120, 30).end();
        assert_eq!(code, 0, "{screen}");
        assert!(screen.contains("rome"), "{screen}");
        screen
    };
    assert!(shown(|ctl| ctl).contains("\x1b[32mActive"), "{}", shown(|ctl| ctl));
    assert!(!shown(|ctl| ctl.env("NO_COLOR", "1")).contains('\x1b'));
    assert!(!shown(|ctl| ctl.env("TERM", "dumb")).contains('\x1b'));
    // Empty is as if it were not set.
    assert!(shown(|ctl| ctl.env("NO_COLOR", "")).contains('\x1b'));
}

/// A slow machine may leave out a second.
fn is_told_twice(screen: &str) -> bool {
    screen.matches("waiting for the broker (").count() >= 2
}

#[test]
fn progress_is_shown_while_something_takes_long_and_is_gone_before_the_data() {
    let stage = stage();
    let between = Between::before(&stage, |_, _| {});
    between.hold(true);
    let ctl = Ctl::new(stage.folder.path(), &["clusters", "list"]);
    let mut terminal =
        Terminal::start(ctl.to(&between.url(), &stage.certificates("admin")), 120, 30);
    terminal.screen.wait_until("progress", is_told_twice);
    between.hold(false);
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    // The line is cleared, then the table follows.
    let (_, data) = screen.rsplit_once("\r\x1b[2K").unwrap();
    assert!(data.contains("NAME") && data.contains("rome"), "{screen:?}");
}

#[test]
fn progress_is_not_shown_where_nobody_looks() {
    let stage = stage();
    let between = Between::before(&stage, |_, _| {});
    between.hold(true);
    let ctl = Ctl::new(stage.folder.path(), &["clusters", "list"]);
    let running = ctl.to(&between.url(), &stage.certificates("admin")).start();
    // As long as a person would have been told: measured by another program that is told.
    let told = Ctl::new(stage.folder.path(), &["clusters", "list"]);
    let told = Terminal::start(told.to(&between.url(), &stage.certificates("admin")), 80, 24);
    told.screen.wait_until("progress", is_told_twice);
    between.hold(false);
    let ended = running.end();
    assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{ended:?}");
}

#[test]
fn a_watch_on_a_terminal_shows_what_changes_as_it_changes() {
    let stage = stage();
    let watch = stage.admin(&["clusters", "list", "--watch"]);
    let mut terminal = Terminal::start(watch, 140, 30);
    terminal.screen.wait_for("rome");
    stage.reserve("paris", "5", "1Gi");
    let twice = |screen: &str| screen.matches("rome").count() == 2;
    terminal.screen.wait_until("rome again", twice);
    terminal.signal(Signal::INT);
    assert_eq!(terminal.end().0, 130);
}

/// The last picture that is whole.
fn last_picture(screen: &str) -> &str {
    screen.rsplit("\x1b[H").nth(1).unwrap_or_default()
}

#[test]
fn top_shows_bars_follows_changes_and_keys_and_leaves_the_terminal_as_it_was() {
    let stage = stage();
    stage.advertise(&cluster("milan", amounts("8", "16Gi"), amounts("1", "1Gi")));
    let top = stage.admin(&["top", "--interval", "200ms", "--sort", "name"]).env("NO_COLOR", "1");
    let mut terminal = Terminal::start(top, 120, 12);
    let screen = terminal.screen.wait_for("rome");
    assert!(screen.contains("\x1b[?1049h"), "it has a screen of its own: {screen:?}");
    assert!(screen.contains("2 clusters"), "{screen:?}");
    assert!(!terminal.is_as_it_was(), "keys come one by one");
    // Rome is idle, and gets it.
    stage.reserve("paris", "4", "4Gi");
    terminal.screen.wait_for("[==========.........]  50%");
    let order = |screen: &str| {
        let picture = last_picture(screen);
        Some((picture.find("milan")?, picture.find("rome")?))
    };
    let by_name = |screen: &str| order(screen).is_some_and(|(milan, rome)| milan < rome);
    terminal.screen.wait_until("by name", by_name);
    terminal.types("c");
    let by_cpu = |screen: &str| order(screen).is_some_and(|(milan, rome)| rome < milan);
    terminal.screen.wait_until("by CPU", by_cpu);
    terminal.types("j");
    let scrolled = |screen: &str| {
        last_picture(screen).contains("milan") && !last_picture(screen).contains("rome")
    };
    terminal.screen.wait_until("scrolled", scrolled);
    terminal.resize(60, 8);
    terminal.screen.wait_for("\x1b[8;1H");
    terminal.types("q");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen:?}");
    assert!(screen.ends_with("\x1b[?25h\x1b[?1049l"), "{screen:?}");
    assert!(terminal.is_as_it_was());
}

#[test]
fn top_obeys_keys_while_the_broker_lets_it_wait() {
    let stage = stage();
    let between = Between::before(&stage, |_, _| {});
    between.hold(true);
    let ctl = Ctl::new(stage.folder.path(), &["top"]);
    let mut terminal =
        Terminal::start(ctl.to(&between.url(), &stage.certificates("admin")), 80, 24);
    terminal.screen.wait_for("reading the clusters");
    terminal.types("q");
    assert_eq!(terminal.end().0, 0);
    between.hold(false);
}

#[test]
fn top_says_that_it_is_not_current_while_the_broker_is_gone_and_goes_on_when_it_is_back() {
    let stage = stage();
    let top = stage.admin(&["top", "--interval", "200ms"]);
    let mut terminal = Terminal::start(top, 160, 12);
    terminal.screen.wait_for("rome");
    stage.kill();
    terminal.screen.wait_for("NOT CURRENT");
    stage.serve();
    let seen = terminal.screen.so_far().len();
    let back = |screen: &str| {
        let last = last_picture(&screen[seen..]);
        last.contains("rome") && !last.contains("NOT CURRENT")
    };
    terminal.screen.wait_until("a current picture", back);
    terminal.signal(Signal::INT);
    let (code, screen) = terminal.end();
    assert_eq!(code, 130);
    assert!(screen.ends_with("\x1b[?25h\x1b[?1049l"), "{screen:?}");
    assert!(terminal.is_as_it_was());
}

#[test]
fn top_without_a_terminal_is_one_picture() {
    let stage = stage();
    let told = stage.admin(&["top"]).run();
    assert_eq!((told.code, told.err.as_str()), (0, ""));
    assert_eq!(told.out.lines().count(), 3, "{}", told.out);
}
