//! The configuration file of the broker: any text is read or refused with a place and a reason, and what is read has a
//! meaning.

use std::fs;

use rear_broker::config::{Environment, Flags, load};

/// Reads one.
pub fn check(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("broker.toml");
    fs::write(&file, bytes).expect("a file");
    let variables = [("REAR_CONFIG", &file), ("REAR_DATA", &folder.path().to_owned())];
    let variables = variables.map(|(name, path)| (name.to_owned(), path.display().to_string()));
    match load(&Flags::default(), &Environment::from_iter(variables)) {
        Ok(loaded) => {
            let config = loaded.config;
            let _ = (config.settings(), config.telling(), config.rate_limit());
            let _ = (config.certificates(), config.administrators(), config.address());
            assert_eq!(config.changes(&config.clone()).len(), 0);
        }
        Err(errors) => assert!(!errors.to_string().is_empty()),
    }
}
