//! The schemas from which the broker's OpenAPI description is generated say what serde does.

use rear_api::advertisement::{Advertisement, AdvertisementAnswer, AdvertisementRequest};
use rear_api::dry_run::DryRun;
use rear_api::event::EventData;
use rear_api::problem::Problem;
use rear_api::reservation::{RejectRequest, RenewRequest, Reservation, ReservationRequest};
use serde_json::{Value, json};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::bodies::{ADVERTISEMENT, RESERVATION_REQUEST};

/// The schema of a body, and of those that it refers to by name.
struct Described {
    root: Value,
    named: Vec<(String, RefOr<Schema>)>,
}

fn described<T: ToSchema + PartialSchema>() -> Described {
    let mut named = Vec::new();
    T::schemas(&mut named);
    Described { root: serde_json::to_value(T::schema()).unwrap(), named }
}

impl Described {
    fn named(&self, name: &str) -> Value {
        let found = self.named.iter().find(|(known, _)| known == name);
        serde_json::to_value(&found.unwrap_or_else(|| panic!("no schema of {name}")).1).unwrap()
    }

    fn members(schema: &Value) -> Vec<&str> {
        schema["properties"].as_object().unwrap().keys().map(String::as_str).collect()
    }
}

fn keys(body: &Value) -> Vec<&str> {
    body.as_object().unwrap().keys().map(String::as_str).collect()
}

fn sorted(mut names: Vec<&str>) -> Vec<&str> {
    names.sort_unstable();
    names
}

#[test]
fn the_members_of_the_schema_are_those_of_the_body() {
    let request: Value = serde_json::from_str(RESERVATION_REQUEST).unwrap();
    let schema = described::<ReservationRequest>();
    assert_eq!(sorted(Described::members(&schema.root)), sorted(keys(&request)));
    assert_eq!(
        sorted(Described::members(&schema.named("Constraints"))),
        sorted(keys(&request["constraints"]))
    );
    let advertisement: Value = serde_json::from_str(ADVERTISEMENT).unwrap();
    let schema = described::<AdvertisementRequest>();
    assert_eq!(sorted(Described::members(&schema.root)), sorted(keys(&advertisement)));
    assert_eq!(
        sorted(Described::members(&schema.named("CostBody"))),
        sorted(keys(&advertisement["cost"]))
    );
}

#[test]
fn only_what_must_be_there_is_required() {
    let request = described::<ReservationRequest>();
    assert_eq!(request.root["required"], json!(["requestedResources"]));
    assert_eq!(request.named("RequestedResources")["required"], json!(["cpu", "memory"]));
    let advertisement = described::<AdvertisementRequest>();
    assert_eq!(advertisement.root["required"], json!(["clusterID", "timestamp", "resources"]));
}

#[test]
fn requests_admit_no_other_members_and_advertisements_do() {
    let request = described::<ReservationRequest>();
    assert_eq!(request.root["additionalProperties"], false);
    for name in ["RequestedResources", "Constraints", "MaxPrice"] {
        assert_eq!(request.named(name)["additionalProperties"], false, "{name}");
    }
    let advertisement = described::<AdvertisementRequest>();
    assert_eq!(advertisement.root.get("additionalProperties"), None);
    assert_eq!(advertisement.named("ResourceList").get("additionalProperties"), None);
}

#[test]
fn every_body_has_a_schema_in_which_every_reference_leads_somewhere() {
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    match (name.as_str(), member) {
                        ("$ref", Value::String(to)) => found.push(to.clone()),
                        _ => references(member, found),
                    }
                }
            }
            Value::Array(elements) => elements.iter().for_each(|one| references(one, found)),
            _ => {}
        }
    }
    for body in [
        described::<AdvertisementRequest>(),
        described::<AdvertisementAnswer>(),
        described::<Advertisement>(),
        described::<ReservationRequest>(),
        described::<Reservation>(),
        described::<RenewRequest>(),
        described::<RejectRequest>(),
        described::<DryRun>(),
        described::<EventData>(),
        described::<Problem>(),
    ] {
        let mut found = Vec::new();
        references(&body.root, &mut found);
        for (_, schema) in &body.named {
            references(&serde_json::to_value(schema).unwrap(), &mut found);
        }
        for reference in found {
            let name = reference.strip_prefix("#/components/schemas/").unwrap();
            body.named(name);
        }
    }
}
