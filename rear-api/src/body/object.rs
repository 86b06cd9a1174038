//! Bodies are JSON objects only: what serde derives would take an array of their members as well.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};

/// What reads the members of an object.
pub(crate) trait Members<'de>: Sized {
    fn members<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

pub(crate) struct Object<T>(PhantomData<T>);

impl<T> Object<T> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<'de, T: Members<'de>> Visitor<'de> for Object<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::members(MapAccessDeserializer::new(map))
    }
}

/// Serde's traits for types that derive them with `remote = "Self"`, which makes functions of the type instead.
macro_rules! only_objects {
    ($($body:ty),+ $(,)?) => {$(
        impl<'de> $crate::body::Members<'de> for $body {
            fn members<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::deserialize(deserializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $body {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_map($crate::body::Object::<Self>::new())
            }
        }

        impl serde::Serialize for $body {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                Self::serialize(self, serializer)
            }
        }
    )+};
}

pub(crate) use only_objects;
