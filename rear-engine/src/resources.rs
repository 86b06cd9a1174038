//! Amounts of CPU, memory, GPU and storage, with checked arithmetic in all four dimensions at once.

use std::fmt;

use thiserror::Error;

use crate::quantity::{Quantity, QuantityError};

/// One kind of capacity. The order is the order in which shortages are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dimension {
    /// Processor time, in thousandths of a core.
    Cpu,
    /// Memory, in bytes.
    Memory,
    /// Devices, whole.
    Gpu,
    /// Ephemeral storage, in bytes.
    Storage,
}

/// How many dimensions there are.
pub const DIMENSIONS: usize = 4;

impl Dimension {
    /// Every dimension, in order.
    pub const ALL: [Self; DIMENSIONS] = [Self::Cpu, Self::Memory, Self::Gpu, Self::Storage];

    /// Its position in [`Dimension::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Its name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Gpu => "gpu",
            Self::Storage => "storage",
        }
    }

    /// Reads an amount in this dimension's unit, rounded up.
    pub fn parse(self, text: &str) -> Result<u64, QuantityError> {
        let quantity: Quantity = text.parse()?;
        match self {
            Self::Cpu => quantity.to_millis(),
            Self::Memory | Self::Gpu | Self::Storage => quantity.to_units(),
        }
    }

    /// An amount in this dimension's unit as a quantity, ready to be printed.
    #[must_use]
    pub fn quantity(self, amount: u64) -> Quantity {
        match self {
            Self::Cpu => Quantity::from_millis(amount),
            Self::Memory | Self::Storage => Quantity::from_bytes(amount),
            Self::Gpu => Quantity::from_units(amount),
        }
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An amount in each dimension; each is at most `i64::MAX`, so that differences fit as well.
///
/// ```
/// use rear_engine::resources::{Dimension, Resources};
///
/// let ask = Resources::parse("1500m", "4Gi", Some("1"), None)?;
/// assert_eq!(ask.get(Dimension::Cpu), 1500);
/// assert_eq!(ask.to_string(), "cpu 1500m, memory 4Gi, gpu 1");
/// # Ok::<(), rear_engine::resources::ResourcesError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Resources([u64; DIMENSIONS]);

/// Why amounts were refused, and in which dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{dimension}: {problem}")]
pub struct ResourcesError {
    /// Where.
    pub dimension: Dimension,
    /// What is wrong there.
    pub problem: QuantityError,
}

impl Resources {
    /// Nothing of anything.
    pub const NONE: Self = Self([0; DIMENSIONS]);

    /// Reads Kubernetes quantities; absent ones are 0.
    pub fn parse(
        cpu: &str,
        memory: &str,
        gpu: Option<&str>,
        storage: Option<&str>,
    ) -> Result<Self, ResourcesError> {
        let texts = [Some(cpu), Some(memory), gpu, storage];
        let mut amounts = [0; DIMENSIONS];
        for dimension in Dimension::ALL {
            let Some(text) = texts[dimension.index()] else {
                continue;
            };
            amounts[dimension.index()] =
                dimension.parse(text).map_err(|problem| ResourcesError { dimension, problem })?;
        }
        Ok(Self(amounts))
    }

    /// Amounts in millicores, bytes, devices and bytes; refused above `i64::MAX`.
    pub fn from_amounts(amounts: [u64; DIMENSIONS]) -> Result<Self, ResourcesError> {
        for dimension in Dimension::ALL {
            if i64::try_from(amounts[dimension.index()]).is_err() {
                return Err(ResourcesError { dimension, problem: QuantityError::TooLarge });
            }
        }
        Ok(Self(amounts))
    }

    /// The amounts in the order of [`Dimension::ALL`].
    #[must_use]
    pub const fn amounts(self) -> [u64; DIMENSIONS] {
        self.0
    }

    /// The amount in one dimension.
    #[must_use]
    pub const fn get(self, dimension: Dimension) -> u64 {
        self.0[dimension.index()]
    }

    /// Whether there is nothing of anything.
    #[must_use]
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }

    /// The sum; `None` when a dimension would exceed `i64::MAX`.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let mut sum = self.0;
        for (mine, theirs) in sum.iter_mut().zip(other.0) {
            *mine = mine.checked_add(theirs)?;
        }
        Self::from_amounts(sum).ok()
    }

    /// The difference; `None` when a dimension would fall below zero.
    #[must_use]
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        let mut difference = self.0;
        for (mine, theirs) in difference.iter_mut().zip(other.0) {
            *mine = mine.checked_sub(theirs)?;
        }
        Some(Self(difference))
    }

    /// What is left of each dimension after the other is taken away, never below zero.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        let mut difference = self.0;
        for (mine, theirs) in difference.iter_mut().zip(other.0) {
            *mine = mine.saturating_sub(theirs);
        }
        Self(difference)
    }

    /// The first dimension in which `self` exceeds `limit`.
    #[must_use]
    pub fn first_beyond(self, limit: Self) -> Option<Dimension> {
        Dimension::ALL.into_iter().find(|&dimension| self.get(dimension) > limit.get(dimension))
    }
}

impl fmt::Display for Resources {
    /// CPU and memory always, GPU and storage where there are any.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cpu = Dimension::Cpu.quantity(self.get(Dimension::Cpu));
        let memory = Dimension::Memory.quantity(self.get(Dimension::Memory));
        write!(f, "cpu {cpu}, memory {memory}")?;
        for dimension in [Dimension::Gpu, Dimension::Storage] {
            let amount = self.get(dimension);
            if amount > 0 {
                write!(f, ", {dimension} {}", dimension.quantity(amount))?;
            }
        }
        Ok(())
    }
}
