//! Server-sent events: lines into events, with a deadline between the signs of life.

use std::collections::VecDeque;
use std::time::Duration;

use reqwest::{Client, Response, Url};
use tokio::sync::watch;
use tokio::time::timeout;

use super::call::{Call, DEADLINE};
use super::failure::lost;
use crate::communicator::{Answering, BrokerEvent, EventId, EventStream};
use crate::error::Error;

/// Three signs of life of the broker, which gives one every 15 s.
const SILENCE: Duration = Duration::from_secs(45);

/// The longest event: an advertisement with thousands of consumers.
const MAX_EVENT: usize = 4 << 20;

pub(super) struct Events {
    response: Response,
    parser: Parser,
    closed: watch::Receiver<bool>,
}

impl Events {
    pub(super) async fn open(
        client: &Client,
        call: &Call,
        to: Url,
        after: Option<EventId>,
        closed: watch::Receiver<bool>,
    ) -> Result<Self, Error> {
        let late = |_| Error::TimedOut { seconds: DEADLINE.as_secs() };
        let mut request = client.request(call.method.clone(), to);
        if let Some(after) = after {
            request = request.header("Last-Event-ID", after.to_string());
        }
        let opened = async { call.succeeded(request.send().await.map_err(lost)?).await };
        let response = timeout(DEADLINE, opened).await.map_err(late)??;
        Ok(Self { response, parser: Parser::default(), closed })
    }

    async fn advance(&mut self) -> Result<Option<BrokerEvent>, Error> {
        loop {
            if let Some(event) = self.parser.complete.pop_front() {
                return Ok(Some(event));
            }
            let chunk = tokio::select! {
                _ = self.closed.wait_for(|closed| *closed) => return Err(Error::Closed),
                chunk = timeout(SILENCE, self.response.chunk()) => chunk,
            };
            let late = |_| Error::TimedOut { seconds: SILENCE.as_secs() };
            match chunk.map_err(late)?.map_err(lost)? {
                Some(chunk) => self.parser.take(&chunk)?,
                None => return Ok(None),
            }
        }
    }
}

impl EventStream for Events {
    fn next(&mut self) -> Answering<'_, Option<BrokerEvent>> {
        Box::pin(self.advance())
    }
}

/// What has arrived and is not a whole event yet.
#[derive(Default)]
struct Parser {
    line: Vec<u8>,
    id: String,
    name: String,
    data: String,
    complete: VecDeque<BrokerEvent>,
}

impl Parser {
    fn take(&mut self, chunk: &[u8]) -> Result<(), Error> {
        for byte in chunk {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let text = std::str::from_utf8(line.strip_suffix(b"\r").unwrap_or(&line))
                .map_err(|_| garbage("an event is not UTF-8"))?;
            self.line(text)?;
        }
        if self.line.len() + self.data.len() > MAX_EVENT {
            return Err(garbage("an event is too long"));
        }
        Ok(())
    }

    fn line(&mut self, line: &str) -> Result<(), Error> {
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => value.clone_into(&mut self.id),
            "event" => value.clone_into(&mut self.name),
            "data" => {
                if !self.data.is_empty() {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            // Comments are signs of life; the rest is for newer clients.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self) -> Result<(), Error> {
        let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
        if data.is_empty() {
            return Ok(());
        }
        let id = self.id.parse().map_err(|_| garbage("an event has no id"))?;
        let data = rear_api::body::read_answer(data.as_bytes())
            .map_err(|error| garbage(&error.to_string()))?;
        self.complete.push_back(BrokerEvent::new(id, name, data));
        Ok(())
    }
}

/// Reads a stream of events that comes in these pieces, for tests: those that were complete before it ended, or why it is no
/// stream of a broker.
#[cfg(feature = "testing")]
pub fn read_events<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<BrokerEvent>, Error> {
    let mut parser = Parser::default();
    pieces.into_iter().try_for_each(|piece| parser.take(piece))?;
    Ok(parser.complete.into())
}

fn garbage(detail: &str) -> Error {
    Error::Garbage { detail: detail.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] =
        b": still here\n\nid: 1.7-0\r\nevent: cluster\r\ndata: {\"at\":\ndata: \"now\"}\n\n\
        retry: 5\nid: 1.8-2\nevent: reservation\ndata:{\"at\": \"then\"}\n\n";

    #[test]
    fn events_are_found_wherever_the_network_cuts_them() {
        for cut in 0..STREAM.len() {
            let mut parser = Parser::default();
            parser.take(&STREAM[..cut]).unwrap();
            parser.take(&STREAM[cut..]).unwrap();
            let found: Vec<_> = parser
                .complete
                .iter()
                .map(|event| (event.id.to_string(), event.name.as_str(), event.data.at.as_str()))
                .collect();
            let expected = [("1.7-0", "cluster", "now"), ("1.8-2", "reservation", "then")];
            assert_eq!(found, expected.map(|(id, name, at)| (id.to_owned(), name, at)), "{cut}");
        }
    }

    #[test]
    fn what_is_no_event_of_a_broker_is_said_so() {
        for bad in [&b"data: {}\n\n"[..], b"id: 1.7-0\ndata: nonsense\n\n", b"id: \xff\n\n"] {
            let refused = Parser::default().take(bad);
            assert!(matches!(refused, Err(Error::Garbage { .. })), "{bad:?}");
        }
    }
}
