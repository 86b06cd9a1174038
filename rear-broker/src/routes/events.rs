//! Events as they happen: a stream for each caller of what concerns it, which can be taken up again.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Response};
use futures::stream;
use rear_api::event::{EventData, EventName, Object};
use rear_api::problem::{Code, Problem};
use rear_api::reservation::Reservation;
use rear_api::revision::EventId;
use rear_engine::{ClusterId, Subject};
use rear_store::view::Told;
use rear_store::{FeedError, News, View};
use tokio::time::{Instant, sleep, sleep_until};

use super::advertisements::shown;
use super::list::{Nothing, Query, unreadable};
use super::openapi::Problems;
use crate::answer::{Failure, REVISION, SOON, revision_value};
use crate::broker::Broker;
use crate::caller::Caller;
use crate::limits::{MAX_ALL_EVENT_STREAMS, MAX_EVENT_STREAMS};
use crate::listen::stopped;
use crate::tally::Taken;

/// The last event that a client has seen.
const LAST_EVENT_ID: &str = "last-event-id";

/// A sign of life on a stream on which nothing happens, before anyone between cuts it.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// How many events are taken at once.
const STRETCH: usize = 256;

/// A stream of what concerns the caller, from the last event that it has seen, else from now on.
#[utoipa::path(
    get,
    path = "/api/v1/events",
    operation_id = "streamEvents",
    params(("Last-Event-ID" = Option<String>, Header, description = "The last event that was seen")),
    responses(
        (status = 200, content_type = "text/event-stream", body = EventData, description = "One after the other"),
        Problems
    )
)]
pub(super) async fn stream(
    State(broker): State<Arc<Broker>>,
    caller: Caller,
    _: Query<Nothing>,
    headers: HeaderMap,
) -> Result<Response<Body>, Failure> {
    let place = place(&broker, &caller)?;
    let concerning = (!caller.is_administrator()).then(|| caller.id().clone());
    let news = broker.store.subscribe(concerning.as_ref());
    let position = broker.store.view().position();
    let last = last_event(&headers)?.unwrap_or_else(|| position.into());
    let mut teller = Teller {
        broker,
        caller,
        concerning,
        news,
        last,
        waiting: VecDeque::new(),
        heartbeat: Instant::now() + HEARTBEAT,
        _place: place,
    };
    // What cannot be resumed is said before the stream begins.
    teller.look()?;
    let body = stream::unfold(teller, |mut teller| async move {
        let next = teller.next().await?;
        Some((Ok::<Bytes, Infallible>(next), teller))
    });
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REVISION, revision_value(position));
    Ok(response)
}

fn place(broker: &Broker, caller: &Caller) -> Result<Taken<ClusterId>, Failure> {
    let place = broker.streams.take(caller.id().clone());
    if place.own > MAX_EVENT_STREAMS || place.all > MAX_ALL_EVENT_STREAMS {
        let problem = Problem::new(Code::TooMany, "too many event streams are open");
        return Err(Failure::later(problem, HEARTBEAT));
    }
    Ok(place)
}

fn last_event(headers: &HeaderMap) -> Result<Option<EventId>, Failure> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok(None) };
    let text = value.to_str().ok().map(str::trim);
    match text {
        Some("") => Ok(None),
        Some(text) => {
            text.parse().map(Some).map_err(|error| unreadable(format!("Last-Event-ID: {error}")))
        }
        None => Err(unreadable("Last-Event-ID: not printable ASCII")),
    }
}

/// Tells one caller.
struct Teller {
    broker: Arc<Broker>,
    caller: Caller,
    concerning: Option<ClusterId>,
    news: News,
    /// Everything up to here has been told.
    last: EventId,
    /// What has happened and is not told yet. It is written one by one: an object can be a megabyte, and a client slow.
    waiting: VecDeque<Arc<Told>>,
    /// When the stream gives a sign of life if nothing happens before.
    heartbeat: Instant,
    _place: Taken<ClusterId>,
}

impl Teller {
    /// The next piece of the stream; `None` at its end.
    async fn next(&mut self) -> Option<Bytes> {
        let mut stopping = self.broker.stopping.clone();
        loop {
            if let Some(told) = self.waiting.pop_front() {
                let Some(next) = line(&told, &self.broker.store.view()) else { continue };
                self.heartbeat = Instant::now() + HEARTBEAT;
                return Some(next);
            }
            // A certificate that no longer counts ends the stream, and so does a feed that cannot go on.
            self.caller.still_counts().ok()?;
            // Whoever listens is there.
            self.broker.hear(&self.caller);
            if self.look().ok()? {
                // Much may have happened of which nothing concerns this caller: others have their turn in between.
                tokio::task::yield_now().await;
                continue;
            }
            tokio::select! {
                changed = self.news.changed() => changed.ok()?,
                () = sleep_until(self.heartbeat) => {
                    self.heartbeat = Instant::now() + HEARTBEAT;
                    return Some(Bytes::from_static(b": still here\n\n"));
                }
                () = sleep(self.broker.sign_every()) => {}
                () = stopped(&mut stopping) => return None,
            }
        }
    }

    /// Whether another broker on the same ledger may have told of it.
    fn is_to_come(&self, last: EventId) -> bool {
        let present = self.broker.store.view().position();
        let same = last.position.incarnation == present.incarnation;
        same && last.position > present && self.broker.store.standing().is_some()
    }

    /// Takes what has happened since; whether there may be something to tell or more to look at.
    fn look(&mut self) -> Result<bool, Failure> {
        self.news.mark_unchanged();
        let stretch = self.broker.store.events_after(self.last, self.concerning.as_ref(), STRETCH);
        let not_ready = |why: String| Failure::later(Problem::new(Code::NotReady, why), SOON);
        let stretch = stretch.map_err(|error| match error {
            FeedError::Gone(last) if self.is_to_come(last) => {
                not_ready("this broker does not know of that event yet".to_owned())
            }
            FeedError::Gone(_) => Problem::new(Code::OlderIncarnation, error.to_string()).into(),
            FeedError::Journal(_) => not_ready(error.to_string()),
        })?;
        self.waiting.extend(stretch.events);
        self.last = stretch.through;
        Ok(!self.waiting.is_empty() || !stretch.complete)
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.broker.metrics.stream_closed();
    }
}

/// One event as it is written to a stream.
fn line(told: &Told, view: &View) -> Option<Bytes> {
    let data = serde_json::to_string(&shown_event(told, view)).ok()?;
    let name = EventName::of(&told.event).name();
    Some(Bytes::from(format!("id: {}\nevent: {name}\ndata: {data}\n\n", told.id)))
}

/// An event, with the object as its `GET` shows it now.
pub(crate) fn shown_event(told: &Told, view: &View) -> EventData {
    let object = match &told.event.subject {
        Subject::Fleet => Object::Gone,
        Subject::Cluster(id) => {
            shown(view, id).map_or(Object::Gone, |it| Object::Advertisement(Box::new(it)))
        }
        Subject::Reservation(id) => view
            .fleet()
            .reservation(*id)
            .map_or(Object::Gone, |it| Object::Reservation(Box::new(Reservation::from(it)))),
    };
    EventData::of(&told.event, object)
}

#[cfg(test)]
mod tests {
    use tokio::sync::watch;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_stream_on_which_nothing_happens_gives_signs_of_life() {
        let (_stop, stopping) = watch::channel(false);
        let (mut broker, _) = crate::broker::tests::broker();
        broker.stopping = stopping;
        let broker = Arc::new(broker);
        let last = broker.store.view().position().into();
        let mut teller = Teller {
            caller: Caller::believed("rome", false),
            concerning: None,
            news: broker.store.subscribe(None),
            last,
            waiting: VecDeque::new(),
            heartbeat: Instant::now() + HEARTBEAT,
            _place: broker.streams.take("rome".parse().unwrap()),
            broker,
        };
        let began = Instant::now();
        for number in 1..4 {
            assert_eq!(teller.next().await.as_deref(), Some(&b": still here\n\n"[..]));
            assert_eq!(began.elapsed(), HEARTBEAT * number);
        }
    }
}
