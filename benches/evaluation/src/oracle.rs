//! Who should get a request, from the texts of the wire and the rules of `docs/explanation/score-and-refusals.md`: every
//! cluster is looked at, every sum is made anew, and nothing of the engine is used.

mod compare;
mod judge;
mod price;
mod quantity;

use std::collections::BTreeMap;

pub use compare::{compare, compare_refusal};
pub use judge::judge;

/// Amounts as they are written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts {
    /// Cores.
    pub cpu: String,
    /// Bytes.
    pub memory: String,
    /// Devices.
    pub gpu: Option<String>,
    /// Bytes.
    pub storage: Option<String>,
}

/// What a cluster says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offer {
    /// Which cluster.
    pub id: String,
    /// What workloads may use.
    pub allocatable: Texts,
    /// What they use.
    pub allocated: Texts,
    /// Of that, by requester, what others' workloads use.
    pub consumed: Vec<(String, Texts)>,
    /// What it charges.
    pub charge: Option<Charge>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
}

/// What a cluster charges for an hour, as decimals: for a core, a GiB, a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    /// For a core.
    pub cpu: String,
    /// For a GiB.
    pub memory: String,
    /// For a device.
    pub gpu: Option<String>,
    /// In which currency.
    pub currency: String,
}

/// What a cluster wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wish {
    /// Who.
    pub requester: String,
    /// How much.
    pub amounts: Texts,
    /// How to choose; `headroom` if it does not say.
    pub strategy: Option<String>,
    /// Only this one.
    pub target: Option<String>,
    /// Labels that the provider must have.
    pub required: BTreeMap<String, String>,
    /// Labels that it should have.
    pub preferred: BTreeMap<String, String>,
    /// The most that it may cost for an hour, and in which currency.
    pub ceiling: Option<(String, String)>,
}

/// A promise that lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Live {
    /// Who was promised.
    pub requester: String,
    /// Who keeps it.
    pub provider: String,
    /// How much.
    pub amounts: Texts,
}

/// Everything that counts for a decision.
#[derive(Debug, Clone, Default)]
pub struct World {
    /// What every cluster says.
    pub offers: Vec<Offer>,
    /// What was promised.
    pub promises: Vec<Live>,
    /// The broker's currency, for requests that name none.
    pub currency: String,
}

/// What a broker has to say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Who gets it.
    pub target: Option<String>,
    /// Who could have got it, with the score as it is shown.
    pub fitting: BTreeMap<String, String>,
    /// Who could not, and why.
    pub lacking: BTreeMap<String, Lack>,
    /// Those in the order in which they are told: the closest first.
    pub closest: Vec<String>,
}

/// Why a cluster does not get a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// The stable word for it.
    pub reason: &'static str,
    /// If it lacks room: the first dimension that does not fit, with what is requested and what is free.
    pub short_of: Option<(&'static str, i128, i128)>,
}
