//! From an agent's advertisement to the engine's, where every member is checked once; and back, for who sends one.

use rear_engine::advertisement::{Consumed, Holding, Order};
use rear_engine::price::Cost;
use rear_engine::text::Line;
use rear_engine::{Advertisement, Ask, ClusterId, Command, Resources, Terms};

use super::request::{AdvertisementRequest, HoldingBody, OfferedResources};
use super::{Consumption, CostBody};
use crate::amounts::{Known, ResourceList, resources};
use crate::body::{At, Fault, Invalid};
use crate::labels::LabelTexts;
use crate::moment;
use crate::reservation::refused_ask;

impl AdvertisementRequest {
    /// What the engine decides on.
    ///
    /// Whether the body names the cluster of the certificate is not looked at: `cluster_id` is compared by
    /// whoever knows the certificate, before this.
    ///
    /// ```
    /// use rear_api::advertisement::AdvertisementRequest;
    /// use rear_api::body;
    ///
    /// let sent = br#"{
    ///     "clusterID": "rome", "clusterName": "rome", "timestamp": "2026-01-02T15:04:05Z",
    ///     "resources": {
    ///         "capacity": {"cpu": "8", "memory": "16Gi"},
    ///         "allocatable": {"cpu": "8", "memory": "16Gi"},
    ///         "allocated": {"cpu": "950m", "memory": "-1"}
    ///     }
    /// }"#;
    /// let request: AdvertisementRequest = body::read(sent)?;
    /// assert_eq!(request.cluster_id, "rome");
    /// let refused = request.into_command().unwrap_err();
    /// assert_eq!(refused.path, "resources.allocated.memory");
    /// # Ok::<(), rear_api::body::BodyError>(())
    /// ```
    pub fn into_command(self) -> Result<Command, Invalid> {
        let cluster: ClusterId = self.cluster_id.parse().at("clusterID")?;
        let name = self.cluster_name.unwrap_or(self.cluster_id);
        let OfferedResources { capacity, allocatable, allocated, reserved: _, available: _ } =
            self.resources;
        let advertisement = Advertisement {
            name: name.parse().at("clusterName")?,
            timestamp: moment::read(&self.timestamp).at("timestamp")?,
            order: order(self.epoch, self.sequence)?,
            capacity: capacity.resources().at("capacity").at("resources")?,
            allocatable: allocatable.resources().at("allocatable").at("resources")?,
            allocated: allocated.resources().at("allocated").at("resources")?,
            consumed: consumed(self.consumed.unwrap_or_default())?,
            cost: cost(self.cost.as_ref())?,
            labels: self
                .labels
                .map(LabelTexts::labels)
                .transpose()
                .at("labels")?
                .unwrap_or_default(),
            endpoint: endpoint(self.endpoint_url.as_deref())?,
        };
        let holding = self.holding.map(holdings).transpose()?;
        Ok(Command::Advertise { cluster, advertisement: Box::new(advertisement), holding })
    }
}

fn order(epoch: Option<u64>, sequence: Option<u64>) -> Result<Option<Order>, Invalid> {
    match (epoch, sequence) {
        (Some(epoch), Some(sequence)) => Ok(Some(Order { epoch, sequence })),
        (None, None) => Ok(None),
        (Some(_), None) => Err(Fault::HalfAnOrder).at("sequence"),
        (None, Some(_)) => Err(Fault::HalfAnOrder).at("epoch"),
    }
}

fn cost(cost: Option<&CostBody>) -> Result<Option<Cost>, Invalid> {
    cost.map(CostBody::cost).transpose().at("cost")
}

fn endpoint(url: Option<&str>) -> Result<Option<Line>, Invalid> {
    url.map(str::parse).transpose().at("endpointURL")
}

fn consumed(entries: Vec<Consumption>) -> Result<Consumed, Invalid> {
    let entry = |(index, entry): (usize, Consumption)| entry.entry().at_element("consumed", index);
    let entries = entries.into_iter().enumerate().map(entry);
    Consumed::new(entries.collect::<Result<Vec<_>, _>>()?).at("consumed")
}

impl Consumption {
    fn entry(&self) -> Result<(ClusterId, Resources), Invalid> {
        let Self { requester_id, cpu, memory, gpu, storage } = self;
        let requester = requester_id.parse().at("requesterID")?;
        Ok((requester, resources(cpu, memory, gpu.as_ref(), storage.as_ref())?))
    }
}

fn holdings(entries: Vec<HoldingBody>) -> Result<Vec<Holding>, Invalid> {
    let holding =
        |(index, entry): (usize, HoldingBody)| entry.holding().at_element("holding", index);
    entries.into_iter().enumerate().map(holding).collect()
}

impl HoldingBody {
    /// The promise that it is, or why a broker refuses the whole advertisement because of it.
    ///
    /// ```
    /// use rear_api::advertisement::HoldingBody;
    ///
    /// let told = r#"{
    ///     "reservationID": "rsv-rome-1736000000000", "requesterID": "rome",
    ///     "resources": {"cpu": "1", "memory": "1Gi"}
    /// }"#;
    /// let of_another_broker: HoldingBody = serde_json::from_str(told)?;
    /// assert_eq!(of_another_broker.holding().unwrap_err().path, "reservationID");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn holding(&self) -> Result<Holding, Invalid> {
        let requester = self.requester_id.parse().at("requesterID")?;
        let amounts = self.resources.resources().at("resources")?;
        // The terms that were asked for are gone with the ledger; only what is promised matters now.
        let ask = Ask::new(requester, amounts, Terms::default());
        Ok(Holding {
            reservation: self.reservation_id.parse().at("reservationID")?,
            ask: ask.map_err(|error| refused_ask(error, "resources"))?,
            expires_at: self.expires_at.as_deref().map(moment::read).transpose().at("expiresAt")?,
        })
    }
}

impl AdvertisementRequest {
    /// The body that says this.
    #[must_use]
    pub fn of(cluster: &ClusterId, told: &Advertisement, holding: Option<&[Holding]>) -> Self {
        let known = Known::in_any(&[told.capacity, told.allocatable, told.allocated]);
        let list = |resources| ResourceList::showing(resources, known);
        Self {
            cluster_id: cluster.to_string(),
            cluster_name: Some(told.name.to_string()),
            timestamp: moment::text(told.timestamp),
            resources: OfferedResources {
                capacity: list(told.capacity),
                allocatable: list(told.allocatable),
                allocated: list(told.allocated),
                reserved: None,
                available: None,
            },
            cost: told.cost.as_ref().map(CostBody::from),
            labels: LabelTexts::of(&told.labels),
            endpoint_url: told.endpoint.as_ref().map(ToString::to_string),
            consumed: Consumption::all(&told.consumed),
            holding: holding.map(|held| held.iter().map(HoldingBody::from).collect()),
            epoch: told.order.map(|order| order.epoch),
            sequence: told.order.map(|order| order.sequence),
        }
    }
}

impl Consumption {
    /// Every entry of a report; nothing when there are none.
    pub(super) fn all(consumed: &Consumed) -> Option<Vec<Self>> {
        let entries: Vec<_> = consumed.iter().map(Self::of).collect();
        (!entries.is_empty()).then_some(entries)
    }

    fn of((requester, amounts): (&ClusterId, Resources)) -> Self {
        let ResourceList { cpu, memory, gpu, storage } = amounts.into();
        Self { requester_id: requester.to_string(), cpu, memory, gpu, storage }
    }
}

impl From<&Holding> for HoldingBody {
    fn from(held: &Holding) -> Self {
        Self {
            reservation_id: held.reservation.to_string(),
            requester_id: held.ask.requester().to_string(),
            resources: held.ask.resources().into(),
            expires_at: held.expires_at.map(moment::text),
        }
    }
}
