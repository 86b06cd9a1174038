//! What the API server checks before an agent sees an object.

use schemars::{Schema, SchemaGenerator, json_schema};

/// As long as the engine reads them.
const LONGEST_QUANTITY: u32 = 128;

/// Digits with at most one point, and a suffix that Kubernetes knows.
const QUANTITY: &str =
    r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]+)?$";

/// As Go writes it, such as `1h30m`.
const DURATION: &str = r"^([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))*$";

/// A quantity, with or without quotes, as Kubernetes itself takes it.
pub(super) fn quantity(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "x-kubernetes-int-or-string": true, "pattern": QUANTITY })
}

/// A quantity that was given as a text.
pub(super) fn quantity_text(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": QUANTITY, "maxLength": LONGEST_QUANTITY })
}

/// The same where it may be absent.
pub(super) fn optional_quantity(generator: &mut SchemaGenerator) -> Schema {
    quantity(generator)
}

/// The same where it may be absent.
pub(super) fn optional_quantity_text(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "pattern": QUANTITY, "maxLength": LONGEST_QUANTITY, "nullable": true,
    })
}

/// A quantity above zero, as a text.
pub(super) fn positive_quantity(_: &mut SchemaGenerator) -> Schema {
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
pub(super) fn optional_duration(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": DURATION, "maxLength": 64, "nullable": true })
}
