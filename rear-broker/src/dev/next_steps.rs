//! What is printed when everything runs: lines that can be pasted into another terminal, and what they show.

use std::fmt;
use std::path::Path;

use rear_engine::ClusterId;

use crate::commands::pasted;
use crate::serve::Addresses;

/// What someone can do next.
pub(super) struct NextSteps<'a> {
    /// The clusters, the one that asks first.
    pub(super) names: &'a [ClusterId],
    /// Where the certificates are.
    pub(super) issued: &'a Path,
    /// Where the broker listens.
    pub(super) addresses: &'a Addresses,
    /// Whether everything is there again the next time.
    pub(super) kept: bool,
    /// Whether the clusters that are not spoken of borrow from each other.
    pub(super) lively: bool,
}

impl fmt::Display for NextSteps<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (requester, provider) = match self.names {
            [first, second, ..] => (first.as_str(), second.as_str()),
            // One cluster has nobody to borrow from: the flags ask for two.
            _ => return Ok(()),
        };
        let names: Vec<&str> = self.names.iter().map(ClusterId::as_str).take(5).collect();
        let more = if self.names.len() > names.len() { ", …" } else { "" };
        let here = |address: &Option<std::net::SocketAddr>| {
            address.map_or_else(String::new, |address| address.to_string())
        };
        let clusters = self.names.len();
        let port = self.addresses.api.port();
        let issued = pasted(self.issued);
        let metrics = here(&self.addresses.metrics);
        let operations = here(&self.addresses.operations);
        let names = names.join(", ");
        let end = if self.kept {
            "Ctrl-C ends it; the data stays."
        } else {
            "Ctrl-C ends it, and nothing stays."
        };
        let life = if self.lively {
            format!(
                "All but {requester} and {provider} borrow from each other now and then (not with --calm).\n"
            )
        } else {
            String::new()
        };
        write!(
            f,
            r#"A broker serves https://localhost:{port}, and {clusters} simulated clusters speak to it: {names}{more}.
{life}Paste these lines into another terminal (sh, bash or zsh, with curl).

Say who asks, and for what:
  certs={issued}
  as() {{ who=$1; what=$2; shift 2; curl -sS --cacert "$certs/$who/ca.crt" --cert "$certs/$who/tls.crt" --key "$certs/$who/tls.key" "https://localhost:{port}/api/v1/$what" "$@"; echo; }}

Look around as the administrator: what every cluster has, and what is left of it.
  as admin advertisements

Ask as {requester} where one core would go, without taking it: every cluster with its score, or what it lacks.
  as {requester} 'reservations?dryRun=true' -d '{{"requestedResources":{{"cpu":"1","memory":"1Gi"}}}}'

Reserve it on {provider} for an hour. The broker decides, locks it, and answers when that is on the disk.
  answer=$(as {requester} reservations -d '{{"requestedResources":{{"cpu":"1","memory":"1Gi"}},"targetClusterID":"{provider}","duration":"1h"}}')
  echo "$answer"
  id=$(echo "$answer" | sed 's/^{{"id":"\([^"]*\)".*/\1/')

See both sides: what {provider} keeps aside, and what {requester} may use.
  as {provider} instructions
  as {requester} 'instructions?role=requester'

Give it back, and see that it is.
  as {requester} "reservations/$id" -X DELETE
  as {requester} "reservations?phase=Released"

What was counted:
  curl -sS http://{metrics}/metrics | grep rear_broker_granted

See how the fleet stands in a browser: http://{operations}/ (the API is described at http://{operations}/api)
{end}
"#
        )
    }
}
