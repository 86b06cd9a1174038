//! Values that say where several brokers keep one ledger.

use std::str::FromStr;

use super::ValueError;

/// Where what is decided becomes durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    /// In a file of this broker alone.
    Redb,
    /// In a journal that several brokers share.
    Etcd,
}

impl FromStr for StoreKind {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text {
            "redb" => Ok(Self::Redb),
            "etcd" if cfg!(feature = "etcd") => Ok(Self::Etcd),
            "etcd" => Err(ValueError::NoEtcd),
            _ => Err(ValueError::Store),
        }
    }
}

/// The address of a node of etcd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdEndpoint(pub String);

impl FromStr for EtcdEndpoint {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let url = reqwest::Url::parse(text).map_err(|_| ValueError::Endpoint)?;
        let good = matches!(url.scheme(), "http" | "https") && url.has_host() && url.path() == "/";
        good.then(|| Self(text.trim_end_matches('/').to_owned())).ok_or(ValueError::Endpoint)
    }
}

/// What the keys of a ledger begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdPrefix(pub String);

impl FromStr for EtcdPrefix {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let good =
            text.starts_with('/') && !text.ends_with('/') && !text.contains(char::is_control);
        good.then(|| Self(text.to_owned())).ok_or(ValueError::Prefix)
    }
}

/// Where other brokers reach this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerAddress(pub String);

impl FromStr for PeerAddress {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let (host, port) = text.rsplit_once(':').ok_or(ValueError::Peer)?;
        let good = !host.is_empty()
            && !host.contains(|letter: char| letter.is_whitespace() || letter == '/')
            && port.parse::<u16>().is_ok();
        good.then(|| Self(text.to_owned())).ok_or(ValueError::Peer)
    }
}
