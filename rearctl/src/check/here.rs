//! What is on this machine: the files of the certificate, whom it names, until when it counts.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rear_agent_sdk::communicator::{ClusterId, Timestamp};
use rear_agent_sdk::{Chain, HttpCommunicator};

use super::{Finding, Verdict, validity};
use crate::certificate::{Certificate, own_name};
use crate::contexts::Context;

const NEW_CERTIFICATE: &str =
    "Have a new one issued (`rear-broker certs issue NAME --data DIR`) and put it into the folder.";
const NEW_AUTHORITY: &str =
    "Have the broker's operator make a new authority, and put its certificate into ca.crt.";

/// Whether what is here is enough to go on.
pub(super) fn examine(context: &Context, now: Timestamp, findings: &mut Vec<Finding>) -> bool {
    let folder = &context.certificates;
    let before = findings.len();
    findings.push(files(context));
    if findings.iter().any(|finding| finding.verdict == Verdict::Trouble) {
        return false;
    }
    findings.push(key(&folder.join("tls.key")));
    findings.push(identity(folder));
    findings.push(certificate("certificate", &folder.join("tls.crt"), now, NEW_CERTIFICATE));
    findings.push(certificate("authority", &folder.join("ca.crt"), now, NEW_AUTHORITY));
    findings[before..].iter().all(|finding| finding.verdict != Verdict::Trouble)
}

fn files(context: &Context) -> Finding {
    match HttpCommunicator::new(&context.broker, &context.certificates) {
        Ok(_) => Finding::good("files", "tls.crt, tls.key and ca.crt belong together"),
        Err(error) => Finding::trouble("files", Chain(&error).to_string(), error.remedy()),
    }
}

/// Whoever can read the key can be this cluster.
fn key(path: &Path) -> Finding {
    const OTHERS: u32 = 0o077;
    match fs::metadata(path).map(|data| data.permissions().mode() & OTHERS) {
        Ok(0) => Finding::good("key", "only its owner can read it"),
        Ok(_) => Finding::careful(
            "key",
            format!("others on this machine can read {}", path.display()),
            format!("chmod 600 {}", path.display()),
        ),
        Err(error) => Finding::trouble("key", error.to_string(), "Make it readable for you."),
    }
}

fn identity(folder: &Path) -> Finding {
    let remedy = "Have a certificate issued whose only common name is the cluster's id.";
    match own_name(folder) {
        Ok(name) => match name.parse::<ClusterId>() {
            Ok(id) => Finding::good("identity", format!("the certificate names {id}")),
            Err(error) => Finding::trouble("identity", format!("`{name}`: {error}"), remedy),
        },
        Err(failure) => Finding::trouble("identity", Chain(&failure).to_string(), remedy),
    }
}

fn certificate(check: &'static str, path: &Path, now: Timestamp, remedy: &'static str) -> Finding {
    match Certificate::of_file(path) {
        Ok(certificate) => validity(check, &certificate, now, remedy),
        Err(error) => Finding::trouble(check, Chain(&error).to_string(), error.remedy()),
    }
}
