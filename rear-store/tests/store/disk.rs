//! A disk that loses power: what was not synced is lost, kept or torn, sector by sector.

use std::io;
use std::sync::{Arc, Mutex};

use rear_engine::testing::fleets::Dice;
use redb::StorageBackend;

/// What is written at once or not at all.
const SECTOR: usize = 512;

/// A disk; clones are the same disk.
#[derive(Debug, Clone)]
pub(crate) struct Disk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// What a reader sees.
    current: Vec<u8>,
    /// What is on the platters for certain.
    durable: Vec<u8>,
    /// What was written since the last sync, as ranges of bytes.
    unsynced: Vec<(usize, usize)>,
    /// How many operations are left before something happens.
    left: Option<u64>,
    /// How many operations there were.
    operations: u64,
    /// How many of them were syncs.
    syncs: u64,
    /// A disk that says that it has synced when it has not.
    lying: bool,
    /// Whether one failing operation is all that happens, or the power is gone.
    glitch: bool,
}

impl Disk {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    pub(crate) fn that_lies() -> Self {
        let disk = Self::new();
        disk.state().lying = true;
        disk
    }

    /// The power goes after so many more operations.
    pub(crate) fn cut_power_after(&self, operations: u64) {
        self.state().left = Some(operations);
    }

    /// One operation fails, after so many more.
    pub(crate) fn fail_once_after(&self, operations: u64) {
        let mut state = self.state();
        state.left = Some(operations);
        state.glitch = true;
    }

    pub(crate) fn operations(&self) -> u64 {
        self.state().operations
    }

    pub(crate) fn syncs(&self) -> u64 {
        self.state().syncs
    }

    /// The disk as it is found when the power is back.
    pub(crate) fn after_power_cut(&self, dice: &mut Dice) -> Self {
        let state = self.state();
        let mut found = state.durable.clone();
        // The file may have grown already, or not yet.
        if dice.below(2) == 0 {
            found.resize(state.current.len(), 0);
        }
        for &(start, end) in &state.unsynced {
            for sector in start / SECTOR..end.div_ceil(SECTOR) {
                let range = sector * SECTOR..((sector + 1) * SECTOR).min(state.current.len());
                if dice.below(2) == 0 && range.end <= found.len() {
                    found[range.clone()].copy_from_slice(&state.current[range]);
                }
            }
        }
        let lying = state.lying;
        let current = found.clone();
        Self(Arc::new(Mutex::new(State { current, durable: found, lying, ..State::default() })))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

impl State {
    fn operate(&mut self) -> io::Result<()> {
        self.operations += 1;
        match &mut self.left {
            None => Ok(()),
            Some(0) => {
                if self.glitch {
                    self.left = None;
                }
                Err(io::Error::other("the disk failed, as the test told it to"))
            }
            Some(left) => {
                *left -= 1;
                Ok(())
            }
        }
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        let mut state = self.state();
        state.operate()?;
        Ok(state.current.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut state = self.state();
        state.operate()?;
        let start = usize::try_from(offset).unwrap();
        let bytes = state.current.get(start..start + out.len());
        out.copy_from_slice(bytes.ok_or_else(|| io::Error::other("beyond the end"))?);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut state = self.state();
        state.operate()?;
        state.current.resize(usize::try_from(length).unwrap(), 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.state();
        state.operate()?;
        state.syncs += 1;
        if !state.lying {
            let State { current, durable, unsynced, .. } = &mut *state;
            durable.clone_from(current);
            unsynced.clear();
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        state.operate()?;
        let start = usize::try_from(offset).unwrap();
        let end = start + data.len();
        let target = state.current.get_mut(start..end);
        target.ok_or_else(|| io::Error::other("beyond the end"))?.copy_from_slice(data);
        state.unsynced.push((start, end));
        Ok(())
    }
}
