//! What requests do, in one word each: for the audit log and the metrics.

use axum::extract::Query;
use axum::http::{Method, StatusCode, Uri};
use serde::Deserialize;

/// Something that may change the ledger or hands it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Advertise,
    Forget,
    Reserve,
    Activate,
    Renew,
    Reject,
    Release,
    SaveSnapshot,
    EndRecovery,
    ConfirmClock,
}

/// What a route knows better than its address does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct About {
    /// What was made or changed.
    pub(super) object: Option<String>,
    /// For whom an administrator has asked.
    pub(super) on_behalf_of: Option<String>,
}

impl Action {
    /// What a request does; nothing if it only looks.
    pub(super) fn of(method: &Method, route: &str, uri: &Uri) -> Option<Self> {
        let action = match (method.as_str(), route.strip_prefix("/api/v1/")?) {
            ("POST", "advertisements") => Self::Advertise,
            ("DELETE", "advertisements/{id}") => Self::Forget,
            ("POST", "reservations") => Self::Reserve,
            ("POST", "reservations/{id}/activate") => Self::Activate,
            ("POST", "reservations/{id}/renew") => Self::Renew,
            ("POST", "reservations/{id}/reject") => Self::Reject,
            ("DELETE", "reservations/{id}") => Self::Release,
            ("GET", "snapshot") => Self::SaveSnapshot,
            ("POST", "recovery/end") => Self::EndRecovery,
            ("POST", "clock/confirm") => Self::ConfirmClock,
            _ => return None,
        };
        let explains = action == Self::Reserve && uri.query().is_some() && is_dry_run(uri);
        (!explains).then_some(action)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Advertise => "advertise",
            Self::Forget => "forget",
            Self::Reserve => "reserve",
            Self::Activate => "activate",
            Self::Renew => "renew",
            Self::Reject => "reject",
            Self::Release => "release",
            Self::SaveSnapshot => "save-snapshot",
            Self::EndRecovery => "end-recovery",
            Self::ConfirmClock => "confirm-clock",
        }
    }

    /// Whether the audit log has a line of it.
    pub(super) fn is_told(self, status: StatusCode) -> bool {
        self != Self::Advertise || !status.is_success()
    }

    /// What the address names: `/api/v1/KIND/OBJECT…`.
    pub(super) fn object(self, uri: &Uri) -> Option<String> {
        match self {
            Self::Forget | Self::Activate | Self::Renew | Self::Reject | Self::Release => {
                uri.path().split('/').nth(4).map(str::to_owned)
            }
            Self::Advertise
            | Self::Reserve
            | Self::SaveSnapshot
            | Self::EndRecovery
            | Self::ConfirmClock => None,
        }
    }
}

/// What the route reads from the query to know whether it only explains.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Explains {
    #[serde(default)]
    dry_run: String,
}

/// As the route reads it: `%74rue` is the same word.
fn is_dry_run(uri: &Uri) -> bool {
    Query::<Explains>::try_from_uri(uri).is_ok_and(|Query(asked)| asked.dry_run == "true")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_changes_nothing_however_it_is_asked_for() {
        let of = |query: &str| {
            let uri = format!("/api/v1/reservations{query}").parse().unwrap();
            Action::of(&Method::POST, "/api/v1/reservations", &uri)
        };
        for explains in ["?dryRun=true", "?dryRun=%74rue", "?consistency=local&dryR%75n=true"] {
            assert_eq!(of(explains), None, "{explains}");
        }
        for reserves in ["", "?", "?dryRun=false", "?dryrun=true", "?dryRun=true&dryRun=true"] {
            assert_eq!(of(reserves), Some(Action::Reserve), "{reserves}");
        }
    }

    #[test]
    fn whatever_may_change_something_has_its_word_and_what_it_is_about() {
        let rsv = "/api/v1/reservations/rsv-1";
        let expected = [
            ("POST", "/api/v1/advertisements", Some(("advertise", None))),
            ("GET", "/api/v1/advertisements", None),
            ("DELETE", "/api/v1/advertisements/rome", Some(("forget", Some("rome")))),
            ("POST", "/api/v1/reservations", Some(("reserve", None))),
            ("GET", "/api/v1/reservations", None),
            ("GET", rsv, None),
            ("POST", &format!("{rsv}/activate"), Some(("activate", Some("rsv-1")))),
            ("POST", &format!("{rsv}/renew"), Some(("renew", Some("rsv-1")))),
            ("POST", &format!("{rsv}/reject"), Some(("reject", Some("rsv-1")))),
            ("DELETE", rsv, Some(("release", Some("rsv-1")))),
            // Of these no explanation can be asked for: that they are refused is told.
            ("DELETE", &format!("{rsv}?dryRun=true"), Some(("release", Some("rsv-1")))),
            ("GET", "/api/v1/snapshot", Some(("save-snapshot", None))),
            ("POST", "/api/v1/recovery/end", Some(("end-recovery", None))),
            ("POST", "/api/v1/clock/confirm", Some(("confirm-clock", None))),
            ("GET", "/api/v1/instructions", None),
            ("GET", "/healthz", None),
        ];
        for (method, address, expected) in expected {
            let uri: Uri = address.parse().unwrap();
            let method = method.parse().unwrap();
            let action = Action::of(&method, super::super::addresses::of(uri.path()), &uri);
            let object = action.and_then(|action| action.object(&uri));
            let told = action.map(|action| (action.name(), object.as_deref()));
            assert_eq!(told, expected, "{method} {address}");
        }
    }
}
