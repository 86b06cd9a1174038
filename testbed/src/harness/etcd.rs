//! etcd: one node or three, under an API server or alone.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::sync::PoisonError;
use std::time::Duration;

use super::port::Port;
use super::process::Process;
use super::readiness::await_ready;
use super::site::Site;
use super::start_error::StartError;
use super::way::{CutOff, Way};
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

/// What nodes show their clients, and whom they let in: files in PEM.
#[derive(Clone, Debug)]
pub struct EtcdCertificates {
    /// The certificate of every node, for 127.0.0.1.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// The authority of clients, each of which must show a certificate.
    pub clients: PathBuf,
}

/// How nodes are started.
#[derive(Clone, Copy, Debug)]
struct Plan<'p> {
    syncing: Syncing,
    further: &'p [&'p str],
    certificates: Option<&'p EtcdCertificates>,
    /// Whether nodes reach each other by ways that can be cut.
    apart: bool,
}

impl<'p> Plan<'p> {
    fn plain(syncing: Syncing, further: &'p [&'p str]) -> Self {
        Self { syncing, further, certificates: None, apart: false }
    }
}

/// etcd alone. Dropping it removes it and its data.
#[derive(Debug)]
pub struct Etcd {
    members: Vec<Member>,
    cut_off: CutOff,
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
        // Whoever measures against etcd alone measures the disk as well.
        Self::start_as(members, Plan::plain(Syncing::ToDisk, further))
    }

    /// Nodes that speak TLS to their clients, and want a certificate of each.
    pub fn start_secured(
        members: Members,
        certificates: &EtcdCertificates,
    ) -> Result<Self, StartError> {
        let plan = Plan::plain(Syncing::ToDisk, &[]);
        Self::start_as(members, Plan { certificates: Some(certificates), ..plan })
    }

    /// Three nodes of which one can be [cut off](Self::cut_off) from the others.
    pub fn start_apart(further: &[&str]) -> Result<Self, StartError> {
        let plan = Plan::plain(Syncing::ToDisk, further);
        Self::start_as(Members::Three, Plan { apart: true, ..plan })
    }

    fn start_as(members: Members, plan: Plan<'_>) -> Result<Self, StartError> {
        let site = Site::open()?;
        let cut_off = CutOff::default();
        let members = start_members(&site, members, plan, &cut_off)?;
        Ok(Self { members, cut_off, _site: site })
    }

    /// Cuts a node that runs off from the others: clients reach it, and it reaches nobody. Only one at a time, and only
    /// nodes that were started apart.
    pub fn cut_off(&self, index: usize) {
        let process = self.members.get(index).and_then(|member| member.process.id());
        *self.cut_off.lock().unwrap_or_else(PoisonError::into_inner) =
            process.map(|process| (index, process));
        self.members.iter().filter_map(|member| member.way.as_ref()).for_each(Way::shut);
    }

    /// Lets the node that was cut off reach the others again.
    pub fn join(&self) {
        *self.cut_off.lock().unwrap_or_else(PoisonError::into_inner) = None;
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
    way: Option<Way>,
}

#[derive(Debug)]
struct MemberPorts {
    client: Port,
    peer: Port,
    /// For questions without a certificate, where clients need one.
    probes: Option<Port>,
}

impl Member {
    fn start(
        site: &Site,
        index: usize,
        ports: MemberPorts,
        way: Option<Way>,
        everyone: &str,
        plan: Plan<'_>,
    ) -> Result<Self, StartError> {
        let mut arguments = arguments(site, index, &ports, way.as_ref(), everyone);
        if plan.syncing == Syncing::ToKernel {
            arguments.push("--unsafe-no-fsync".to_owned());
        }
        arguments.extend(plan.certificates.into_iter().flat_map(secured));
        arguments.extend(plan.further.iter().map(ToString::to_string));
        let process = site.start(Artifact::Etcd, &name(index), arguments)?;
        Ok(Self { process, ports, way })
    }

    pub(crate) fn endpoint(&self) -> String {
        self.ports.client_url()
    }

    pub(crate) fn await_ready(&mut self) -> Result<(), StartError> {
        let port = self.ports.probes.as_ref().unwrap_or(&self.ports.client).number();
        await_ready(&mut self.process, || readyz(port))
    }
}

/// One node for an API server, in its folder.
pub(crate) fn start_alone(site: &Site, syncing: Syncing) -> Result<Member, StartError> {
    let ports = MemberPorts::reserve(false)?;
    let everyone = initial_cluster(std::slice::from_ref(&ports), &[None]);
    let plan = Plan::plain(syncing, &[]);
    let mut member = Member::start(site, 0, ports, None, &everyone, plan)?;
    member.await_ready()?;
    Ok(member)
}

/// Starts all before it waits for one, as a node alone of three never becomes ready.
fn start_members(
    site: &Site,
    members: Members,
    plan: Plan<'_>,
    cut_off: &CutOff,
) -> Result<Vec<Member>, StartError> {
    let secured = plan.certificates.is_some();
    let ports: Vec<_> =
        (0..members.count()).map(|_| MemberPorts::reserve(secured)).collect::<Result<_, _>>()?;
    let way = |(node, ports): (usize, &MemberPorts)| {
        let way = plan.apart.then(|| Way::to(node, ports.peer.number(), cut_off));
        way.transpose().map_err(StartError::Port)
    };
    let ways: Vec<_> = ports.iter().enumerate().map(way).collect::<Result<_, _>>()?;
    let everyone = initial_cluster(&ports, &ways);
    let mut members: Vec<_> = ports
        .into_iter()
        .zip(ways)
        .enumerate()
        .map(|(index, (ports, way))| Member::start(site, index, ports, way, &everyone, plan))
        .collect::<Result<_, _>>()?;
    members.iter_mut().try_for_each(Member::await_ready)?;
    Ok(members)
}

impl MemberPorts {
    fn reserve(secured: bool) -> Result<Self, StartError> {
        let client = Port::reserve().map_err(StartError::Port)?;
        let peer = Port::reserve().map_err(StartError::Port)?;
        let probes = secured.then(Port::reserve).transpose().map_err(StartError::Port)?;
        Ok(Self { client, peer, probes })
    }

    fn client_url(&self) -> String {
        self.client.url(if self.probes.is_some() { "https" } else { "http" })
    }

    /// Where the other nodes reach it.
    fn peer_url(&self, way: Option<&Way>) -> String {
        way.map_or_else(|| self.peer.url("http"), |way| format!("http://127.0.0.1:{}", way.port()))
    }
}

fn name(index: usize) -> String {
    format!("etcd-{index}")
}

/// Every node by name and address, as each of them must know the others.
fn initial_cluster(ports: &[MemberPorts], ways: &[Option<Way>]) -> String {
    let nodes: Vec<_> = ports
        .iter()
        .zip(ways)
        .enumerate()
        .map(|(index, (ports, way))| format!("{}={}", name(index), ports.peer_url(way.as_ref())))
        .collect();
    nodes.join(",")
}

fn arguments(
    site: &Site,
    index: usize,
    ports: &MemberPorts,
    way: Option<&Way>,
    everyone: &str,
) -> Vec<String> {
    let name = name(index);
    let client = ports.client_url();
    let mut arguments = vec![
        format!("--data-dir={}", site.folder().join(&name).display()),
        format!("--name={name}"),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={}", ports.peer.url("http")),
        format!("--initial-advertise-peer-urls={}", ports.peer_url(way)),
        format!("--initial-cluster={everyone}"),
        "--log-level=warn".to_owned(),
    ];
    if let Some(probes) = &ports.probes {
        arguments.push(format!("--listen-metrics-urls={}", probes.url("http")));
    }
    arguments
}

fn secured(certificates: &EtcdCertificates) -> [String; 4] {
    let EtcdCertificates { certificate, key, clients } = certificates;
    [
        format!("--cert-file={}", certificate.display()),
        format!("--key-file={}", key.display()),
        format!("--trusted-ca-file={}", clients.display()),
        "--client-cert-auth".to_owned(),
    ]
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
