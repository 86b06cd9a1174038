//! Three brokers on one etcd.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::Child;
use std::sync::{Arc, Mutex};

use rear_store::backup;
use rear_store::verify::verify_file;
use rear_testbed::{Etcd, Gateway, Proxy, eventually};

use crate::client::Client;
use crate::pki::Authority;
use crate::process::{plain, program, signal, started};

/// After so many entries there is a snapshot.
pub(crate) const SNAPSHOT_EVERY: u64 = 100;

/// Three brokers, the nodes of etcd, and the ways between them.
pub(crate) struct Trio {
    pub(crate) brokers: Vec<Broker>,
    pub(crate) authority: Authority,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) etcd: Etcd,
}

/// One of the brokers.
pub(crate) struct Broker {
    folder: PathBuf,
    arguments: Vec<String>,
    /// To each node of etcd.
    pub(crate) ways: Vec<Proxy>,
    /// What its environment says beside.
    pub(crate) environment: Vec<(String, String)>,
    child: Option<Child>,
    pub(crate) address: SocketAddr,
    log: Arc<Mutex<String>>,
}

impl Trio {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// With these flags for each of them.
    pub(crate) fn start_with(flags: &[&str]) -> Self {
        Self::on(Etcd::start_apart(&[]).unwrap(), flags)
    }

    /// On three nodes of etcd.
    pub(crate) fn on(etcd: Etcd, flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new();
        let brokers = ["a", "b", "c"].iter().enumerate();
        let brokers = brokers.map(|(place, name)| {
            let home = folder.path().join(name);
            authority.server().write(&home.join("certs"), &authority);
            let ways: Vec<Proxy> = etcd.endpoints().iter().map(|node| way_to(node)).collect();
            let mut broker = Broker::new(home, ways, place);
            broker.arguments.extend(flags.iter().map(ToString::to_string));
            broker.start();
            broker
        });
        let brokers = brokers.collect();
        let trio = Self { brokers, authority, folder, etcd };
        trio.await_ready();
        trio
    }

    /// The addresses of all, beginning with this one.
    pub(crate) fn addresses_from(&self, first: usize) -> String {
        let order = (0..3).map(|place| &self.brokers[(first + place) % 3]);
        let addresses = order.map(|broker| format!("https://{}", broker.address));
        addresses.collect::<Vec<_>>().join(",")
    }

    pub(crate) fn administrator(&self, place: usize) -> Client {
        let identity = self.authority.administrator("operator");
        Client::new(self.brokers[place].address, &self.authority, Some(&identity))
    }

    pub(crate) fn cluster(&self, place: usize, name: &str) -> Client {
        let identity = self.authority.cluster(name);
        Client::new(self.brokers[place].address, &self.authority, Some(&identity))
    }

    /// A node of etcd, asked beside the brokers.
    pub(crate) fn gateway(&self, node: usize) -> Gateway {
        Gateway::of(&self.etcd.endpoints()[node])
    }

    /// Waits until every broker can decide.
    pub(crate) fn await_ready(&self) {
        for (place, broker) in self.brokers.iter().enumerate() {
            let client = self.administrator(place);
            let mut said = String::new();
            let ready = || {
                let answer = client.connect().ok()?.call("GET", "/readyz", &[], None).ok()?;
                said = String::from_utf8_lossy(&answer.body).into_owned();
                (answer.status == 200).then_some(())
            };
            eventually(ready).unwrap_or_else(|| panic!("{place}: {said}\n{}", broker.log()));
        }
    }

    /// Waits until all brokers show the same to the byte, and audits it: every row as it should be.
    pub(crate) fn end_the_same(&self) {
        let dump = |place| self.administrator(place).get("/api/v1/snapshot").body;
        let same = || {
            let dumps: Vec<Vec<u8>> = (0..3).map(dump).collect();
            dumps.windows(2).all(|pair| pair[0] == pair[1]).then(|| dumps[0].clone())
        };
        let dump = eventually(same).expect("all end with the same");
        let folder = tempfile::tempdir().unwrap();
        let (saved, ledger) = (folder.path().join("saved"), folder.path().join("ledger.redb"));
        std::fs::write(&saved, dump).unwrap();
        backup::restore(&saved, &ledger, rear_engine::Timestamp::from_seconds(1)).unwrap();
        assert_eq!(verify_file(&ledger).unwrap().findings, []);
    }
}

fn way_to(node: &str) -> Proxy {
    Proxy::to(node.trim_start_matches("http://").parse().unwrap()).unwrap()
}

/// A port that is free, most likely also in a moment: a broker that comes back is where it was.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Broker {
    /// Each asks another node first.
    fn new(folder: PathBuf, ways: Vec<Proxy>, place: usize) -> Self {
        let port = free_port();
        let mut arguments = vec![
            "--store=etcd".to_owned(),
            format!("--http-port={port}"),
            "--etcd-peer-address=127.0.0.1:0".to_owned(),
            // Often, so that every fault meets some.
            format!("--etcd-snapshot-every={SNAPSHOT_EVERY}"),
        ];
        let nodes = (0..ways.len()).map(|next| ways[(place + next) % ways.len()].address);
        arguments.extend(nodes.map(|node| format!("--etcd-endpoints=http://{node}")));
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let (child, log) = (None, Arc::default());
        Self { folder, arguments, ways, environment: Vec::new(), child, address, log }
    }

    pub(crate) fn start(&mut self) {
        let mut command = program(&self.folder, &self.arguments);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let (child, address, log) = started(&mut command);
        assert_eq!(address.port(), self.address.port());
        (self.child, self.log) = (Some(child), log);
    }

    pub(crate) fn kill(&mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.child.as_ref().unwrap(), name);
    }

    pub(crate) fn cut_off(&self) {
        self.ways.iter().for_each(Proxy::cut);
    }

    pub(crate) fn connect_again(&self) {
        self.ways.iter().for_each(Proxy::mend);
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.folder.join("data/ledger.redb")
    }

    /// One of its metrics, in whole numbers; 0 if there is none of this name.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        self.measured(name).unwrap_or(0)
    }

    pub(crate) fn has_metric(&self, name: &str) -> bool {
        self.measured(name).is_some()
    }

    fn measured(&self, name: &str) -> Option<u64> {
        let log = self.log();
        let listener = log.split("metrics=\"").nth(1).unwrap().split('"').next().unwrap();
        let (_, text) = plain(listener.parse().unwrap(), "/metrics");
        let name = format!("rear_broker_{name} ");
        let value = text.lines().find_map(|line| line.strip_prefix(&name)?.split(' ').next())?;
        Some(value.split('.').next().unwrap().parse().unwrap())
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // It may have ended already, or be stopped.
            drop(child.kill());
            drop(child.wait());
        }
        if std::thread::panicking() {
            eprintln!("-- the broker at {} said:\n{}", self.address, self.log());
        }
    }
}
