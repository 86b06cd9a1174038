//! Every address of the API, in one table: for the router, for the metrics and for the audit log.

pub(super) const HEALTHZ: &str = "/healthz";
pub(super) const READYZ: &str = "/readyz";
pub(super) const ADVERTISEMENTS: &str = "/api/v1/advertisements";
pub(super) const ADVERTISEMENT: &str = "/api/v1/advertisements/{id}";
pub(super) const RESERVATIONS: &str = "/api/v1/reservations";
pub(super) const RESERVATION: &str = "/api/v1/reservations/{id}";
pub(super) const ACTIVATE: &str = "/api/v1/reservations/{id}/activate";
pub(super) const RENEW: &str = "/api/v1/reservations/{id}/renew";
pub(super) const REJECT: &str = "/api/v1/reservations/{id}/reject";
pub(super) const INSTRUCTIONS: &str = "/api/v1/instructions";
pub(super) const EVENTS: &str = "/api/v1/events";
pub(super) const SNAPSHOT: &str = "/api/v1/snapshot";
pub(super) const END_RECOVERY: &str = "/api/v1/recovery/end";
pub(super) const CONFIRM_CLOCK: &str = "/api/v1/clock/confirm";
pub(super) const OPENAPI: &str = "/api/v1/openapi.json";

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
    ALL.into_iter().find(|address| stands_for(address, path)).unwrap_or(UNKNOWN)
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
