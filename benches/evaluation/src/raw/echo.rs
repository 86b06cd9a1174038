//! A process that echoes over the broker's kind of TLS, and callers of it: what a broker that decides nothing would cost.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rear_fleet::Cost;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::child::Child;
use crate::stage::{Stage, Trouble};

/// About what a reservation and its answer are long, with their heads.
const LENGTH: usize = 512;

/// An echoing process.
pub(super) struct Echo {
    child: Child,
    address: String,
}

/// What callers of it saw.
pub(super) struct Echoed {
    pub(super) median_ms: f64,
    pub(super) per_second: f64,
    pub(super) cpu_ms: f64,
}

impl Echo {
    pub(super) fn start(stage: &Stage) -> Result<Self, Trouble> {
        let mut command = stage.programs().own();
        command.arg("echo").arg(stage.certificates("broker")).stdout(Stdio::piped());
        let mut child = Child::spawn(&mut command)?;
        let address = child.first_line()?;
        Ok(Self { child, address })
    }

    pub(super) async fn load(
        &self,
        stage: &Stage,
        callers: usize,
        span: Duration,
    ) -> Result<Echoed, Trouble> {
        let connector = TlsConnector::from(Arc::new(client(&stage.certificates("rome"))?));
        let mut streams = Vec::new();
        for _ in 0..callers {
            let socket = TcpStream::connect(&self.address).await?;
            socket.set_nodelay(true)?;
            let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
            streams.push(connector.connect(name, socket).await?);
        }
        let end = Instant::now() + span;
        let watched = tokio::spawn(Cost::watch(self.child.id(), span));
        let mut asking: JoinSet<io::Result<Vec<Duration>>> =
            streams.into_iter().map(|stream| ask_until(stream, end)).collect();
        let mut times = Vec::new();
        while let Some(asked) = asking.join_next().await {
            times.extend(asked.map_err(io::Error::other)??);
        }
        let cost = watched.await.map_err(io::Error::other)??;
        times.sort_unstable();
        let many = f64::from(u32::try_from(times.len()).unwrap_or(u32::MAX)).max(1.0);
        let median = times.get(times.len() / 2).copied().unwrap_or_default();
        Ok(Echoed {
            median_ms: median.as_secs_f64() * 1000.0,
            per_second: many / span.as_secs_f64(),
            cpu_ms: cost.cpu.as_secs_f64() * 1000.0 / many,
        })
    }
}

async fn ask_until(
    mut stream: tokio_rustls::client::TlsStream<TcpStream>,
    end: Instant,
) -> io::Result<Vec<Duration>> {
    let mut times = Vec::new();
    let mut buffer = [0; LENGTH];
    while Instant::now() < end {
        let start = Instant::now();
        stream.write_all(&buffer).await?;
        stream.flush().await?;
        stream.read_exact(&mut buffer).await?;
        times.push(start.elapsed());
    }
    Ok(times)
}

/// Echoes until it is ended; says where on its standard output.
pub async fn serve(certificates: &Path) -> io::Result<()> {
    let acceptor = TlsAcceptor::from(Arc::new(server(certificates)?));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    crate::child::say(&listener.local_addr()?.to_string())?;
    loop {
        let (socket, _) = listener.accept().await?;
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            socket.set_nodelay(true)?;
            let mut stream = acceptor.accept(socket).await?;
            let mut buffer = [0; LENGTH];
            // The end of a connection is an error here, which nobody needs to know.
            while stream.read_exact(&mut buffer).await.is_ok() {
                stream.write_all(&buffer).await?;
                stream.flush().await?;
            }
            io::Result::Ok(())
        });
    }
}

fn server(folder: &Path) -> io::Result<ServerConfig> {
    let (roots, chain, key) = credentials(folder)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider.clone());
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_client_cert_verifier(verifier.build().map_err(io::Error::other)?)
        .with_single_cert(chain, key)
        .map_err(io::Error::other)
}

fn client(folder: &Path) -> io::Result<ClientConfig> {
    let (roots, chain, key) = credentials(folder)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key)
        .map_err(io::Error::other)
}

type Credentials = (Arc<RootCertStore>, Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn credentials(folder: &Path) -> io::Result<Credentials> {
    let certificate =
        |name: &str| CertificateDer::from_pem_file(folder.join(name)).map_err(io::Error::other);
    let mut roots = RootCertStore::empty();
    roots.add(certificate("ca.crt")?).map_err(io::Error::other)?;
    let key = PrivateKeyDer::from_pem_file(folder.join("tls.key")).map_err(io::Error::other)?;
    Ok((Arc::new(roots), vec![certificate("tls.crt")?], key))
}
