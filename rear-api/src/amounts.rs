//! Amounts on the wire: Kubernetes quantities for CPU and memory, and for GPU and storage where they are known.

use std::fmt::{self, Write};

use rear_engine::resources::DIMENSIONS;
use rear_engine::{Dimension, Resources};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::body::{At, Invalid, only_objects};

/// A quantity as it was written. Kubernetes takes whole numbers without quotes too; ours are sent as texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = "1500m"))]
pub struct QuantityText(pub String);

/// Amounts of which more may be known later: members that are not known are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ResourceList {
    /// Cores, such as `1500m`.
    pub cpu: QuantityText,
    /// Bytes, such as `4Gi`.
    pub memory: QuantityText,
    /// Devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<QuantityText>,
    /// Bytes of ephemeral storage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<QuantityText>,
}

/// Amounts that someone asks for: what is not known is refused, because it would not be given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RequestedResources {
    /// Cores, such as `1500m`.
    pub cpu: QuantityText,
    /// Bytes, such as `4Gi`.
    pub memory: QuantityText,
    /// Devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<QuantityText>,
    /// Bytes of ephemeral storage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<QuantityText>,
}

only_objects!(ResourceList, RequestedResources);

/// Most amounts have no more characters, so that their text is not moved while it is written.
const MOST_AMOUNTS: usize = 16;

/// The dimensions of which something is known. CPU and memory always are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known([bool; DIMENSIONS]);

impl Known {
    /// Those of which at least one of these has any.
    pub(crate) fn in_any(lists: &[Resources]) -> Self {
        Self(Dimension::ALL.map(|dimension| {
            matches!(dimension, Dimension::Cpu | Dimension::Memory)
                || lists.iter().any(|list| list.get(dimension) > 0)
        }))
    }
}

impl QuantityText {
    /// An amount of this dimension.
    #[must_use]
    pub fn of(dimension: Dimension, amount: u64) -> Self {
        let mut text = String::with_capacity(MOST_AMOUNTS);
        // Texts take all that is written.
        let _ = write!(text, "{}", dimension.quantity(amount));
        Self(text)
    }
}

impl ResourceList {
    /// The amounts in the dimensions that are known.
    pub(crate) fn showing(resources: Resources, known: Known) -> Self {
        let shown = |dimension: Dimension| QuantityText::of(dimension, resources.get(dimension));
        let if_known = |dimension: Dimension| known.0[dimension.index()].then(|| shown(dimension));
        Self {
            cpu: shown(Dimension::Cpu),
            memory: shown(Dimension::Memory),
            gpu: if_known(Dimension::Gpu),
            storage: if_known(Dimension::Storage),
        }
    }

    /// The amounts; what is absent is 0.
    pub fn resources(&self) -> Result<Resources, Invalid> {
        let Self { cpu, memory, gpu, storage } = self;
        resources(cpu, memory, gpu.as_ref(), storage.as_ref())
    }
}

impl RequestedResources {
    /// The amounts; what is absent is 0.
    pub fn resources(&self) -> Result<Resources, Invalid> {
        let Self { cpu, memory, gpu, storage } = self;
        resources(cpu, memory, gpu.as_ref(), storage.as_ref())
    }
}

impl From<Resources> for ResourceList {
    /// GPU and storage where there are any.
    fn from(resources: Resources) -> Self {
        Self::showing(resources, Known::in_any(&[resources]))
    }
}

impl From<Resources> for RequestedResources {
    fn from(resources: Resources) -> Self {
        let ResourceList { cpu, memory, gpu, storage } = resources.into();
        Self { cpu, memory, gpu, storage }
    }
}

pub(crate) fn resources(
    cpu: &QuantityText,
    memory: &QuantityText,
    gpu: Option<&QuantityText>,
    storage: Option<&QuantityText>,
) -> Result<Resources, Invalid> {
    let [gpu, storage] = [gpu, storage].map(|known| known.map(|quantity| quantity.0.as_str()));
    Resources::parse(&cpu.0, &memory.0, gpu, storage)
        .or_else(|error| Err(error.problem).at(error.dimension.name()))
}

impl From<&str> for QuantityText {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for QuantityText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for QuantityText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrWholeNumber)
    }
}

struct TextOrWholeNumber;

impl Visitor<'_> for TextOrWholeNumber {
    type Value = QuantityText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Fractions without quotes, and numbers beyond 64 bits, would arrive as floats: no longer exact.
        f.write_str("a quantity as a string, such as \"1500m\", or as a whole number")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<QuantityText, E> {
        Ok(text.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<QuantityText, E> {
        Ok(QuantityText(number.to_string()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<QuantityText, E> {
        Ok(QuantityText(number.to_string()))
    }
}
