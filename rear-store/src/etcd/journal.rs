//! The journal itself: a batch becomes durable as an entry in etcd, and is applied to the broker's own file.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rear_engine::Command;
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

use super::append::{Proposal, append};
use super::hub::Hub;
use super::local::Local;
use super::peers::{self, Called, Caller, Desk, Door};
use super::remote::Remote;
use super::{EtcdOptions, OpenError, PATIENCE, follow, presence, snapshot};
use crate::journal::{
    Batch, Compass, Decided, Followed, HandedOver, Journal, JournalError, Reader, Sharing, TakeIn,
    Wake,
};
use crate::position::Position;
use crate::records::SealError;
use crate::records::handed::{DecidedRecord, HandedRecord};
use crate::redb::Commit;
use crate::shared::{BatchId, Entry, EntryError, Fork, Head, Origin, Place, Seen, Winners};

/// How many bytes of commands go into one entry: with what they change, it stays well below etcd's limit of a request.
const BATCH_BYTES: usize = 512 << 10;

/// How much that is due goes into one entry, beside a command.
const DUE: usize = 200;

/// Whoever has made an entry so shortly ago is likely to make the next one: it gets what others would contend for.
const HANDED_WITHIN: Duration = Duration::from_millis(250);

/// For the farewell when a broker ends.
const FAREWELL: Duration = Duration::from_millis(500);

/// A ledger that several brokers share.
pub struct EtcdJournal {
    local: Local,
    hub: Arc<Hub>,
    broker: u128,
    sequence: u64,
    /// An entry of which it is not known whether it is in its place.
    doubt: Option<Proposal>,
    company: bool,
    /// Who has made which entry last, and when there was one.
    winners: Winners,
    won_at: Instant,
    caller: Caller,
    desk: Arc<Desk>,
    lease: Arc<tokio::sync::Mutex<i64>>,
    snapshotting: Arc<AtomicBool>,
    snapshot_tried: Option<Instant>,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

impl EtcdJournal {
    /// Opens the journal, with `path` as the broker's own file; either is made if it is not there. `ledger` names a journal
    /// that is made; `broker` is a number that was never used before.
    ///
    /// A broker that has a file starts also when etcd does not answer: it serves what it knows, and grants nothing.
    pub fn open(
        options: EtcdOptions,
        path: &Path,
        ledger: u128,
        broker: u128,
        commit: Commit,
    ) -> Result<Self, OpenError> {
        let runtime = runtime()?;
        let remote = Arc::new(Remote::new(options));
        if path.exists() {
            // A file that has nothing to do with this is told before anyone is asked.
            drop(Local::open(path, commit)?);
        }
        let found = runtime.block_on(super::copy::find_or_begin(&remote, ledger, path.exists()));
        let found = match found {
            Err(JournalError::OutOfReach(why)) if path.exists() => Err(why),
            other => Ok(other?),
        };
        if let Ok(head) = &found
            && !path.exists()
        {
            begin_file(&runtime, &remote, head, path, commit)?;
        }
        let (local, applied) = Local::open(path, commit)?;
        let others = runtime.block_on(presence::others(&remote, broker));
        let desk = Arc::new(Desk::new(applied.ledger));
        let door = remote.options().door.as_deref();
        let door = door.map(|address| Door::at(address, desk.clone())).transpose()?;
        let announced = door.as_ref().map(|door| door.record.clone());
        let hub = Hub::new(remote, runtime.handle().clone(), applied, announced);
        if let Some(door) = door {
            runtime.spawn(peers::open(door));
        }
        match others {
            Ok(others) => hub.note_others(&others),
            // Whose clock is wrong must not be believed only because nobody could be asked.
            Err(_) => hub.expect_company(),
        }
        let company = hub.has_company();
        let mut journal = Self {
            local,
            hub,
            broker,
            sequence: 0,
            doubt: None,
            company,
            winners: Winners::since(applied.position),
            won_at: Instant::now(),
            caller: Caller::new()?,
            desk,
            lease: Arc::default(),
            snapshotting: Arc::default(),
            snapshot_tried: None,
            runtime: Some(runtime),
        };
        if found.is_ok() {
            journal.catch_up()?;
        }
        journal.start_tasks();
        Ok(journal)
    }

    /// Applies everything that is there already. A journal that is another one is told while the broker runs.
    fn catch_up(&mut self) -> Result<(), JournalError> {
        let found = self.block_on(self.hub.remote.head());
        let applied = self.hub.applied();
        if let Ok((head, _)) = &found {
            drop(self.hub.see(Instant::now(), &applied, head.as_ref()));
        }
        loop {
            match self.follow() {
                Ok(Followed::Nothing)
                | Err(JournalError::OutOfReach(_) | JournalError::Fork(_)) => return Ok(()),
                Ok(_) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn start_tasks(&self) {
        let Some(runtime) = &self.runtime else { return };
        runtime.spawn(follow::look(self.hub.clone()));
        runtime.spawn(follow::listen(self.hub.clone()));
        runtime.spawn(follow::look_for_leader(self.hub.clone()));
        // The first word before anyone else looks.
        drop(self.block_on(presence::say(&self.hub, self.broker, &self.lease)));
        runtime.spawn(presence::stay(self.hub.clone(), self.broker, self.lease.clone()));
        if let Ok(Some(shelf)) = self.block_on(snapshot::find(&self.hub.remote)) {
            self.hub.note_snapshot(&shelf);
        }
    }

    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        // There is one until it is dropped, when nobody asks any more.
        match &self.runtime {
            Some(runtime) => runtime.block_on(future),
            None => tokio::runtime::Handle::current().block_on(future),
        }
    }

    /// Some entry stands in the place that was in doubt, or nothing may go on.
    fn settle(&mut self) -> Result<(), JournalError> {
        let Some(doubt) = &self.doubt else { return Ok(()) };
        match self.block_on(append(&self.hub, doubt, Duration::ZERO, true)) {
            // Mine is followed like that of anyone else: its callers were told that nobody knows.
            Ok(Place::Mine) => self.hub.hear(doubt.after.position, &doubt.bytes),
            Ok(Place::Theirs | Place::Trimmed) => {}
            Err(JournalError::InDoubt(why)) => return Err(JournalError::OutOfReach(why)),
            Err(error) => return Err(error),
        }
        self.doubt = None;
        Ok(())
    }

    /// The bytes of the next entry; `None` where entries of that age are gone.
    fn fetch(&self, next: Position) -> Result<Option<Vec<u8>>, JournalError> {
        if let Some(bytes) = self.hub.heard(next) {
            return Ok(Some(bytes));
        }
        let page = self.block_on(self.hub.remote.entries(next))?;
        let mut page = page.into_iter();
        let first = page.next().filter(|(position, _)| *position == next);
        for (position, bytes) in page {
            self.hub.hear(position, &bytes);
        }
        Ok(first.map(|(_, bytes)| bytes))
    }

    fn follow_next(&mut self) -> Result<Followed, JournalError> {
        let applied = self.hub.applied();
        let next = applied.position.next().ok_or(EntryError::Full)?;
        let Some(bytes) = self.fetch(next)? else { return self.begin_anew(&applied) };
        let Entry { batch, head, id } =
            Entry::open_next(&applied, &bytes).map_err(|error| match error {
                EntryError::Unlinked { position } | EntryError::OtherLedger { position, .. } => {
                    let fork = Fork::OtherEntry(position);
                    self.hub.fork_off(&fork);
                    JournalError::Fork(fork)
                }
                error => error.into(),
            })?;
        self.local.apply(&batch, &head, || Ok(()))?;
        self.won(id.broker, head.position);
        self.advance(head, bytes.len());
        Ok(Followed::Batch(Box::new(batch)))
    }

    /// Goes on from the last snapshot, unless it would bury entries that only this broker has.
    fn begin_anew(&mut self, applied: &Head) -> Result<Followed, JournalError> {
        if let Some(fork) = self.hub.fork() {
            return Err(fork.into());
        }
        let found = self.block_on(snapshot::find(&self.hub.remote))?;
        let newer = found.filter(|found| {
            found.head.ledger == applied.ledger && found.head.position > applied.position
        });
        let newer = newer.ok_or(Fork::OtherEntry(applied.position))?;
        let handle = self.handle();
        snapshot::install(&self.hub.remote, &handle, &newer, &mut self.local)?;
        self.hub.note_snapshot(&newer);
        self.winners = Winners::since(newer.head.position);
        self.hub.apply(newer.head);
        Ok(Followed::Anew)
    }

    fn handle(&self) -> tokio::runtime::Handle {
        match &self.runtime {
            Some(runtime) => runtime.handle().clone(),
            None => tokio::runtime::Handle::current(),
        }
    }

    fn won(&mut self, broker: u128, position: Position) {
        self.winners.won(broker, position);
        self.won_at = Instant::now();
    }

    /// An entry is applied; now and then, a snapshot is due.
    fn advance(&mut self, head: Head, bytes: usize) {
        let since = self.hub.advance(head, bytes);
        let due = since.is_due(self.hub.remote.options().snapshot_every);
        let tried = self.snapshot_tried.is_some_and(|at| at.elapsed() < snapshot::PAUSE);
        if !due || tried || self.snapshotting.swap(true, Ordering::AcqRel) {
            return;
        }
        self.snapshot_tried = Some(Instant::now());
        let (hub, reader, broker) = (self.hub.clone(), self.local.file.reader(), self.broker);
        let (handle, busy) = (self.handle(), self.snapshotting.clone());
        let made = std::thread::Builder::new().name("snapshot".into()).spawn(move || {
            if let Err(error) = snapshot::make(&hub, &handle, &*reader, broker) {
                hub.miss(&error);
            }
            busy.store(false, Ordering::Release);
        });
        if made.is_err() {
            self.snapshotting.store(false, Ordering::Release);
        }
    }

    /// Nothing is put where it is known already that nobody answers: so it is certain that nothing was.
    fn look_first(&mut self) -> Result<(), JournalError> {
        if let Some(fork) = self.hub.fork() {
            return Err(fork.into());
        }
        if self.hub.is_in_trouble() { self.confirm() } else { Ok(()) }
    }
}

pub(super) fn runtime() -> Result<Runtime, OpenError> {
    let mut runtime = Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).thread_name("etcd").enable_all().build();
    runtime.map_err(OpenError::Runtime)
}

/// A newcomer's file: from the last snapshot, if there is one.
pub(super) fn begin_file(
    runtime: &Runtime,
    remote: &Arc<Remote>,
    head: &Head,
    path: &Path,
    commit: Commit,
) -> Result<(), OpenError> {
    match runtime.block_on(snapshot::find(remote))? {
        None => Local::create(path, head.ledger, commit),
        Some(shelf) => Local::create_with(path, &shelf.head, commit, |rows| {
            snapshot::read(remote, runtime.handle(), &shelf, rows)
        }),
    }
}

impl Journal for EtcdJournal {
    fn commit(&mut self, batch: &Batch) -> Result<(), JournalError> {
        if self.doubt.is_some() {
            return Err(JournalError::OutOfReach("an earlier entry is not settled yet".into()));
        }
        self.look_first()?;
        let before = self.hub.applied();
        // Before anything is on its way: what is in etcd cannot be taken back.
        if before.position.next() != Some(batch.position) {
            let (last, found) = (before.position, batch.position);
            return Err(JournalError::OutOfOrder { last, found });
        }
        self.sequence += 1;
        let id = BatchId { broker: self.broker, sequence: self.sequence };
        let sealed = Entry::seal_for(self.hub.schema(), &before, id, batch);
        let (bytes, after) = sealed.map_err(not_sealed)?;
        let proposal = Arc::new(Proposal { bytes, before, after });
        let handle = self.handle();
        // The rows are written while the entry is on its way: that takes about as long as deciding did.
        let mut put = Some(handle.spawn({
            let (hub, proposal) = (self.hub.clone(), proposal.clone());
            async move { append(&hub, &proposal, PATIENCE, false).await }
        }));
        let mut doubt = None;
        let mut settle = || {
            let outcome = put.take().map(|put| handle.block_on(put));
            let settled = settled(outcome);
            if matches!(settled, Err(JournalError::InDoubt(_))) {
                doubt = Some((*proposal).clone());
            }
            settled
        };
        let applied = self.local.apply(batch, &after, &mut settle);
        // Rows that could not be written: what became of the entry has to be known all the same.
        drop(settle());
        self.doubt = doubt;
        applied?;
        self.desk.note(after.position, &proposal.bytes);
        self.won(self.broker, after.position);
        self.advance(after, proposal.bytes.len());
        Ok(())
    }

    fn hand_over(&mut self, commands: &[&Command]) -> HandedOver {
        let winner = self.winners.last().filter(|winner| *winner != self.broker);
        // Who has lost etcd grants nothing, also not by way of others.
        let well = self.doubt.is_none() && self.hub.fork().is_none() && !self.hub.is_in_trouble();
        let lately = well && self.won_at.elapsed() < HANDED_WITHIN;
        let door = winner.filter(|_| lately).and_then(|winner| self.hub.door_of(winner));
        let (Some(winner), Some(door)) = (winner, door) else { return HandedOver::Kept };
        let applied = self.hub.applied();
        let origin = Origin { broker: self.broker, after: applied.position };
        let record = HandedRecord::of(applied.ledger, origin, commands);
        let Some(message) = record.and_then(|record| record.seal().ok()) else {
            return HandedOver::Kept;
        };
        match self.caller.call(winner, &door, &message) {
            Called::NotSent => HandedOver::Kept,
            Called::Unheard => HandedOver::Unheard,
            Called::Answered(bytes) => match DecidedRecord::open(&bytes) {
                Err(_) => HandedOver::Unheard,
                Ok(record) => {
                    let (position, each, entry) = record.into_parts();
                    if entry.is_empty() {
                        self.hub.expect(position);
                    } else {
                        self.hub.hear(position, &entry);
                    }
                    HandedOver::Decided(Decided { position, each })
                }
            },
        }
    }

    fn may_decide(&self, origin: &Origin) -> bool {
        self.winners.last() == Some(self.broker) && self.winners.may_decide(origin)
    }

    fn take_in_by(&mut self, take_in: TakeIn) {
        // Only the first counts: there is one writer.
        drop(self.desk.take_in.set(take_in));
    }

    fn reader(&self) -> Arc<dyn Reader> {
        self.local.file.reader()
    }

    fn shrink_to(&mut self, bytes: u64) -> Result<(), JournalError> {
        self.local.file.shrink_to(bytes)
    }

    fn prove(&mut self, _empty: &Batch) -> Result<Position, JournalError> {
        self.local.sync()?;
        Ok(self.hub.applied().position)
    }

    fn sharing(&self) -> Option<Sharing> {
        let (company, broker) = (self.company, self.broker);
        Some(Sharing { batch_bytes: BATCH_BYTES, due: DUE, company, broker })
    }

    fn has_company(&self) -> bool {
        self.hub.has_company()
    }

    fn settled(&mut self) {
        if !self.hub.is_settled() {
            self.hub.settle();
            // If that is not heard, it is said again.
            drop(self.block_on(presence::say(&self.hub, self.broker, &self.lease)));
        }
    }

    fn follow(&mut self) -> Result<Followed, JournalError> {
        self.settle()?;
        // Also after a fork: the next entry shows whether it is the journal that was followed again.
        if self.hub.is_behind() {
            return self.follow_next();
        }
        if let Some(fork) = self.hub.fork() {
            return Err(fork.into());
        }
        self.local.sync_if_due()?;
        Ok(Followed::Nothing)
    }

    fn confirm(&mut self) -> Result<(), JournalError> {
        let (asked, applied) = (Instant::now(), self.hub.applied());
        let found = self.block_on(self.hub.remote.head()).inspect_err(|error| self.hub.miss(error));
        match self.hub.see(asked, &applied, found?.0.as_ref())? {
            Seen::Current => Ok(()),
            Seen::More(_) => Err(JournalError::Overtaken),
        }
    }

    fn wake_by(&mut self, wake: Wake) {
        self.hub.wake_by(wake);
    }

    fn compass(&self) -> Option<Arc<dyn Compass>> {
        Some(self.hub.clone())
    }
}

/// Who has won the place.
fn settled(
    outcome: Option<Result<Result<Place, JournalError>, tokio::task::JoinError>>,
) -> Result<(), JournalError> {
    match outcome {
        None | Some(Ok(Ok(Place::Mine))) => Ok(()),
        Some(Ok(Ok(Place::Theirs))) => Err(JournalError::Overtaken),
        // So long ago that nobody can tell any more.
        Some(Ok(Ok(Place::Trimmed))) => {
            Err(JournalError::InDoubt("entries of that age are gone".into()))
        }
        Some(Ok(Err(error))) => Err(error),
        Some(Err(ended)) => Err(JournalError::InDoubt(ended.to_string())),
    }
}

fn not_sealed(error: EntryError) -> JournalError {
    match error {
        // Nothing was written, and something will be once that broker is gone.
        EntryError::TooOld { .. } => JournalError::OutOfReach(error.to_string()),
        EntryError::Sealed { source: SealError::TooLarge { length, .. }, .. } => {
            JournalError::TooLarge { bytes: length }
        }
        error => error.into(),
    }
}

impl Drop for EtcdJournal {
    fn drop(&mut self) {
        let (remote, lease) = (self.hub.remote.clone(), self.lease.clone());
        // What is not synced is read again from etcd.
        drop(self.local.sync());
        if let Some(runtime) = self.runtime.take() {
            let farewell = async move { presence::leave(&remote, *lease.lock().await).await };
            // Nobody waits for a farewell that is not heard.
            let _ = runtime.block_on(async { tokio::time::timeout(FAREWELL, farewell).await });
            runtime.shutdown_background();
        }
    }
}
