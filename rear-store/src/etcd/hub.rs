//! What the tasks hear of the journal, for the writer that applies it and for whoever asks how things stand.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::runtime::Handle;
use tokio::time::Instant;

use super::presence::Other;
use super::remote::Remote;
use super::snapshot::{Shelf, Since};
use crate::chain::chain;
use crate::journal::{Compass, JournalError, Standing, TellEnd, Wake};
use crate::position::Position;
use crate::records::entry::SCHEMA;
use crate::records::handed::DoorRecord;
use crate::shared::{Fork, Head, Seen, agreed_schema, judge_head};

/// So many entries wait at most to be applied; those after them are read again.
const MAX_HEARD: usize = 256;

/// What is known, and who wants to know.
pub(super) struct Hub {
    pub(super) remote: Arc<Remote>,
    handle: Handle,
    state: Mutex<State>,
    wake: OnceLock<Wake>,
    /// Where this broker takes in what others hand over.
    door: Option<DoorRecord>,
}

/// What is known.
struct State {
    applied: Head,
    /// Entries that were heard and are not applied yet, by number.
    heard: BTreeMap<u64, Vec<u8>>,
    /// The last entry that is known of.
    known: Position,
    /// What is applied was all there was at this moment.
    as_of: Instant,
    /// Once this position is applied, it is all there was at that moment.
    next_as_of: Option<(Instant, Position)>,
    trouble: Option<String>,
    fork: Option<Fork>,
    /// The last snapshot.
    snapshot: Option<Shelf>,
    /// How many bytes the entries have that were applied since it was made, or noticed.
    grown: u64,
    /// How many brokers are there, and the newest shape of entries that all of them read.
    brokers: usize,
    schema: u8,
    /// Whether one of the others has a clock that was believed, and whether this broker has.
    company: bool,
    settled: bool,
    /// Where others take in what is handed over.
    doors: BTreeMap<u128, Arc<DoorRecord>>,
}

impl Hub {
    pub(super) fn new(
        remote: Arc<Remote>,
        handle: Handle,
        applied: Head,
        door: Option<DoorRecord>,
    ) -> Arc<Self> {
        let state = State {
            applied,
            heard: BTreeMap::new(),
            known: applied.position,
            // Nobody knows how old it is before etcd was asked.
            as_of: long_ago(),
            next_as_of: None,
            trouble: None,
            fork: None,
            snapshot: None,
            grown: 0,
            brokers: 1,
            schema: SCHEMA,
            company: false,
            settled: false,
            doors: BTreeMap::new(),
        };
        Arc::new(Self { remote, handle, state: Mutex::new(state), wake: OnceLock::new(), door })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who is woken. Only the first counts: there is one writer.
    pub(super) fn wake_by(&self, wake: Wake) {
        drop(self.wake.set(wake));
    }

    fn wake(&self) {
        if let Some(wake) = self.wake.get() {
            wake();
        }
    }

    pub(super) fn applied(&self) -> Head {
        self.state().applied
    }

    /// An entry was applied.
    pub(super) fn apply(&self, head: Head) {
        let mut state = self.state();
        state.applied = head;
        state.fork = None;
        state.known = state.known.max(head.position);
        state.heard = state.heard.split_off(&(head.position.number.saturating_add(1)));
        if let Some((at, position)) = state.next_as_of
            && position <= head.position
        {
            state.as_of = state.as_of.max(at);
            state.next_as_of = None;
        }
    }

    /// What was applied was all there was when this was asked.
    pub(super) fn confirmed(&self, asked: Instant) {
        let mut state = self.state();
        state.as_of = state.as_of.max(asked);
        state.trouble = None;
    }

    /// An entry was heard of.
    pub(super) fn hear(&self, position: Position, bytes: &[u8]) {
        let mut state = self.state();
        if position.incarnation != state.applied.position.incarnation
            || position <= state.applied.position
        {
            return;
        }
        state.known = state.known.max(position);
        if state.heard.len() < MAX_HEARD {
            state.heard.insert(position.number, bytes.to_vec());
        }
        drop(state);
        self.wake();
    }

    /// There are entries up to this one.
    pub(super) fn know_of(&self, position: Position) {
        let mut state = self.state();
        state.known = state.known.max(position);
        state.trouble = None;
    }

    /// Another broker says that there are entries up to this one.
    pub(super) fn expect(&self, position: Position) {
        let mut state = self.state();
        if position.incarnation == state.applied.position.incarnation {
            state.known = state.known.max(position);
        }
    }

    /// The bytes of an entry that was heard.
    pub(super) fn heard(&self, position: Position) -> Option<Vec<u8>> {
        self.state().heard.remove(&position.number)
    }

    /// Whether there is more than what was applied.
    pub(super) fn is_behind(&self) -> bool {
        let state = self.state();
        state.known > state.applied.position
    }

    /// Where the journal was seen to end, asked at this moment, when this had been applied.
    pub(super) fn see(
        &self,
        asked: Instant,
        applied: &Head,
        found: Option<&Head>,
    ) -> Result<Seen, Fork> {
        let seen = judge_head(applied, found);
        let mut state = self.state();
        state.trouble = None;
        match &seen {
            Ok(Seen::Current) => state.as_of = state.as_of.max(asked),
            Ok(Seen::More(position)) => {
                state.known = state.known.max(*position);
                if *position <= state.applied.position {
                    state.as_of = state.as_of.max(asked);
                } else {
                    state.next_as_of = Some((asked, *position));
                }
            }
            Err(_) => {}
        }
        // That there is more does not show that it is of the journal that was followed: the next entry does.
        if !matches!(seen, Ok(Seen::More(_))) {
            state.fork = seen.as_ref().err().cloned();
        }
        drop(state);
        if matches!(seen, Ok(Seen::More(_))) {
            self.wake();
        }
        seen
    }

    /// Nobody could be asked.
    pub(super) fn miss(&self, error: &JournalError) {
        self.state().trouble = Some(chain(error));
    }

    /// Whether the last question was not answered.
    pub(super) fn is_in_trouble(&self) -> bool {
        self.state().trouble.is_some()
    }

    /// The next entry is not one of the journal that was followed.
    pub(super) fn fork_off(&self, fork: &Fork) {
        self.state().fork = Some(fork.clone());
    }

    /// Why nothing may be granted, however well etcd answers.
    pub(super) fn fork(&self) -> Option<Fork> {
        self.state().fork.clone()
    }

    pub(super) fn note_snapshot(&self, made: &Shelf) {
        let mut state = self.state();
        state.snapshot = Some(made.clone());
        state.grown = 0;
    }

    pub(super) fn last_snapshot(&self) -> Option<Position> {
        self.state().snapshot.as_ref().map(|last| last.head.position)
    }

    /// An entry of so many bytes is applied, and what it ends with: how far that is from the last snapshot.
    pub(super) fn advance(&self, head: Head, bytes: usize) -> Since {
        self.apply(head);
        let mut state = self.state();
        state.grown = state.grown.saturating_add(bytes as u64);
        let (from, snapshot) = match &state.snapshot {
            Some(last) => (last.head.position.number, last.bytes),
            None => (0, 0),
        };
        let entries = head.position.number.saturating_sub(from);
        Since { entries, bytes: state.grown, snapshot }
    }

    pub(super) fn note_others(&self, others: &[Other]) {
        let mut state = self.state();
        let doors = others.iter().filter_map(|other| Some((other.broker, other.door.clone()?)));
        state.doors = doors.map(|(broker, door)| (broker, Arc::new(door))).collect();
        state.brokers = others.len() + 1;
        state.schema = agreed_schema(SCHEMA, others.iter().map(|other| other.reads));
        state.company = others.iter().any(|other| other.settled);
    }

    /// Nobody could be asked who is there: someone may be.
    pub(super) fn expect_company(&self) {
        self.state().company = true;
    }

    /// The newest shape of entries that every broker that is there can read.
    pub(super) fn schema(&self) -> u8 {
        self.state().schema
    }

    /// Where a broker takes in what others hand over.
    pub(super) fn door_of(&self, broker: u128) -> Option<Arc<DoorRecord>> {
        self.state().doors.get(&broker).cloned()
    }

    /// Where this broker does.
    pub(super) fn door(&self) -> Option<&DoorRecord> {
        self.door.as_ref()
    }

    /// Whether someone else is there whose clock was believed.
    pub(super) fn has_company(&self) -> bool {
        self.state().company
    }

    /// The clock of this broker was believed.
    pub(super) fn settle(&self) {
        self.state().settled = true;
    }

    pub(super) fn is_settled(&self) -> bool {
        self.state().settled
    }
}

/// So long ago that nobody relies on it.
fn long_ago() -> Instant {
    let now = Instant::now();
    now.checked_sub(Standing::STALE_AFTER * 2).unwrap_or(now)
}

impl Compass for Hub {
    fn standing(&self) -> Standing {
        let state = self.state();
        let fork = state.fork.as_ref().map(ToString::to_string);
        let since = |at: i64| {
            let nanos = state.applied.time_mark.as_nanos().saturating_sub(at).max(0);
            std::time::Duration::from_nanos(nanos.unsigned_abs())
        };
        Standing {
            age: state.as_of.elapsed(),
            applied: state.applied.position,
            known: state.known,
            trouble: fork.or_else(|| state.trouble.clone()),
            snapshot: state.snapshot.as_ref().map(|shelf| (since(shelf.at), shelf.head.position)),
            retries: self.remote.retries(),
            brokers: state.brokers,
        }
    }

    fn ask(&self, tell: TellEnd) {
        let remote = self.remote.clone();
        let applied = self.applied();
        self.handle.spawn(async move {
            let asked = remote.head().await.map_err(|error| chain(&error));
            let judged = asked.and_then(|(head, _)| {
                judge_head(&applied, head.as_ref()).map_err(|fork| fork.to_string())
            });
            tell(judged.map(|seen| match seen {
                Seen::Current => applied.position,
                Seen::More(position) => position,
            }));
        });
    }
}
