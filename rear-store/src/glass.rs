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
