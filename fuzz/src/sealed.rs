//! Proper seals around any contents, so that inputs reach what lies behind the checksum. The format is written down here a
//! second time, as in the store's own tests.

use std::hash::Hasher;

use twox_hash::XxHash3_64;

/// A record with a proper seal.
pub fn sealed(table: &str, key: &[u8], schema: u8, contents: &[u8]) -> Vec<u8> {
    let mut hasher = XxHash3_64::with_seed(0);
    for field in [table.as_bytes(), key, &[1, schema], contents] {
        hasher.write(&(field.len() as u64).to_le_bytes());
        hasher.write(field);
    }
    [&[1, schema][..], &hasher.finish().to_le_bytes(), contents].concat()
}

/// The checksum over a whole backup.
#[allow(dead_code, reason = "one target has backups")]
pub fn checksum(bytes: &[u8]) -> [u8; 8] {
    XxHash3_64::oneshot(bytes).to_le_bytes()
}
