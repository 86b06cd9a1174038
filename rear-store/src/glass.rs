//! A file looked at through glass: whatever redb would write to repair it stays in memory.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::files::FileError;

const BLOCK: usize = 4096;

/// Reads from a file, writes to memory.
#[derive(Debug)]
pub(crate) struct Glass {
    file: File,
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    length: u64,
    blocks: BTreeMap<u64, Box<[u8; BLOCK]>>,
}

impl Glass {
    /// Refused while someone has the file open for writing.
    pub(crate) fn over(path: &Path) -> Result<Self, FileError> {
        let io = FileError::io(path);
        let file = File::open(path).map_err(&io)?;
        file.try_lock_shared().map_err(|error| match error {
            TryLockError::WouldBlock => FileError::InUse(path.to_owned()),
            TryLockError::Error(error) => io(error),
        })?;
        let length = file.metadata().map_err(&io)?.len();
        Ok(Self { file, written: Mutex::new(Written { length, blocks: BTreeMap::new() }) })
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn block<'w>(&self, written: &'w mut Written, number: u64) -> io::Result<&'w mut [u8; BLOCK]> {
        match written.blocks.entry(number) {
            Entry::Occupied(block) => Ok(block.into_mut()),
            Entry::Vacant(place) => {
                let mut block = Box::new([0; BLOCK]);
                read_up_to_the_end(&self.file, number * BLOCK as u64, &mut block[..])?;
                Ok(place.insert(block))
            }
        }
    }
}

impl Drop for Glass {
    /// Closing is not enough: a process that is being started shares the lock until it is another program.
    fn drop(&mut self) {
        // One that cannot be given back goes with the file.
        drop(self.file.unlock());
    }
}

fn read_up_to_the_end(file: &File, mut offset: u64, mut into: &mut [u8]) -> io::Result<()> {
    while !into.is_empty() {
        match file.read_at(into, offset)? {
            0 => break,
            read => {
                offset += read as u64;
                into = &mut into[read..];
            }
        }
    }
    Ok(())
}

/// The blocks that a range touches: number, range within the block, range within the data.
fn pieces(
    offset: u64,
    length: usize,
) -> impl Iterator<Item = (u64, std::ops::Range<usize>, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == length {
            return None;
        }
        let at = offset + done as u64;
        let start = usize::try_from(at % BLOCK as u64).unwrap_or(0);
        let piece = (BLOCK - start).min(length - done);
        let within = done..done + piece;
        done += piece;
        Some((at / BLOCK as u64, start..start + piece, within))
    })
}

impl redb::StorageBackend for Glass {
    fn len(&self) -> io::Result<u64> {
        Ok(self.written().length)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let written = self.written();
        if offset + out.len() as u64 > written.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for (number, from, to) in pieces(offset, out.len()) {
            if let Some(block) = written.blocks.get(&number) {
                out[to].copy_from_slice(&block[from]);
            } else {
                let start = number * BLOCK as u64 + from.start as u64;
                read_up_to_the_end(&self.file, start, &mut out[to])?;
            }
        }
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.written().length = length;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut written = self.written();
        for (number, to, from) in pieces(offset, data.len()) {
            self.block(&mut written, number)?[to].copy_from_slice(&data[from]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use redb::StorageBackend;

    use super::*;

    /// Three blocks and a half, in which every place shows which one it is.
    fn whole() -> Vec<u8> {
        (0..BLOCK * 7 / 2).map(|at| u8::try_from(at % 251).unwrap()).collect()
    }

    fn read(glass: &Glass, offset: usize, length: usize) -> Vec<u8> {
        let mut out = vec![0; length];
        glass.read(offset as u64, &mut out).unwrap();
        out
    }

    #[test]
    fn what_is_written_is_seen_through_the_glass_and_not_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut expected = whole();
        std::fs::write(&path, &expected).unwrap();
        let glass = Glass::over(&path).unwrap();
        // Within a block, over the ends of two, a whole one, and the last bytes.
        let end = expected.len();
        for (offset, length) in
            [(10, 20), (BLOCK * 2 - 5, 10), (BLOCK - 7, BLOCK + 30), (BLOCK, BLOCK), (end - 3, 3)]
        {
            let data = vec![252; length];
            glass.write(offset as u64, &data).unwrap();
            expected[offset..offset + length].copy_from_slice(&data);
            assert!(read(&glass, 0, end) == expected, "{length} bytes at {offset}");
        }
        for (offset, length) in [(0, 0), (1, BLOCK), (BLOCK * 2 + 3, BLOCK), (end - 1, 1)] {
            assert!(read(&glass, offset, length) == expected[offset..offset + length], "{offset}");
        }
        assert!(std::fs::read(&path).unwrap() == whole(), "the file has changed");
    }

    #[test]
    fn it_is_as_long_as_it_was_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, whole()).unwrap();
        let glass = Glass::over(&path).unwrap();
        let length = whole().len();
        assert_eq!(glass.len().unwrap(), length as u64);
        let beyond = glass.read(length as u64 - 1, &mut [0; 2]).unwrap_err();
        assert_eq!(beyond.kind(), io::ErrorKind::UnexpectedEof);
        glass.set_len(length as u64 + 2).unwrap();
        assert_eq!(read(&glass, length - 1, 3), [whole()[length - 1], 0, 0]);
        assert_eq!(std::fs::read(&path).unwrap().len(), length);
    }
}
