//! `rear-broker init`: an authority, the broker's certificate, the first administrator's.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

use rear_engine::{ClusterId, Timestamp};
use rustls_pki_types::ServerName;

use super::authority::{Authority, Host, Signed};
use super::files::{Unfinished, make_folders};
use super::issue::{DEFAULT_VALIDITY, folder_of};
use super::register::{Kind, Register};
use super::{AUTHORITY, CERTIFICATE, KEY, Layout, PkiError, REVOKED};

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Initialised {
    /// Where the administrator's certificate is.
    pub administrator: PathBuf,
    /// The names and addresses in the broker's certificate.
    pub hosts: Vec<Host>,
}

/// Makes everything that a broker needs to be reached, beside a ledger that may be there already.
pub fn init(
    data: &Path,
    administrator: &ClusterId,
    names: &[Host],
    now: Timestamp,
) -> Result<Initialised, PkiError> {
    let layout = Layout::of(data);
    make_folders(data)?;
    let hosts = hosts(names);
    let authority = Authority::make(now)?;
    let server = authority.sign_server(&hosts, now)?;
    let admin = authority.sign_client(administrator, Kind::Administrator, DEFAULT_VALIDITY, now)?;
    let certificates = vec![server.entry.clone(), admin.entry.clone()];
    let mut register = Register { revocation_lists: 0, certificates };
    let revoked = register.revocations(&authority, now)?;

    let mut unfinished = Unfinished::default();
    let [(key_name, key), (name, certificate)] = authority.files();
    let (register_name, entries) = register.file()?;
    let kept = [(key_name, key.as_str()), (name, &certificate), (register_name, &entries)];
    unfinished.folder(&layout.authority(), &kept)?;
    let Signed { certificate, key, .. } = &server;
    let shown = [
        (CERTIFICATE, certificate.as_str()),
        (KEY, key),
        (AUTHORITY, &authority.certificate),
        (REVOKED, &revoked),
    ];
    unfinished.folder(&layout.tls(), &shown)?;
    unfinished.folder(&layout.issued(), &[])?;
    let folder = folder_of(&layout, administrator);
    unfinished.folder(&folder, &admin.files(&authority))?;
    unfinished.finish();
    Ok(Initialised { administrator: folder, hosts })
}

/// This machine under every name that is sure, and what the operator adds.
fn hosts(names: &[Host]) -> Vec<Host> {
    let own = rustix::system::uname();
    let own = own.nodename().to_str().ok();
    // A machine may have a name that is none in DNS; nobody reaches it under that.
    let own = own.and_then(|name| Host::try_from(name.to_owned()).ok());
    let local = [
        ServerName::try_from("localhost").ok(),
        Some(Host::from(IpAddr::V4(Ipv4Addr::LOCALHOST))),
        Some(Host::from(IpAddr::V6(Ipv6Addr::LOCALHOST))),
    ];
    let mut hosts: Vec<Host> = Vec::new();
    for host in local.into_iter().chain([own]).flatten().chain(names.iter().cloned()) {
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    hosts
}
