//! Every command of the tutorials does what they say.

use super::session::try_document;

/// Why a command of a tutorial may be left out.
const ACCEPTED: [&str; 2] = ["needs Kind", "needs Kind and Liqo"];

#[test]
fn the_first_reservation() {
    try_document("docs/tutorial/first-reservation.md", &ACCEPTED);
}

#[test]
fn two_kubernetes_clusters() {
    try_document("docs/tutorial/two-clusters.md", &ACCEPTED);
}
