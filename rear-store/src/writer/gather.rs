//! Taking what waits: those who were answered together come again together, and are waited for a little while.
//!
//! Without that, half of the callers come back while the other half is being committed, and everyone waits for two commits
//! instead of one, each of which is shared by half as many.

use std::sync::mpsc::Receiver;
use std::thread::sleep;
use std::time::Duration;

use super::Work;

/// Waiting so small a part of what a batch takes costs nobody much, and saves others a commit.
const PART: u32 = 8;

/// Whatever a batch took: longer than answers and questions need on their way through one machine.
const LONGEST: Duration = Duration::from_micros(500);

/// Shorter naps end later than they should.
const SHORTEST: Duration = Duration::from_micros(50);

/// Those who come in pieces are looked for so often.
const LOOKS: u32 = 4;

/// What is known of the last batch.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Gathering {
    /// How many waited for it.
    asked: usize,
    took: Duration,
}

impl Gathering {
    /// So many waited for a batch, and it took so long.
    pub(super) fn took(&mut self, asked: usize, took: Duration) {
        *self = Self { asked, took };
    }

    /// How long to wait at a time while only so many are there; `None` when enough are.
    fn nap(self, there: usize) -> Option<Duration> {
        let nap = (self.took / PART).min(LONGEST) / LOOKS;
        (there < self.asked && nap >= SHORTEST).then_some(nap)
    }

    /// All that waits, up to a weight, and those who can be expected at once.
    pub(super) fn take(self, first: Work, waiting: &Receiver<Work>, limit: usize) -> Vec<Work> {
        let mut taken = Taken { bytes: first.weight(), work: vec![first], limit };
        taken.take_waiting(waiting);
        for _ in 0..LOOKS {
            let Some(nap) = self.nap(taken.asked()).filter(|_| !taken.is_full()) else { break };
            sleep(nap);
            taken.take_waiting(waiting);
        }
        taken.work
    }
}

struct Taken {
    work: Vec<Work>,
    bytes: usize,
    limit: usize,
}

impl Taken {
    fn take_waiting(&mut self, waiting: &Receiver<Work>) {
        while !self.is_full()
            && let Ok(next) = waiting.try_recv()
        {
            self.bytes += next.weight();
            self.work.push(next);
        }
    }

    fn is_full(&self) -> bool {
        self.bytes >= self.limit
    }

    fn asked(&self) -> usize {
        asked(&self.work)
    }
}

/// How many of these are waited for, here or at another broker.
pub(super) fn asked(work: &[Work]) -> usize {
    work.iter().filter(|work| !matches!(work, Work::Follow)).count()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::thread;

    use super::super::Reply;
    use super::*;

    const SLOW: Duration = Duration::from_millis(4);

    fn someone() -> Work {
        Work::ConfirmClock(Reply::new(|_| ()))
    }

    fn after(asked: usize, took: Duration) -> Gathering {
        let mut gathering = Gathering::default();
        gathering.took(asked, took);
        gathering
    }

    /// Whoever comes once the first look is over.
    fn late(sender: Sender<Work>) -> thread::JoinHandle<()> {
        thread::spawn(move || {
            sleep(SHORTEST);
            sender.send(someone()).expect("someone listens");
        })
    }

    #[test]
    fn nobody_waits_for_others_who_were_not_there() {
        assert_eq!(Gathering::default().nap(1), None);
        assert_eq!(after(1, SLOW).nap(1), None, "alone before, alone now");
        assert_eq!(after(64, SLOW).nap(64), None, "everyone is there");
    }

    #[test]
    fn who_waits_for_others_waits_a_small_part_of_what_a_batch_takes() {
        assert_eq!(after(2, SLOW).nap(1), Some(LONGEST / LOOKS));
        let quick = Duration::from_micros(3_200);
        assert_eq!(after(2, quick).nap(1), Some(Duration::from_micros(100)));
        assert_eq!(after(2, Duration::from_micros(400)).nap(1), None, "a nap would be longer");
        assert_eq!(after(2, Duration::from_secs(9)).nap(1), Some(LONGEST / LOOKS));
    }

    #[test]
    fn those_who_were_answered_together_are_taken_together() {
        // Threads may be slow to come: one of many tries shows that somebody waits for them.
        let came = (0..200).any(|_| {
            let (sender, waiting) = channel();
            let late = late(sender);
            let taken = after(2, SLOW).take(someone(), &waiting, usize::MAX);
            late.join().expect("no panic");
            taken.len() == 2
        });
        assert!(came, "nobody who came a moment later was waited for");
    }

    #[test]
    fn more_than_fits_waits_for_the_next_batch() {
        let (sender, waiting) = channel();
        (0..3).for_each(|_| sender.send(someone()).expect("someone listens"));
        let taken = after(9, SLOW).take(someone(), &waiting, someone().weight() * 2);
        assert_eq!(taken.len(), 2);
    }

    #[test]
    fn news_of_others_are_nobody_who_waits() {
        assert_eq!(asked(&[Work::Follow, someone(), Work::Follow]), 1);
    }
}
