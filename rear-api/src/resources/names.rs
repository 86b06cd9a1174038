//! Names that both ends of the Kubernetes transport know.

/// The group of the resources.
pub const GROUP: &str = "broker.fluidos.eu";

/// While a `Reservation` has it, its capacity is kept aside and both sides have been told.
pub const FINALIZER: &str = "reservation.broker.fluidos.eu/finalizer";

/// The label by which an operator binds a namespace to a cluster: what is written there counts as that cluster's.
pub const CLUSTER_LABEL: &str = "broker.fluidos.eu/cluster";

/// The label of a `Reservation` that the broker made: of which side it is a view.
pub const VIEW_LABEL: &str = "broker.fluidos.eu/view";

/// A view for the requester: the reservation was not made as a resource.
pub const REQUESTERS_VIEW: &str = "requester";

/// The read-only copy for the provider.
pub const PROVIDERS_VIEW: &str = "provider";

/// The annotation of a provider's copy: the name that the requester's user gave the reservation.
pub const NAME_ANNOTATION: &str = "broker.fluidos.eu/name";

/// The label of a `Reservation` that goes when the ledger forgets it: programs make these, and nobody tidies up after them.
pub const TRANSIENT_LABEL: &str = "broker.fluidos.eu/transient";

/// The Lease in each namespace that a broker serves: that there is one, and which.
pub const PRESENCE: &str = "rear-broker";

/// On that Lease: the cluster that the namespace is bound to, or [`EVERY_CLUSTER`].
pub const CLUSTER_ANNOTATION: &str = "broker.fluidos.eu/cluster";

/// A namespace in which everyone is believed to be who they say they are.
pub const EVERY_CLUSTER: &str = "*";

/// On that Lease: the ledger, and how far it was when the Lease was written.
pub const MARK_ANNOTATION: &str = "broker.fluidos.eu/ledger";

/// Who asks without saying for whom: a name that no certificate may have.
pub const NOBODY: &str = "nobody.broker.fluidos.eu";

/// The condition by which the requester's side says that it uses the capacity.
pub const REQUESTER_ACTIVE: &str = "RequesterActive";

/// The condition by which the requester's side gives the capacity back.
pub const REQUESTER_RELEASED: &str = "RequesterReleased";

/// The condition by which the provider's side says, with a reason, that it will not keep the promise.
pub const PROVIDER_REJECTED: &str = "ProviderRejected";

/// The broker's: the capacity is kept aside; or the advertisement counts.
pub const READY: &str = "Ready";

/// The broker's: whether the new end in the spec was accepted.
pub const RENEWED: &str = "Renewed";

/// The broker's: nothing was heard of the cluster for too long.
pub const STALE: &str = "Stale";

/// The broker's: the cluster has promised or used more than it has.
pub const OVERCOMMITTED: &str = "Overcommitted";

/// The name of the advertisement of a cluster.
#[must_use]
pub fn advertisement_name(cluster: &str) -> String {
    format!("{cluster}-adv")
}
