//! The versions, read from the `go.mod` files that pin them, so that they are written once.

/// A Go module of ours that pins a release of somebody's programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoModule {
    /// The control plane and kubectl.
    Kubernetes,
    /// etcd.
    Etcd,
    /// kwok.
    Kwok,
    /// cert-manager, of which only the definitions are used.
    CertManager,
    /// The Prometheus operator, of which only the definitions are used.
    PrometheusOperator,
    /// helm.
    Helm,
}

impl GoModule {
    /// Every module.
    pub const ALL: &[Self] = &[
        Self::Kubernetes,
        Self::Etcd,
        Self::Kwok,
        Self::CertManager,
        Self::PrometheusOperator,
        Self::Helm,
    ];

    /// The folder of the module below `testbed/go`.
    #[must_use]
    pub fn folder(self) -> &'static str {
        match self {
            Self::Kubernetes => "kubernetes",
            Self::Etcd => "etcd",
            Self::Kwok => "kwok",
            Self::CertManager => "cert-manager",
            Self::PrometheusOperator => "prometheus-operator",
            Self::Helm => "helm",
        }
    }

    /// The path of the module whose release is pinned.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::Kubernetes => "k8s.io/kubernetes",
            Self::Etcd => "go.etcd.io/etcd/server/v3",
            Self::Kwok => "sigs.k8s.io/kwok",
            Self::CertManager => "github.com/cert-manager/cert-manager",
            Self::PrometheusOperator => "github.com/prometheus-operator/prometheus-operator",
            Self::Helm => "helm.sh/helm/v3",
        }
    }

    /// The pinned release, such as `v1.36.3`.
    ///
    /// ```
    /// use rear_testbed::artifacts::GoModule;
    ///
    /// assert!(GoModule::Kubernetes.version().starts_with("v1."));
    /// ```
    ///
    /// # Panics
    ///
    /// When the module does not require what it is there for; a test of this crate looks at each.
    #[must_use]
    pub fn version(self) -> &'static str {
        self.word_after(self.path()).expect("a pinned module requires its release")
    }

    fn go_mod(self) -> &'static str {
        match self {
            Self::Kubernetes => include_str!("../../go/kubernetes/go.mod"),
            Self::Etcd => include_str!("../../go/etcd/go.mod"),
            Self::Kwok => include_str!("../../go/kwok/go.mod"),
            Self::CertManager => include_str!("../../go/cert-manager/go.mod"),
            Self::PrometheusOperator => include_str!("../../go/prometheus-operator/go.mod"),
            Self::Helm => include_str!("../../go/helm/go.mod"),
        }
    }

    /// The word that follows the given one on the first line that begins with it and goes on.
    fn word_after(self, first: &str) -> Option<&'static str> {
        self.go_mod().lines().find_map(|line| {
            let mut words = line.split_whitespace().skip_while(|word| *word == "require");
            (words.next()? == first).then(|| words.next())?
        })
    }

    /// The packages that the module's `tool` lines keep.
    #[cfg(test)]
    pub(super) fn tools(self) -> Vec<&'static str> {
        let (_, after) = self.go_mod().split_once("\ntool ").expect("a pinned module has tools");
        match after.strip_prefix('(') {
            Some(block) => block.lines().map(str::trim).take_while(|line| *line != ")").collect(),
            None => after.lines().take(1).collect(),
        }
    }
}

/// The oldest Go that builds the pinned modules, such as `1.26.0`.
///
/// # Panics
///
/// When a module does not say what it needs; a test of this crate looks at each.
#[must_use]
pub fn go_version() -> &'static str {
    GoModule::Kubernetes.word_after("go").expect("a Go module says what it needs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_pins_one_release() {
        for module in GoModule::ALL {
            let version = module.version();
            let numbers = version.strip_prefix('v').expect("Go versions begin with v");
            assert_eq!(numbers.split('.').count(), 3, "{module:?}: {version}");
        }
    }

    #[test]
    fn the_same_go_builds_every_module() {
        for module in GoModule::ALL {
            assert_eq!(module.word_after("go"), Some(go_version()), "{module:?}");
        }
    }

    #[test]
    fn the_staging_modules_are_of_the_same_release_as_kubernetes() {
        let minor_and_patch = GoModule::Kubernetes.version().trim_start_matches("v1.");
        let replaced: Vec<_> = GoModule::Kubernetes
            .go_mod()
            .lines()
            .filter_map(|line| line.split_once(" => "))
            .map(|(_, replacement)| replacement)
            .collect();
        assert!(replaced.len() > 20, "Kubernetes has dozens of staging modules: {replaced:?}");
        for replacement in replaced {
            let version = format!(" v0.{minor_and_patch}");
            assert!(replacement.ends_with(&version), "{replacement} is not{version}");
        }
    }
}
