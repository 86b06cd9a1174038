//! Where the artifacts lie: in a folder that the user names, or in the cache that `cargo xtask setup` fills.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Artifact;

/// Names a folder with etcd, kube-apiserver and kubectl, as other projects' tests use it too.
pub const ASSETS_VARIABLE: &str = "KUBEBUILDER_ASSETS";

/// Names another folder for the cache.
pub const CACHE_VARIABLE: &str = "REAR_TESTBED_CACHE";

/// The folders in which artifacts are looked for.
#[derive(Clone, Debug)]
pub struct Places {
    assets: Option<PathBuf>,
    cache: PathBuf,
}

/// An artifact that is in none of its places.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// The user's folder does not have it.
    #[error(
        "{} in {ASSETS_VARIABLE} ({}) is missing: add it, or unset {ASSETS_VARIABLE} and run `cargo xtask setup`",
        .artifact.name(), .folder.display()
    )]
    FromAssets {
        /// What is missing.
        artifact: Artifact,
        /// The folder that should have it.
        folder: PathBuf,
    },
    /// The cache does not have it.
    #[error("{} {} is missing: run `cargo xtask setup`", .0.name(), .0.module().version())]
    FromCache(Artifact),
}

impl Places {
    /// The user's folder if there is one, and the cache.
    #[must_use]
    pub fn new(assets: Option<PathBuf>, cache: PathBuf) -> Self {
        Self { assets, cache }
    }

    /// As the environment says: [`ASSETS_VARIABLE`] and [`CACHE_VARIABLE`], or the user's cache folder.
    #[must_use]
    pub fn from_environment() -> Self {
        let assets = set(ASSETS_VARIABLE).map(PathBuf::from).map(absolute);
        let cache = set(CACHE_VARIABLE).map_or_else(user_cache, PathBuf::from);
        Self::new(assets, absolute(cache))
    }

    /// The folder of the cache.
    #[must_use]
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// Where the cache has the artifact, or will have it. The folder is named by the version, so that
    /// those of different releases lie side by side.
    #[must_use]
    pub fn in_cache(&self, artifact: Artifact) -> PathBuf {
        let module = artifact.module();
        let folder = format!("{}-{}", module.folder(), module.version());
        self.cache.join(folder).join(artifact.name())
    }

    /// Where the cache has a small Debian, as an archive of all its files, in which tests install packages; or will have it.
    #[must_use]
    pub fn base_system(&self) -> PathBuf {
        self.cache.join("base-system.tar")
    }

    /// The artifact's file. A folder that the user named must have all that an API server needs: to mix two
    /// releases unasked would be a surprise. The rest may come from the cache.
    pub fn find(&self, artifact: Artifact) -> Result<PathBuf, Missing> {
        if let Some(folder) = &self.assets {
            let file = folder.join(artifact.name());
            if file.is_file() {
                return Ok(file);
            }
            if Artifact::FOR_API_SERVER.contains(&artifact) {
                return Err(Missing::FromAssets { artifact, folder: folder.clone() });
            }
        }
        let file = self.in_cache(artifact);
        if file.is_file() { Ok(file) } else { Err(Missing::FromCache(artifact)) }
    }
}

/// As programs run in other folders than this one. It fails without a current folder only, in which
/// nothing could be found anyway.
fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

/// An empty variable counts as one that is not set, as shells make it hard to tell them apart.
fn set(variable: &str) -> Option<OsString> {
    env::var_os(variable).filter(|value| !value.is_empty())
}

/// The XDG cache folder; without a home the temporary folder, which is there on every machine.
fn user_cache() -> PathBuf {
    set("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| set("HOME").map(|home| Path::new(&home).join(".cache")))
        .unwrap_or_else(env::temp_dir)
        .join("rear/testbed")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A folder of the test's own, with an assets folder that holds these names and an empty cache.
    fn planted(test: &str, in_assets: &[&str]) -> (PathBuf, Places) {
        let root =
            env::temp_dir().join(format!("rear-testbed-places-{test}-{}", std::process::id()));
        let assets = root.join("assets");
        fs::create_dir_all(&assets).unwrap();
        for name in in_assets {
            fs::write(assets.join(name), "").unwrap();
        }
        let places = Places::new(Some(assets), root.join("cache"));
        (root, places)
    }

    fn cached(places: &Places, artifact: Artifact) -> PathBuf {
        let file = places.in_cache(artifact);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "").unwrap();
        file
    }

    #[test]
    fn the_cache_is_keyed_by_the_pinned_version() {
        let places = Places::new(None, PathBuf::from("cache"));
        let version = Artifact::Kubectl.module().version();
        let expected = format!("cache/kubernetes-{version}/kubectl");
        assert_eq!(places.in_cache(Artifact::Kubectl), PathBuf::from(expected));
    }

    #[test]
    fn what_is_not_built_is_named_with_its_version_and_the_remedy() {
        let places = Places::new(None, PathBuf::from("no-such-folder"));
        let missing = places.find(Artifact::Kwok).unwrap_err().to_string();
        let version = Artifact::Kwok.module().version();
        assert_eq!(missing, format!("kwok {version} is missing: run `cargo xtask setup`"));
    }

    #[test]
    fn the_folder_of_the_user_comes_before_the_cache() {
        let (root, places) = planted("first", &["etcd"]);
        cached(&places, Artifact::Etcd);
        assert_eq!(places.find(Artifact::Etcd), Ok(root.join("assets/etcd")));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn the_folder_of_the_user_must_have_all_of_an_api_server_but_not_the_rest() {
        let (root, places) = planted("partly", &["etcd", "kubectl"]);
        cached(&places, Artifact::KubeApiserver);
        let kwok = cached(&places, Artifact::Kwok);
        let folder = root.join("assets");
        assert_eq!(
            places.find(Artifact::KubeApiserver),
            Err(Missing::FromAssets { artifact: Artifact::KubeApiserver, folder })
        );
        assert_eq!(places.find(Artifact::Kwok), Ok(kwok));
        fs::remove_dir_all(root).unwrap();
    }
}
