//! How fast the disk is: small writes, each of which is on it before the next.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

/// A page: what the smallest commit writes.
const PAGE: usize = 4096;

/// The median time of a write in milliseconds.
pub(super) fn sync(folder: &Path, span: Duration) -> io::Result<f64> {
    let path = folder.join("raw-limit");
    let mut file = File::create(&path)?;
    let mut times = Vec::new();
    let began = Instant::now();
    while began.elapsed() < span || times.is_empty() {
        let start = Instant::now();
        file.write_all(&[7; PAGE])?;
        file.sync_data()?;
        times.push(start.elapsed());
    }
    drop(file);
    std::fs::remove_file(path)?;
    times.sort_unstable();
    Ok(times[times.len() / 2].as_secs_f64() * 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_takes_time_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert!(sync(folder.path(), Duration::from_millis(5)).unwrap() > 0.0);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
