//! The documents have the parts that readers look for, and every page is found.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rear_packaging::document::{excerpts, steps};

use super::tree::{root, text};

/// Every page of the documents.
pub(crate) fn pages() -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    below(&root().join("docs"), &mut found);
    found
}

fn below(folder: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            below(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.insert(path.strip_prefix(root()).unwrap().to_owned());
        }
    }
}

#[test]
fn every_page_can_be_found_from_the_list_of_pages() {
    let index = text("docs/README.md");
    for page in pages() {
        let page = page.strip_prefix("docs").unwrap().display().to_string();
        let listed = page == "README.md"
            || page.starts_with("adr/")
            || index.contains(&format!("]({page})"));
        assert!(listed, "docs/README.md does not lead to {page}");
    }
}

#[test]
fn every_document_can_be_read_as_a_session() {
    for page in pages() {
        let page = page.display().to_string();
        steps(&text(&page)).unwrap_or_else(|error| panic!("{page}: {error}"));
    }
}

/// So it compiles, and is tried where that file is.
#[test]
fn every_piece_of_a_program_stands_in_a_program() {
    for page in pages() {
        let page = page.display().to_string();
        for excerpt in excerpts(&text(&page)).unwrap() {
            let place = format!("{page}:{}", excerpt.line);
            let from = excerpt.from.as_deref().unwrap_or_else(|| {
                panic!("{place}: of which file is this? Write ```rust from=FILE")
            });
            assert!(excerpt.stands_in(&text(from)), "{place}: {from} has no such lines");
        }
    }
}

/// The words of the page for those who come from the earlier system.
fn earlier() -> String {
    text("docs/how-to/come-from-the-earlier-system.md")
}

#[test]
fn whatever_the_earlier_system_had_is_told() {
    let page = earlier();
    for word in [
        // Flags of its agent and its broker.
        "--broker-transport",
        "--broker-url",
        "--broker-cert-path",
        "--broker-kubeconfig",
        "--broker-namespace",
        "--cluster-id",
        "--advertisement-name",
        "--advertisement-namespace",
        "--instruction-namespace",
        "--advertisement-requeue-interval",
        "--metrics-bind-address",
        "--health-probe-bind-address",
        "--leader-elect",
        "--broker-interface",
        "KUBECONFIG",
        "POD_NAMESPACE",
        // Make targets.
        "make build",
        "make build-prod",
        "make test",
        "make install",
        "make deploy",
        "make manifests",
        "make run",
        // Scripts.
        "setup-clusters.sh",
        "setup-certmanager.sh",
        "extract-certs.sh",
        "run-broker.sh",
        "run-agent-1.sh",
        "run-agent-2.sh",
        "test-reservation.sh",
        // Paths.
        "config/crd/bases",
        "config/certmanager",
        "config/samples/broker_v1alpha1_reservation.yaml",
        "cmd/main.go",
        "bin/agent",
        "api/v1alpha1",
        "internal/controller",
        "internal/metrics",
        "internal/publisher",
        "internal/transport",
        "internal/broker/decision_engine.go",
        "internal/resource/calculator.go",
        "test-setup",
        "tests/evaluation",
        "/etc/agent/certs",
        // Names of resources.
        "ClusterAdvertisement",
        "Reservation",
        "Advertisement",
        "ResourceRequest",
        "ReservationInstruction",
        "ProviderInstruction",
        "broker.fluidos.eu/v1alpha1",
        "rear.fluidos.eu/v1alpha1",
        "liqo-broker-ca-secret",
        "liqo-broker-ca-issuer",
        "agent-client-tls",
        "cluster-advertisement",
        "reservation.broker.fluidos.eu/finalizer",
        "user-team",
        "agent-certificate.yaml",
        "rear-agent",
        // Addresses.
        "/api/v1/advertisements",
        "/api/v1/reservations",
        "/api/v1/instructions",
        "/healthz",
    ] {
        assert!(page.contains(word), "{word}");
    }
}
