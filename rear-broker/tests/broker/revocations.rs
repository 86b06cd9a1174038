//! Lists of revoked certificates: none locks out those whom it does not revoke, and none lets in those whom another has revoked.

use super::pki::Authority;
use super::process::Broker;

/// Puts this where the broker looks for its list, and waits until it has said this.
fn put(broker: &Broker, list: &str, words: &str) {
    std::fs::write(broker.certificates().join("ca.crl"), list).unwrap();
    while !broker.log().contains(words) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_list_of_a_namesake_is_refused_with_its_reason_and_nobody_is_locked_out() {
    let broker = Broker::start();
    // Both are called the same.
    let namesake = Authority::new();
    put(&broker, &namesake.revocations(&[]), "the old ones stay");
    let log = broker.log();
    assert!(log.contains("CN=test authority is not signed with the key"), "{log}");
    assert_eq!(broker.cluster("rome").get("/api/v1/instructions").status, 200);
    let revoked = broker.authority.cluster("rome");
    put(&broker, &broker.authority.revocations(&[&revoked]), "certificates were reloaded");
    let again = broker.client(Some(&revoked)).connect();
    assert!(again.and_then(|mut new| new.call("GET", "/healthz", &[], None)).is_err());
    assert_eq!(broker.cluster("rome").get("/api/v1/instructions").status, 200);
}

#[test]
fn a_list_of_an_authority_that_is_not_known_is_told_of() {
    let broker = Broker::start();
    let (between, _) = broker.authority.between();
    put(&broker, &between.revocations(&[]), "certificates were reloaded");
    assert!(broker.log().contains("is of no authority in ca.crt"), "{}", broker.log());
    assert!(broker.log().contains("issuer=\"CN=authority in between\""), "{}", broker.log());
    assert_eq!(broker.cluster("rome").get("/api/v1/instructions").status, 200);
}

#[test]
fn a_broker_does_not_start_with_a_list_that_locks_everyone_out() {
    let folder = tempfile::tempdir().unwrap();
    let (authority, namesake) = (Authority::new(), Authority::new());
    let certificates = folder.path().join("certs");
    authority.server().write(&certificates, &authority);
    std::fs::write(certificates.join("ca.crl"), namesake.revocations(&[])).unwrap();
    let output = super::process::program(folder.path(), &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(78));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("put the list there that this authority has signed"), "{said}");
}
