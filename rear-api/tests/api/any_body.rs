//! Bodies with any texts in them, for properties that hold whatever someone writes.

use proptest::option;
use proptest::prelude::*;
use rear_api::advertisement::{
    Advertisement, AdvertisementRequest, ClusterStatus, Consumption, CostBody, HoldingBody,
    OfferedResources, ShownResources,
};
use rear_api::amounts::{QuantityText, RequestedResources, ResourceList};
use rear_api::dry_run::{Always, Candidate, Fitting, Lacking, ScoreParts};
use rear_api::event::EventData;
use rear_api::labels::LabelTexts;
use rear_api::problem::{Obstacle, Problem};
use rear_api::reservation::{
    Constraints, MaxPrice, PhaseName, Reservation, ReservationRequest, ReservationStatus,
};

pub(crate) fn text() -> BoxedStrategy<String> {
    prop_oneof!["[a-z0-9.-]{0,12}", ".{0,12}", "[\\x00-\\x1f\"\\\\\u{202e}\u{10ffff}]{0,4}"].boxed()
}

pub(crate) fn maybe_text() -> BoxedStrategy<Option<String>> {
    option::of(text()).boxed()
}

pub(crate) fn quantity() -> BoxedStrategy<QuantityText> {
    text().prop_map(QuantityText).boxed()
}

pub(crate) fn amounts() -> BoxedStrategy<ResourceList> {
    (quantity(), quantity(), option::of(quantity()), option::of(quantity()))
        .prop_map(|(cpu, memory, gpu, storage)| ResourceList { cpu, memory, gpu, storage })
        .boxed()
}

pub(crate) fn labels() -> BoxedStrategy<LabelTexts> {
    prop::collection::btree_map(text(), text(), 0..4).prop_map(LabelTexts).boxed()
}

pub(crate) fn cost() -> BoxedStrategy<CostBody> {
    (text(), text(), maybe_text(), text())
        .prop_map(|(cpu_cost, memory_cost, gpu_cost, currency)| CostBody {
            cpu_cost,
            memory_cost,
            gpu_cost,
            currency,
        })
        .boxed()
}

pub(crate) fn consumption() -> BoxedStrategy<Consumption> {
    (text(), amounts())
        .prop_map(|(requester_id, amounts)| {
            let ResourceList { cpu, memory, gpu, storage } = amounts;
            Consumption { requester_id, cpu, memory, gpu, storage }
        })
        .boxed()
}

pub(crate) fn holding() -> BoxedStrategy<HoldingBody> {
    (text(), text(), amounts(), maybe_text())
        .prop_map(|(reservation_id, requester_id, resources, expires_at)| HoldingBody {
            reservation_id,
            requester_id,
            resources,
            expires_at,
        })
        .boxed()
}

pub(crate) fn few<T: std::fmt::Debug>(
    one: impl Strategy<Value = T>,
) -> impl Strategy<Value = Option<Vec<T>>> {
    option::of(prop::collection::vec(one, 0..3))
}

pub(crate) fn advertisement_request() -> BoxedStrategy<AdvertisementRequest> {
    let offered = [amounts().boxed(), amounts().boxed(), amounts().boxed()].prop_map(
        |[capacity, allocatable, allocated]| OfferedResources {
            capacity,
            allocatable,
            allocated,
            reserved: None,
            available: None,
        },
    );
    let names = (text(), maybe_text(), text(), maybe_text());
    let lists = (few(consumption()), few(holding()));
    let order = (any::<Option<u64>>(), any::<Option<u64>>());
    (names, offered, option::of(cost()), option::of(labels()), lists, order)
        .prop_map(|(names, resources, cost, labels, (consumed, holding), (epoch, sequence))| {
            let (cluster_id, cluster_name, timestamp, endpoint_url) = names;
            AdvertisementRequest {
                cluster_id,
                cluster_name,
                timestamp,
                resources,
                cost,
                labels,
                endpoint_url,
                consumed,
                holding,
                epoch,
                sequence,
            }
        })
        .boxed()
}

pub(crate) fn shown_resources() -> BoxedStrategy<ShownResources> {
    (amounts(), amounts(), amounts(), option::of(amounts()), amounts())
        .prop_map(|(capacity, allocatable, allocated, reserved, available)| ShownResources {
            capacity,
            allocatable,
            allocated,
            reserved,
            available,
        })
        .boxed()
}

pub(crate) fn cluster_status() -> BoxedStrategy<ClusterStatus> {
    (any::<[bool; 3]>(), text(), text())
        .prop_map(|([active, overcommitted, recovering], score, received_at)| ClusterStatus {
            active,
            score,
            overcommitted,
            recovering,
            received_at,
        })
        .boxed()
}

pub(crate) fn advertisement() -> BoxedStrategy<Advertisement> {
    (advertisement_request(), text(), shown_resources(), option::of(cluster_status()))
        .prop_map(|(request, cluster_name, resources, status)| Advertisement {
            cluster_id: request.cluster_id,
            cluster_name,
            timestamp: request.timestamp,
            resources,
            cost: request.cost,
            labels: request.labels,
            endpoint_url: request.endpoint_url,
            consumed: request.consumed,
            epoch: request.epoch,
            sequence: request.sequence,
            status,
        })
        .boxed()
}

pub(crate) fn phase() -> BoxedStrategy<PhaseName> {
    prop_oneof![
        Just(PhaseName::Pending),
        Just(PhaseName::Reserved),
        Just(PhaseName::Active),
        Just(PhaseName::Released),
        Just(PhaseName::Failed),
        "[a-z]{0,8}".prop_map(PhaseName::Other),
    ]
    .boxed()
}

pub(crate) fn reservation_status() -> BoxedStrategy<ReservationStatus> {
    (phase(), option::of(phase()), text(), maybe_text(), maybe_text())
        .prop_map(|(phase, reservation_phase, message, reserved_at, expires_at)| {
            ReservationStatus { phase, reservation_phase, message, reserved_at, expires_at }
        })
        .boxed()
}

pub(crate) fn reservation() -> BoxedStrategy<Reservation> {
    let names = [text().boxed(), text().boxed(), text().boxed()];
    let rest = (any::<i32>(), maybe_text(), maybe_text());
    (names, amounts(), rest, reservation_status())
        .prop_map(|([id, requester_id, target_cluster_id], requested_resources, rest, status)| {
            let (priority, duration, created_at) = rest;
            Reservation {
                id,
                name: None,
                requester_id,
                target_cluster_id,
                requested_resources,
                priority,
                duration,
                created_at,
                status,
            }
        })
        .boxed()
}

pub(crate) fn constraints() -> BoxedStrategy<Constraints> {
    let price = (text(), text()).prop_map(|(amount, currency)| MaxPrice { amount, currency });
    (option::of(labels()), option::of(labels()), option::of(price))
        .prop_map(|(labels, preferred_labels, max_price)| Constraints {
            labels,
            preferred_labels,
            max_price,
        })
        .boxed()
}

pub(crate) fn reservation_request() -> BoxedStrategy<ReservationRequest> {
    let texts =
        [maybe_text().boxed(), maybe_text().boxed(), maybe_text().boxed(), maybe_text().boxed()];
    (amounts(), any::<Option<i32>>(), texts, option::of(constraints()))
        .prop_map(|(amounts, priority, texts, constraints)| {
            let ResourceList { cpu, memory, gpu, storage } = amounts;
            let [duration, target_cluster_id, strategy, on_behalf_of] = texts;
            ReservationRequest {
                requested_resources: RequestedResources { cpu, memory, gpu, storage },
                priority,
                duration,
                target_cluster_id,
                strategy,
                on_behalf_of,
                constraints,
            }
        })
        .boxed()
}

pub(crate) fn obstacle() -> BoxedStrategy<Obstacle> {
    let texts = (maybe_text(), text(), maybe_text(), maybe_text());
    (texts, option::of(quantity()), option::of(quantity()))
        .prop_map(|((cluster_id, reason, detail, dimension), requested, available)| Obstacle {
            cluster_id,
            reason,
            detail,
            dimension,
            requested,
            available,
        })
        .boxed()
}

pub(crate) fn candidate() -> BoxedStrategy<Candidate> {
    let parts = prop::collection::vec(maybe_text(), 5).prop_map(|mut parts| ScoreParts {
        cpu: parts.pop().flatten(),
        memory: parts.pop().flatten(),
        gpu: parts.pop().flatten(),
        storage: parts.pop().flatten(),
        cost: parts.pop().flatten(),
    });
    let fitting = (maybe_text(), text(), parts).prop_map(|(cluster_id, score, parts)| {
        Candidate::Fitting(Fitting { cluster_id, fits: Always, score, parts })
    });
    let lacking =
        obstacle().prop_map(|obstacle| Candidate::Lacking(Lacking { fits: Always, obstacle }));
    prop_oneof![fitting, lacking].boxed()
}

pub(crate) fn problem() -> BoxedStrategy<Problem> {
    let texts = (text(), text(), text(), text(), text());
    (texts, any::<u16>(), few(obstacle()))
        .prop_map(|((kind, title, detail, code, error), status, candidates)| Problem {
            kind,
            title,
            status,
            detail,
            code,
            error,
            candidates,
        })
        .boxed()
}

pub(crate) fn event() -> BoxedStrategy<EventData> {
    let texts = (text(), maybe_text(), maybe_text(), maybe_text());
    (texts, option::of(advertisement()), option::of(reservation()))
        .prop_map(|((at, reason, by, cluster_id), advertisement, reservation)| EventData {
            at,
            reason,
            by,
            cluster_id,
            advertisement,
            reservation,
        })
        .boxed()
}
