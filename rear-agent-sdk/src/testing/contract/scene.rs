//! Two clusters for one clause: one that lends, one that borrows. No other clause uses them.

use std::sync::Arc;

use rear_api::amounts::ResourceList;
use rear_api::moment;

use super::{Ended, Stage};
use crate::clock::now;
use crate::communicator::{
    AdvertisementRequest, BrokerCommunicator, ClusterId, Intent, Reservation, ReservationRequest,
};
use crate::error::Error;

/// What the lender has.
pub(super) const CORES: &str = "8";
const MEMORY: &str = "16Gi";

pub(super) struct Scene {
    pub(super) lender: Arc<dyn BrokerCommunicator>,
    pub(super) borrower: Arc<dyn BrokerCommunicator>,
    number: usize,
}

impl Scene {
    pub(super) fn new(stage: &dyn Stage, number: usize) -> Self {
        let lender = stage.cluster(&format!("lender-{number}"));
        Self { lender, borrower: stage.cluster(&format!("borrower-{number}")), number }
    }

    pub(super) fn lender_id(&self) -> Result<ClusterId, Ended> {
        let id = format!("lender-{}", self.number).parse();
        id.map_err(|_| Ended::Broken("an id cannot be read".to_owned()))
    }

    pub(super) fn offer(&self) -> AdvertisementRequest {
        let amounts = |cpu: &str, memory: &str| ResourceList {
            cpu: cpu.into(),
            memory: memory.into(),
            gpu: None,
            storage: None,
        };
        let lender = format!("lender-{}", self.number);
        let (all, none) = (amounts(CORES, MEMORY), amounts("0", "0"));
        AdvertisementRequest {
            holding: Some(Vec::new()),
            ..AdvertisementRequest::new(lender, moment::text(now()), all, none)
        }
    }

    /// For an hour, of this lender.
    pub(super) fn request(&self, cpu: &str) -> ReservationRequest {
        ReservationRequest {
            duration: Some("1h".to_owned()),
            target_cluster_id: Some(format!("lender-{}", self.number)),
            ..crate::request(cpu, "1Gi")
        }
    }

    pub(super) async fn advertised(&self) -> Result<(), Error> {
        self.lender.publish(&self.offer()).await.map(drop)
    }

    /// A core that the lender has promised to the borrower.
    pub(super) async fn granted(&self) -> Result<Reservation, Error> {
        self.advertised().await?;
        self.reserved().await
    }

    pub(super) async fn reserved(&self) -> Result<Reservation, Error> {
        self.borrower.reserve(&self.request("1"), &Intent::new()).await
    }
}
