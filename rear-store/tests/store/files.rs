//! The file: created whole, opened by one, readable by its owner, never overwritten, damage found.

use std::os::unix::fs::PermissionsExt;

use rear_store::redb::FileError;
use rear_store::{Commit, Journal, RedbJournal};

use super::history::{History, assert_same};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn a_ledger_in_a_file_comes_back() {
    let folder = folder();
    let path = folder.path().join("ledger.redb");
    let mut history = History::new(1);
    {
        let mut journal = RedbJournal::create(&path, 9, Commit::TwoPhase).unwrap();
        for _ in 0..5 {
            journal.commit(&history.next_batch()).unwrap();
        }
    }
    let journal = RedbJournal::open(&path, Commit::OnePhase).unwrap();
    let contents = journal.load().unwrap();
    assert_eq!(contents.meta.ledger, 9);
    assert_same(&contents, &history.fleet);
}

#[test]
fn it_is_the_owners_alone_and_nothing_is_left_beside_it() {
    let folder = folder();
    let path = folder.path().join("ledger.redb");
    drop(RedbJournal::create(&path, 9, Commit::TwoPhase).unwrap());
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn nothing_is_overwritten_and_nothing_is_made_up() {
    let folder = folder();
    let path = folder.path().join("ledger.redb");
    let missing = RedbJournal::open(&path, Commit::TwoPhase).unwrap_err();
    assert!(matches!(missing, FileError::Missing(_)), "{missing}");
    assert!(!path.exists());
    std::fs::write(&path, b"precious").unwrap();
    let exists = RedbJournal::create(&path, 9, Commit::TwoPhase).unwrap_err();
    assert!(matches!(exists, FileError::Exists(_)), "{exists}");
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
}

#[test]
fn a_second_opening_is_told_who_is_in_the_way() {
    let folder = folder();
    let path = folder.path().join("ledger.redb");
    let _first = RedbJournal::create(&path, 9, Commit::TwoPhase).unwrap();
    let second = RedbJournal::open(&path, Commit::TwoPhase).unwrap_err();
    assert!(matches!(second, FileError::InUse(_)), "{second:?}");
    assert!(second.to_string().ends_with("is a second broker running on the same data?"));
}

#[test]
fn what_is_not_a_ledger_is_not_opened() {
    let folder = folder();
    let path = folder.path().join("ledger.redb");
    for contents in [&b""[..], b"not a ledger", &[0; 5000]] {
        std::fs::write(&path, contents).unwrap();
        let refused = RedbJournal::open(&path, Commit::TwoPhase).unwrap_err();
        assert!(matches!(refused, FileError::Damaged { .. }), "{refused:?}");
        assert_eq!(std::fs::read(&path).unwrap(), contents, "it was not touched");
    }
}

#[test]
fn a_leftover_of_a_crash_while_creating_does_not_matter() {
    let folder = folder();
    let path = folder.path().join("ledger.redb");
    // Nor is it touched: someone may still be writing it.
    let leftover = folder.path().join("ledger.redb.new");
    std::fs::write(&leftover, b"half").unwrap();
    drop(RedbJournal::create(&path, 9, Commit::TwoPhase).unwrap());
    assert_eq!(std::fs::read(&leftover).unwrap(), b"half");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn leftovers_of_several_crashes_do_not_matter_either() {
    let folder = folder();
    let path = folder.path().join("ledger.redb");
    let leftovers = ["ledger.redb.new", "ledger.redb.new.0", "ledger.redb.new.1"];
    for leftover in leftovers {
        std::fs::write(folder.path().join(leftover), b"half").unwrap();
    }
    drop(RedbJournal::create(&path, 9, Commit::TwoPhase).unwrap());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), leftovers.len() + 1);
}

#[test]
fn a_folder_that_is_not_there_is_told_as_what_it_is() {
    let folder = folder();
    let path = folder.path().join("nowhere/ledger.redb");
    let refused = RedbJournal::create(&path, 9, Commit::TwoPhase).unwrap_err();
    let FileError::Io { source, .. } = &refused else { panic!("{refused:?}") };
    assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
}

/// Where a name without a folder is: where the process is. So this one asks another.
#[test]
fn a_name_without_a_folder_is_one_in_the_working_folder() {
    const NAME: &str = "REAR_TEST_RELATIVE_LEDGER";
    if let Some(name) = std::env::var_os(NAME) {
        drop(RedbJournal::create(name.as_ref(), 9, Commit::TwoPhase).unwrap());
        return;
    }
    let folder = folder();
    let this = "files::a_name_without_a_folder_is_one_in_the_working_folder";
    let made = std::process::Command::new(std::env::current_exe().unwrap())
        .args([this, "--exact"])
        .current_dir(folder.path())
        .env(NAME, "ledger.redb")
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stdout));
    RedbJournal::open(&folder.path().join("ledger.redb"), Commit::TwoPhase).unwrap();
}

#[test]
fn links_that_someone_planted_are_not_written_through() {
    let folder = folder();
    let (path, precious) = (folder.path().join("ledger.redb"), folder.path().join("precious"));
    std::fs::write(&precious, b"precious").unwrap();
    std::os::unix::fs::symlink(&precious, folder.path().join("ledger.redb.new")).unwrap();
    drop(RedbJournal::create(&path, 9, Commit::TwoPhase).unwrap());
    assert_eq!(std::fs::read(&precious).unwrap(), b"precious");
    // A link that leads nowhere yet is something that is there already, too.
    let (nowhere, missing) = (folder.path().join("nowhere.redb"), folder.path().join("missing"));
    std::os::unix::fs::symlink(&missing, &nowhere).unwrap();
    let refused = RedbJournal::create(&nowhere, 9, Commit::TwoPhase).unwrap_err();
    assert!(matches!(refused, FileError::Exists(_)), "{refused}");
    assert!(!missing.exists());
}
