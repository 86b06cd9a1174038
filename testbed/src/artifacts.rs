//! What `cargo xtask setup` builds and the harness runs: names, pinned versions, and where they lie.

pub mod npm;
mod pins;
mod places;

pub use pins::{GoModule, go_version};
pub use places::{ASSETS_VARIABLE, CACHE_VARIABLE, Missing, Places};

/// A file that the harness needs, made from one of the Go modules in `testbed/go`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Artifact {
    /// The store under an API server, or alone.
    Etcd,
    /// The API server.
    KubeApiserver,
    /// The command line client, with which the harness itself talks to API servers.
    Kubectl,
    /// Puts pods on nodes.
    KubeScheduler,
    /// Makes pods of Deployments, and much else.
    KubeControllerManager,
    /// Plays the kubelets.
    Kwok,
    /// What kwok's kubelets do with nodes and pods, as kwok's own release has it.
    KwokStages,
    /// The custom resources of cert-manager that manifests of ours use.
    CertManagerDefinitions,
    /// The custom resources of the Prometheus operator that manifests of ours use.
    PrometheusOperatorDefinitions,
    /// Renders charts.
    Helm,
}

impl Artifact {
    /// Everything, in the order in which it is built.
    pub const ALL: &[Self] = &[
        Self::Etcd,
        Self::KubeApiserver,
        Self::Kubectl,
        Self::KubeScheduler,
        Self::KubeControllerManager,
        Self::Kwok,
        Self::KwokStages,
        Self::CertManagerDefinitions,
        Self::PrometheusOperatorDefinitions,
        Self::Helm,
    ];

    /// What [`ApiServer`](crate::ApiServer) needs, and what a `KUBEBUILDER_ASSETS` folder has.
    pub const FOR_API_SERVER: &[Self] = &[Self::Etcd, Self::KubeApiserver, Self::Kubectl];

    /// What [`Cluster`](crate::Cluster) needs.
    pub const FOR_CLUSTER: &[Self] = &[
        Self::Etcd,
        Self::KubeApiserver,
        Self::Kubectl,
        Self::KubeScheduler,
        Self::KubeControllerManager,
        Self::Kwok,
        Self::KwokStages,
    ];

    /// What other projects define, and manifests are tried against.
    pub const DEFINITIONS: &[Self] =
        &[Self::CertManagerDefinitions, Self::PrometheusOperatorDefinitions];

    /// The name of the file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
            Self::Kubectl => "kubectl",
            Self::KubeScheduler => "kube-scheduler",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::Kwok => "kwok",
            Self::KwokStages => "kwok-stages.yaml",
            Self::CertManagerDefinitions => "cert-manager-crds.yaml",
            Self::PrometheusOperatorDefinitions => "prometheus-operator-crds.yaml",
            Self::Helm => "helm",
        }
    }

    /// The module that it is made from.
    #[must_use]
    pub fn module(self) -> GoModule {
        match self {
            Self::Etcd => GoModule::Etcd,
            Self::KubeApiserver
            | Self::Kubectl
            | Self::KubeScheduler
            | Self::KubeControllerManager => GoModule::Kubernetes,
            Self::Kwok | Self::KwokStages => GoModule::Kwok,
            Self::CertManagerDefinitions => GoModule::CertManager,
            Self::PrometheusOperatorDefinitions => GoModule::PrometheusOperator,
            Self::Helm => GoModule::Helm,
        }
    }

    /// The Go package of a program; none for what is not compiled.
    #[must_use]
    pub fn package(self) -> Option<String> {
        let module = self.module().path();
        match self {
            Self::Etcd => Some(module.to_owned()),
            Self::KwokStages
            | Self::CertManagerDefinitions
            | Self::PrometheusOperatorDefinitions => None,
            program => Some(format!("{module}/cmd/{}", program.name())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_is_a_tool_of_its_pinned_module() {
        for artifact in Artifact::ALL {
            let Some(package) = artifact.package() else {
                continue;
            };
            let tools = artifact.module().tools();
            assert!(tools.contains(&package.as_str()), "{package} is not among {tools:?}");
        }
    }
}
