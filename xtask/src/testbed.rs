//! The servers that tests run on: built into a cache outside the source tree, and looked for there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;

use rear_testbed::artifacts::{Artifact, GoModule, Places};

use crate::failed::Failed;
use crate::go::Module;
use crate::stopwatch::Stopwatch;
use crate::tools::GO;

/// Where the release of kwok has what its kubelets do: nodes become ready and stay so, pods run, complete
/// when they belong to a Job, and go when they are deleted.
const STAGES: &[&str] = &[
    "kustomize/stage/node/fast/node-initialize.yaml",
    "kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
    "kustomize/stage/pod/fast/pod-ready.yaml",
    "kustomize/stage/pod/fast/pod-complete.yaml",
    "kustomize/stage/pod/fast/pod-delete.yaml",
];

/// Where cert-manager has the definitions that our manifests use.
const CERTIFICATES: &[&str] = &[
    "deploy/crds/cert-manager.io_certificates.yaml",
    "deploy/crds/cert-manager.io_clusterissuers.yaml",
    "deploy/crds/cert-manager.io_issuers.yaml",
];

/// Where the Prometheus operator has the definitions that our manifests use.
const MONITORS: &[&str] = &[
    "example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml",
    "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
    "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
];

/// Succeeds when API servers with their etcd can be started.
pub(crate) fn api_server_is_there(_root: &Path) -> Result<(), String> {
    all_are_there(&Places::from_environment(), Artifact::FOR_API_SERVER)
}

/// Succeeds when API servers can be started and know what other projects define.
pub(crate) fn api_server_with_definitions_is_there(root: &Path) -> Result<(), String> {
    api_server_is_there(root)?;
    all_are_there(&Places::from_environment(), Artifact::DEFINITIONS)
}

/// Succeeds when whole clusters can be started.
pub(crate) fn cluster_is_there(_root: &Path) -> Result<(), String> {
    all_are_there(&Places::from_environment(), Artifact::FOR_CLUSTER)
}

/// Succeeds when charts can be rendered and tried on an API server.
pub(crate) fn helm_is_there(root: &Path) -> Result<(), String> {
    api_server_is_there(root)?;
    all_are_there(&Places::from_environment(), &[Artifact::Helm])?;
    all_are_there(&Places::from_environment(), Artifact::DEFINITIONS)
}

fn all_are_there(places: &Places, artifacts: &[Artifact]) -> Result<(), String> {
    artifacts
        .iter()
        .try_for_each(|artifact| places.find(*artifact).map(drop))
        .map_err(|missing| missing.to_string())
}

/// Builds what the cache does not have, and returns what it still does not have.
pub(crate) fn build_missing(root: &Path) -> Vec<String> {
    let places = Places::from_environment();
    let failed = |artifact: &&Artifact| ensure(root, &places, **artifact).is_err();
    Artifact::ALL.iter().filter(failed).map(|artifact| label(*artifact)).collect()
}

fn label(artifact: Artifact) -> String {
    format!("{} {}", artifact.name(), artifact.module().version())
}

fn ensure(root: &Path, places: &Places, artifact: Artifact) -> Result<(), Failed> {
    println!("== {}: for tests on real clusters", label(artifact));
    let file = places.in_cache(artifact);
    if file.is_file() {
        println!("   already there");
        return Ok(());
    }
    if !GO.is_present(root) {
        println!("   not built without {}", GO.label());
        return Err(Failed);
    }
    let stopwatch = Stopwatch::start();
    build_at(root, artifact, &file).map_err(|why| {
        println!("   not built: {why}");
        Failed
    })?;
    println!("   built in {} as {}", stopwatch.elapsed(), file.display());
    Ok(())
}

/// Under another name first, so that what has the right name is whole.
fn build_at(root: &Path, artifact: Artifact, file: &Path) -> Result<(), String> {
    let unfinished = file.with_extension(format!("unfinished-{}", process::id()));
    let folder = file.parent().unwrap_or(root);
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    build(root, artifact, &unfinished)?;
    fs::rename(&unfinished, file).map_err(|error| format!("{}: {error}", file.display()))
}

fn build(root: &Path, artifact: Artifact, file: &Path) -> Result<(), String> {
    let module = Module::new(root, artifact.module());
    match artifact.package() {
        Some(package) => module.build(&package, &linker_flags(artifact.module()), file),
        None => write_texts(&module.source()?, texts(artifact), file),
    }
}

/// The files of a release that an artifact consists of, if it is not compiled.
fn texts(artifact: Artifact) -> &'static [&'static str] {
    match artifact {
        Artifact::KwokStages => STAGES,
        Artifact::CertManagerDefinitions => CERTIFICATES,
        Artifact::PrometheusOperatorDefinitions => MONITORS,
        Artifact::Etcd
        | Artifact::KubeApiserver
        | Artifact::Kubectl
        | Artifact::KubeScheduler
        | Artifact::KubeControllerManager
        | Artifact::Kwok
        | Artifact::Helm => &[],
    }
}

fn write_texts(release: &Path, texts: &[&str], file: &Path) -> Result<(), String> {
    let files: Vec<_> = texts.iter().map(|text| release.join(text)).collect();
    joined(&files)
        .and_then(|texts| fs::write(file, texts))
        .map_err(|error| format!("what is needed of {}: {error}", release.display()))
}

/// Without symbols, as nobody debugs these. kubectl does not start without its version.
fn linker_flags(module: GoModule) -> String {
    let version = match module {
        GoModule::Kubernetes => {
            format!(" -X k8s.io/component-base/version.gitVersion={}", module.version())
        }
        GoModule::Etcd
        | GoModule::Kwok
        | GoModule::CertManager
        | GoModule::PrometheusOperator
        | GoModule::Helm => String::new(),
    };
    format!("-s -w{version}")
}

/// The YAML documents of the files in one.
fn joined(files: &[PathBuf]) -> io::Result<String> {
    let texts: Vec<_> = files.iter().map(fs::read_to_string).collect::<Result<_, _>>()?;
    Ok(texts.join("\n---\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::Planted;

    #[test]
    fn a_machine_without_the_servers_is_told_the_first_missing_one_and_the_remedy() {
        let empty = Planted::new(&[]);
        let places = Places::new(None, empty.root().to_owned());
        let version = GoModule::Etcd.version();
        assert_eq!(
            all_are_there(&places, Artifact::FOR_API_SERVER),
            Err(format!("etcd {version} is missing: run `cargo xtask setup`"))
        );
    }

    #[test]
    fn an_api_server_can_be_there_without_the_rest_of_a_cluster() {
        let assets = Planted::new(&[("etcd", ""), ("kube-apiserver", ""), ("kubectl", "")]);
        let places = Places::new(Some(assets.root().to_owned()), assets.root().join("cache"));
        assert_eq!(all_are_there(&places, Artifact::FOR_API_SERVER), Ok(()));
        let missing = all_are_there(&places, Artifact::FOR_CLUSTER).expect_err("no scheduler");
        assert!(missing.starts_with("kube-scheduler v"), "{missing}");
    }

    #[test]
    fn the_stages_become_one_text_of_several_documents() {
        let planted = Planted::new(&[("a.yaml", "a: 1\n"), ("b.yaml", "b: 2")]);
        let files = ["a.yaml", "b.yaml"].map(|name| planted.root().join(name));
        assert_eq!(joined(&files).expect("both are there"), "a: 1\n\n---\nb: 2");
    }

    #[test]
    fn what_is_not_compiled_consists_of_texts() {
        for artifact in Artifact::ALL {
            assert_eq!(artifact.package().is_none(), !texts(*artifact).is_empty(), "{artifact:?}");
        }
    }

    #[test]
    fn kubernetes_is_told_its_version() {
        let version = GoModule::Kubernetes.version();
        assert!(linker_flags(GoModule::Kubernetes).ends_with(&format!("gitVersion={version}")));
        assert_eq!(linker_flags(GoModule::Etcd), "-s -w");
    }
}
