//! Lends this host's own CPU, memory and disk: `host_agent https://BROKER:8443 CERTIFICATES CLUSTER STATE`.
//!
//! What it has promised is remembered in the file STATE and told line by line; to hold workloads off is left to whoever
//! reads it. While it runs it takes commands, a line each, for what this host needs of others:
//!
//! ```text
//! reserve CPU MEMORY [INTENT]      with the same intent as before, the answer is the same reservation
//! activate ID
//! release ID
//! ```
//!
//! Ends at Ctrl-C.

use std::error::Error;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io, thread};

use rear_agent_sdk::communicator::{Reservation, Role};
use rear_agent_sdk::{
    Agent, BrokerCommunicator, Doing, HttpCommunicator, InstructionHandler, Intent, Keeping,
    NotKept, ResourceCollector, Snapshot, Source, request,
};
use rear_engine::{Dimension, Resources};
use tokio::sync::mpsc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, certificates, cluster, state] = &arguments[..] else {
        return Err("usage: host_agent ADDRESS CERTIFICATES CLUSTER STATE".into());
    };
    let broker = Arc::new(HttpCommunicator::new(address, certificates)?);
    let ledger = Ledger::open(state.into());
    let agent = Agent::builder(cluster.parse()?, broker.clone(), Host, ledger).build();
    tokio::select! {
        ended = agent.run(async { drop(tokio::signal::ctrl_c().await) }) => ended?,
        error = obey(&*broker) => return Err(error.into()),
    }
    Ok(())
}

/// Does what is typed; ends only if the answers cannot be written.
async fn obey(broker: &dyn BrokerCommunicator) -> io::Error {
    let (typed, mut commands) = mpsc::channel(1);
    // A thread of its own: nobody has to press a key for the program to end.
    thread::spawn(move || {
        let lines = io::stdin().lines().map_while(Result::ok);
        lines.map(|line| typed.blocking_send(line)).take_while(Result::is_ok).for_each(drop);
    });
    while let Some(command) = commands.recv().await {
        let said = match execute(broker, &command).await {
            Ok(made) => writeln!(io::stdout(), "{:?} {}", made.status.phase, made.id),
            Err(error) => writeln!(io::stdout(), "not done: {error}"),
        };
        if let Err(error) = said {
            return error;
        }
    }
    // Without a terminal there is nothing to obey.
    std::future::pending().await
}

async fn execute(
    broker: &dyn BrokerCommunicator,
    command: &str,
) -> Result<Reservation, Box<dyn Error>> {
    let words: Vec<&str> = command.split_whitespace().collect();
    Ok(match words[..] {
        ["reserve", cpu, memory] => broker.reserve(&request(cpu, memory), &Intent::new()).await?,
        ["reserve", cpu, memory, intent] => {
            broker.reserve(&request(cpu, memory), &intent.parse()?).await?
        }
        ["activate", id] => broker.activate(id).await?,
        ["release", id] => broker.release(id).await?,
        _ => return Err("reserve CPU MEMORY [INTENT], activate ID or release ID".into()),
    })
}

/// This machine.
struct Host;

impl ResourceCollector for Host {
    fn collect(&self) -> Doing<'_, Snapshot> {
        Box::pin(async {
            let all = resources(memory("MemTotal")?)?;
            let free = resources(memory("MemAvailable")?)?;
            let allocated = Resources::from_amounts([
                0,
                all.get(Dimension::Memory).saturating_sub(free.get(Dimension::Memory)),
                0,
                0,
            ])?;
            Ok(Snapshot { capacity: all, allocatable: all, allocated, ..Snapshot::default() })
        })
    }
}

/// All cores and the free disk, with so many bytes of memory.
fn resources(memory: u64) -> Result<Resources, Source> {
    let cores = thread::available_parallelism()?.to_string();
    let disk = rustix::fs::statvfs("/")?;
    let storage = disk.f_bavail.saturating_mul(disk.f_frsize).to_string();
    Resources::parse(&cores, &memory.to_string(), None, Some(&storage))
        .map_err(|error| format!("{}: {}", error.dimension.name(), error.problem).into())
}

/// A line of what Linux says about memory, in bytes.
fn memory(name: &str) -> Result<u64, Source> {
    let told = fs::read_to_string("/proc/meminfo")?;
    let line = told.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kibibytes: u64 = kibibytes.ok_or("there is no such line about memory")?.parse()?;
    Ok(kibibytes.saturating_mul(1024))
}

/// A file with what is promised on both sides.
struct Ledger {
    path: PathBuf,
    /// One change of the file at a time.
    changing: Mutex<()>,
}

type Kept = Vec<(String, Reservation)>;

impl Ledger {
    fn open(path: PathBuf) -> Self {
        Self { path, changing: Mutex::new(()) }
    }

    /// Written beside it and renamed, so that a crash leaves the old or the new file.
    fn change(&self, change: impl FnOnce(&mut Kept)) -> Result<(), Source> {
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kept = read(&self.path)?;
        change(&mut kept);
        let new = self.path.with_extension("new");
        fs::write(&new, serde_json::to_vec(&kept)?)?;
        Ok(fs::rename(new, &self.path)?)
    }
}

fn read(path: &Path) -> Result<Kept, Source> {
    match fs::read(path) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Kept::new()),
        Err(error) => Err(error.into()),
    }
}

impl InstructionHandler for Ledger {
    fn kept(&self, role: Role) -> Doing<'_, Vec<Reservation>> {
        Box::pin(async move {
            let of_role = read(&self.path)?.into_iter().filter(|(side, _)| side == role.name());
            Ok(of_role.map(|(_, promise)| promise).collect())
        })
    }

    fn keep<'a>(&'a self, role: Role, promise: &'a Reservation) -> Keeping<'a> {
        Box::pin(async move {
            let entry = (role.name().to_owned(), promise.clone());
            let put = |kept: &mut Kept| {
                kept.retain(|(_, kept)| kept.id != promise.id);
                kept.push(entry);
            };
            self.change(put).and_then(|()| say("keep", promise)).map_err(NotKept::Failed)
        })
    }

    fn give_back<'a>(&'a self, role: Role, promise: &'a Reservation) -> Doing<'a, ()> {
        Box::pin(async move {
            self.change(|kept| {
                kept.retain(|(side, kept)| side != role.name() || kept.id != promise.id);
            })?;
            say("give back", promise)
        })
    }
}

fn say(what: &str, promise: &Reservation) -> Result<(), Source> {
    writeln!(io::stdout(), "{what} {}: {}", promise.id, promise.status.message)?;
    Ok(())
}
