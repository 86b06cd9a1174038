//! One file for each command: its flags, what it does, what it says. What goes wrong has one way to an exit code.

pub mod certs;
pub mod compact;
pub mod completion;
pub mod config;
pub mod dev;
mod failures;
pub mod init;
pub mod man;
pub mod recover;
pub mod serve;
pub mod snapshot;
pub mod store;
pub mod verify;

use std::path::Path;

/// A path as it is typed into a shell: what is printed to be pasted must mean the same there.
pub(crate) fn pasted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:@%".contains(&byte);
    if text.bytes().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
