//! A journal that the stores of one test share, in memory: each place has one entry, and the test says what goes wrong.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use rear_engine::{Change, Command};
use rear_store::journal::{Followed, HandedOver, Sharing, TakeIn, Wake};
use rear_store::shared::Origin;
use rear_store::{Batch, Journal, JournalError, Memory, Reader, Store};

use super::stage::{Hands, start};

/// What stands in each place.
#[derive(Clone, Default)]
pub(crate) struct Board(Arc<Mutex<Vec<Batch>>>);

impl Board {
    /// How many places are taken.
    pub(crate) fn places(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// How many reservations each entry is about.
    pub(crate) fn reservations(&self) -> Vec<usize> {
        self.0.lock().unwrap().iter().map(reservations).collect()
    }

    /// A store of its own on this board, beside others or alone, and the strings that its test pulls.
    pub(crate) fn store(&self, broker: u128, company: bool, hands: &Hands) -> (Store, Strings) {
        self.store_on(Memory::new(7, 1, 1).unwrap(), broker, company, hands)
    }

    /// The same on a ledger that was restored: no cluster has said yet what it holds.
    pub(crate) fn restored(&self, broker: u128, hands: &Hands) -> (Store, Strings) {
        self.store_on(Memory::new(7, 2, 1).unwrap(), broker, false, hands)
    }

    fn store_on(
        &self,
        rows: Memory,
        broker: u128,
        company: bool,
        hands: &Hands,
    ) -> (Store, Strings) {
        let strings = Strings(Arc::new(Mutex::new(Pulled { company, ..Pulled::default() })));
        let mut seat = Seat { board: self.clone(), rows, applied: 0, broker, strings };
        while seat.follow_next().unwrap().is_some() {}
        let strings = seat.strings.clone();
        (start(seat, hands), strings)
    }
}

fn reservations(batch: &Batch) -> usize {
    batch.changes.iter().filter(|change| matches!(change, Change::Reservation(_))).count()
}

/// Decides, or loses, what is handed over.
pub(crate) type HandOver = Box<dyn FnMut(&[&Command]) -> HandedOver + Send>;

/// Whether a batch does not fit into an entry.
pub(crate) type TooLarge = Box<dyn FnMut(&Batch) -> bool + Send>;

/// What a test does to one store's way to the board, and what it sees of it.
#[derive(Clone)]
pub(crate) struct Strings(Arc<Mutex<Pulled>>);

#[expect(clippy::struct_excessive_bools, reason = "each is a string of its own")]
#[derive(Default)]
pub(crate) struct Pulled {
    /// What the next commits come to, instead of an entry.
    pub(crate) commits: VecDeque<JournalError>,
    /// What is told instead of whether the rows are the newest.
    pub(crate) confirms: VecDeque<JournalError>,
    /// What is told instead of the next entry.
    pub(crate) follows: VecDeque<JournalError>,
    /// Happens just before the next entry is put.
    pub(crate) meanwhile: Option<Box<dyn FnOnce() + Send>>,
    /// More reservations than these do not fit into an entry.
    pub(crate) largest: Option<usize>,
    /// What else does not fit into an entry.
    pub(crate) too_large: Option<TooLarge>,
    /// Nothing comes from the board, and nothing gets there.
    pub(crate) cut_off: bool,
    /// How often an entry was tried to be put.
    pub(crate) tried: usize,
    /// All entries that are new come as one state.
    pub(crate) anew: bool,
    pub(crate) hand_over: Option<HandOver>,
    /// Whether what others handed over may be decided.
    pub(crate) not_ours: bool,
    /// Whether someone else is there.
    pub(crate) company: bool,
    /// How often it was asked whether the rows are the newest.
    pub(crate) confirmed: usize,
    /// Whether the clock was believed.
    pub(crate) settled: bool,
    take_in: Option<TakeIn>,
    wake: Option<Wake>,
}

impl Pulled {
    /// What a batch comes to before it gets to the board.
    fn refuse(&mut self, batch: &Batch) -> Result<(), JournalError> {
        self.tried += 1;
        if let Some(failure) = self.commits.pop_front() {
            return Err(failure);
        }
        let too_many = self.largest.is_some_and(|largest| reservations(batch) > largest);
        let too_large = self.too_large.as_mut().is_some_and(|too_large| too_large(batch));
        if too_many || too_large {
            return Err(JournalError::TooLarge { bytes: 1 << 20 });
        }
        self.reach()
    }

    fn reach(&self) -> Result<(), JournalError> {
        if self.cut_off {
            return Err(JournalError::OutOfReach("no route".to_owned()));
        }
        Ok(())
    }
}

impl Strings {
    pub(crate) fn pull(&self) -> MutexGuard<'_, Pulled> {
        self.0.lock().unwrap()
    }

    /// Another broker hands commands over; `None` is told where it is not known what became of them.
    pub(crate) fn take_in(
        &self,
        commands: Vec<Command>,
    ) -> std::sync::mpsc::Receiver<Option<rear_store::journal::Decided>> {
        let (told, outcome) = std::sync::mpsc::channel();
        let origin = Origin { broker: 99, after: rear_store::Position::default() };
        let pulled = self.pull();
        let take_in = pulled.take_in.as_ref().unwrap();
        take_in(commands, origin, Box::new(move |decided| told.send(decided).unwrap()));
        outcome
    }

    /// Others have written something.
    pub(crate) fn wake(&self) {
        self.pull().wake.as_ref().unwrap()();
    }
}

/// One store's way to the board.
struct Seat {
    board: Board,
    rows: Memory,
    applied: usize,
    broker: u128,
    strings: Strings,
}

impl Seat {
    /// What is durable of the next entry, once it is in the rows.
    fn follow_next(&mut self) -> Result<Option<Batch>, JournalError> {
        let next = self.board.0.lock().unwrap().get(self.applied).cloned();
        let Some(mut batch) = next else { return Ok(None) };
        batch.changes.retain(Change::is_durable);
        self.rows.commit(&batch)?;
        self.applied += 1;
        Ok(Some(batch))
    }
}

impl Journal for Seat {
    fn commit(&mut self, batch: &Batch) -> Result<(), JournalError> {
        let meanwhile = self.strings.pull().meanwhile.take();
        if let Some(meanwhile) = meanwhile {
            meanwhile();
        }
        self.strings.pull().refuse(batch)?;
        let mut places = self.board.0.lock().unwrap();
        if places.len() != self.applied {
            return Err(JournalError::Overtaken);
        }
        self.rows.commit(batch)?;
        places.push(batch.clone());
        self.applied += 1;
        Ok(())
    }

    fn reader(&self) -> Arc<dyn Reader> {
        self.rows.reader()
    }

    fn sharing(&self) -> Option<Sharing> {
        let company = self.strings.pull().company;
        Some(Sharing { batch_bytes: 1 << 20, due: 100, company, broker: self.broker })
    }

    fn has_company(&self) -> bool {
        self.strings.pull().company
    }

    fn settled(&mut self) {
        self.strings.pull().settled = true;
    }

    fn follow(&mut self) -> Result<Followed, JournalError> {
        let (failure, anew, cut_off) = {
            let mut pulled = self.strings.pull();
            (pulled.follows.pop_front(), pulled.anew, pulled.cut_off)
        };
        if let Some(failure) = failure {
            return Err(failure);
        }
        if cut_off {
            return Ok(Followed::Nothing);
        }
        let mut followed = Followed::Nothing;
        while let Some(batch) = self.follow_next()? {
            if !anew {
                return Ok(Followed::Batch(Box::new(batch)));
            }
            followed = Followed::Anew;
        }
        Ok(followed)
    }

    fn confirm(&mut self) -> Result<(), JournalError> {
        let mut pulled = self.strings.pull();
        pulled.confirmed += 1;
        pulled.reach()?;
        match pulled.confirms.pop_front() {
            Some(failure) => Err(failure),
            None if self.board.places() != self.applied => Err(JournalError::Overtaken),
            None => Ok(()),
        }
    }

    fn wake_by(&mut self, wake: Wake) {
        self.strings.pull().wake = Some(wake);
    }

    fn hand_over(&mut self, commands: &[&Command]) -> HandedOver {
        let hand_over = self.strings.pull().hand_over.take();
        let Some(mut hand_over) = hand_over else { return HandedOver::Kept };
        let outcome = hand_over(commands);
        self.strings.pull().hand_over.get_or_insert(hand_over);
        outcome
    }

    fn may_decide(&self, _origin: &Origin) -> bool {
        !self.strings.pull().not_ours
    }

    fn take_in_by(&mut self, take_in: TakeIn) {
        self.strings.pull().take_in = Some(take_in);
    }
}
