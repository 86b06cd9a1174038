//! The kubeconfig of another cluster: what is used of it runs no program, names no file, is protected, and is understood in one
//! way only.

/// Reads one.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(used) = rear_agent::liqo::checked(text) else { return };
    for named in &used.clusters {
        let cluster = named.cluster.as_ref().expect("each has its cluster");
        assert!(cluster.server.as_deref().is_some_and(|server| server.starts_with("https://")));
        assert!(cluster.insecure_skip_tls_verify.is_none() && cluster.proxy_url.is_none());
        assert!(cluster.certificate_authority.is_none() && cluster.other.is_empty());
    }
    for named in &used.auth_infos {
        let who = named.auth_info.as_ref().expect("each has its user");
        assert!(who.exec.is_none() && who.auth_provider.is_none() && who.other.is_empty());
        assert!(who.token_file.is_none() && who.client_certificate.is_none());
        assert!(who.client_key.is_none());
    }
    let written = serde_json::to_string(&used).expect("it can be written");
    let again = rear_agent::liqo::checked(&written).expect("what is used can be used again");
    assert_eq!(serde_json::to_string(&again).expect("it can be written"), written);
}
