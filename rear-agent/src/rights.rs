//! Whether the API server has the custom resources and lets the agent at what it reads: looked at once, at the start, so that
//! what is missing is told with its remedy and not as watches that are interrupted.

use std::fmt::Debug;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::ListParams;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::resources::{
    Advertisement, ProviderInstruction, ReservationInstruction, ResourceRequest,
};

/// What has to be applied first.
#[derive(Debug, Error)]
pub enum RightsError {
    /// The custom resources are not defined.
    #[error("the API server has no {kind} of rear.fluidos.eu/v1alpha1")]
    NoDefinition {
        /// The first that is missing.
        kind: String,
    },
    /// The role is too small, or there is none.
    #[error("the API server does not let the agent list {kind}: {message}")]
    NotAllowed {
        /// The first that is not allowed.
        kind: String,
        /// In the API server's words.
        message: String,
    },
}

impl RightsError {
    /// What a person can do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::NoDefinition { .. } => {
                "Make them with `rear-agent crds | kubectl apply -f -`, and start the agent again."
            }
            Self::NotAllowed { .. } => {
                "Give it the role in deploy/agent/rbac.yaml, for the namespaces that its flags name."
            }
        }
    }
}

/// Asks for one of each, all at once. An API server that does not answer says nothing about rights: the parts wait for it.
pub async fn check(
    client: &Client,
    advertisements: &str,
    instructions: &str,
) -> Result<(), RightsError> {
    let client = || client.clone();
    let answers: [Result<(), RightsError>; 6] = futures::join!(
        may_list(Api::<Advertisement>::namespaced(client(), advertisements)),
        may_list(Api::<ReservationInstruction>::namespaced(client(), instructions)),
        may_list(Api::<ProviderInstruction>::namespaced(client(), instructions)),
        may_list(Api::<ResourceRequest>::all(client())),
        may_list(Api::<Node>::all(client())),
        may_list(Api::<Pod>::all(client())),
    )
    .into();
    answers.into_iter().collect()
}

async fn may_list<K>(api: Api<K>) -> Result<(), RightsError>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    let kind = || K::plural(&()).into_owned();
    match api.list_metadata(&ListParams::default().limit(1)).await {
        Err(kube::Error::Api(status)) if status.code == 404 => {
            Err(RightsError::NoDefinition { kind: kind() })
        }
        Err(kube::Error::Api(status)) if matches!(status.code, 401 | 403) => {
            Err(RightsError::NotAllowed { kind: kind(), message: status.message })
        }
        Ok(_) | Err(_) => Ok(()),
    }
}
