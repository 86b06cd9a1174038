//! What systemd is told, at a socket of the test's own.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use super::process::{Broker, program, started};

pub(crate) fn next(socket: &UnixDatagram) -> String {
    let mut buffer = [0; 1024];
    let length = socket.recv(&mut buffer).unwrap();
    String::from_utf8(buffer[..length].to_vec()).unwrap()
}

/// A place with certificates for a broker that is told of a socket.
fn place() -> (tempfile::TempDir, super::pki::Authority) {
    let place = tempfile::tempdir().unwrap();
    let authority = super::pki::Authority::new();
    authority.server().write(&place.path().join("certs"), &authority);
    (place, authority)
}

#[test]
fn systemd_is_told_when_it_serves_that_it_lives_and_when_it_stops() {
    let (place, _) = place();
    let path = place.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let mut command = program(place.path(), &[]);
    command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "3000000");
    let (mut child, address, _log) = started(&mut command);
    assert_eq!(next(&socket), "READY=1\nSTATUS=serving\n");
    std::net::TcpStream::connect(address).unwrap();
    for _ in 0..3 {
        assert_eq!(next(&socket), "WATCHDOG=1\n");
    }
    super::process::signal(&child, "TERM");
    let last = std::iter::repeat_with(|| next(&socket)).find(|told| told != "WATCHDOG=1\n");
    assert_eq!(last.unwrap(), "STOPPING=1\nSTATUS=finishing what was accepted\n");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_socket_without_a_file_does_as_well_and_no_watchdog_is_told_of_unasked() {
    let (place, _) = place();
    let name = format!("rear-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let socket = UnixDatagram::bind_addr(&address).unwrap();
    let mut command = program(place.path(), &[]);
    // A watchdog of another process is none of ours.
    command.env("WATCHDOG_USEC", "100").env("WATCHDOG_PID", "1");
    let (mut child, ..) = started(command.env("NOTIFY_SOCKET", format!("@{name}")));
    assert_eq!(next(&socket), "READY=1\nSTATUS=serving\n");
    super::process::signal(&child, "TERM");
    assert_eq!(next(&socket), "STOPPING=1\nSTATUS=finishing what was accepted\n");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_broker_that_cannot_serve_is_never_ready() {
    let (place, _) = place();
    let path = place.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let broker = Broker::start();
    let port = broker.address.port().to_string();
    let mut command = program(place.path(), &["--http-port".to_owned(), port]);
    let output = command.env("NOTIFY_SOCKET", &path).output().unwrap();
    assert_eq!(output.status.code(), Some(69));
    socket.set_nonblocking(true).unwrap();
    assert!(socket.recv(&mut [0; 8]).is_err());
}
