//! The reference in the documentation is what the program says of itself.

use std::fs;
use std::path::Path;

#[test]
fn the_reference_is_what_the_program_says_of_itself() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/rearctl.md");
    let page = rearctl::reference::page();
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == page, "docs/reference/rearctl.md is outdated; BLESS=1 rewrites it");
    assert!(page.contains("| 2 | no cluster has room"), "{page}");
}
