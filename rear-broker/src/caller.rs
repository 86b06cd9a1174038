//! Who calls: the identity of the connection, looked at again with every request.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::{Body, Bytes};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use rear_api::advertisement::Familiar;
use rear_api::problem::{Code, Problem};
use rear_engine::{Actor, ClusterId};
use rustls_pki_types::{CertificateDer, UnixTime};

use crate::answer::{Failure, whole_body};
use crate::broker::Broker;
use crate::freshness;
use crate::identity::{Administrators, IdentityError, Peer, Validity, first_end};
use crate::room::Room;
use crate::tls::Trust;

/// What is known of a connection.
pub struct Connection {
    /// Where it comes from.
    pub address: SocketAddr,
    /// Whom its certificate names; `None` without one.
    peer: Option<Result<Arc<Peer>, IdentityError>>,
    /// Why that is believed.
    evidence: Evidence,
    /// What it said last of its cluster; nothing while that is looked at.
    familiar: Mutex<Option<Box<Familiar>>>,
}

/// Why a connection is believed to be someone's.
enum Evidence {
    /// A certificate, held against what counts at the moment.
    Certificate {
        chain: Vec<CertificateDer<'static>>,
        /// When the first certificate of it ends, in seconds since 1970: with an authority in between, all that it signed.
        until: i64,
        trust: Arc<Trust>,
        /// The generation of credentials that it was last held against.
        verified: AtomicU64,
    },
    /// It comes from this machine, to a listener that only this machine reaches and that only shows.
    Nearness,
}

/// As whom someone on this machine looks.
const NEARBY: &str = "local-operator";

/// Who needs no certificate has none that ends.
const ALWAYS: Validity = Validity { from: 0, until: i64::MAX };

impl Connection {
    /// A connection whose handshake succeeded.
    #[must_use]
    pub fn new(
        chain: &[CertificateDer<'_>],
        administrators: &Administrators,
        trust: &Arc<Trust>,
        address: SocketAddr,
    ) -> Self {
        Self {
            address,
            peer: chain
                .first()
                .map(|certificate| Peer::of(certificate, administrators).map(Arc::new)),
            evidence: Evidence::Certificate {
                chain: chain.iter().map(|certificate| certificate.clone().into_owned()).collect(),
                until: first_end(chain),
                trust: trust.clone(),
                // It was verified by credentials that may have been replaced meanwhile.
                verified: AtomicU64::new(u64::MAX),
            },
            familiar: Mutex::default(),
        }
    }

    /// Someone on this machine, who may see everything; what it may do is for its listener to limit.
    #[must_use]
    pub fn nearby(address: SocketAddr) -> Self {
        let peer = NEARBY.parse().map_err(|_| IdentityError::NotAnId);
        let peer = peer.map(|id| Peer { id, administrator: true, validity: ALWAYS });
        let (peer, evidence) = (Some(peer.map(Arc::new)), Evidence::Nearness);
        Self { address, peer, evidence, familiar: Mutex::default() }
    }

    /// Whom the certificate names, whether or not it still counts: for the audit log.
    #[must_use]
    pub fn named(&self) -> Option<&Peer> {
        self.peer.as_ref()?.as_deref().ok()
    }

    /// Whom the certificate names, if it still counts.
    pub fn peer(&self) -> Result<&Arc<Peer>, Failure> {
        let peer = match &self.peer {
            None => return Err(no_certificate("the connection has no client certificate")),
            Some(Err(error)) => {
                return Err(Problem::new(Code::BadIdentity, error.to_string()).into());
            }
            Some(Ok(peer)) => peer,
        };
        self.evidence.look_again()?;
        Ok(peer)
    }
}

impl Evidence {
    fn look_again(&self) -> Result<(), Failure> {
        let Self::Certificate { chain, until, trust, verified } = self else { return Ok(()) };
        let (now, generation) = (UnixTime::now(), trust.generation());
        let expired = i64::try_from(now.as_secs()).is_ok_and(|now| now > *until);
        if expired || verified.load(Ordering::Acquire) != generation {
            trust.verify(chain, now).map_err(|error| {
                no_certificate(format!("the client certificate no longer counts: {error}"))
            })?;
            verified.store(generation, Ordering::Release);
        }
        Ok(())
    }
}

fn no_certificate(detail: impl Into<String>) -> Failure {
    Problem::new(Code::NoCertificate, detail).into()
}

/// Whoever calls, with a certificate that counts.
#[derive(Clone)]
pub struct Caller {
    peer: Arc<Peer>,
    connection: Arc<Connection>,
    room: Room,
}

impl Caller {
    /// The cluster, or the name of an administrator.
    #[must_use]
    pub fn id(&self) -> &ClusterId {
        &self.peer.id
    }

    /// When its certificate counts.
    #[must_use]
    pub fn validity(&self) -> Validity {
        self.peer.validity
    }

    /// In whose name it acts.
    #[must_use]
    pub fn actor(&self) -> Actor {
        self.peer.actor()
    }

    /// Whether its certificate counts still, for those who were kept waiting.
    pub fn still_counts(&self) -> Result<(), Failure> {
        self.connection.peer().map(drop)
    }

    /// The whole of its body, if it is short enough and comes in time.
    pub async fn whole_body(&self, body: Body) -> Result<Bytes, Failure> {
        let bytes = whole_body(body, &self.room, self.id()).await?;
        self.still_counts()?;
        Ok(bytes)
    }

    /// What was said last on this connection, for whoever puts it back.
    pub(crate) fn take_familiar(&self) -> Option<Box<Familiar>> {
        self.familiar().take()
    }

    /// This was said last on this connection.
    pub(crate) fn keep_familiar(&self, familiar: Option<Box<Familiar>>) {
        *self.familiar() = familiar;
    }

    fn familiar(&self) -> MutexGuard<'_, Option<Box<Familiar>>> {
        self.connection.familiar.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it may see everything.
    #[must_use]
    pub fn is_administrator(&self) -> bool {
        self.peer.administrator
    }

    /// Whether it may see what belongs to this cluster.
    #[must_use]
    pub fn may_see(&self, cluster: &ClusterId) -> bool {
        self.peer.administrator || self.peer.id == *cluster
    }
}

#[cfg(test)]
impl Caller {
    /// Someone of this name, whom nothing needs to prove.
    pub(crate) fn believed(name: &str, administrator: bool) -> Self {
        let peer = Peer { id: name.parse().unwrap(), administrator, validity: ALWAYS };
        let address = ([127, 0, 0, 1], 1).into();
        let peer = Arc::new(peer);
        let (evidence, familiar) = (Evidence::Nearness, Mutex::default());
        let connection = Connection { address, peer: Some(Ok(peer.clone())), evidence, familiar };
        Self { peer, connection: Arc::new(connection), room: Room::default() }
    }
}

impl FromRequestParts<Arc<Broker>> for Caller {
    type Rejection = Failure;

    /// Also counts the request against the caller's limit and as a sign of its life, and waits for what the caller has seen.
    async fn from_request_parts(parts: &mut Parts, broker: &Arc<Broker>) -> Result<Self, Failure> {
        let connection = parts.extensions.get::<Arc<Connection>>().cloned();
        let connection = connection.ok_or_else(|| no_certificate("the connection is not known"))?;
        let room = broker.room.clone();
        let caller = Self { peer: connection.peer()?.clone(), connection, room };
        broker.admit(&caller)?;
        freshness::wait(&broker.store, parts).await?;
        Ok(caller)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use axum::response::IntoResponse;
    use rcgen::{
        BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose,
        IsCa, KeyPair, date_time_ymd,
    };

    use super::*;
    use crate::tls::Credentials;

    fn named(name: &str) -> CertificateParams {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params
    }

    /// An authority that ends on the first of January of a year.
    fn authority(until: i32) -> CertificateParams {
        let mut params = named(&format!("authority until {until}"));
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.not_after = date_time_ymd(until, 1, 1);
        params
    }

    /// What a broker believes that believes this authority.
    fn trust(folder: &Path, root: &CertifiedIssuer<'_, KeyPair>) -> Arc<Trust> {
        let key = KeyPair::generate().unwrap();
        let own = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let own = own.signed_by(&key, root).unwrap();
        for (name, pem) in
            [("tls.crt", own.pem()), ("tls.key", key.serialize_pem()), ("ca.crt", root.pem())]
        {
            std::fs::write(folder.join(name), pem).unwrap();
        }
        Arc::new(Trust::new(Credentials::read(folder).unwrap()))
    }

    /// A connection of rome's, which was believed when it was made, with an authority in between that ends with a year.
    fn connection(between_until: i32) -> Connection {
        let folder = tempfile::tempdir().unwrap();
        let key = || KeyPair::generate().unwrap();
        let root = CertifiedIssuer::self_signed(authority(2099), key()).unwrap();
        let between = CertifiedIssuer::signed_by(authority(between_until), key(), &root).unwrap();
        let mut rome = named("rome");
        rome.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let rome = rome.signed_by(&key(), &between).unwrap();
        let chain = [rome.der().clone(), between.der().clone()];
        let trust = trust(folder.path(), &root);
        let address = ([127, 0, 0, 1], 1).into();
        let connection = Connection::new(&chain, &Administrators::default(), &trust, address);
        if let Evidence::Certificate { verified, .. } = &connection.evidence {
            verified.store(trust.generation(), Ordering::Release);
        }
        connection
    }

    #[test]
    fn a_certificate_counts_no_longer_than_those_that_vouch_for_it() {
        assert_eq!(connection(2098).peer().unwrap().id.as_str(), "rome");
        let refused = connection(2021).peer().unwrap_err().into_response();
        assert_eq!(refused.status(), 401);
    }
}
