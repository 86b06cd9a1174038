//! What the API server checks before anyone sees an object.

use schemars::{Schema, SchemaGenerator, json_schema};

/// As long as the engine reads them.
const LONGEST_QUANTITY: u32 = 128;

/// Digits with at most one point, and a suffix that Kubernetes knows.
const QUANTITY: &str =
    r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]+)?$";

/// The same, also below zero: agents of the earlier system write what is left of a cluster that is overfull.
const BALANCE: &str =
    r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]+)?$";

/// As Go writes it, such as `1h30m`.
const DURATION: &str = r"^([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))*$";

/// A quantity, with or without quotes, as Kubernetes itself takes it.
#[must_use]
pub fn quantity(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "x-kubernetes-int-or-string": true, "pattern": QUANTITY })
}

/// A quantity that was given as a text.
#[must_use]
pub fn quantity_text(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": QUANTITY, "maxLength": LONGEST_QUANTITY })
}

/// The same where it may be absent.
#[must_use]
pub fn optional_quantity(generator: &mut SchemaGenerator) -> Schema {
    quantity(generator)
}

/// The same where it may be absent.
#[must_use]
pub fn optional_quantity_text(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "pattern": QUANTITY, "maxLength": LONGEST_QUANTITY, "nullable": true,
    })
}

/// A quantity above zero, as a text.
#[must_use]
pub fn positive_quantity(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "pattern": QUANTITY,
        "maxLength": LONGEST_QUANTITY,
        "x-kubernetes-validations": [{
            "rule": "quantity(self).isGreaterThan(quantity('0'))",
            "message": "must be above zero",
        }],
    })
}

/// A length of time as Go writes it.
#[must_use]
pub fn optional_duration(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": DURATION, "maxLength": 64, "nullable": true })
}

/// An object whose members are those of a body of the wire.
#[must_use]
pub fn anything(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "nullable": true, "x-kubernetes-preserve-unknown-fields": true })
}

/// A quantity of which rules can say something: its length is known.
#[must_use]
pub fn short_quantity(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "x-kubernetes-int-or-string": true, "pattern": QUANTITY, "maxLength": LONGEST_QUANTITY,
    })
}

/// Amounts that nobody reads, because the broker works them out itself: also below zero.
#[must_use]
pub fn balances(_: &mut SchemaGenerator) -> Schema {
    let balance = |what: &str, nullable: bool| {
        let mut schema = json_schema!({
            "description": what,
            "x-kubernetes-int-or-string": true,
            "pattern": BALANCE,
            "maxLength": LONGEST_QUANTITY,
        });
        if nullable {
            schema.insert("nullable".to_owned(), true.into());
        }
        schema
    };
    json_schema!({
        "type": "object",
        "properties": {
            "cpu": balance("Cores.", false),
            "memory": balance("Bytes.", false),
            "gpu": balance("Devices.", true),
            "storage": balance("Bytes of ephemeral storage.", true),
        },
        "required": ["cpu", "memory"],
    })
}

/// The same where they may be absent.
#[must_use]
pub fn optional_balances(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = balances(generator);
    schema.insert("nullable".to_owned(), true.into());
    schema
}

/// Labels, as many and as long as the engine takes them.
#[must_use]
pub fn labels(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": { "type": "string", "maxLength": 253 },
        "maxProperties": 64,
        "nullable": true,
    })
}
