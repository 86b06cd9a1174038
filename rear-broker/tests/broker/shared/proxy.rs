//! A way to a node of etcd that can be cut.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Passes bytes on, as long as it is not cut. It lives as long as the test.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    cut: Arc<AtomicBool>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    pub(crate) fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (cut, open) = (Arc::new(AtomicBool::new(false)), Arc::<Mutex<Vec<_>>>::default());
        let (is_cut, kept) = (cut.clone(), open.clone());
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                // Whoever comes while it is cut finds nobody.
                let Ok(far) = TcpStream::connect(target) else { continue };
                if is_cut.load(Ordering::SeqCst) {
                    continue;
                }
                for (from, to) in [(&near, &far), (&far, &near)] {
                    pass(from.try_clone().unwrap(), to.try_clone().unwrap());
                }
                kept.lock().unwrap().extend([near, far]);
            }
        });
        Self { address, cut, open }
    }

    pub(crate) fn cut(&self) {
        self.cut.store(true, Ordering::SeqCst);
        for stream in self.open.lock().unwrap().drain(..) {
            // It may be closed already.
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    pub(crate) fn mend(&self) {
        self.cut.store(false, Ordering::SeqCst);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    thread::spawn(move || {
        // The end of either is the end of both.
        drop(io::copy(&mut from, &mut to));
        drop((from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both)));
    });
}
