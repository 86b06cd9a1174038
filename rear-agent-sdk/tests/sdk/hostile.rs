//! Brokers that answer with errors, garbage, half a body or nothing.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rear_agent_sdk::communicator::Role;
use rear_agent_sdk::{BrokerCommunicator, Error, HttpCommunicator, Intent};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::bodies::request;
use super::pki::Authority;
use super::process::connect;
use super::stand_in::{Request, acceptor, read_request};

/// A server that answers as it is told, byte by byte, and closes the connection after each answer.
struct Scripted {
    client: Arc<HttpCommunicator>,
    asked: Arc<Mutex<Vec<Request>>>,
    _folder: tempfile::TempDir,
}

type Script = Arc<Mutex<VecDeque<String>>>;

/// What a broker of version 1 says when it lives.
const ALIVE: &str = "HTTP/1.1 200 OK\r\nREAR-Revision: 1.1\r\ncontent-length: 0\r\n\r\n";

/// An answer with a body of which only so many bytes come.
fn part(status: u16, headers: &str, body: &str, bytes: usize) -> String {
    let head = format!("HTTP/1.1 {status} X\r\nREAR-Revision: 1.1\r\n{headers}");
    format!("{head}content-length: {}\r\n\r\n{}", body.len(), &body[..bytes])
}

fn whole(status: u16, headers: &str, body: &str) -> String {
    part(status, headers, body, body.len())
}

impl Scripted {
    async fn start(answers: &[String]) -> Self {
        Self::start_as(answers, 1).await
    }

    /// For a client that takes it for so many brokers.
    async fn start_as(answers: &[String], brokers: usize) -> Self {
        let authority = Authority::new();
        let folder = tempfile::tempdir().unwrap();
        authority.cluster("paris").write(folder.path(), &authority);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("https://{}", listener.local_addr().unwrap());
        let client = HttpCommunicator::new(&vec![address; brokers].join(","), folder.path());
        let client = Arc::new(client.unwrap());
        let script: Script = Arc::new(Mutex::new(answers.iter().cloned().collect()));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (tls, noted) = (acceptor(&authority), asked.clone());
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, tls.clone(), script.clone(), noted.clone()));
            }
        });
        Self { client, asked, _folder: folder }
    }

    fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }
}

async fn serve(
    socket: TcpStream,
    tls: TlsAcceptor,
    script: Script,
    asked: Arc<Mutex<Vec<Request>>>,
) -> Option<()> {
    let mut stream = BufReader::new(tls.accept(socket).await.ok()?);
    let request = read_request(&mut stream).await?;
    asked.lock().unwrap().push(request);
    let answer = script.lock().unwrap().pop_front().unwrap_or_default();
    // Said, so that a client does not send its next request into a connection that is about to close.
    let answer = answer.replacen("\r\n", "\r\nconnection: close\r\n", 1);
    stream.write_all(answer.as_bytes()).await.ok()?;
    stream.shutdown().await.ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reservation_is_repeated_under_one_key_until_its_answer_is_whole() {
    let made = r#"{"id": "rsv-1", "requesterID": "paris", "targetClusterID": "rome", "status": {"phase": "Reserved"},
        "requestedResources": {"cpu": "1", "memory": "1Gi"}}"#;
    let script = [
        ALIVE.to_owned(),
        whole(500, "", ""),
        part(201, "", made, 20),
        ALIVE.to_owned(),
        whole(201, "", made),
    ];
    let broker = Scripted::start(&script).await;
    let intent = Intent::new();
    let answer = broker.client.reserve(&request("1", "1Gi"), &intent).await.unwrap();
    assert_eq!(answer.id, "rsv-1");
    let asked = broker.asked();
    let lines: Vec<_> = asked.iter().map(|asked| asked.line.as_str()).collect();
    let reserve = "POST /api/v1/reservations";
    // After the connection broke, it looks again which broker this is.
    assert_eq!(lines, ["GET /healthz", reserve, reserve, "GET /healthz", reserve]);
    let keys = asked.iter().filter_map(|asked| asked.key.clone());
    assert!(keys.eq([intent.to_string(), intent.to_string(), intent.to_string()]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_broker_says_when_to_come_again() {
    let script = [whole(429, "Retry-After: 1\r\n", ""), ALIVE.to_owned()];
    Scripted::start(&script).await.client.ping().await.unwrap();
    let broker = Scripted::start(&[whole(429, "Retry-After: 3600\r\n", "")]).await;
    let error = broker.client.ping().await.unwrap_err();
    assert!(matches!(error, Error::Busy { .. }) && error.is_transient(), "{error:?}");
    assert_eq!(error.retry_after(), Some(Duration::from_hours(1)));
    assert_eq!(broker.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_broker_says_is_neither_believed_nor_asked_again() {
    let elsewhere = "Link: <https://elsewhere.example/more>; rel=\"next\"\r\n";
    for bad in [
        whole(200, "", "<html>"),
        whole(200, "", r#"{"not": "a list"}"#),
        whole(302, "Location: https://elsewhere.example/\r\n", ""),
        whole(200, elsewhere, "[]"),
    ] {
        let broker = Scripted::start(&[ALIVE.to_owned(), bad.clone()]).await;
        let role = Role::Provider;
        let error = broker.client.instructions(role, None).await.unwrap_err();
        assert!(matches!(error, Error::Garbage { .. }), "{bad}: {error:?}");
        assert_eq!(broker.asked().len(), 2, "{bad}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_end_when_nothing_is_ever_answered() {
    let broker = Scripted::start(&[]).await;
    let error = broker.client.ping().await.unwrap_err();
    assert!(matches!(error, Error::Interrupted { .. }), "{error:?}");
    assert_eq!(broker.asked().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_knows_several_brokers_looks_at_nothing_older_than_it_has_seen() {
    for (brokers, wanted) in [(1, None), (2, Some("1.1"))] {
        let script = [
            ALIVE.to_owned(),
            whole(200, "", "[]"),
            whole(200, "", "[]"),
            whole(404, "", r#"{"code": "unknown-reservation"}"#),
        ];
        let broker = Scripted::start_as(&script, brokers).await;
        for _ in 0..2 {
            assert_eq!(broker.client.reservations(Role::Requester).await.unwrap(), []);
        }
        broker.client.release("rsv-1").await.unwrap_err();
        let asked = broker.asked();
        let [.., looked, released] = &asked[..] else { panic!("{asked:?}") };
        assert_eq!((&looked.line[..4], looked.at_least.as_deref()), ("GET ", wanted));
        assert_eq!((&released.line[..7], released.at_least.as_deref()), ("DELETE ", None));
    }
}

#[tokio::test]
async fn a_broker_that_falls_silent_is_not_waited_for_for_ever() {
    let authority = Authority::new();
    let folder = tempfile::tempdir().unwrap();
    authority.cluster("paris").write(folder.path(), &authority);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = connect(listener.local_addr().unwrap(), folder.path().into());
    let tls = acceptor(&authority);
    tokio::spawn(async move {
        let socket = listener.accept().await.unwrap().0;
        let mut stream = BufReader::new(tls.accept(socket).await.unwrap());
        read_request(&mut stream).await.unwrap();
        stream.write_all(ALIVE.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        // It takes whatever comes, and says nothing.
        std::future::pending::<()>().await;
        drop((stream, listener));
    });
    client.ping().await.unwrap();
    // From here on time passes as fast as nothing happens.
    tokio::time::pause();
    let error = client.ping().await.unwrap_err();
    let late = matches!(error, Error::TimedOut { .. } | Error::Unreachable { .. });
    assert!(late && error.is_transient(), "{error:?}");
}
