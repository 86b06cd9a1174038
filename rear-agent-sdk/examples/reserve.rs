//! Reserves capacity for a cluster: `reserve https://BROKER:8443 CERTIFICATES CPU MEMORY [INTENT]`.
//!
//! With the same intent as before, the answer is the same reservation.

use std::io::Write;

use rear_agent_sdk::{BrokerCommunicator, HttpCommunicator, Intent, request};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (address, certificates, cpu, memory, intent) = match &arguments[..] {
        [address, certificates, cpu, memory] => (address, certificates, cpu, memory, Intent::new()),
        [address, certificates, cpu, memory, intent] => {
            (address, certificates, cpu, memory, intent.parse()?)
        }
        _ => return Err("usage: reserve ADDRESS CERTIFICATES CPU MEMORY [INTENT]".into()),
    };
    let broker = HttpCommunicator::new(address, certificates)?;
    let made = broker.reserve(&request(cpu, memory), &intent).await?;
    writeln!(std::io::stdout(), "{}: {}", made.id, made.status.message)?;
    Ok(())
}
