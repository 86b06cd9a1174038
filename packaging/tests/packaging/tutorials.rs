//! Every command of the tutorials does what they say.

use super::session::Trial;

/// Why a command of a tutorial may be left out.
const ACCEPTED: [&str; 2] = ["needs Kind", "needs Kind and Liqo"];

#[test]
fn the_first_reservation() {
    Trial::of("docs/tutorial/first-reservation.md").accepting(&ACCEPTED).run();
}

#[test]
fn two_kubernetes_clusters() {
    Trial::of("docs/tutorial/two-clusters.md").accepting(&ACCEPTED).run();
}
