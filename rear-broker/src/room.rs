//! The memory that requests and answers on their way may take: few are large, and whoever sends many of these at once, or does
//! not take their answers, is told to come later.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::response::Response;
use http_body_util::BodyExt;
use hyper::body::{Body as _, Frame, SizeHint};
use rear_api::problem::{Code, Problem};
use rear_engine::ClusterId;

use crate::answer::Failure;
use crate::limits::{CHANGING_LATER, MAX_ROOM, MAX_ROOM_OF_ALL, SMALL};
use crate::tally::{Taken, Tally};

/// Bytes that are on their way, by caller.
pub type Room = Arc<Tally<ClusterId>>;

/// So much more room a body takes when it needs more.
const STEP: usize = 64 << 10;

/// Takes room for so many bytes more, if there is any.
fn take(room: &Room, by: &ClusterId, bytes: usize) -> Result<Taken<ClusterId>, Failure> {
    let taken = room.take_many(by.clone(), bytes);
    if taken.own > MAX_ROOM || taken.all > MAX_ROOM_OF_ALL {
        let detail = "too much of this caller, or of all, is on its way: large bodies, or answers that are not taken";
        return Err(Failure::later(Problem::new(Code::TooMany, detail), CHANGING_LATER));
    }
    Ok(taken)
}

/// The bytes of a body as they come. Small ones take no room.
pub async fn gather<B>(
    mut body: B,
    room: &Room,
    by: &ClusterId,
) -> Result<Bytes, GatherError<B::Error>>
where
    B: hyper::body::Body<Data = Bytes> + Unpin,
{
    // Most come in one piece. Those of others may be bytes: they are not kept apart.
    let (mut first, mut whole, mut taken) = (Bytes::new(), Vec::new(), Vec::new());
    while !body.is_end_stream()
        && let Some(frame) = body.frame().await
    {
        let Ok(piece) = frame.map_err(GatherError::Body)?.into_data() else { continue };
        if first.is_empty() {
            first = piece;
        } else {
            if whole.is_empty() {
                whole.extend_from_slice(&first);
            }
            whole.extend_from_slice(&piece);
        }
        while first.len().max(whole.len()) > SMALL + taken.len() * STEP {
            taken.push(take(room, by, STEP).map_err(GatherError::NoRoom)?);
        }
    }
    Ok(if whole.is_empty() { first } else { whole.into() })
}

/// Why a body is not there.
#[derive(Debug)]
pub enum GatherError<E> {
    /// It ended before its time.
    Body(E),
    /// There is no room for it.
    NoRoom(Failure),
}

/// An answer that takes its room until it has been taken, or an answer that there is none.
pub fn hold(room: &Room, by: &ClusterId, answer: Response) -> Result<Response, Failure> {
    let length = answer.body().size_hint().exact().and_then(|length| length.try_into().ok());
    let Some(length) = length.filter(|length| *length > SMALL) else { return Ok(answer) };
    let taken = take(room, by, length)?;
    Ok(answer.map(|body| Body::new(Held { body, _taken: taken })))
}

/// A body and its room.
struct Held {
    body: Body,
    _taken: Taken<ClusterId>,
}

impl hyper::body::Body for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::response::IntoResponse;
    use futures::stream;
    use http_body_util::StreamBody;

    use super::*;

    fn cluster(name: &str) -> ClusterId {
        name.parse().unwrap()
    }

    fn answer(length: usize) -> Response {
        Body::from(vec![b'x'; length]).into_response()
    }

    #[tokio::test]
    async fn answers_take_room_until_they_are_gone() {
        let (room, rome, paris) = (Room::default(), cluster("rome"), cluster("paris"));
        let mut held = Vec::new();
        let refused = loop {
            match hold(&room, &rome, answer(1 << 20)) {
                Ok(answer) => held.push(answer),
                Err(refused) => break refused.into_response(),
            }
        };
        assert_eq!((held.len(), refused.status().as_u16()), (MAX_ROOM >> 20, 429));
        assert!(refused.headers().contains_key("retry-after"));
        assert!(hold(&room, &rome, answer(SMALL)).is_ok(), "small ones always have room");
        assert!(hold(&room, &paris, answer(1 << 20)).is_ok(), "so have others");
        let last = held.pop().unwrap();
        assert_eq!(last.body().size_hint().exact(), Some(1 << 20));
        assert_eq!(last.into_body().collect().await.unwrap().to_bytes().len(), 1 << 20);
        assert!(hold(&room, &rome, answer(1 << 20)).is_ok());
    }

    #[tokio::test]
    async fn nobody_has_the_room_of_all() {
        let room = Room::default();
        let mut held = Vec::new();
        let fits = |number: usize, held: &mut Vec<_>| {
            let answer = hold(&room, &cluster(&format!("c{number}")), answer(MAX_ROOM));
            answer.map(|answer| held.push(answer)).is_ok()
        };
        let count = (0..100).take_while(|number| fits(*number, &mut held)).count();
        assert_eq!(count, MAX_ROOM_OF_ALL / MAX_ROOM);
    }

    #[tokio::test]
    async fn bodies_take_room_while_they_come() {
        let (room, rome) = (Room::default(), cluster("rome"));
        let body = || http_body_util::Full::new(Bytes::from(vec![b'x'; 1 << 20]));
        assert_eq!(gather(body(), &room, &rome).await.unwrap().len(), 1 << 20);
        let _others = hold(&room, &rome, answer(MAX_ROOM)).unwrap();
        assert!(matches!(gather(body(), &room, &rome).await, Err(GatherError::NoRoom(_))));
        let bytes = |byte| Ok::<_, Infallible>(Frame::data(Bytes::from(vec![byte])));
        let in_bytes = |length| StreamBody::new(stream::iter((0..length).map(|_| bytes(b'x'))));
        assert!(matches!(
            gather(in_bytes(1 << 20), &room, &rome).await,
            Err(GatherError::NoRoom(_))
        ));
        assert_eq!(gather(in_bytes(SMALL), &room, &rome).await.unwrap(), vec![b'x'; SMALL]);
        let small = http_body_util::Full::new(Bytes::from(vec![b'x'; SMALL]));
        assert_eq!(gather(small, &room, &rome).await.unwrap().len(), SMALL);
    }
}
