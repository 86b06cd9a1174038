//! The transport: each operation of the trait as a question over the socket.

use std::path::PathBuf;
use std::time::Duration;

use rear_agent_sdk::Error;
use rear_agent_sdk::communicator::{
    Advertisement, AdvertisementAnswer, AdvertisementRequest, Answering, BrokerCommunicator,
    BrokerEvent, ClusterId, DryRun, EventId, EventStream, Intent, Level, Reservation,
    ReservationRequest, Role, Timestamp, Wait,
};
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::protocol::{EventLine, Failure, LevelLine, Question, WaitLine, garbage, line};

/// Beyond what the gateway needs with all its own attempts.
const DEADLINE: Duration = Duration::from_mins(3);

/// Speaks to a gateway on this host.
pub(crate) struct SocketCommunicator {
    socket: PathBuf,
    closed: watch::Sender<bool>,
}

/// The answers to one question.
struct Answers {
    lines: BufReader<UnixStream>,
    operation: &'static str,
    closed: watch::Receiver<bool>,
}

impl SocketCommunicator {
    pub(crate) fn new(socket: impl Into<PathBuf>) -> Self {
        Self { socket: socket.into(), closed: watch::Sender::new(false) }
    }

    async fn open(&self, operation: &'static str, question: &Question) -> Result<Answers, Error> {
        let closed = self.closed.subscribe();
        if *closed.borrow() {
            return Err(Error::Closed);
        }
        let connected = UnixStream::connect(&self.socket).await;
        let mut stream = connected.map_err(|error| Error::Unreachable { source: error.into() })?;
        let question = line(question).map_err(garbage)?;
        stream.write_all(&question).await.map_err(interrupted)?;
        Ok(Answers { lines: BufReader::new(stream), operation, closed })
    }

    /// Asks once: whether to ask again is the caller's to say, who has the intent.
    async fn ask<T: DeserializeOwned>(
        &self,
        operation: &'static str,
        question: Question,
        held: Duration,
    ) -> Result<T, Error> {
        let deadline = DEADLINE + held;
        let asking = async {
            let mut answers = self.open(operation, &question).await?;
            let missing = || interrupted("the gateway has closed the connection");
            answers.next().await?.ok_or_else(missing)
        };
        let late = |_| Error::TimedOut { seconds: deadline.as_secs() };
        timeout(deadline, asking).await.map_err(late)?
    }

    fn asked<T: DeserializeOwned + Send + 'static>(
        &self,
        operation: &'static str,
        question: Question,
    ) -> Answering<'_, T> {
        Box::pin(self.ask(operation, question, Duration::ZERO))
    }
}

impl Answers {
    async fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, Error> {
        let mut text = String::new();
        tokio::select! {
            biased;
            _ = self.closed.wait_for(|closed| *closed) => return Err(Error::Closed),
            read = self.lines.read_line(&mut text) => read.map_err(interrupted)?,
        };
        if text.is_empty() {
            return Ok(None);
        }
        let answer: Result<T, Failure> = serde_json::from_str(&text).map_err(garbage)?;
        answer.map(Some).map_err(|failure| failure.into_error(self.operation))
    }
}

impl EventStream for Answers {
    fn next(&mut self) -> Answering<'_, Option<BrokerEvent>> {
        Box::pin(async move {
            let event: Option<EventLine> = Answers::next(self).await?;
            event.map(EventLine::read).transpose()
        })
    }
}

fn interrupted(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::Interrupted { source: error.into() }
}

impl BrokerCommunicator for SocketCommunicator {
    fn ping(&self) -> Answering<'_, ()> {
        self.asked("ping", Question::Ping)
    }

    fn publish<'a>(
        &'a self,
        advertisement: &'a AdvertisementRequest,
    ) -> Answering<'a, AdvertisementAnswer> {
        self.asked(
            "advertisements",
            Question::Publish { advertisement: Box::new(advertisement.clone()) },
        )
    }

    fn advertisement<'a>(&'a self, cluster: &'a ClusterId) -> Answering<'a, Option<Advertisement>> {
        self.asked("advertisements", Question::Advertisement { cluster: cluster.to_string() })
    }

    fn reserve<'a>(
        &'a self,
        request: &'a ReservationRequest,
        intent: &'a Intent,
    ) -> Answering<'a, Reservation> {
        let (request, intent) = (request.clone(), intent.to_string());
        self.asked("reservations", Question::Reserve { request, intent })
    }

    fn dry_run<'a>(&'a self, request: &'a ReservationRequest) -> Answering<'a, DryRun> {
        self.asked("dry run", Question::DryRun { request: request.clone() })
    }

    fn reservations(&self, role: Role) -> Answering<'_, Vec<Reservation>> {
        self.asked("list of reservations", Question::Reservations { role: role.name().to_owned() })
    }

    fn reservation<'a>(&'a self, id: &'a str) -> Answering<'a, Reservation> {
        self.asked("look at a reservation", Question::Reservation { id: id.to_owned() })
    }

    fn activate<'a>(&'a self, id: &'a str) -> Answering<'a, Reservation> {
        self.asked("activation", Question::Activate { id: id.to_owned() })
    }

    fn renew<'a>(&'a self, id: &'a str, until: Timestamp) -> Answering<'a, Reservation> {
        let until_nanos = until.as_nanos();
        self.asked("renewal", Question::Renew { id: id.to_owned(), until_nanos })
    }

    fn reject<'a>(&'a self, id: &'a str, reason: &'a str) -> Answering<'a, Reservation> {
        let (id, reason) = (id.to_owned(), reason.to_owned());
        self.asked("rejection", Question::Reject { id, reason })
    }

    fn release<'a>(&'a self, id: &'a str) -> Answering<'a, Reservation> {
        self.asked("release", Question::Release { id: id.to_owned() })
    }

    fn instructions(&self, role: Role, wait: Option<Wait>) -> Answering<'_, Level> {
        Box::pin(async move {
            let held = wait.map_or(Duration::ZERO, |wait| wait.at_most);
            let role = role.name().to_owned();
            let question = Question::Instructions { role, wait: wait.map(WaitLine::of) };
            let level: LevelLine = self.ask("instructions", question, held).await?;
            level.read()
        })
    }

    fn events(&self, after: Option<EventId>) -> Answering<'_, Box<dyn EventStream>> {
        Box::pin(async move {
            let question = Question::Events { after: after.map(|id| id.to_string()) };
            let mut answers = self.open("stream of events", &question).await?;
            // The first line says whether there is a stream.
            Answers::next::<()>(&mut answers).await?;
            Ok(Box::new(answers) as Box<dyn EventStream>)
        })
    }

    fn close(&self) {
        self.closed.send_replace(true);
    }
}
