//! What can be done with a playground that is up.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::note::{Note, Place};
use super::{NAMESPACE, Outcome, say};

const REQUEST: &str = "playground";

const OWN: &str = "apiVersion: rear.fluidos.eu/v1alpha1
kind: ResourceRequest
metadata: {name: playground, namespace: default}
spec: {requestedCPU: 500m, requestedMemory: 256Mi, duration: 10m, waitFor: 1m}
";

/// kubectl, for one cluster.
fn kubectl(note: &Note, place: &Place, arguments: &[&str], input: &str) -> Outcome<String> {
    let mut child = Command::new(&note.kubectl)
        .args(arguments)
        .env("KUBECONFIG", &place.kubeconfig)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    let ended = child.wait_with_output()?;
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).trim().to_owned());
    }
    Err(String::from_utf8_lossy(&ended.stderr).into_owned().into())
}

pub(super) fn status(note: &Note) -> Outcome<()> {
    for place in &note.clusters {
        say(&format!("== {}", place.name))?;
        say(&kubectl(note, place, &["get", "adv,rr,ri,pi", "-A"], "")?)?;
    }
    Ok(())
}

pub(super) fn certificates(note: &Note, folder: &Path) -> Outcome<()> {
    for place in &note.clusters {
        let into = folder.join(&place.name);
        fs::create_dir_all(&into)?;
        for file in ["tls.crt", "tls.key", "ca.crt"] {
            let path = format!("--template={{{{index .data \"{file}\" | base64decode}}}}");
            let get =
                ["get", "secret", "agent-client-tls", "-n", NAMESPACE, "-o=go-template", &path];
            write_privately(&into.join(file), &(kubectl(note, place, &get, "")? + "\n"))?;
        }
        say(&format!("{}: {}", place.name, into.display()))?;
    }
    say(&format!(
        "For example: curl --cacert ca.crt --cert tls.crt --key tls.key {}/api/v1/instructions",
        note.broker
    ))
}

/// A key is for its owner alone.
fn write_privately(file: &Path, text: &str) -> Outcome<()> {
    let mut options = fs::File::options();
    let mut opened = options.create(true).truncate(true).write(true).mode(0o600).open(file)?;
    Ok(opened.write_all(text.as_bytes())?)
}

pub(super) fn reserve(note: &Note) -> Outcome<()> {
    let [here, ..] = &note.clusters[..] else { return Err("there is no cluster".into()) };
    let run = |place: &Place, arguments: &[&str]| kubectl(note, place, arguments, "");
    say(&format!("1. {} asks for 500m cores and 256Mi", here.name))?;
    kubectl(note, here, &["apply", "--server-side", "-f", "-"], OWN)?;
    let wait = "--for=jsonpath={.status.phase}=Reserved";
    run(here, &["wait", wait, "rr", REQUEST, "--timeout=60s"])?;
    let field = |path: &str| run(here, &["get", "rr", REQUEST, &format!("-o=jsonpath={{{path}}}")]);
    let (target, id) = (field(".status.targetClusterID")?, field(".status.reservationName")?);
    say(&format!("2. reserved: {}", field(".status.message")?))?;
    say(&run(here, &["get", "ri", &id, "-n", NAMESPACE])?)?;
    let there = note.clusters.iter().find(|place| place.name == target);
    let there = there.ok_or("the target is no cluster of the playground")?;
    let kept = format!("providerinstruction/{id}-provider");
    run(there, &["wait", "--for=create", &kept, "-n", NAMESPACE, "--timeout=60s"])?;
    say(&format!(
        "3. {target} keeps it aside:\n{}",
        run(there, &["get", &kept, "-n", NAMESPACE])?
    ))?;
    run(here, &["delete", "rr", REQUEST])?;
    run(there, &["wait", "--for=delete", &kept, "-n", NAMESPACE, "--timeout=60s"])?;
    say(&format!("4. given back: {target} keeps nothing of it any more"))
}

pub(super) fn down(note: &Note) -> Outcome<()> {
    let process = Pid::from_raw(note.process).ok_or("the note names no process")?;
    kill_process(process, Signal::TERM)?;
    say("it ends")
}
