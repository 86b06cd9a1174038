//! Every address of the API, in one table: for the router, for the metrics and for the audit log.

pub(crate) const HEALTHZ: &str = "/healthz";
pub(crate) const READYZ: &str = "/readyz";
pub(crate) const ADVERTISEMENTS: &str = "/api/v1/advertisements";
pub(crate) const ADVERTISEMENT: &str = "/api/v1/advertisements/{id}";
pub(crate) const RESERVATIONS: &str = "/api/v1/reservations";
pub(crate) const RESERVATION: &str = "/api/v1/reservations/{id}";
pub(crate) const ACTIVATE: &str = "/api/v1/reservations/{id}/activate";
pub(crate) const RENEW: &str = "/api/v1/reservations/{id}/renew";
pub(crate) const REJECT: &str = "/api/v1/reservations/{id}/reject";
pub(crate) const INSTRUCTIONS: &str = "/api/v1/instructions";
pub(crate) const EVENTS: &str = "/api/v1/events";
pub(crate) const SNAPSHOT: &str = "/api/v1/snapshot";
pub(crate) const END_RECOVERY: &str = "/api/v1/recovery/end";
pub(crate) const CONFIRM_CLOCK: &str = "/api/v1/clock/confirm";
pub(crate) const OPENAPI: &str = "/api/v1/openapi.json";

/// Those that are asked for most come first.
const ALL: [&str; 15] = [
    ADVERTISEMENTS,
    RESERVATIONS,
    INSTRUCTIONS,
    RESERVATION,
    ACTIVATE,
    RENEW,
    REJECT,
    ADVERTISEMENT,
    EVENTS,
    HEALTHZ,
    READYZ,
    SNAPSHOT,
    END_RECOVERY,
    CONFIRM_CLOCK,
    OPENAPI,
];

/// What is asked for where there is nothing.
const UNKNOWN: &str = "unknown";

/// The address that answers a path: few names, whatever clients ask for.
pub(super) fn of(path: &str) -> &'static str {
    let same = ALL.into_iter().find(|address| *address == path);
    same.or_else(|| ALL.into_iter().find(|address| stands_for(address, path))).unwrap_or(UNKNOWN)
}

fn stands_for(address: &str, path: &str) -> bool {
    let mut parts = path.split('/');
    let same = |expected: &str| {
        parts.next().is_some_and(|part| part == expected || expected == "{id}" && !part.is_empty())
    };
    address.split('/').all(same) && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::{ALL, UNKNOWN, of};

    #[test]
    fn every_address_that_is_described_is_in_the_table_and_no_other() {
        let mut described: Vec<String> = super::super::document().paths.paths.into_keys().collect();
        let mut known = ALL.map(str::to_owned).to_vec();
        described.sort();
        known.sort();
        assert_eq!(described, known);
    }

    #[test]
    fn a_path_is_told_by_its_address_whatever_names_it_has() {
        for address in ALL {
            assert_eq!(of(&address.replace("{id}", "rsv-1")), address);
        }
        for path in ["", "/", "/api/v1/reservations/", "/api/v1/reservations/a/b", "/healthz/"] {
            assert_eq!(of(path), UNKNOWN, "{path}");
        }
    }
}
