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
        self.take_between(first, waiting, limit, sleep)
    }

    fn take_between(
        self,
        first: Work,
        waiting: &Receiver<Work>,
        limit: usize,
        mut sleep: impl FnMut(Duration),
    ) -> Vec<Work> {
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
    use std::sync::mpsc::channel;

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
        assert_eq!(after(2, SHORTEST * LOOKS * PART).nap(1), Some(SHORTEST));
        assert_eq!(after(2, Duration::from_micros(400)).nap(1), None, "a nap would be longer");
        assert_eq!(after(2, Duration::from_secs(9)).nap(1), Some(LONGEST / LOOKS));
    }

    #[test]
    fn those_who_were_answered_together_are_taken_together() {
        let (sender, waiting) = channel();
        let mut naps = Vec::new();
        let taken = after(3, SLOW).take_between(someone(), &waiting, usize::MAX, |nap| {
            naps.push(nap);
            sender.send(someone()).expect("someone listens");
        });
        assert_eq!((taken.len(), naps), (3, vec![LONGEST / LOOKS; 2]));
    }

    #[test]
    fn who_does_not_come_is_not_waited_for_longer() {
        let (_sender, waiting) = channel();
        let mut naps = 0;
        let taken = after(2, SLOW).take_between(someone(), &waiting, usize::MAX, |_| naps += 1);
        assert_eq!((taken.len(), naps), (1, LOOKS));
    }

    #[test]
    fn more_than_fits_waits_for_the_next_batch() {
        let (sender, waiting) = channel();
        (0..3).for_each(|_| sender.send(someone()).expect("someone listens"));
        let limit = someone().weight() * 2;
        let never = |_| panic!("nobody is waited for who has no place");
        let taken = after(9, SLOW).take_between(someone(), &waiting, limit, never);
        assert_eq!(taken.len(), 2);
    }

    #[test]
    fn news_of_others_are_nobody_who_waits() {
        assert_eq!(asked(&[Work::Follow, someone(), Work::Follow]), 1);
    }
}
