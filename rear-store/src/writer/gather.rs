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

/// Other brokers have their own callers to tell before they come again, over the network: they are waited for so many times as
/// long. It pays, because whoever comes too late waits for a whole batch.
const FARTHER: u32 = 3;

/// After they were waited for in vain, they are not for so many batches: then it costs little where they do not come.
const DISCOURAGED: u32 = 16;

/// What is known of the last batches.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Gathering {
    /// How many waited for the last one.
    asked: Asked,
    took: Duration,
    /// For so many batches, other brokers are not waited for longer.
    discouraged: u32,
}

/// How many wait for a batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Asked {
    /// Callers of this broker.
    own: usize,
    /// Other brokers, which have handed over what their callers want.
    brokers: usize,
}

impl Asked {
    /// How many of these wait, here or at another broker.
    pub(super) fn of(work: &[Work]) -> Self {
        work.iter().fold(Self::default(), |Self { own, brokers }, work| match work {
            Work::Follow => Self { own, brokers },
            Work::Handed(_) => Self { own, brokers: brokers + 1 },
            _ => Self { own: own + 1, brokers },
        })
    }
}

impl Gathering {
    /// So many waited for a batch, and it took so long.
    pub(super) fn took(&mut self, asked: Asked, took: Duration) {
        *self = Self { asked, took, discouraged: self.discouraged };
    }

    /// How often those who are missing are looked for while only so many are there, and how long each time.
    fn patience(&self, there: Asked) -> (u32, Duration) {
        let nap = (self.took / PART).min(LONGEST) / LOOKS;
        let misses_brokers = there.brokers < self.asked.brokers;
        let looks = match misses_brokers || there.own < self.asked.own {
            _ if nap < SHORTEST => 0,
            true if misses_brokers && self.discouraged == 0 => LOOKS * FARTHER,
            true => LOOKS,
            false => 0,
        };
        (looks, nap)
    }

    /// All that waits, up to a weight, and those who can be expected at once.
    pub(super) fn take(
        &mut self,
        first: Work,
        waiting: &Receiver<Work>,
        limit: usize,
    ) -> Vec<Work> {
        self.take_between(first, waiting, limit, sleep)
    }

    fn take_between(
        &mut self,
        first: Work,
        waiting: &Receiver<Work>,
        limit: usize,
        mut sleep: impl FnMut(Duration),
    ) -> Vec<Work> {
        let mut taken = Taken { bytes: first.weight(), work: vec![first], limit };
        taken.take_waiting(waiting);
        self.discouraged = self.discouraged.saturating_sub(1);
        for naps in 0..LOOKS * FARTHER {
            let (looks, nap) = self.patience(Asked::of(&taken.work));
            if taken.is_full() || naps >= looks {
                return taken.work;
            }
            sleep(nap);
            taken.take_waiting(waiting);
        }
        if Asked::of(&taken.work).brokers < self.asked.brokers {
            self.discouraged = DISCOURAGED;
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
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::super::{Handed, Reply};
    use super::*;
    use crate::position::Position;
    use crate::shared::Origin;

    const SLOW: Duration = Duration::from_millis(4);
    const NAP: Duration = Duration::from_micros(125);

    fn someone() -> Work {
        Work::ConfirmClock(Reply::new(|_| ()))
    }

    fn a_broker() -> Work {
        let origin = Origin { broker: 1, after: Position::default() };
        Work::Handed(Box::new(Handed::new(Vec::new(), origin, Box::new(|_| ()))))
    }

    fn own(own: usize) -> Asked {
        Asked { own, brokers: 0 }
    }

    fn brokers(own: usize, brokers: usize) -> Asked {
        Asked { own, brokers }
    }

    fn after(asked: Asked, took: Duration) -> Gathering {
        let mut gathering = Gathering::default();
        gathering.took(asked, took);
        gathering
    }

    /// How often others are waited for when nobody comes.
    fn naps(gathering: &mut Gathering) -> u32 {
        let (_sender, waiting) = channel();
        let mut naps = 0;
        let taken = gathering.take_between(someone(), &waiting, usize::MAX, |_| naps += 1);
        assert_eq!(taken.len(), 1);
        naps
    }

    #[test]
    fn nobody_waits_for_others_who_were_not_there() {
        assert_eq!(Gathering::default().patience(own(1)).0, 0);
        assert_eq!(after(own(1), SLOW).patience(own(1)).0, 0, "alone before, alone now");
        assert_eq!(after(own(64), SLOW).patience(own(64)).0, 0, "everyone is there");
        assert_eq!(after(brokers(20, 2), SLOW).patience(brokers(20, 2)).0, 0, "brokers as well");
    }

    #[test]
    fn who_waits_for_others_waits_a_small_part_of_what_a_batch_takes() {
        let patience = |took| after(own(2), took).patience(own(1));
        assert_eq!(patience(SLOW), (LOOKS, NAP));
        assert_eq!(patience(Duration::from_micros(3_200)), (LOOKS, Duration::from_micros(100)));
        assert_eq!(patience(SHORTEST * LOOKS * PART), (LOOKS, SHORTEST));
        assert_eq!(patience(Duration::from_micros(400)).0, 0, "a nap would be longer");
        assert_eq!(patience(Duration::from_secs(9)), (LOOKS, NAP));
    }

    #[test]
    fn those_who_were_answered_together_are_taken_together() {
        let (sender, waiting) = channel();
        let mut naps = Vec::new();
        let taken = after(own(3), SLOW).take_between(someone(), &waiting, usize::MAX, |nap| {
            naps.push(nap);
            sender.send(someone()).expect("someone listens");
        });
        assert_eq!((taken.len(), naps), (3, vec![NAP; 2]));
    }

    #[test]
    fn who_does_not_come_is_not_waited_for_longer() {
        assert_eq!(naps(&mut after(own(2), SLOW)), LOOKS);
    }

    #[test]
    fn another_broker_is_waited_for_longer_and_comes_in_time() {
        let (sender, waiting) = channel();
        let mut naps = 0;
        let mut gathering = after(brokers(1, 1), SLOW);
        let taken = gathering.take_between(someone(), &waiting, usize::MAX, |_| {
            naps += 1;
            if naps == LOOKS * FARTHER {
                sender.send(a_broker()).expect("someone listens");
            }
        });
        assert_eq!((taken.len(), naps), (2, LOOKS * FARTHER));
        assert_eq!(gathering.discouraged, 0);
    }

    #[test]
    fn another_broker_that_does_not_come_is_not_waited_for_longer_for_a_while() {
        let both = brokers(1, 1);
        let mut gathering = after(both, SLOW);
        assert_eq!(naps(&mut gathering), LOOKS * FARTHER);
        for _ in 1..DISCOURAGED {
            gathering.took(both, SLOW);
            assert_eq!(naps(&mut gathering), LOOKS);
        }
        gathering.took(both, SLOW);
        assert_eq!(naps(&mut gathering), LOOKS * FARTHER);
    }

    #[test]
    fn more_than_fits_waits_for_the_next_batch() {
        let (sender, waiting) = channel();
        (0..3).for_each(|_| sender.send(someone()).expect("someone listens"));
        let limit = someone().weight() * 2;
        let never = |_| panic!("nobody is waited for who has no place");
        let taken = after(own(9), SLOW).take_between(someone(), &waiting, limit, never);
        assert_eq!(taken.len(), 2);
    }

    #[test]
    fn news_of_others_are_nobody_who_waits() {
        assert_eq!(Asked::of(&[Work::Follow, someone(), a_broker(), Work::Follow]), brokers(1, 1));
    }
}
