//! Custom resources as a page, made from their definitions.

use std::fmt::Write;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion, JSONSchemaProps,
    JSONSchemaPropsOrArray,
};

use super::cell;

/// A heading for each kind: what it is, its columns, and its fields.
#[must_use]
pub fn page(introduction: &str, definitions: &[CustomResourceDefinition]) -> String {
    let mut page = introduction.to_owned();
    for definition in definitions {
        for version in &definition.spec.versions {
            describe(definition, version, &mut page);
        }
    }
    page
}

fn describe(
    definition: &CustomResourceDefinition,
    version: &CustomResourceDefinitionVersion,
    page: &mut String,
) {
    let (spec, names) = (&definition.spec, &definition.spec.names);
    let schema = version.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref());
    let about = schema.and_then(|schema| schema.description.clone()).unwrap_or_default();
    // Writing to a text cannot fail.
    let _ = write!(page, "\n## `{}`\n\n{}\n\n", names.kind, cell(&about));
    let short = names.short_names.clone().unwrap_or_default().join("`, `");
    let columns = version.additional_printer_columns.iter().flatten().map(|column| &*column.name);
    let columns: Vec<_> = columns.collect();
    let _ = write!(
        page,
        "`{}/{}`, {}, short name `{short}`. Columns: {}.\n\n| field | type | needed | meaning |\n|---|---|---|---|\n",
        spec.group,
        version.name,
        if spec.scope == "Namespaced" { "in a namespace" } else { "of the cluster" },
        columns.join(", "),
    );
    for part in ["spec", "status"] {
        let below = schema.and_then(|schema| schema.properties.as_ref()?.get(part));
        if let Some(below) = below {
            fields(part, below, page);
        }
    }
}

fn fields(path: &str, schema: &JSONSchemaProps, page: &mut String) {
    let required = schema.required.clone().unwrap_or_default();
    for (name, field) in schema.properties.iter().flatten() {
        let path = format!("{path}.{name}");
        let needed = if required.contains(name) { "yes" } else { "" };
        let about = cell(field.description.as_deref().unwrap_or_default());
        let _ = writeln!(page, "| `{path}` | {} | {needed} | {about} |", kind(field));
        match &field.items {
            Some(JSONSchemaPropsOrArray::Schema(item)) => fields(&format!("{path}[]"), item, page),
            _ => fields(&path, field, page),
        }
    }
}

fn kind(field: &JSONSchemaProps) -> String {
    if field.x_kubernetes_int_or_string == Some(true) {
        return "integer or string".to_owned();
    }
    let values: Vec<_> = field
        .enum_
        .iter()
        .flatten()
        .filter_map(|value| value.0.as_str())
        .map(|value| format!("`{value}`"))
        .collect();
    if !values.is_empty() {
        return values.join(", ");
    }
    let kind = field.type_.clone().unwrap_or_else(|| "any".to_owned());
    match &field.items {
        Some(JSONSchemaPropsOrArray::Schema(item)) => format!("list of {}", kind_of_item(item)),
        _ => kind,
    }
}

fn kind_of_item(item: &JSONSchemaProps) -> String {
    item.type_.clone().unwrap_or_else(|| "any".to_owned())
}
