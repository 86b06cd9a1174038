//! The other end: takes questions from the socket and asks them of a broker.

use std::io;
use std::sync::Arc;

use rear_agent_sdk::Error;
use rear_agent_sdk::communicator::{BrokerCommunicator, Role, Timestamp};
use serde::Serialize;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

use crate::protocol::{EventLine, Failure, LevelLine, Question, WaitLine, garbage, line};

/// As much as a broker takes in one body.
const MAX_QUESTION: u64 = 1 << 20;

/// Until the listener fails.
pub(crate) async fn serve(
    listener: &UnixListener,
    broker: Arc<dyn BrokerCommunicator>,
) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        let broker = broker.clone();
        tokio::spawn(async move {
            // Whoever asked may be gone; nobody else wants to know.
            drop(answer(stream, &*broker).await);
        });
    }
}

/// Answers one question, unless whoever asked goes away before.
async fn answer(mut stream: UnixStream, broker: &dyn BrokerCommunicator) -> io::Result<()> {
    let (reading, mut writing) = stream.split();
    let mut reading = BufReader::new(reading.take(MAX_QUESTION));
    let mut text = String::new();
    reading.read_line(&mut text).await?;
    let question: Question = serde_json::from_str(&text)?;
    if let Question::Events { after } = question {
        return tokio::select! {
            told = tell_events(after, broker, &mut writing) => told,
            gone = reading.read_u8() => gone.map(drop),
        };
    }
    let answered = tokio::select! {
        answered = asked(question, broker) => answered?,
        gone = reading.read_u8() => return gone.map(drop),
    };
    writing.write_all(&answered).await
}

/// The line with the answer.
async fn asked(question: Question, broker: &dyn BrokerCommunicator) -> io::Result<Vec<u8>> {
    match question {
        Question::Ping => answered(broker.ping().await),
        Question::Publish { advertisement } => answered(broker.publish(&advertisement).await),
        Question::Advertisement { cluster } => match cluster.parse() {
            Ok(cluster) => answered(broker.advertisement(&cluster).await),
            Err(error) => answered(Err::<(), _>(garbage(error))),
        },
        Question::Reserve { request, intent } => match intent.parse() {
            Ok(intent) => answered(broker.reserve(&request, &intent).await),
            Err(error) => answered(Err::<(), _>(garbage(error))),
        },
        Question::DryRun { request } => answered(broker.dry_run(&request).await),
        Question::Reservations { role } => match role.parse() {
            Ok(role) => answered(broker.reservations(role).await),
            Err(error) => answered(Err::<(), _>(garbage(error))),
        },
        Question::Reservation { id } => answered(broker.reservation(&id).await),
        Question::Activate { id } => answered(broker.activate(&id).await),
        Question::Renew { id, until_nanos } => {
            answered(broker.renew(&id, Timestamp::from_nanos(until_nanos)).await)
        }
        Question::Reject { id, reason } => answered(broker.reject(&id, &reason).await),
        Question::Release { id } => answered(broker.release(&id).await),
        Question::Instructions { role, wait } => {
            answered(instructions(&role, wait.as_ref(), broker).await)
        }
        Question::Events { .. } => answered(Ok(())),
    }
}

async fn instructions(
    role: &str,
    wait: Option<&WaitLine>,
    broker: &dyn BrokerCommunicator,
) -> Result<LevelLine, Error> {
    let role: Role = role.parse().map_err(garbage)?;
    let wait = wait.map(WaitLine::read).transpose()?;
    broker.instructions(role, wait).await.map(LevelLine::of)
}

async fn tell_events(
    after: Option<String>,
    broker: &dyn BrokerCommunicator,
    writing: &mut (impl AsyncWriteExt + Unpin),
) -> io::Result<()> {
    let after = after.and_then(|id| id.parse().ok());
    let opened = broker.events(after).await;
    let (first, stream) = match opened {
        Ok(stream) => (answered(Ok(()))?, Some(stream)),
        Err(error) => (answered(Err::<(), _>(error))?, None),
    };
    writing.write_all(&first).await?;
    let Some(mut stream) = stream else { return Ok(()) };
    while let Some(event) = stream.next().await.transpose() {
        writing.write_all(&answered(event.map(EventLine::of))?).await?;
    }
    Ok(())
}

fn answered<T: Serialize>(answer: Result<T, Error>) -> io::Result<Vec<u8>> {
    line(&answer.map_err(|error| Failure::of(&error)))
}
