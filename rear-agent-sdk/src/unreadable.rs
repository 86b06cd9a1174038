//! Objects of an API server that cannot be read: stored under another definition of their kind, or by someone who has another
//! one installed. Each is told once, and the others go on. For whoever lists or watches custom resources.
//!
//! Kinds of Kubernetes itself need none of it: there the API server has the type that is read.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use futures::{Stream, StreamExt};
use kube::Resource;
use kube::core::{DeserializeGuard, ObjectMeta};
use kube::runtime::watcher::Event;
use tracing::{debug, warn};

/// So many are told and remembered: more lines about one definition help nobody.
const MOST_TOLD: usize = 1024;

/// Which objects cannot be read, as far as it was told.
#[derive(Debug, Default)]
pub struct Unreadable {
    /// The reason, by the object.
    told: Mutex<BTreeMap<String, String>>,
}

impl Unreadable {
    /// The object, or, if it cannot be read, what every object has. That is told once for each object and reason.
    pub fn read<K>(&self, object: DeserializeGuard<K>) -> Result<K, Box<ObjectMeta>>
    where
        K: Resource<DynamicType = ()>,
    {
        match object.0 {
            Ok(object) => {
                self.forget::<K>(object.meta());
                Ok(object)
            }
            Err(invalid) => {
                self.tell::<K>(&invalid.metadata, &invalid.error);
                Err(Box::new(invalid.metadata))
            }
        }
    }

    /// Those of a list that can be read.
    pub fn readable<K>(&self, objects: Vec<DeserializeGuard<K>>) -> Vec<K>
    where
        K: Resource<DynamicType = ()>,
    {
        objects.into_iter().filter_map(|object| self.read(object).ok()).collect()
    }

    /// What a watch tells, for those who know objects as they were last read: what cannot be read stays as it was, until it can
    /// be read again or is gone.
    pub fn follow<K, E>(
        self,
        events: impl Stream<Item = Result<Event<DeserializeGuard<K>>, E>>,
        last_read: impl Fn(&ObjectMeta) -> Option<K>,
    ) -> impl Stream<Item = Result<Event<K>, E>>
    where
        K: Resource<DynamicType = ()>,
    {
        events.filter_map(move |event| {
            let event = event.map(|event| self.readable_event(event, &last_read)).transpose();
            std::future::ready(event)
        })
    }

    fn readable_event<K>(
        &self,
        event: Event<DeserializeGuard<K>>,
        last_read: impl Fn(&ObjectMeta) -> Option<K>,
    ) -> Option<Event<K>>
    where
        K: Resource<DynamicType = ()>,
    {
        Some(match event {
            Event::Init => Event::Init,
            Event::InitDone => Event::InitDone,
            Event::Apply(object) => Event::Apply(self.read(object).ok()?),
            Event::InitApply(object) => {
                Event::InitApply(self.read(object).or_else(|meta| last_read(&meta).ok_or(())).ok()?)
            }
            Event::Delete(object) => {
                self.forget::<K>(object.meta());
                let gone = object.0.or_else(|invalid| last_read(&invalid.metadata).ok_or(()));
                Event::Delete(gone.ok()?)
            }
        })
    }

    fn tell<K: Resource<DynamicType = ()>>(&self, meta: &ObjectMeta, reason: &str) {
        let (kind, namespace, name) = (K::kind(&()), &meta.namespace, &meta.name);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let key = key::<K>(meta);
        if told.get(&key).is_some_and(|known| known == reason) || told.len() >= MOST_TOLD {
            debug!(%kind, namespace, name, reason, "an object still cannot be read");
            return;
        }
        told.insert(key, reason.to_owned());
        warn!(%kind, namespace, name, reason, "an object cannot be read, and is left alone until it can");
    }

    fn forget<K: Resource<DynamicType = ()>>(&self, meta: &ObjectMeta) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if !told.is_empty() {
            told.remove(&key::<K>(meta));
        }
    }
}

fn key<K: Resource<DynamicType = ()>>(meta: &ObjectMeta) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    format!("{} {}/{}", K::kind(&()), text(&meta.namespace), text(&meta.name))
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    use super::*;

    fn object(name: &str, data: &serde_json::Value) -> DeserializeGuard<ConfigMap> {
        let text = json!({ "metadata": { "name": name }, "data": data }).to_string();
        serde_json::from_str(&text).unwrap()
    }

    fn good(name: &str) -> DeserializeGuard<ConfigMap> {
        object(name, &json!({}))
    }

    fn bad(name: &str) -> DeserializeGuard<ConfigMap> {
        object(name, &json!("no map"))
    }

    fn name(object: &ConfigMap) -> &str {
        object.metadata.name.as_deref().unwrap()
    }

    #[test]
    fn those_that_can_be_read_are_read() {
        let unreadable = Unreadable::default();
        let read = unreadable.readable(vec![good("x"), bad("y"), good("z")]);
        assert_eq!(read.iter().map(name).collect::<Vec<_>>(), ["x", "z"]);
    }

    #[test]
    fn each_is_told_once_and_again_when_it_was_readable_in_between() {
        let unreadable = Unreadable::default();
        let told = || unreadable.told.lock().unwrap().len();
        for _ in 0..2 {
            assert!(unreadable.read(bad("x")).is_err());
            assert_eq!(told(), 1);
        }
        assert!(unreadable.read(bad("y")).is_err());
        assert_eq!(told(), 2);
        assert!(unreadable.read(good("x")).is_ok());
        assert_eq!(told(), 1);
    }

    #[tokio::test]
    async fn what_was_read_before_stays_as_it_was_until_it_is_gone() {
        let events = [
            Event::Apply(bad("known")),
            Event::Init,
            Event::InitApply(bad("known")),
            Event::InitApply(bad("unknown")),
            Event::InitApply(good("other")),
            Event::InitDone,
            Event::Delete(bad("known")),
            Event::Delete(bad("unknown")),
        ];
        let last_read = |meta: &ObjectMeta| {
            (meta.name.as_deref() == Some("known")).then(|| good("known").0.unwrap())
        };
        let events = stream::iter(events.map(Ok::<_, ()>));
        let told: Vec<_> = Unreadable::default().follow(events, last_read).collect().await;
        let told: Vec<_> = told
            .into_iter()
            .map(|event| match event.unwrap() {
                Event::Init => "listing".to_owned(),
                Event::InitApply(it) => format!("listed {}", name(&it)),
                Event::InitDone => "complete".to_owned(),
                Event::Apply(it) => format!("is {}", name(&it)),
                Event::Delete(it) => format!("gone {}", name(&it)),
            })
            .collect();
        assert_eq!(told, ["listing", "listed known", "listed other", "complete", "gone known"]);
    }
}
