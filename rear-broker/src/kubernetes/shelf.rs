//! Objects as a watch shows them, with an index: what was touched is told by its place in the index.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::core::{DeserializeGuard, ObjectMeta};
use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt};
use rear_agent_sdk::unreadable::Unreadable;

/// Where an object is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    pub(super) namespace: String,
    pub(super) name: String,
}

/// All objects of a kind.
#[derive(Debug)]
pub(super) struct Shelf<K, I> {
    objects: BTreeMap<Place, Arc<K>>,
    index: BTreeMap<I, BTreeSet<Place>>,
    index_of: fn(&K) -> Option<I>,
    /// Those that are there and cannot be read, with what every object has.
    aside: BTreeMap<Place, ObjectMeta>,
    aside_of: fn(&ObjectMeta) -> Option<I>,
    unreadable: Unreadable,
    /// Those that a list in progress has named.
    arriving: Option<BTreeSet<Place>>,
    is_complete: bool,
}

impl Place {
    pub(super) fn of(object: &impl Resource) -> Self {
        let namespace = object.namespace().unwrap_or_default();
        Self { namespace, name: object.name_any() }
    }
}

impl<K: Resource<DynamicType = ()>, I: Ord + Clone> Shelf<K, I> {
    /// Under what an object is found, and what one that cannot be read may be about.
    pub(super) fn new(
        index_of: fn(&K) -> Option<I>,
        aside_of: fn(&ObjectMeta) -> Option<I>,
    ) -> Self {
        Self {
            objects: BTreeMap::new(),
            index: BTreeMap::new(),
            index_of,
            aside: BTreeMap::new(),
            aside_of,
            unreadable: Unreadable::default(),
            arriving: None,
            is_complete: false,
        }
    }

    /// Whether everything has been listed once.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Takes what a watch tells; which places of the index are touched by it.
    pub(super) fn take(&mut self, event: Event<DeserializeGuard<K>>) -> Vec<I> {
        match event {
            Event::Init => {
                self.arriving = Some(BTreeSet::new());
                Vec::new()
            }
            Event::InitApply(object) => {
                if let Some(arriving) = &mut self.arriving {
                    arriving.insert(Place::of(&object));
                }
                self.read(object)
            }
            Event::InitDone => {
                self.is_complete = true;
                let arrived = self.arriving.take().unwrap_or_default();
                let known = self.objects.keys().chain(self.aside.keys());
                let gone = known.filter(|place| !arrived.contains(place));
                let gone: Vec<_> = gone.cloned().collect();
                gone.iter().flat_map(|place| self.remove(place)).collect()
            }
            Event::Apply(object) => self.read(object),
            Event::Delete(object) => self.remove(&Place::of(&object)),
        }
    }

    /// One that cannot be read is not gone: it lies aside until it can be, or goes.
    fn read(&mut self, object: DeserializeGuard<K>) -> Vec<I> {
        let place = Place::of(&object);
        match self.unreadable.read(object) {
            Ok(object) => {
                self.aside.remove(&place);
                self.put(object)
            }
            Err(meta) => {
                let touched = self.remove(&place);
                self.aside.insert(place, *meta);
                touched
            }
        }
    }

    /// Whether something is there that may be about this and cannot be read.
    pub(super) fn is_aside(&self, index: &I) -> bool {
        self.aside.values().any(|meta| (self.aside_of)(meta).as_ref() == Some(index))
    }

    /// The answer to a write: known before the watch tells of it. One that is gone meanwhile stays gone.
    pub(super) fn note(&mut self, object: K) {
        let known = self.objects.get(&Place::of(&object));
        if known.is_some_and(|known| known.uid() == object.uid()) {
            self.put(object);
        }
    }

    fn put(&mut self, object: K) -> Vec<I> {
        let place = Place::of(&object);
        let known = self.objects.get(&place);
        if known.is_some_and(|known| known.uid() == object.uid() && is_older(&object, &**known)) {
            return Vec::new();
        }
        let before = self.take_down(&place);
        let after = (self.index_of)(&object);
        if let Some(after) = &after {
            self.index.entry(after.clone()).or_default().insert(place.clone());
        }
        self.objects.insert(place, Arc::new(object));
        [before, after].into_iter().flatten().collect()
    }

    fn remove(&mut self, place: &Place) -> Vec<I> {
        let aside = self.aside.remove(place).and_then(|meta| (self.aside_of)(&meta));
        aside.into_iter().chain(self.take_down(place)).collect()
    }

    fn take_down(&mut self, place: &Place) -> Option<I> {
        let object = self.objects.remove(place)?;
        let index = (self.index_of)(&object)?;
        if let Some(places) = self.index.get_mut(&index) {
            places.remove(place);
            if places.is_empty() {
                self.index.remove(&index);
            }
        }
        Some(index)
    }

    /// The objects at one place of the index.
    pub(super) fn at(&self, index: &I) -> Vec<(Place, Arc<K>)> {
        let places = self.index.get(index).into_iter().flatten();
        let found = |place: &Place| Some((place.clone(), self.objects.get(place)?.clone()));
        places.filter_map(found).collect()
    }

    /// The object at a place.
    pub(super) fn get(&self, place: &Place) -> Option<Arc<K>> {
        self.objects.get(place).cloned()
    }

    /// Every place of the index.
    pub(super) fn indexed(&self) -> impl Iterator<Item = &I> {
        self.index.keys()
    }

    /// Every object.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Place, &Arc<K>)> {
        self.objects.iter()
    }
}

/// Resource versions of one kind can be compared; one that cannot be read is believed to be news.
fn is_older(new: &impl Resource, known: &impl Resource) -> bool {
    let version = |meta: &ObjectMeta| meta.resource_version.as_deref()?.parse::<u64>().ok();
    matches!((version(new.meta()), version(known.meta())), (Some(new), Some(known)) if new < known)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    fn object(name: &str, uid: &str, version: &str) -> ConfigMap {
        let mut object = ConfigMap::default();
        let meta = object.meta_mut();
        meta.name = Some(name.to_owned());
        meta.namespace = Some("a".to_owned());
        (meta.uid, meta.resource_version) = (Some(uid.to_owned()), Some(version.to_owned()));
        object
    }

    fn shelf() -> Shelf<ConfigMap, String> {
        Shelf::new(ConfigMap::uid, |meta| meta.uid.clone())
    }

    fn read(name: &str, uid: &str, version: &str) -> DeserializeGuard<ConfigMap> {
        DeserializeGuard(Ok(object(name, uid, version)))
    }

    fn unreadable(name: &str, uid: &str) -> DeserializeGuard<ConfigMap> {
        let meta = serde_json::json!({ "name": name, "namespace": "a", "uid": uid });
        let text = serde_json::json!({ "metadata": meta, "data": "no map" }).to_string();
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn what_cannot_be_read_is_neither_there_nor_gone_and_stops_no_other() {
        let mut shelf = shelf();
        let (x, y) = ("1".to_owned(), "2".to_owned());
        shelf.take(Event::Init);
        shelf.take(Event::InitApply(unreadable("x", "1")));
        shelf.take(Event::InitApply(read("y", "2", "2")));
        shelf.take(Event::InitDone);
        assert!(shelf.is_complete() && shelf.is_aside(&x) && !shelf.is_aside(&y));
        assert_eq!((shelf.at(&x).len(), shelf.at(&y).len()), (0, 1));
        // Read again, and then no longer.
        assert_eq!(shelf.take(Event::Apply(read("x", "1", "3"))), ["1"]);
        assert!(!shelf.is_aside(&x));
        assert_eq!(shelf.take(Event::Apply(unreadable("x", "1"))), ["1"]);
        assert!(shelf.is_aside(&x) && shelf.at(&x).is_empty());
        // That it is gone needs no reading: told by the watch, or by a list without it.
        assert_eq!(shelf.take(Event::Delete(unreadable("x", "1"))), ["1"]);
        assert!(!shelf.is_aside(&x));
        shelf.take(Event::Apply(unreadable("x", "1")));
        shelf.take(Event::Init);
        assert_eq!(shelf.take(Event::InitDone), ["2", "1"]);
        assert!(!shelf.is_aside(&x));
    }

    #[test]
    fn what_a_later_list_leaves_out_is_gone_and_told() {
        let mut shelf = shelf();
        shelf.take(Event::Init);
        assert!(!shelf.is_complete());
        assert_eq!(shelf.take(Event::InitApply(read("x", "1", "1"))), ["1"]);
        shelf.take(Event::InitApply(read("y", "2", "2")));
        assert_eq!(shelf.take(Event::InitDone), [""; 0]);
        assert!(shelf.is_complete());
        shelf.take(Event::Init);
        shelf.take(Event::InitApply(read("y", "2", "2")));
        assert_eq!(shelf.take(Event::InitDone), ["1"]);
        assert_eq!(shelf.all().count(), 1);
    }

    #[test]
    fn an_answer_comes_before_the_watch_and_never_after_the_end() {
        let mut shelf = shelf();
        shelf.take(Event::Apply(read("x", "1", "5")));
        shelf.note(object("x", "1", "7"));
        let place = Place::of(&object("x", "1", "7"));
        let kept = shelf.get(&place).and_then(|kept| kept.resource_version());
        assert_eq!(kept.as_deref(), Some("7"));
        // The watch tells of the state before the write.
        assert_eq!(shelf.take(Event::Apply(read("x", "1", "6"))), [""; 0]);
        let version = shelf.at(&"1".to_owned())[0].1.resource_version();
        assert_eq!(version.as_deref(), Some("7"));
        shelf.take(Event::Delete(read("x", "1", "8")));
        shelf.note(object("x", "1", "9"));
        assert!(shelf.at(&"1".to_owned()).is_empty());
    }

    #[test]
    fn a_name_that_is_used_again_touches_both_objects() {
        let mut shelf = shelf();
        shelf.take(Event::Apply(read("x", "1", "5")));
        assert_eq!(shelf.take(Event::Apply(read("x", "2", "6"))), ["1", "2"]);
    }
}
