//! Objects as a watch shows them, with an index: what was touched is told by its place in the index.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt};

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

impl<K: Resource, I: Ord + Clone> Shelf<K, I> {
    pub(super) fn new(index_of: fn(&K) -> Option<I>) -> Self {
        let (objects, index) = (BTreeMap::new(), BTreeMap::new());
        Self { objects, index, index_of, arriving: None, is_complete: false }
    }

    /// Whether everything has been listed once.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Takes what a watch tells; which places of the index are touched by it.
    pub(super) fn take(&mut self, event: Event<K>) -> Vec<I> {
        match event {
            Event::Init => {
                self.arriving = Some(BTreeSet::new());
                Vec::new()
            }
            Event::InitApply(object) => {
                if let Some(arriving) = &mut self.arriving {
                    arriving.insert(Place::of(&object));
                }
                self.put(object)
            }
            Event::InitDone => {
                self.is_complete = true;
                let arrived = self.arriving.take().unwrap_or_default();
                let gone = self.objects.keys().filter(|place| !arrived.contains(place));
                let gone: Vec<_> = gone.cloned().collect();
                gone.iter().filter_map(|place| self.remove(place)).collect()
            }
            Event::Apply(object) => self.put(object),
            Event::Delete(object) => self.remove(&Place::of(&object)).into_iter().collect(),
        }
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
        let before = self.remove(&place);
        let after = (self.index_of)(&object);
        if let Some(after) = &after {
            self.index.entry(after.clone()).or_default().insert(place.clone());
        }
        self.objects.insert(place, Arc::new(object));
        [before, after].into_iter().flatten().collect()
    }

    fn remove(&mut self, place: &Place) -> Option<I> {
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
    let version =
        |meta: &kube::core::ObjectMeta| meta.resource_version.as_deref()?.parse::<u64>().ok();
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
        Shelf::new(ConfigMap::uid)
    }

    #[test]
    fn what_a_later_list_leaves_out_is_gone_and_told() {
        let mut shelf = shelf();
        shelf.take(Event::Init);
        assert!(!shelf.is_complete());
        assert_eq!(shelf.take(Event::InitApply(object("x", "1", "1"))), ["1"]);
        shelf.take(Event::InitApply(object("y", "2", "2")));
        assert_eq!(shelf.take(Event::InitDone), [""; 0]);
        assert!(shelf.is_complete());
        shelf.take(Event::Init);
        shelf.take(Event::InitApply(object("y", "2", "2")));
        assert_eq!(shelf.take(Event::InitDone), ["1"]);
        assert_eq!(shelf.all().count(), 1);
    }

    #[test]
    fn an_answer_comes_before_the_watch_and_never_after_the_end() {
        let mut shelf = shelf();
        shelf.take(Event::Apply(object("x", "1", "5")));
        shelf.note(object("x", "1", "7"));
        // The watch tells of the state before the write.
        assert_eq!(shelf.take(Event::Apply(object("x", "1", "6"))), [""; 0]);
        let version = shelf.at(&"1".to_owned())[0].1.resource_version();
        assert_eq!(version.as_deref(), Some("7"));
        shelf.take(Event::Delete(object("x", "1", "8")));
        shelf.note(object("x", "1", "9"));
        assert!(shelf.at(&"1".to_owned()).is_empty());
    }

    #[test]
    fn a_name_that_is_used_again_touches_both_objects() {
        let mut shelf = shelf();
        shelf.take(Event::Apply(object("x", "1", "5")));
        assert_eq!(shelf.take(Event::Apply(object("x", "2", "6"))), ["1", "2"]);
    }
}
