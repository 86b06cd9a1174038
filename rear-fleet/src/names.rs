//! What simulated clusters are called: cities, so that people can tell them apart.

use rear_engine::ClusterId;

const CITIES: [&str; 32] = [
    "rome", "paris", "oslo", "milan", "turin", "berlin", "madrid", "lisbon", "vienna", "prague",
    "warsaw", "athens", "dublin", "london", "zurich", "geneva", "munich", "cologne", "hamburg",
    "lyon", "nice", "porto", "seville", "naples", "venice", "genoa", "bergen", "malmo", "aarhus",
    "ghent", "utrecht", "tampere",
];

/// The name of a cluster by its number, from 0: `rome`, `paris`, …, then `rome-2`, `paris-2` and so on.
///
/// ```
/// assert_eq!(rear_fleet::name(0).as_str(), "rome");
/// assert_eq!(rear_fleet::name(33).as_str(), "paris-2");
/// ```
#[must_use]
pub fn name(number: usize) -> ClusterId {
    let city = CITIES[number % CITIES.len()];
    let name = match number / CITIES.len() {
        0 => city.to_owned(),
        round => format!("{city}-{}", round + 1),
    };
    name.parse().unwrap_or_else(|_| unreachable!("letters, digits and dashes are an id"))
}

/// The region that a cluster is labelled with.
pub(crate) fn region(number: usize) -> &'static str {
    ["eu-south", "eu-west", "eu-north"][number % 3]
}
