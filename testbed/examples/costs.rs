//! What servers for tests cost on this machine: the time until they are ready, and their memory then.
//!
//! `cargo run -p rear-testbed --example costs`
#![expect(clippy::print_stdout, reason = "a command-line program talks on standard output")]

use std::fs;
use std::time::Instant;

use rear_testbed::{ApiServer, Cluster, Etcd, Members, Node, Process, StartError};

fn main() -> Result<(), StartError> {
    for members in [Members::One, Members::Three] {
        measure(&format!("etcd alone, {members:?}"), || Etcd::start(members), of_etcd)?;
    }
    measure("an API server with its etcd", ApiServer::start, of_api_server)?;
    measure("a whole cluster of ten nodes", cluster_of_ten_nodes, of_cluster)
}

#[expect(clippy::disallowed_methods, reason = "to measure time is what this program is for")]
fn measure<T>(
    what: &str,
    start: impl FnOnce() -> Result<T, StartError>,
    memory: fn(&mut T) -> u64,
) -> Result<(), StartError> {
    let before = Instant::now();
    let mut started = start()?;
    let seconds = before.elapsed().as_secs_f64();
    let megabytes = memory(&mut started) / 1000;
    println!("{what:<30} ready in {seconds:>4.1} s, {megabytes:>4} MB");
    Ok(())
}

fn cluster_of_ten_nodes() -> Result<Cluster, StartError> {
    let mut cluster = Cluster::start()?;
    let nodes: Vec<_> = (0..10).map(|number| Node::new(&format!("node-{number}"))).collect();
    cluster.add_nodes(&nodes)?;
    Ok(cluster)
}

fn of_etcd(etcd: &mut Etcd) -> u64 {
    let count = etcd.endpoints().len();
    (0..count).filter_map(|index| etcd.member(index).map(|member| kilobytes(member))).sum()
}

fn of_api_server(server: &mut ApiServer) -> u64 {
    kilobytes(server.process()) + kilobytes(server.etcd())
}

fn of_cluster(cluster: &mut Cluster) -> u64 {
    of_api_server(cluster.api_server_mut())
        + kilobytes(cluster.scheduler())
        + kilobytes(cluster.controller_manager())
        + kilobytes(cluster.kwok())
}

/// What is in memory of a process, also what it could share with another of its kind; 0 if it ended.
fn kilobytes(process: &Process) -> u64 {
    let status = process.id().map(|id| fs::read_to_string(format!("/proc/{id}/status")));
    let status = status.and_then(Result::ok).unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    resident.and_then(|size| size.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0)
}
