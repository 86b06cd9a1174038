//! `rear-broker init`: everything that a broker needs to be reached.

use std::path::PathBuf;

use clap::Args;
use rear_engine::{ClusterId, Timestamp};

use super::pasted;
use crate::cli::{Failure, Said};
use crate::pki::{self, Host, Initialised, Layout};

/// Its flags.
#[derive(Debug, Args)]
pub struct Init {
    /// The data directory; made if it is not there
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// A name or address that clusters reach this broker under, beside localhost and this
    /// machine's name; may be repeated
    #[arg(long = "name", value_name = "HOST", value_parser = host)]
    names: Vec<Host>,
    /// The name of the first administrator
    #[arg(long, value_name = "NAME", default_value = "admin")]
    administrator: ClusterId,
}

fn host(text: &str) -> Result<Host, String> {
    Host::try_from(text.to_owned()).map_err(|_| "neither a name in DNS nor an IP address".into())
}

impl Init {
    pub(crate) fn run(&self, now: Timestamp) -> Result<Said, Failure> {
        let made = pki::init(&self.data, &self.administrator, &self.names, now)?;
        Ok(Said::done(self.next_steps(&made)))
    }

    fn next_steps(&self, made: &Initialised) -> String {
        let layout = Layout::of(&self.data);
        let (data, admin) = (pasted(&self.data), pasted(&made.administrator));
        let hosts: Vec<_> = made.hosts.iter().map(Host::to_str).collect();
        format!(
            "\
The authority is in {authority}: whoever has its key can be anyone. Keep a copy where the broker is not.
The broker's certificate is for {hosts}.

Start the broker:
  rear-broker serve --data {data}
Ask it something, as its administrator:
  curl --cacert {admin}/ca.crt --cert {admin}/tls.crt --key {admin}/tls.key https://localhost:8443/api/v1/advertisements
Let a cluster in:
  rear-broker certs issue CLUSTER --data {data}
",
            authority = layout.authority().display(),
            hosts = hosts.join(", "),
        )
    }
}
