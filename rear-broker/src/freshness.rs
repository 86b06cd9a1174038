//! How fresh an answer is: at least as new as the caller has seen, the newest of all brokers, or marked as old.

use std::time::Duration;

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use rear_api::problem::{Code, Problem};
use rear_api::revision::{AT_LEAST_HEADER, Position, STALE_HEADER};
use rear_store::{Standing, Store};
use tokio::sync::oneshot;

use crate::answer::{Failure, SOON};

const AT_LEAST: HeaderName = HeaderName::from_static(AT_LEAST_HEADER);
const STALE: HeaderName = HeaderName::from_static(STALE_HEADER);

/// How long a caller waits for what another broker has decided: that takes milliseconds while all is well.
const PATIENCE: Duration = Duration::from_secs(5);

/// The member of a query that asks for the newest state.
const CONSISTENCY: &str = "consistency";

/// Waits until the answer can be as fresh as the caller wants, and takes what it said about that out of the query.
pub(crate) async fn wait(store: &Store, parts: &mut Parts) -> Result<(), Failure> {
    let seen = at_least(&parts.headers)?;
    let newest = take_consistency(&mut parts.uri)?;
    if let Some(seen) = seen {
        wait_for(store, seen).await.map_err(|why| late(&why))?;
    }
    if newest {
        catch_up(store).await.map_err(|why| late(&why))?;
    }
    Ok(())
}

/// Waits until everything is shown here that anyone had committed when this was called; else says why it is not.
pub(crate) async fn catch_up(store: &Store) -> Result<(), String> {
    let (tell, end) = oneshot::channel();
    // Whoever asked may be gone by now.
    store.ask_for_the_end(move |end| drop(tell.send(end)));
    let silent = || "etcd did not answer".to_owned();
    let end = tokio::time::timeout(PATIENCE, end).await.map_err(|_| silent())?;
    let end = end.map_err(|_| silent())?.map_err(|error| error.to_string())?;
    wait_for(store, end).await
}

/// Marks an answer that may be older than it seems.
pub(crate) fn mark(store: &Store, headers: &mut HeaderMap) {
    let Some(standing) = store.standing() else { return };
    if standing.age > Standing::STALE_AFTER {
        headers.insert(STALE, HeaderValue::from(standing.age.as_secs()));
    }
}

async fn wait_for(store: &Store, wanted: Position) -> Result<(), String> {
    // What was seen in an earlier life of the ledger says nothing about this one.
    if wanted <= position(store) {
        return Ok(());
    }
    let mut news = store.subscribe(None);
    let shown = async { while position(store) < wanted && news.changed().await.is_ok() {} };
    let in_time = tokio::time::timeout(PATIENCE, shown).await;
    in_time.map_err(|_| format!("this broker has not seen {wanted} yet"))
}

fn position(store: &Store) -> Position {
    store.view().position()
}

fn late(why: &str) -> Failure {
    Failure::later(Problem::new(Code::NotReady, why), SOON)
}

fn at_least(headers: &HeaderMap) -> Result<Option<Position>, Failure> {
    let Some(value) = headers.get(AT_LEAST) else { return Ok(None) };
    let wrong = || Problem::new(Code::Unreadable, "REAR-At-Least: it is INCARNATION.NUMBER").into();
    let position = value.to_str().ok().and_then(|text| text.parse().ok());
    position.map(Some).ok_or_else(wrong)
}

/// Whether the newest state is wanted. The member is taken out: no route knows it.
fn take_consistency(uri: &mut Uri) -> Result<bool, Failure> {
    let Some(query) = uri.query().filter(|query| query.contains(CONSISTENCY)) else {
        return Ok(false);
    };
    let of_it = |member: &&str| member.split('=').next() == Some(CONSISTENCY);
    let (said, rest): (Vec<&str>, Vec<&str>) = query.split('&').partition(of_it);
    let newest = match said[..] {
        [] => return Ok(false),
        ["consistency=linearizable"] => true,
        ["consistency=local"] => false,
        _ => {
            let detail = "consistency: linearizable or local, once";
            return Err(Problem::new(Code::Unreadable, detail).into());
        }
    };
    let query = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
    if let Ok(path) = format!("{}{query}", uri.path()).parse() {
        let mut parts = std::mem::take(uri).into_parts();
        parts.path_and_query = Some(path);
        *uri = Uri::from_parts(parts).unwrap_or_default();
    }
    Ok(newest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(address: &str) -> Option<(bool, String)> {
        let mut uri: Uri = address.parse().unwrap();
        let newest = take_consistency(&mut uri).ok()?;
        Some((newest, uri.to_string()))
    }

    #[test]
    fn the_wish_for_the_newest_state_is_taken_out_of_the_query() {
        let expected = Some((true, "/api/v1/reservations?role=provider&limit=2".to_owned()));
        let asked = "/api/v1/reservations?role=provider&consistency=linearizable&limit=2";
        assert_eq!(taken(asked), expected);
        assert_eq!(taken("/a?consistency=linearizable"), Some((true, "/a".to_owned())));
        assert_eq!(taken("/a?consistency=local"), Some((false, "/a".to_owned())));
        assert_eq!(taken("/a?x=consistency"), Some((false, "/a?x=consistency".to_owned())));
        assert_eq!(taken("/a?consistency=strong"), None);
    }
}
