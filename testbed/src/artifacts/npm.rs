//! What comes from the npm registry: pinned by `testbed/npm`, fetched into the cache by `cargo xtask setup`.

use std::path::PathBuf;

use super::Places;

/// The folder of the project that pins it.
pub const FOLDER: &str = "testbed/npm";

const LOCK: &str = include_str!("../../npm/package-lock.json");

/// axe-core, which judges whether a page can be used by everyone.
pub struct Axe;

impl Axe {
    /// The pinned version, such as `4.14.0`.
    ///
    /// ```
    /// use rear_testbed::artifacts::npm::Axe;
    ///
    /// assert_eq!(Axe::version().split('.').count(), 3);
    /// ```
    ///
    /// # Panics
    ///
    /// When the lock file does not name it; a test of this crate looks.
    #[must_use]
    pub fn version() -> &'static str {
        let (_, after) = LOCK.split_once("\"axe-core\": \"").expect("it is pinned");
        after.split('"').next().expect("it has a version")
    }

    /// The folder of the cache that npm installs it into. It is named by the version.
    #[must_use]
    pub fn folder(places: &Places) -> PathBuf {
        places.cache().join(format!("axe-core-{}", Self::version()))
    }

    /// The script that a page runs, where the cache has it or will have it.
    #[must_use]
    pub fn script(places: &Places) -> PathBuf {
        Self::folder(places).join("node_modules/axe-core/axe.min.js")
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn it_is_pinned_with_a_checksum_and_no_registry() {
        assert!(LOCK.contains(&format!("\"version\": \"{}\"", Axe::version())));
        assert!(LOCK.contains("\"integrity\": \"sha512-") && !LOCK.contains("\"resolved\""));
    }

    #[test]
    fn it_lies_in_a_folder_of_its_version() {
        let places = Places::new(None, Path::new("cache").to_owned());
        let folder = format!("cache/axe-core-{}", Axe::version());
        assert!(Axe::script(&places).starts_with(folder));
    }
}
