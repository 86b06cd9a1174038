//! How many files this process may open: every connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::warn;

use crate::limits::MAX_CONNECTIONS;

/// Files beside the connections: the ledger, the listeners, the log, and what libraries open.
const OTHER_FILES: u64 = 256;

/// Raises the limit as far as this process may, and says so if connections will meet it before their own.
pub(crate) fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        warn!(%error, ?current, "the limit of open files cannot be raised");
    }
    let wanted = MAX_CONNECTIONS as u64 + OTHER_FILES;
    match getrlimit(Resource::Nofile).current {
        Some(files) if files < wanted => {
            warn!(files, wanted, "few files may be open: connections beyond that are not accepted");
        }
        _ => {}
    }
}
