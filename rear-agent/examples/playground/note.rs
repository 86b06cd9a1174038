//! What the other commands need to know of a playground that is up.

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Outcome;

/// A playground that is up.
#[derive(Serialize, Deserialize)]
pub(super) struct Note {
    /// The process that holds it.
    pub(super) process: i32,
    pub(super) broker: String,
    pub(super) kubectl: PathBuf,
    pub(super) clusters: Vec<Place>,
}

/// A cluster of it.
#[derive(Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) name: String,
    pub(super) kubeconfig: PathBuf,
}

fn file() -> Outcome<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || env::home_dir().map(|home| home.join(".cache"));
    let cache = cache.or_else(home).ok_or("there is no home for the playground's note")?;
    Ok(cache.join("rear/playground.json"))
}

/// Written while it is up.
pub(super) struct Written(PathBuf);

impl Drop for Written {
    fn drop(&mut self) {
        // The next `up` replaces it.
        let _ = fs::remove_file(&self.0);
    }
}

pub(super) fn write(note: &Note) -> Outcome<Written> {
    let file = file()?;
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&file, serde_json::to_vec(note)?)?;
    Ok(Written(file))
}

pub(super) fn read() -> Outcome<Note> {
    match fs::read(file()?) {
        Ok(text) => Ok(serde_json::from_slice(&text)?),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err("no playground is up: cargo xtask playground up".into())
        }
        Err(error) => Err(error.into()),
    }
}
