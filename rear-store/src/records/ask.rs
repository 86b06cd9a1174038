//! A request as it is written down: part of a reservation's record.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rear_engine::labels::Labels;
use rear_engine::price::PriceCeiling;
use rear_engine::{Ask, Duration, Resources, Strategy, Terms};
use serde::{Deserialize, Serialize};

use super::InvalidField;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskRecord<'a> {
    requester: Cow<'a, str>,
    resources: [u64; 4],
    priority: i32,
    duration_nanos: Option<i64>,
    target: Option<Cow<'a, str>>,
    strategy: Option<u8>,
    required: BTreeMap<String, String>,
    preferred: BTreeMap<String, String>,
    ceiling: Option<(String, String)>,
}

/// Strategies by number, for ever.
const STRATEGIES: [(u8, Strategy); 4] = [
    (1, Strategy::Headroom),
    (2, Strategy::Balanced),
    (3, Strategy::Cheapest),
    (4, Strategy::Binpack),
];

impl<'a> From<&'a Ask> for AskRecord<'a> {
    fn from(ask: &'a Ask) -> Self {
        let Terms { priority, duration, target, strategy, required, preferred, ceiling } =
            ask.terms();
        let number = |wanted: &Strategy| {
            STRATEGIES.iter().find(|(_, strategy)| strategy == wanted).map(|(number, _)| *number)
        };
        Self {
            requester: ask.requester().as_str().into(),
            resources: ask.resources().amounts(),
            priority: *priority,
            duration_nanos: duration.map(Duration::as_nanos),
            target: target.as_ref().map(|target| target.as_str().into()),
            strategy: strategy.as_ref().and_then(number),
            required: pairs(required),
            preferred: pairs(preferred),
            ceiling: ceiling
                .as_ref()
                .map(|ceiling| (ceiling.amount.to_string(), ceiling.currency.to_string())),
        }
    }
}

impl TryFrom<AskRecord<'_>> for Ask {
    type Error = InvalidField;

    fn try_from(record: AskRecord<'_>) -> Result<Self, InvalidField> {
        let AskRecord {
            requester,
            resources,
            priority,
            duration_nanos,
            target,
            strategy,
            required,
            preferred,
            ceiling,
        } = record;
        let terms = Terms {
            priority,
            duration: duration_nanos.map(Duration::from_nanos),
            target: target
                .map(|target| target.parse())
                .transpose()
                .map_err(|_| InvalidField("target"))?,
            strategy: strategy.map(strategy_of).transpose()?,
            required: labels(required)?,
            preferred: labels(preferred)?,
            ceiling: ceiling.map(ceiling_of).transpose()?,
        };
        let requester = requester.parse().map_err(|_| InvalidField("requester"))?;
        let resources =
            Resources::from_amounts(resources).map_err(|_| InvalidField("resources"))?;
        Self::new(requester, resources, terms).map_err(|_| InvalidField("request"))
    }
}

fn strategy_of(number: u8) -> Result<Strategy, InvalidField> {
    let known = STRATEGIES.iter().find(|(known, _)| *known == number);
    known.map(|(_, strategy)| *strategy).ok_or(InvalidField("strategy"))
}

fn ceiling_of((amount, currency): (String, String)) -> Result<PriceCeiling, InvalidField> {
    Ok(PriceCeiling {
        amount: amount.parse().map_err(|_| InvalidField("ceiling"))?,
        currency: currency.parse().map_err(|_| InvalidField("currency"))?,
    })
}

/// Labels as a map.
pub(super) fn pairs(labels: &Labels) -> BTreeMap<String, String> {
    labels.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// Labels from a map.
pub(super) fn labels(pairs: BTreeMap<String, String>) -> Result<Labels, InvalidField> {
    Labels::new(pairs).map_err(|_| InvalidField("labels"))
}
