//! What is asked for on the command line, as a request to the broker and as flags again.

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};
use rear_agent_sdk::Length as Duration;
use rear_agent_sdk::communicator::ReservationRequest;
use rear_agent_sdk::{Dimension, request};
use rear_api::amounts::RequestedResources;
use rear_api::labels::LabelTexts;
use rear_api::reservation::{Constraints, MaxPrice};

use crate::failure::Failure;
use crate::names;

/// What is wanted.
#[derive(Debug, Clone, Args)]
pub(crate) struct Ask {
    /// Cores, such as 2 or 1500m
    #[arg(long, value_name = "QUANTITY", value_parser = |text: &str| quantity(Dimension::Cpu, text))]
    cpu: String,
    /// Bytes of memory, such as 4Gi
    #[arg(long, value_name = "QUANTITY", value_parser = |text: &str| quantity(Dimension::Memory, text))]
    memory: String,
    /// Devices
    #[arg(long, value_name = "COUNT", value_parser = |text: &str| quantity(Dimension::Gpu, text))]
    gpu: Option<String>,
    /// Bytes of ephemeral storage, such as 100Gi
    #[arg(long, value_name = "QUANTITY", value_parser = |text: &str| quantity(Dimension::Storage, text))]
    storage: Option<String>,
    /// For how long, such as 1h30m; without it the broker's default, else while the requester is heard of
    #[arg(long, value_name = "DURATION")]
    duration: Option<Duration>,
    /// Only on this cluster
    #[arg(long, value_name = "CLUSTER")]
    target: Option<String>,
    /// How to choose; the broker's way if not given
    #[arg(long, value_enum)]
    strategy: Option<Strategy>,
    /// A label that the provider must have; may be repeated
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    labels: Vec<(String, String)>,
    /// A label that the provider should have; may be repeated
    #[arg(long = "prefer-label", value_name = "KEY=VALUE", value_parser = label)]
    preferred: Vec<(String, String)>,
    /// The most that all of it may cost for an hour, such as 1.20EUR
    #[arg(long, value_name = "AMOUNT", value_parser = price)]
    max_price: Option<MaxPrice>,
    /// Among requests that wait together, higher goes first
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    priority: Option<i32>,
    /// The cluster that it is for (administrators)
    #[arg(long, value_name = "CLUSTER")]
    on_behalf_of: Option<String>,
}

/// How a provider is chosen among those that fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Strategy {
    /// Where the largest share stays free
    Headroom,
    /// Headroom, with cost as a part of it
    Balanced,
    /// Where it costs least
    Cheapest,
    /// Where the smallest share stays free
    Binpack,
}

impl Ask {
    /// The request.
    pub(crate) fn request(&self) -> Result<ReservationRequest, Failure> {
        let cluster = |name: &Option<String>| -> Result<Option<String>, Failure> {
            name.as_deref().map(|name| Ok(names::cluster(name)?.to_string())).transpose()
        };
        let plain = request(&self.cpu, &self.memory);
        Ok(ReservationRequest {
            requested_resources: RequestedResources {
                gpu: self.gpu.as_deref().map(Into::into),
                storage: self.storage.as_deref().map(Into::into),
                ..plain.requested_resources
            },
            priority: self.priority,
            duration: self.duration.map(|span| span.to_string()),
            target_cluster_id: cluster(&self.target)?,
            strategy: self.strategy.map(|strategy| strategy.name().to_owned()),
            on_behalf_of: cluster(&self.on_behalf_of)?,
            constraints: self.constraints(),
        })
    }

    fn constraints(&self) -> Option<Constraints> {
        let constraints = Constraints {
            labels: texts(&self.labels),
            preferred_labels: texts(&self.preferred),
            max_price: self.max_price.clone(),
        };
        (constraints != Constraints::default()).then_some(constraints)
    }
}

impl Strategy {
    fn name(self) -> &'static str {
        match self {
            Self::Headroom => "headroom",
            Self::Balanced => "balanced",
            Self::Cheapest => "cheapest",
            Self::Binpack => "binpack",
        }
    }
}

/// The amounts of a request as flags, to be typed again.
pub(crate) fn flags(resources: &RequestedResources) -> String {
    let RequestedResources { cpu, memory, gpu, storage } = resources;
    let all = [
        ("cpu", Some(cpu)),
        ("memory", Some(memory)),
        ("gpu", gpu.as_ref()),
        ("storage", storage.as_ref()),
    ];
    let given = all.iter().filter_map(|(name, amount)| Some((name, (*amount)?)));
    given.map(|(name, amount)| format!("--{name} {amount}")).collect::<Vec<_>>().join(" ")
}

fn texts(labels: &[(String, String)]) -> Option<LabelTexts> {
    (!labels.is_empty()).then(|| LabelTexts(labels.iter().cloned().collect::<BTreeMap<_, _>>()))
}

/// Checked here, so that a mistake is told where it was typed; sent as it was typed.
fn quantity(dimension: Dimension, text: &str) -> Result<String, String> {
    dimension.parse(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("a label is KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

fn price(text: &str) -> Result<MaxPrice, String> {
    let letters = text.find(|letter: char| letter.is_ascii_alphabetic());
    let at = letters.ok_or("an amount and its currency, such as 1.20EUR")?;
    let (amount, currency) = text.split_at(at);
    Ok(MaxPrice { amount: amount.trim().to_owned(), currency: currency.to_owned() })
}
