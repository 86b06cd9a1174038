//! From a request to the engine's [`Ask`], and back for who sends one: every member is checked once, here.

use rear_engine::ask::AskError;
use rear_engine::labels::Labels;
use rear_engine::price::PriceCeiling;
use rear_engine::{Ask, ClusterId, Terms};

use super::request::{Constraints, MaxPrice, ReservationRequest};
use crate::body::{At, Fault, Invalid};
use crate::labels::LabelTexts;

/// Labels that a request wants are kept with its reservation, for as long as that is remembered: a dozen of the longest.
pub const MAX_CONSTRAINT_BYTES: usize = 8 << 10;

impl ReservationRequest {
    /// What the engine decides on. The requester is the caller, unless the request names another: whether
    /// the caller may do that is the engine's to say.
    pub fn ask(self, caller: &ClusterId) -> Result<Ask, Invalid> {
        let named = self.on_behalf_of.as_deref().map(str::parse).transpose().at("onBehalfOf")?;
        let amounts = self.requested_resources.resources().at("requestedResources")?;
        let constraints = self.constraints.unwrap_or_default();
        let terms = Terms {
            priority: self.priority.unwrap_or_default(),
            duration: self.duration.as_deref().map(str::parse).transpose().at("duration")?,
            target: self
                .target_cluster_id
                .as_deref()
                .map(str::parse)
                .transpose()
                .at("targetClusterID")?,
            strategy: self.strategy.as_deref().map(str::parse).transpose().at("strategy")?,
            required: labels(constraints.labels, "labels")?,
            preferred: labels(constraints.preferred_labels, "preferredLabels")?,
            ceiling: ceiling(constraints.max_price.as_ref())?,
        };
        if terms.required.bytes() + terms.preferred.bytes() > MAX_CONSTRAINT_BYTES {
            return Err(Invalid::from(Fault::Constraints).under("constraints"));
        }
        let requester = named.unwrap_or_else(|| caller.clone());
        Ask::new(requester, amounts, terms)
            .map_err(|error| refused_ask(error, "requestedResources"))
    }
}

fn labels(texts: Option<LabelTexts>, member: &str) -> Result<Labels, Invalid> {
    let labels = texts.map(LabelTexts::labels).transpose().at(member).at("constraints")?;
    Ok(labels.unwrap_or_default())
}

fn ceiling(price: Option<&MaxPrice>) -> Result<Option<PriceCeiling>, Invalid> {
    price.map(MaxPrice::ceiling).transpose().at("maxPrice").at("constraints")
}

impl MaxPrice {
    fn ceiling(&self) -> Result<PriceCeiling, Invalid> {
        Ok(PriceCeiling {
            amount: self.amount.parse().at("amount")?,
            currency: self.currency.parse().at("currency")?,
        })
    }
}

/// Where the members are that an ask does not accept, given the one with the amounts.
pub(crate) fn refused_ask(error: AskError, amounts: &str) -> Invalid {
    match error {
        AskError::NotPositive(dimension) => {
            Invalid::from(error).under(dimension.name()).under(amounts)
        }
        AskError::Duration => Invalid::from(error).under("duration"),
    }
}

impl From<&Ask> for ReservationRequest {
    /// The request of a cluster for itself that means this.
    fn from(ask: &Ask) -> Self {
        let Terms { priority, duration, target, strategy, required, preferred, ceiling } =
            ask.terms();
        let constraints = Constraints {
            labels: LabelTexts::of(required),
            preferred_labels: LabelTexts::of(preferred),
            max_price: ceiling.as_ref().map(MaxPrice::from),
        };
        Self {
            requested_resources: ask.resources().into(),
            priority: (*priority != 0).then_some(*priority),
            duration: duration.map(|length| length.to_string()),
            target_cluster_id: target.as_ref().map(ToString::to_string),
            strategy: strategy.map(|strategy| strategy.name().to_owned()),
            on_behalf_of: None,
            constraints: (constraints != Constraints::default()).then_some(constraints),
        }
    }
}

impl From<&PriceCeiling> for MaxPrice {
    fn from(ceiling: &PriceCeiling) -> Self {
        Self { amount: ceiling.amount.to_string(), currency: ceiling.currency.to_string() }
    }
}
