//! A way to a server that can be cut.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::way::pass;

/// Passes bytes on, as long as it is not cut. It lives as long as the test.
#[derive(Debug)]
pub struct Proxy {
    /// Where it begins.
    pub address: SocketAddr,
    cut: Arc<AtomicBool>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    /// A way to this server.
    pub fn to(target: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let (cut, open) = (Arc::new(AtomicBool::new(false)), Arc::<Mutex<Vec<_>>>::default());
        let (is_cut, kept) = (cut.clone(), open.clone());
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                // Whoever comes while it is cut finds nobody.
                let Ok(far) = TcpStream::connect(target) else { continue };
                if is_cut.load(Ordering::SeqCst) || pass_both_ways(&near, &far).is_err() {
                    continue;
                }
                kept.lock().unwrap_or_else(PoisonError::into_inner).extend([near, far]);
            }
        });
        Ok(Self { address, cut, open })
    }

    /// Ends what is open, and lets nobody through.
    pub fn cut(&self) {
        self.cut.store(true, Ordering::SeqCst);
        for stream in self.open.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // It may be closed already.
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    /// Lets everyone through again.
    pub fn mend(&self) {
        self.cut.store(false, Ordering::SeqCst);
    }
}

fn pass_both_ways(near: &TcpStream, far: &TcpStream) -> io::Result<()> {
    for (from, to) in [(near, far), (far, near)] {
        pass(from.try_clone()?, to.try_clone()?);
    }
    Ok(())
}
