//! Taking what waits: those who were answered together come again together, and are waited for a little while.
//!
//! Without that, half of the callers come back while the other half is being committed, and everyone waits for two commits
//! instead of one, each of which is shared by half as many. What other brokers hand over comes back later than that, because
//! they tell their callers first: where it is much, it is waited for longer.

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

/// As many commands of other brokers are worth a wait as long as a batch takes: without it, they wait for a whole one.
const MANY: usize = 8;

/// Whatever a batch took: longer than another broker needs to tell its callers and to come again.
const LONGEST_FOR_MANY: Duration = Duration::from_millis(4);

/// Others come so often at most while many are waited for.
const ARRIVALS: usize = 16;

/// So many batches show what others hand over: those who do not come together come in turns.
const REMEMBERED: u32 = 4;

/// When others did not come, they are not waited for longer the next time; then twice, four times, and so often at most.
const MOST_SKIPPED: u32 = 64;

/// What is known of the last batches.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Gathering {
    /// How many waited for the last one, and how much was handed over for one of the last ones.
    asked: Crowd,
    took: Duration,
    /// For how many batches no more than before was handed over.
    less: u32,
    patience: Patience,
}

/// How much waits for a batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Crowd {
    /// Callers of this broker.
    own: usize,
    /// Commands that other brokers have handed over.
    handed: usize,
}

impl Crowd {
    /// How much of this waits, here or at another broker.
    pub(super) fn of(work: &[Work]) -> Self {
        work.iter().fold(Self::default(), |Self { own, handed }, work| match work {
            Work::Follow => Self { own, handed },
            Work::Handed(more) => Self { own, handed: handed + more.commands().count() },
            _ => Self { own: own + 1, handed },
        })
    }
}

/// Whether others are waited for longer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Patience {
    /// How many batches go without.
    skip: u32,
    /// How many went without after the last time that it was in vain.
    skipped: u32,
}

impl Patience {
    fn is_there(&mut self) -> bool {
        let is_there = self.skip == 0;
        self.skip = self.skip.saturating_sub(1);
        is_there
    }

    fn was_in_vain(&mut self) {
        self.skipped = (self.skipped * 2).clamp(1, MOST_SKIPPED);
        self.skip = self.skipped;
    }
}

impl Gathering {
    /// So many waited for a batch, and it took so long.
    pub(super) fn took(&mut self, asked: Crowd, took: Duration) {
        (self.asked.own, self.took) = (asked.own, took);
        self.less += 1;
        if asked.handed >= self.asked.handed || self.less == REMEMBERED {
            (self.asked.handed, self.less) = (asked.handed, 0);
        }
    }

    /// All that waits, up to a weight, and those who can be expected at once.
    pub(super) fn take(
        &mut self,
        first: Work,
        waiting: &Receiver<Work>,
        limit: usize,
    ) -> Vec<Work> {
        self.take_between(first, waiting, limit, LONGEST_FOR_MANY, sleep)
    }

    fn take_between(
        &mut self,
        first: Work,
        waiting: &Receiver<Work>,
        limit: usize,
        longest_for_many: Duration,
        mut sleep: impl FnMut(Duration),
    ) -> Vec<Work> {
        let mut taken = Taken { bytes: first.weight(), work: vec![first], limit };
        taken.take_waiting(waiting);
        let is_patient = self.patience.is_there();
        let (looks, nap) = self.naps();
        for _ in 0..looks {
            let there = taken.asked();
            let waits_longer = is_patient && self.misses_many(there);
            let misses_some = there.handed < self.asked.handed && !waits_longer;
            if taken.is_full() || !(misses_some || there.own < self.asked.own) {
                break;
            }
            sleep(nap);
            taken.take_waiting(waiting);
        }
        if is_patient && !taken.is_full() && self.misses_many(taken.asked()) {
            self.wait_for_many(&mut taken, waiting, self.took.min(longest_for_many));
        }
        taken.work
    }

    /// How often others are looked for, and how long it is until the next time.
    fn naps(&self) -> (u32, Duration) {
        let all = (self.took / PART).min(LONGEST);
        let nap = (all / LOOKS).max(SHORTEST);
        (u32::try_from(all.as_nanos() / nap.as_nanos()).unwrap_or(LOOKS), nap)
    }

    fn misses_many(&self, there: Crowd) -> bool {
        self.asked.handed.saturating_sub(there.handed) >= MANY
    }

    /// They come as a whole: nobody is woken for each command.
    fn wait_for_many(&mut self, taken: &mut Taken, waiting: &Receiver<Work>, at_most: Duration) {
        for _ in 0..ARRIVALS {
            let Ok(next) = waiting.recv_timeout(at_most) else { break };
            taken.take(next);
            taken.take_waiting(waiting);
            if taken.is_full() || !self.misses_many(taken.asked()) {
                self.patience = Patience::default();
                return;
            }
        }
        self.patience.was_in_vain();
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
            self.take(next);
        }
    }

    fn take(&mut self, next: Work) {
        self.bytes += next.weight();
        self.work.push(next);
    }

    fn is_full(&self) -> bool {
        self.bytes >= self.limit
    }

    fn asked(&self) -> Crowd {
        Crowd::of(&self.work)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use rear_engine::Command;
    use rear_engine::testing::cluster;

    use super::super::{Handed, Reply};
    use super::*;
    use crate::position::Position;
    use crate::shared::Origin;

    const SLOW: Duration = Duration::from_millis(4);
    const NAP: Duration = Duration::from_micros(125);
    /// Whoever comes comes earlier, on any machine.
    const LONG: Duration = Duration::from_mins(1);

    fn someone() -> Work {
        Work::ConfirmClock(Reply::new(|_| ()))
    }

    /// As many commands of another broker.
    fn handed(commands: usize) -> Work {
        let origin = Origin { broker: 1, after: Position::default() };
        let commands = vec![Command::Hear { cluster: cluster("p") }; commands];
        Work::Handed(Box::new(Handed::new(commands, origin, Box::new(|_| ()))))
    }

    fn after(own: usize, handed: usize, took: Duration) -> Gathering {
        let mut gathering = Gathering::default();
        gathering.took(Crowd { own, handed }, took);
        gathering
    }

    /// What is taken, and after how many naps, when so much waits from the beginning and nobody else comes.
    fn take(gathering: &mut Gathering, there: Vec<Work>) -> (usize, u32) {
        let (sender, waiting) = channel();
        let mut there = there.into_iter();
        let first = there.next().expect("someone is there");
        there.for_each(|next| sender.send(next).expect("someone listens"));
        let mut naps = 0;
        let taken = gathering.take_between(first, &waiting, usize::MAX, LONG, |_| naps += 1);
        (taken.len(), naps)
    }

    fn some(own: usize, handed: usize) -> Vec<Work> {
        let handed = (handed > 0).then(|| self::handed(handed));
        (0..own).map(|_| someone()).chain(handed).collect()
    }

    #[test]
    fn nobody_waits_for_others_who_were_not_there() {
        assert_eq!(take(&mut Gathering::default(), some(1, 0)), (1, 0));
        assert_eq!(take(&mut after(1, 0, SLOW), some(1, 0)), (1, 0), "alone before, alone now");
        assert_eq!(take(&mut after(64, 0, SLOW), some(64, 0)), (64, 0), "everyone is there");
        assert_eq!(take(&mut after(3, 42, SLOW), some(3, 42)), (4, 0), "other brokers as well");
    }

    #[test]
    fn who_waits_for_others_waits_a_small_part_of_what_a_batch_takes() {
        let naps = |took| after(2, 0, took).naps();
        assert_eq!(naps(SLOW), (LOOKS, NAP));
        assert_eq!(naps(Duration::from_micros(3_200)), (LOOKS, Duration::from_micros(100)));
        assert_eq!(naps(SHORTEST * PART * LOOKS), (LOOKS, SHORTEST));
        assert_eq!(naps(SHORTEST * PART * 2), (2, SHORTEST), "fewer looks before shorter naps");
        assert_eq!(naps(SHORTEST * (PART - 1)).0, 0, "a nap would be longer");
        assert_eq!(naps(Duration::from_secs(9)), (LOOKS, NAP));
    }

    #[test]
    fn those_who_were_answered_together_are_taken_together() {
        let (sender, waiting) = channel();
        let mut naps = Vec::new();
        let taken = after(3, 0, SLOW).take_between(someone(), &waiting, usize::MAX, LONG, |nap| {
            naps.push(nap);
            sender.send(someone()).expect("someone listens");
        });
        assert_eq!((taken.len(), naps), (3, vec![NAP; 2]));
    }

    #[test]
    fn who_does_not_come_is_not_waited_for_longer() {
        assert_eq!(take(&mut after(2, 0, SLOW), some(1, 0)), (1, LOOKS));
        assert_eq!(take(&mut after(1, MANY - 1, SLOW), some(1, 0)), (1, LOOKS), "too few");
    }

    /// They come later, one after the other.
    fn come_later(sender: &Sender<Work>, work: Vec<Work>) -> std::thread::JoinHandle<()> {
        let sender = sender.clone();
        std::thread::spawn(move || {
            for next in work {
                sleep(Duration::from_millis(1));
                sender.send(next).expect("someone listens");
            }
        })
    }

    #[test]
    fn much_that_other_brokers_hand_over_is_waited_for_longer() {
        let (sender, waiting) = channel();
        let mut gathering = after(1, 40, LONG);
        let coming = come_later(&sender, vec![handed(20), someone(), handed(20)]);
        let taken = gathering.take_between(someone(), &waiting, usize::MAX, LONG, |_| ());
        assert_eq!(Crowd::of(&taken), Crowd { own: 2, handed: 40 });
        coming.join().expect("no panic");
    }

    #[test]
    fn brokers_that_take_turns_are_waited_for_together() {
        let mut gathering = after(20, 42, SLOW);
        for _ in 1..REMEMBERED {
            gathering.took(Crowd { own: 20, handed: 21 }, SLOW);
            assert_eq!(gathering.asked.handed, 42, "what was missing may come the next time");
        }
        gathering.took(Crowd { own: 20, handed: 21 }, SLOW);
        assert_eq!(gathering.asked.handed, 21, "it does not come any more");
    }

    #[test]
    fn after_a_wait_in_vain_there_are_more_and_more_batches_without_one() {
        let mut waits = Vec::new();
        let mut gathering = Gathering::default();
        for batch in 0..300 {
            gathering.took(Crowd { own: 1, handed: 40 }, Duration::from_micros(1));
            let before = gathering.patience;
            assert_eq!(take(&mut gathering, some(1, 0)).0, 1);
            if before.skip == 0 {
                waits.push(batch);
            }
        }
        assert_eq!(waits, [0, 2, 5, 10, 19, 36, 69, 134, 199, 264]);
        while gathering.patience.skip > 0 {
            gathering.patience.is_there();
        }
        let (sender, waiting) = channel();
        gathering.took(Crowd { own: 1, handed: 40 }, LONG);
        let coming = come_later(&sender, vec![handed(40)]);
        gathering.take_between(someone(), &waiting, usize::MAX, LONG, |_| ());
        assert_eq!(gathering.patience, Patience::default(), "whoever comes is waited for again");
        coming.join().expect("no panic");
    }

    #[test]
    fn more_than_fits_waits_for_the_next_batch() {
        let (sender, waiting) = channel();
        (0..3).for_each(|_| sender.send(someone()).expect("someone listens"));
        let limit = someone().weight() * 2;
        let never = |_| panic!("nobody is waited for who has no place");
        let taken = after(9, 90, SLOW).take_between(someone(), &waiting, limit, LONG, never);
        assert_eq!(taken.len(), 2);
    }

    #[test]
    fn news_of_others_are_nobody_who_waits() {
        let work = [Work::Follow, someone(), handed(3), Work::Follow];
        assert_eq!(Crowd::of(&work), Crowd { own: 1, handed: 3 });
    }
}
