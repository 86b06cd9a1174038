//! The transport trait: everything that an agent or a user says to a broker, whatever carries it.
//!
//! The trait is object-safe, so that a program can choose its transport at run time (`Arc<dyn BrokerCommunicator>`);
//! every operation therefore returns a boxed future, [`Answering`]. Bodies are the types of `rear-api`, texts as they
//! stand on the wire: they are version 1 of the protocol itself, and every transport carries the same ones.
//!
//! What a transport has to keep, so that the [agent loop](crate::agent) and users can rely on it:
//!
//! 1. Every future ends: with an answer, or with an error after a deadline of the transport's own.
//! 2. Only what is safe to repeat is repeated: [`reserve`](BrokerCommunicator::reserve) only under the key of its
//!    [`Intent`] and only to a broker that honours it. An answer that is lost otherwise is [`Error::OutcomeUnknown`].
//! 3. [`instructions`](BrokerCommunicator::instructions) is a level: all live promises of a side, not only new ones.
//! 4. What a broker does not have is [`Error::Unsupported`], not an empty answer.
//! 5. A future that is dropped leaves the transport usable.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use rear_api::amounts::RequestedResources;

pub use rear_api::advertisement::{Advertisement, AdvertisementAnswer, AdvertisementRequest};
pub use rear_api::dry_run::DryRun;
pub use rear_api::event::EventData;
pub use rear_api::reservation::{Reservation, ReservationRequest, Role};
pub use rear_api::revision::{EventId, Position};
pub use rear_engine::id::IdempotencyKey;
pub use rear_engine::{ClusterId, Timestamp};

use crate::error::Error;

/// An answer on its way.
pub type Answering<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// What is said to a broker. See the [module](self) for what a transport has to keep.
pub trait BrokerCommunicator: Send + Sync + 'static {
    /// Whether the broker answers.
    fn ping(&self) -> Answering<'_, ()>;

    /// Says what the cluster has. To a broker of the earlier system, which takes `reserved` from the agent, the
    /// transport sends back what that broker has shown.
    fn publish<'a>(
        &'a self,
        advertisement: &'a AdvertisementRequest,
    ) -> Answering<'a, AdvertisementAnswer>;

    /// How the broker sees a cluster; nothing if it has not advertised.
    fn advertisement<'a>(&'a self, cluster: &'a ClusterId) -> Answering<'a, Option<Advertisement>>;

    /// Finds room and locks it. The same intent gives the same reservation, however often it is asked.
    fn reserve<'a>(
        &'a self,
        request: &'a ReservationRequest,
        intent: &'a Intent,
    ) -> Answering<'a, Reservation>;

    /// Who would get it and why, without anything being locked.
    fn dry_run<'a>(&'a self, request: &'a ReservationRequest) -> Answering<'a, DryRun>;

    /// All reservations of the cluster in a role, also ended ones that the broker remembers.
    fn reservations(&self, role: Role) -> Answering<'_, Vec<Reservation>>;

    /// One reservation.
    fn reservation<'a>(&'a self, id: &'a str) -> Answering<'a, Reservation>;

    /// The requester uses what it was promised.
    fn activate<'a>(&'a self, id: &'a str) -> Answering<'a, Reservation>;

    /// The requester wants it to end at another time: absolute, so that a retry cannot extend twice.
    fn renew<'a>(&'a self, id: &'a str, until: Timestamp) -> Answering<'a, Reservation>;

    /// The provider will not keep it, for a reason that the requester is told.
    fn reject<'a>(&'a self, id: &'a str, reason: &'a str) -> Answering<'a, Reservation>;

    /// The requester gives it back. Repeating it is fine.
    fn release<'a>(&'a self, id: &'a str) -> Answering<'a, Reservation>;

    /// All live promises of a side. With [`Wait`], a transport that can do so holds the answer until there is news;
    /// one that cannot answers at once, and without a revision, so that the caller knows to pause.
    fn instructions(&self, role: Role, wait: Option<Wait>) -> Answering<'_, Level>;

    /// What happens to the cluster and its reservations, as it happens: after an event that was seen, else from now on.
    fn events(&self, after: Option<EventId>) -> Answering<'_, Box<dyn EventStream>>;

    /// Ends what is open; whatever is asked later is answered with [`Error::Closed`]. Repeating it is fine.
    fn close(&self);
}

/// A request for so many cores and so much memory, as Kubernetes writes quantities; for the rest, see its members.
///
/// ```
/// use rear_agent_sdk::communicator::ReservationRequest;
///
/// let an_hour = Some("1h".to_owned());
/// let request = ReservationRequest { duration: an_hour, ..rear_agent_sdk::request("1500m", "4Gi") };
/// assert_eq!(request.requested_resources.cpu.0, "1500m");
/// ```
#[must_use]
pub fn request(cpu: &str, memory: &str) -> ReservationRequest {
    ReservationRequest {
        requested_resources: RequestedResources {
            cpu: cpu.into(),
            memory: memory.into(),
            gpu: None,
            storage: None,
        },
        priority: None,
        duration: None,
        target_cluster_id: None,
        strategy: None,
        on_behalf_of: None,
        constraints: None,
    }
}

/// How long to wait for news after a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// The state of the last answer.
    pub after: Position,
    /// The longest that the answer is held.
    pub at_most: Duration,
}

/// All live promises of a side at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Level {
    /// The promises, each as an instruction.
    pub instructions: Vec<Reservation>,
    /// The state that they are from; absent if the broker has no way to wait for news.
    pub revision: Option<Position>,
    /// Promises by their ids of which the broker's word cannot be read: they may live, whether or not they are named.
    pub unreadable: Vec<String>,
    /// The ledger was further when it was looked at before, or in a later life: another one, or an older copy, has taken its
    /// place. What is missing here may still be wanted.
    pub fell_back: bool,
}

impl Level {
    /// A level, for transports of your own.
    #[must_use]
    pub fn new(instructions: Vec<Reservation>, revision: Option<Position>) -> Self {
        Self { instructions, revision, unreadable: Vec::new(), fell_back: false }
    }

    /// The same, where the broker's word on these promises cannot be read.
    #[must_use]
    pub fn without_word_on(self, unreadable: Vec<String>) -> Self {
        Self { unreadable, ..self }
    }
}

/// Events, one after the other.
pub trait EventStream: Send {
    /// The next one; nothing at the end of the stream, after which it can be opened again behind the last id.
    fn next(&mut self) -> Answering<'_, Option<BrokerEvent>>;
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BrokerEvent {
    /// Where to go on after it.
    pub id: EventId,
    /// What it is about: `advertisement`, `reservation`, `cluster`, or a word of a newer broker.
    pub name: String,
    /// What it says.
    pub data: EventData,
}

impl BrokerEvent {
    /// An event, for transports of your own.
    #[must_use]
    pub fn new(id: EventId, name: String, data: EventData) -> Self {
        Self { id, name, data }
    }
}

/// One wish for a reservation, with the key by which a broker recognises it when it is asked again.
///
/// Make it once, keep its text before asking, and use it again after a crash:
///
/// ```
/// use rear_agent_sdk::Intent;
///
/// let intent = Intent::new();
/// let after_a_restart: Intent = intent.to_string().parse()?;
/// assert_eq!(intent, after_a_restart);
/// # Ok::<(), rear_engine::id::IdempotencyKeyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Intent(IdempotencyKey);

impl Intent {
    /// A new intent, unlike any other.
    #[must_use]
    pub fn new() -> Self {
        Self::from_bits(uuid::Uuid::new_v4().as_u128())
    }

    fn from_bits(bits: u128) -> Self {
        let key = format!("{bits:032x}").parse();
        // 32 hexadecimal digits are always a key.
        Self(key.unwrap_or_else(|_| unreachable!("hexadecimal digits are printable")))
    }

    /// The key that is sent.
    #[must_use]
    pub fn key(&self) -> &IdempotencyKey {
        &self.0
    }
}

impl Default for Intent {
    fn default() -> Self {
        Self::new()
    }
}

impl From<IdempotencyKey> for Intent {
    fn from(key: IdempotencyKey) -> Self {
        Self(key)
    }
}

impl std::str::FromStr for Intent {
    type Err = rear_engine::id::IdempotencyKeyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

impl fmt::Display for Intent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_intent_has_the_key_that_someone_chose() {
        let key: IdempotencyKey = "order-17".parse().unwrap();
        assert_eq!(*Intent::from(key.clone()).key(), key);
    }
}
