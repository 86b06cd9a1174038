//! The metadata of an object, as far as it counts. Most of it is the list of who wrote which field, which is longer than
//! a pod itself and is skipped unread.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Deserializer};

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Counts {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    labels: Option<BTreeMap<String, String>>,
}

/// Reads what counts of an object's metadata.
pub(super) fn what_counts<'de, D>(from: D) -> Result<ObjectMeta, D::Error>
where
    D: Deserializer<'de>,
{
    let Counts { name, namespace, uid, resource_version, labels } = Counts::deserialize(from)?;
    Ok(ObjectMeta { name, namespace, uid, resource_version, labels, ..ObjectMeta::default() })
}

#[cfg(test)]
mod tests {
    use super::super::pod::PodView;

    #[test]
    fn who_wrote_which_field_is_not_kept() {
        let pod = r#"{"metadata":{"name":"a","namespace":"b","uid":"c","resourceVersion":"7",
            "labels":{"d":"e"},"managedFields":[{"manager":"kubelet","fieldsV1":{"f:spec":{}}}]}}"#;
        let read = serde_json::from_str::<PodView>(pod).unwrap().metadata;
        assert_eq!((read.name.as_deref(), read.namespace.as_deref()), (Some("a"), Some("b")));
        assert_eq!((read.uid.as_deref(), read.resource_version.as_deref()), (Some("c"), Some("7")));
        assert_eq!(read.labels.unwrap()["d"], "e");
        assert_eq!(read.managed_fields, None);
    }
}
