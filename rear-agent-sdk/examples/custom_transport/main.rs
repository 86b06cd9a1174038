//! A transport of one's own: lines of JSON over a Unix socket.
//!
//! `custom_transport serve SOCKET https://BROKER:8443 CERTIFICATES` lets the programs of a host speak to the broker for
//! its cluster without a certificate each; whoever may open the socket may speak.
//! `custom_transport reserve SOCKET CPU MEMORY` is such a program.
//!
//! [`transport`] is the half that implements `BrokerCommunicator`; [`gateway`] answers it; [`protocol`] is what they say
//! to each other. The transport is tried with the contract suite in this crate's tests.

mod gateway;
mod protocol;
mod transport;

use std::error::Error;
use std::io::Write;
use std::sync::Arc;

use rear_agent_sdk::{BrokerCommunicator, HttpCommunicator, Intent, request};
use tokio::net::UnixListener;

use transport::SocketCommunicator;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["serve", socket, address, certificates] => {
            let broker = Arc::new(HttpCommunicator::new(address, certificates)?);
            gateway::serve(&UnixListener::bind(socket)?, broker).await?;
        }
        ["reserve", socket, cpu, memory] => {
            let broker = SocketCommunicator::new(socket);
            let made = broker.reserve(&request(cpu, memory), &Intent::new()).await?;
            writeln!(std::io::stdout(), "{}: {}", made.id, made.status.message)?;
        }
        _ => {
            return Err(
                "usage: serve SOCKET ADDRESS CERTIFICATES | reserve SOCKET CPU MEMORY".into()
            );
        }
    }
    Ok(())
}
