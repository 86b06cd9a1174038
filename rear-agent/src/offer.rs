//! What an operator says of the cluster beside what it has: its price, and properties to select it by.

use std::collections::BTreeMap;

use rear_agent_sdk::rear_api::advertisement::CostBody;
use rear_agent_sdk::rear_engine::labels::{Labels, LabelsError};
use rear_agent_sdk::rear_engine::price::{Currency, Rate};

use crate::cli::Options;
use crate::resources::CostTexts;

/// The price and the labels of this cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Offer {
    /// What it charges; nothing is said of it, if absent.
    pub cost: Option<CostBody>,
    /// Properties to select it by.
    pub labels: BTreeMap<String, String>,
}

impl Offer {
    /// As the flags say, which have been read one by one.
    pub fn of(options: &Options) -> Result<Self, LabelsError> {
        let texts = (&options.cpu_cost, &options.memory_cost, &options.currency);
        let cost = match texts {
            (Some(cpu), Some(memory), Some(currency)) => Some(CostBody {
                cpu_cost: cpu.clone(),
                memory_cost: memory.clone(),
                gpu_cost: options.gpu_cost.clone(),
                currency: currency.clone(),
            }),
            // The command line asks for all of them or none.
            _ => None,
        };
        let labels: BTreeMap<_, _> = options.labels.iter().cloned().collect();
        Labels::new(labels.clone())?;
        Ok(Self { cost, labels })
    }

    /// The price as the local `Advertisement` shows it.
    #[must_use]
    pub fn shown(&self) -> Option<CostTexts> {
        self.cost.clone().map(|CostBody { cpu_cost, memory_cost, gpu_cost, currency }| CostTexts {
            cpu_cost: Some(cpu_cost),
            memory_cost: Some(memory_cost),
            gpu_cost,
            currency: Some(currency),
        })
    }
}

/// A price for an hour, as it was written.
pub(crate) fn rate(text: &str) -> Result<String, String> {
    text.parse::<Rate>().map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// A currency, as it was written.
pub(crate) fn currency(text: &str) -> Result<String, String> {
    text.parse::<Currency>().map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// `KEY=VALUE`.
pub(crate) fn label(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    parts.ok_or_else(|| "a label is KEY=VALUE".to_owned())
}
