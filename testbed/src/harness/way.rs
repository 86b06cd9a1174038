//! Ways between the nodes of etcd that can be cut: the others reach a node through one of them, and it them through theirs.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The node that is cut off, and its process.
pub(crate) type CutOff = Arc<Mutex<Option<(usize, u32)>>>;

/// The way to one node. It lives as long as the test.
#[derive(Debug)]
pub(crate) struct Way {
    /// Where it begins.
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Which node it leads to, and where that listens.
    node: usize,
    target: SocketAddr,
    cut_off: CutOff,
    open: Mutex<Vec<(TcpStream, TcpStream)>>,
}

impl Way {
    /// A way to a node's port.
    pub(crate) fn to(node: usize, port: u16, cut_off: &CutOff) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let target = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let port = listener.local_addr()?.port();
        let (cut_off, open) = (cut_off.clone(), Mutex::default());
        let shared = Arc::new(Shared { node, target, cut_off, open });
        let way = Self { port, shared: shared.clone() };
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                // Whoever is not let through comes again.
                drop(shared.let_through(near));
            }
        });
        Ok(way)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Ends what goes to or comes from the node that is cut off.
    pub(crate) fn shut(&self) {
        let cut_off = lock(&self.shared.cut_off);
        let Some((node, process)) = *cut_off else { return };
        let from = ports_of(process);
        lock(&self.shared.open).retain(|(near, far)| {
            let ends = node == self.shared.node || comes_from(near, &from);
            if ends {
                // It may be closed already.
                drop((near.shutdown(Shutdown::Both), far.shutdown(Shutdown::Both)));
            }
            !ends
        });
    }
}

impl Shared {
    fn let_through(&self, near: TcpStream) -> io::Result<()> {
        // Held until it is known of, so that a cut that comes now does not miss it.
        let cut_off = lock(&self.cut_off);
        if let Some((node, process)) = *cut_off
            && (node == self.node || comes_from(&near, &ports_of(process)))
        {
            return Ok(());
        }
        let far = TcpStream::connect(self.target)?;
        for (from, to) in [(&near, &far), (&far, &near)] {
            pass(from.try_clone()?, to.try_clone()?);
        }
        lock(&self.open).push((near, far));
        Ok(())
    }
}

pub(super) fn pass(mut from: TcpStream, mut to: TcpStream) {
    thread::spawn(move || {
        // The end of either is the end of both.
        drop(io::copy(&mut from, &mut to));
        drop((from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both)));
    });
}

fn comes_from(near: &TcpStream, ports: &BTreeSet<u16>) -> bool {
    near.peer_addr().is_ok_and(|peer| ports.contains(&peer.port()))
}

/// The ports that a process's sockets have.
fn ports_of(process: u32) -> BTreeSet<u16> {
    let descriptors = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten();
    let sockets: BTreeSet<String> = descriptors
        .filter_map(|descriptor| fs::read_link(descriptor.ok()?.path()).ok())
        .filter_map(|link| {
            let link = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
            Some(link.to_owned())
        })
        .collect();
    let table = fs::read_to_string(format!("/proc/{process}/net/tcp")).unwrap_or_default();
    let of_line = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (local, socket) = (fields.get(1)?, fields.get(9)?);
        let port = local.rsplit_once(':')?.1;
        sockets.contains(*socket).then(|| u16::from_str_radix(port, 16).ok())?
    };
    table.lines().filter_map(of_line).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
