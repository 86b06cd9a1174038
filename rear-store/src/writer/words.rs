//! What clusters said again, and was acknowledged at once: the writer takes it in before it decides anything else.
//!
//! A word is true of the time at which it was said, and of nothing else. Where others write as well, an outage may lie between that
//! and now, in which the cluster fell silent, was forgotten, or said something else to another broker. So it makes nobody fresher than
//! it was then, and nothing of it has to be durable: however many there are, no entry becomes too large by them.

use rear_engine::{Change, Command, Duration, Timestamp, refreshment};

use super::Writer;
use super::batch::Draft;
use crate::refreshments::Word;
use crate::timekeeper::Reading;

/// So long a word may still be news: no outage lies between, only the batch that was being committed when it was said, which takes
/// up to five seconds where it is put into etcd again and again.
const STAYS_NEWS: Duration = Duration::from_seconds(10);

impl Writer {
    pub(super) fn take_in_words(&mut self, reading: Reading, draft: &mut Draft) {
        for word in self.shared.clone().refreshments.take() {
            match self.refreshment_of(&word) {
                Some(change) => self.refresh(change, draft),
                None if self.is_news(&word, reading.now) => self.take_as_news(word, reading, draft),
                // Overtaken since, by whatever happened to the cluster.
                None => {}
            }
        }
    }

    /// What a word changes that says what is known by now as well.
    fn refreshment_of(&self, word: &Word) -> Option<Change> {
        let Word { cluster, advertisement, at } = word;
        let heard_at = self.fleet.cluster(cluster)?.record().advertised.as_ref()?.received_at;
        refreshment(&self.fleet, cluster, advertisement, None, heard_at.max(*at))
    }

    /// It stays true whatever becomes of the batch, so that it is not taken back with it.
    fn refresh(&mut self, change: Change, draft: &mut Draft) {
        draft.batch.changes.push(change.clone());
        if let Err(divergence) = self.fleet.apply(change) {
            draft.failure = Some(divergence.to_string());
        }
    }

    /// An older word of the same cluster was on its way to the disk when readers knew of nothing but what this one says again: of the
    /// two it is the one that counts, if it is the newer. It ends no silence.
    fn is_news(&self, word: &Word, now: Timestamp) -> bool {
        let is_fresh = self.fleet.cluster(&word.cluster).is_some_and(|known| {
            let record = known.record();
            record.advertised.is_some() && !record.stale
        });
        is_fresh && now.since(word.at) <= STAYS_NEWS
    }

    fn take_as_news(&mut self, word: Word, reading: Reading, draft: &mut Draft) {
        if self.sharing.is_some() {
            draft.acknowledged.push(word.clone());
        }
        let Word { cluster, advertisement, at: _ } = word;
        let command = Command::Advertise { cluster, advertisement, holding: None };
        // Refused is what a newer word has overtaken since: nothing is lost by that.
        drop(self.decide(command, reading, draft));
    }
}
