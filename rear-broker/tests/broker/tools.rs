//! Bodies in short.

use serde_json::{Value, json};

use super::client::Client;

/// The present moment, as agents of the earlier system write it.
pub(crate) fn timestamp() -> String {
    let output = std::process::Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]).output();
    String::from_utf8(output.unwrap().stdout).unwrap().trim().to_owned()
}

pub(crate) fn advertisement(cluster: &str, cpu: &str, memory: &str) -> Value {
    let all = json!({"cpu": cpu, "memory": memory});
    json!({
        "clusterID": cluster,
        "clusterName": cluster,
        "timestamp": timestamp(),
        "resources": {
            "capacity": all, "allocatable": all,
            "allocated": {"cpu": "0", "memory": "0"},
            "available": {"cpu": "0", "memory": "0"},
        },
    })
}

pub(crate) fn request(cpu: &str, memory: &str) -> Value {
    json!({"requestedResources": {"cpu": cpu, "memory": memory}})
}

pub(crate) fn advertise(client: &Client, cluster: &str, cpu: &str, memory: &str) -> Value {
    client.post("/api/v1/advertisements", &advertisement(cluster, cpu, memory)).expect(200)
}

pub(crate) fn reserve(client: &Client, cpu: &str, memory: &str) -> Value {
    client.post("/api/v1/reservations", &request(cpu, memory)).expect(201)
}

pub(crate) fn id_of(reservation: &Value) -> String {
    reservation["id"].as_str().unwrap().to_owned()
}
