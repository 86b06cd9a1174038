//! Agents say the same again and again, a little later: what was read once is recognised without being read anew, and what was
//! answered is answered again, as long as it says what is so.
//!
//! This only saves work. Whatever comes of it is what reading and writing everything would give.

use rear_engine::advertisement::Holding;
use rear_engine::ledger::Available;
use rear_engine::place::score::Score;
use rear_engine::{Advertisement, ClusterId, Command, Resources};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Seen;
use crate::gapped::Gapped;
use crate::moment;

/// Longer texts are not kept: they are rare, and there may be one for each connection.
pub const MAX_FAMILIAR: usize = 2 << 10;

/// What someone said last, and what was answered.
#[derive(Debug)]
pub struct Familiar {
    said: Gapped<Gap>,
    cluster: ClusterId,
    advertisement: Advertisement,
    /// Its timestamp, as it is written in answers.
    timestamp: String,
    holding: Option<Vec<Holding>>,
    shown: Option<(Standing, Gapped<Gap>)>,
}

/// What may be different each time.
#[derive(Debug, Clone, Copy)]
enum Gap {
    Timestamp,
    Sequence,
    ReceivedAt,
}

impl Familiar {
    /// What was said, and how it was understood; `None` where it is not worth keeping, or is said in an unusual way.
    #[must_use]
    pub fn new(body: &[u8], understood: &Command) -> Option<Self> {
        let Command::Advertise { cluster, advertisement, holding } = understood else {
            return None;
        };
        Some(Self {
            said: Said::gaps(body)?,
            cluster: cluster.clone(),
            advertisement: (**advertisement).clone(),
            timestamp: moment::text(advertisement.timestamp),
            holding: holding.clone(),
            shown: None,
        })
    }

    /// What a body means that says the same later; `None` where it says anything else.
    pub fn understand(&mut self, body: &[u8]) -> Option<Command> {
        let told = &self.advertisement;
        let (mut timestamp, mut written, mut order) = (told.timestamp, "", told.order);
        self.said.read(body, |gap, text| {
            match (gap, &mut order) {
                (Gap::Timestamp, _) => (timestamp, written) = (moment::read(text).ok()?, text),
                (Gap::Sequence, Some(order)) => order.sequence = whole_number(text)?,
                _ => return None,
            }
            Some(())
        })?;
        self.timestamp.clear();
        if is_as_we_write(written) {
            self.timestamp.push_str(written);
        } else {
            self.timestamp.push_str(&moment::text(timestamp));
        }
        self.advertisement.timestamp = timestamp;
        self.advertisement.order = order;
        Some(Command::Advertise {
            cluster: self.cluster.clone(),
            advertisement: Box::new(self.advertisement.clone()),
            holding: self.holding.clone(),
        })
    }

    /// Remembers how this was answered, where nothing has to be kept aside.
    pub fn was_shown(&mut self, seen: &Seen<'_>, answer: &[u8]) {
        self.shown =
            self.is_of(seen).then(|| Some((Standing::of(seen), Shown::gaps(answer)?))).flatten();
    }

    /// How this is answered, if it was answered before and nothing but the time has changed since.
    #[must_use]
    pub fn answer(&self, seen: &Seen<'_>) -> Option<Vec<u8>> {
        let (standing, answer) = self.shown.as_ref()?;
        let received_at = seen.record.advertised.as_ref()?.received_at;
        let is_so = self.is_of(seen) && *standing == Standing::of(seen);
        let told = &self.advertisement;
        is_so.then(|| {
            answer.write(|gap, text| match (gap, told.order) {
                (Gap::Timestamp, _) => text.extend_from_slice(self.timestamp.as_bytes()),
                (Gap::ReceivedAt, _) => {
                    text.extend_from_slice(moment::text(received_at).as_bytes());
                }
                (Gap::Sequence, Some(order)) => {
                    text.extend_from_slice(order.sequence.to_string().as_bytes());
                }
                // Then the answer has none either.
                (Gap::Sequence, None) => {}
            })
        })
    }

    /// Whether this is what counts, and not what was said elsewhere.
    fn is_of(&self, seen: &Seen<'_>) -> bool {
        seen.record.id == self.cluster && seen.record.advertisement() == Some(&self.advertisement)
    }
}

/// All that an answer is made from, but for what was said and when.
#[derive(Debug, PartialEq, Eq)]
struct Standing {
    reserved: Resources,
    available: Available,
    score: Score,
    fresh: bool,
    recovering: bool,
}

impl Standing {
    fn of(seen: &Seen<'_>) -> Self {
        let Seen { record: _, reserved, available, score, fresh, recovering } = *seen;
        Self { reserved, available, score, fresh, recovering }
    }
}

/// Whether a moment is written as in answers: most are, in whole seconds and UTC.
fn is_as_we_write(moment: &str) -> bool {
    moment.len() == "2026-01-02T15:04:05Z".len() && moment.ends_with('Z')
}

/// As JSON writes it and serde reads it: nothing before the digits, and no zero before others.
fn whole_number(text: &str) -> Option<u64> {
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let is_padded = text.len() > 1 && text.starts_with('0');
    text.parse().ok().filter(|_| is_digits && !is_padded)
}

/// Where the gaps are in what is said.
#[derive(Deserialize)]
struct Said<'a> {
    timestamp: &'a str,
    #[serde(borrow)]
    sequence: Option<&'a RawValue>,
}

impl<'a> Said<'a> {
    fn gaps(body: &'a [u8]) -> Option<Gapped<Gap>> {
        let Self { timestamp, sequence } = read(body)?;
        let sequence = sequence.map(|number| (Gap::Sequence, number.get()));
        Gapped::new(body, [(Gap::Timestamp, timestamp)].into_iter().chain(sequence))
    }
}

/// Where they are in an answer.
#[derive(Deserialize)]
struct Shown<'a> {
    #[serde(borrow)]
    advertisement: ShownAdvertisement<'a>,
}

#[derive(Deserialize)]
struct ShownAdvertisement<'a> {
    timestamp: &'a str,
    #[serde(borrow)]
    sequence: Option<&'a RawValue>,
    status: ShownStatus<'a>,
}

#[derive(Deserialize)]
struct ShownStatus<'a> {
    #[serde(rename = "receivedAt")]
    received_at: &'a str,
}

impl<'a> Shown<'a> {
    fn gaps(answer: &'a [u8]) -> Option<Gapped<Gap>> {
        let ShownAdvertisement { timestamp, sequence, status } =
            read::<Self>(answer)?.advertisement;
        let parts = [(Gap::Timestamp, timestamp), (Gap::ReceivedAt, status.received_at)];
        let sequence = sequence.map(|number| (Gap::Sequence, number.get()));
        Gapped::new(answer, parts.into_iter().chain(sequence))
    }
}

fn read<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Option<T> {
    serde_json::from_slice(text).ok().filter(|_| text.len() <= MAX_FAMILIAR)
}
