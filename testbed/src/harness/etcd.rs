//! etcd: one node or three, under an API server or alone.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use super::port::Port;
use super::process::Process;
use super::readiness::await_ready;
use super::site::Site;
use super::start_error::StartError;
use crate::artifacts::Artifact;

/// For one question about readiness; asked again if it takes longer.
const QUESTION: Duration = Duration::from_secs(5);

/// How many nodes etcd has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Members {
    /// One, which is all that most tests need.
    One,
    /// Three, of which one may fail.
    Three,
}

impl Members {
    fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::Three => 3,
        }
    }
}

/// etcd alone, without TLS and users. Dropping it removes it and its data.
#[derive(Debug)]
pub struct Etcd {
    members: Vec<Member>,
    /// Last, as the folder goes when the processes are gone.
    _site: Site,
}

impl Etcd {
    /// Starts the nodes and waits until each is ready.
    pub fn start(members: Members) -> Result<Self, StartError> {
        Self::start_with(members, &[])
    }

    /// The same, with further arguments for each node, such as `--quota-backend-bytes=16777216`.
    pub fn start_with(members: Members, further: &[&str]) -> Result<Self, StartError> {
        let site = Site::open()?;
        // Whoever measures against etcd alone measures the disk as well.
        let members = start_members(&site, members, Syncing::ToDisk, further)?;
        Ok(Self { members, _site: site })
    }

    /// The address of every node, in order.
    #[must_use]
    pub fn endpoints(&self) -> Vec<String> {
        self.members.iter().map(Member::endpoint).collect()
    }

    /// The process of a node, to kill, pause or start it; none if there are fewer nodes.
    pub fn member(&mut self, index: usize) -> Option<&mut Process> {
        self.members.get_mut(index).map(|member| &mut member.process)
    }

    /// Waits until every node that runs is ready: it has a leader and answers linearizable reads.
    pub fn await_ready(&mut self) -> Result<(), StartError> {
        self.members.iter_mut().try_for_each(|member| {
            if member.process.is_running() { member.await_ready() } else { Ok(()) }
        })
    }
}

/// Whether etcd waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syncing {
    ToDisk,
    /// What a process wrote survives its kill all the same; only a power cut would lose it.
    ToKernel,
}

/// One node and its ports, which are given back after it ended.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) process: Process,
    ports: MemberPorts,
}

#[derive(Debug)]
struct MemberPorts {
    client: Port,
    peer: Port,
}

impl Member {
    fn start(
        site: &Site,
        index: usize,
        ports: MemberPorts,
        everyone: &str,
        syncing: Syncing,
        further: &[&str],
    ) -> Result<Self, StartError> {
        let mut arguments = arguments(site, index, &ports, everyone, syncing);
        arguments.extend(further.iter().map(ToString::to_string));
        let process = site.start(Artifact::Etcd, &name(index), arguments)?;
        Ok(Self { process, ports })
    }

    pub(crate) fn endpoint(&self) -> String {
        self.ports.client.url("http")
    }

    pub(crate) fn await_ready(&mut self) -> Result<(), StartError> {
        let port = self.ports.client.number();
        await_ready(&mut self.process, || readyz(port))
    }
}

/// One node for an API server, in its folder.
pub(crate) fn start_alone(site: &Site, syncing: Syncing) -> Result<Member, StartError> {
    let ports = MemberPorts::reserve()?;
    let everyone = initial_cluster(std::slice::from_ref(&ports));
    let mut member = Member::start(site, 0, ports, &everyone, syncing, &[])?;
    member.await_ready()?;
    Ok(member)
}

/// Starts all before it waits for one, as a node alone of three never becomes ready.
fn start_members(
    site: &Site,
    members: Members,
    syncing: Syncing,
    further: &[&str],
) -> Result<Vec<Member>, StartError> {
    let ports: Vec<_> =
        (0..members.count()).map(|_| MemberPorts::reserve()).collect::<Result<_, _>>()?;
    let everyone = initial_cluster(&ports);
    let mut members: Vec<_> = ports
        .into_iter()
        .enumerate()
        .map(|(index, ports)| Member::start(site, index, ports, &everyone, syncing, further))
        .collect::<Result<_, _>>()?;
    members.iter_mut().try_for_each(Member::await_ready)?;
    Ok(members)
}

impl MemberPorts {
    fn reserve() -> Result<Self, StartError> {
        let client = Port::reserve().map_err(StartError::Port)?;
        let peer = Port::reserve().map_err(StartError::Port)?;
        Ok(Self { client, peer })
    }
}

fn name(index: usize) -> String {
    format!("etcd-{index}")
}

/// Every node by name and address, as each of them must know the others.
fn initial_cluster(ports: &[MemberPorts]) -> String {
    let nodes: Vec<_> = ports
        .iter()
        .enumerate()
        .map(|(index, ports)| format!("{}={}", name(index), ports.peer.url("http")))
        .collect();
    nodes.join(",")
}

fn arguments(
    site: &Site,
    index: usize,
    ports: &MemberPorts,
    everyone: &str,
    syncing: Syncing,
) -> Vec<String> {
    let name = name(index);
    let (client, peer) = (ports.client.url("http"), ports.peer.url("http"));
    let mut arguments = vec![
        format!("--data-dir={}", site.folder().join(&name).display()),
        format!("--name={name}"),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster={everyone}"),
        "--log-level=warn".to_owned(),
    ];
    if syncing == Syncing::ToKernel {
        arguments.push("--unsafe-no-fsync".to_owned());
    }
    arguments
}

/// Asks etcd by the shortest HTTP that there is, as a client library would be much for one line.
fn readyz(port: u16) -> Result<(), String> {
    let answer = || {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(QUESTION))?;
        stream.write_all(b"GET /readyz HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = answer().map_err(|error: std::io::Error| error.to_string())?;
    let status = answer.split_whitespace().nth(1).unwrap_or_default();
    if status == "200" { Ok(()) } else { Err(answer) }
}
