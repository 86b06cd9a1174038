//! What fuzzing has found worth keeping, for the tests of the crates that it is about.

use std::fs;
use std::io;
use std::path::Path;

/// Gives every input of a target of `fuzz/surface` to its check.
///
/// # Errors
/// If the inputs cannot be read, or there are none.
pub fn replay(target: &str, check: fn(&[u8])) -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/surface/corpus").join(target);
    let mut inputs = fs::read_dir(folder)?.peekable();
    if inputs.peek().is_none() {
        return Err(io::Error::other(format!("{target} has no inputs")));
    }
    inputs.try_for_each(|input| {
        check(&fs::read(input?.path())?);
        Ok(())
    })
}
