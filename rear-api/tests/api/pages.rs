//! Links lead to the next page.

use rear_api::page::{next_link, next_of};

#[test]
fn a_link_leads_to_the_next_page() {
    let link = next_link("/api/v1/advertisements", &"1~rome");
    assert_eq!(link, "</api/v1/advertisements?cursor=1~rome>; rel=\"next\"");
    assert_eq!(next_of(&link), Some("/api/v1/advertisements?cursor=1~rome"));
}

#[test]
fn only_a_link_to_the_next_page_is_followed() {
    for other in ["", "/x", "</x>", "</x>; rel=\"prev\"", "</x; rel=\"next\"", "rel=\"next\""] {
        assert_eq!(next_of(other), None, "{other:?}");
    }
    assert_eq!(next_of("</x>; title=\"more\"; rel=next"), Some("/x"));
}
