//! What the clusters of the simulated fleet say, and what the network makes of it.

use rear_engine::advertisement::{Advertisement, Consumed, Order};
use rear_engine::labels::Labels;
use rear_engine::text::Line;
use rear_engine::{Command, Resources};
use rear_store::clock::Clock;

use super::life::{Life, resources};

/// Every agent advertises in one step of so many.
const ROUNDS: usize = 3;

/// Of a thousand: clusters whose load changes in a step, that fall silent, messages that are lost, come twice or late.
const CHURN: u64 = 100;
const FALLS_SILENT: u64 = 2;
const LOST: u64 = 20;
const TWICE: u64 = 10;
const LATE: u64 = 10;

/// So many steps a silent cluster stays so: most come back before they are stale, some later.
const SILENT_STEPS: (u64, u64) = (1, 120);

impl Life {
    /// What clusters say: a third of them, and those whose load has changed.
    pub(super) fn advertise(&mut self, step: usize) -> Vec<Command> {
        let mut commands = Vec::new();
        for number in 0..self.members.len() {
            if self.thousandths(FALLS_SILENT) {
                let steps = self.chance.between(SILENT_STEPS.0, SILENT_STEPS.1);
                self.members[number].silent_until = step + usize::try_from(steps).unwrap_or(1);
                self.count("clusters silent for a while");
            }
            let changes = self.thousandths(CHURN);
            if changes {
                let percent = self.chance.between(5, 40);
                let member = &mut self.members[number];
                member.allocated =
                    resources(member.size.amounts().map(|amount| amount / 100 * percent));
            }
            let due = (number + step).is_multiple_of(ROUNDS) || changes;
            if !due || self.members[number].silent_until > step {
                continue;
            }
            commands.extend(self.messages(number));
        }
        commands
    }

    /// The advertisement of a cluster, as the network brings it: once, never, twice, or after the next one.
    fn messages(&mut self, number: usize) -> Vec<Command> {
        self.members[number].sequence += 1;
        let now = self.told(number, 0);
        if self.thousandths(LOST) {
            self.count("messages lost");
            return Vec::new();
        }
        if self.thousandths(TWICE) {
            self.count("messages twice");
            return vec![now.clone(), now];
        }
        if self.thousandths(LATE) {
            self.count("messages late");
            // Of before, with another content: it must not count any more.
            return vec![now, self.told(number, 1)];
        }
        vec![now]
    }

    fn told(&self, number: usize, late: u64) -> Command {
        let member = &self.members[number];
        let allocated = if late > 0 { Resources::NONE } else { member.allocated };
        let sequence = member.sequence.saturating_sub(late);
        let advertisement = Advertisement {
            name: Line::default(),
            timestamp: self.clock.read().wall,
            order: Some(Order { epoch: 1, sequence }),
            capacity: member.size,
            allocatable: member.size,
            allocated,
            consumed: Consumed::default(),
            cost: None,
            labels: Labels::default(),
            endpoint: None,
        };
        let (cluster, advertisement) = (member.id.clone(), Box::new(advertisement));
        Command::Advertise { cluster, advertisement, holding: None }
    }
}
