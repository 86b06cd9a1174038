//! Handing over instead of contending: the broker that was faster decides, and tells what became of it.
//!
//! What was decided elsewhere is answered here once it is applied here, so that whoever asked sees it. What was not, is
//! decided here. Of what nobody knows, an entry of this broker is the end: nobody decides it elsewhere after that, and
//! whatever was decided before is known by then.

use std::sync::{Arc, Mutex, PoisonError};

use rear_engine::{Command, Duration, ReservationId};

use super::batch::Waiting;
use super::contest::{Setback, tell_all};
use super::{Caller, Reply, Submission, Writer};
use crate::journal::{Decided, HandedOver, TellDecided};
use crate::position::Position;
use crate::records::handed::may_be_handed;
use crate::shared::Origin;
use crate::store::{Answer, SubmitError};

/// So often at least a broker decides something itself, as what is due and who is heard of here waits for that.
const OWN_AFFAIRS: Duration = Duration::from_seconds(1);

/// Commands, and who waits for each, in the same order.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) commands: Vec<Command>,
    pub(super) callers: Vec<Caller>,
}

impl Asked {
    pub(super) fn split_off(&mut self, at: usize) -> Self {
        Self { commands: self.commands.split_off(at), callers: self.callers.split_off(at) }
    }

    /// Takes out those of which `which` is true, for their places.
    fn take_out(&mut self, which: impl Fn(usize, &Command, &Caller) -> bool) -> Self {
        let (mut out, mut rest) = (Self::default(), Self::default());
        let all = self.commands.drain(..).zip(self.callers.drain(..));
        for (place, (command, caller)) in all.enumerate() {
            let to = if which(place, &command, &caller) { &mut out } else { &mut rest };
            to.commands.push(command);
            to.callers.push(caller);
        }
        *self = rest;
        out
    }
}

/// Commands that another broker has handed over. If it is dropped, nothing of it was decided.
pub(crate) struct Handed {
    commands: Vec<Command>,
    origin: Origin,
    gathered: Arc<Gathered>,
}

/// What is known of them so far; told when nobody waits for more.
struct Gathered {
    /// `None` once something is not known, and will not be.
    decided: Mutex<Option<Decided>>,
    tell: Mutex<Option<TellDecided>>,
}

impl Handed {
    pub(crate) fn new(commands: Vec<Command>, origin: Origin, tell: TellDecided) -> Self {
        let nothing = Decided { position: Position::default(), each: vec![None; commands.len()] };
        let gathered =
            Gathered { decided: Mutex::new(Some(nothing)), tell: Mutex::new(Some(tell)) };
        Self { commands, origin, gathered: Arc::new(gathered) }
    }

    pub(super) fn commands(&self) -> impl Iterator<Item = &Command> {
        self.commands.iter()
    }

    /// Each command by itself: its answer goes to where it came from.
    pub(super) fn into_submissions(self) -> impl Iterator<Item = Submission> {
        let Self { commands, origin, gathered } = self;
        commands.into_iter().enumerate().map(move |(place, command)| {
            let gathered = gathered.clone();
            let reply = Reply::new(move |outcome| gathered.note(place, outcome));
            let caller = Caller { reply, origin: Some(origin), was_handed_over: false };
            Submission { command, caller }
        })
    }
}

impl Gathered {
    /// A refusal is not passed on: whoever handed it over asks itself, of the newest state.
    fn note(&self, place: usize, outcome: Result<Answer, SubmitError>) {
        let mut gathered = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        match outcome {
            Ok(Answer { position, reservation: Some(reservation) }) => {
                let Some(decided) = &mut *gathered else { return };
                decided.position = decided.position.max(position);
                if let Some(each) = decided.each.get_mut(place) {
                    *each = Some(reservation.id);
                }
            }
            Err(SubmitError::NotDurable(_) | SubmitError::Stopped(_)) => *gathered = None,
            Ok(Answer { reservation: None, .. })
            | Err(
                SubmitError::Refused(_)
                | SubmitError::Overloaded
                | SubmitError::ClockJumped(_)
                | SubmitError::CutOff(_),
            ) => {}
        }
    }
}

impl Drop for Gathered {
    fn drop(&mut self) {
        let decided = self.decided.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(tell) = self.tell.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            tell(decided);
        }
    }
}

impl Writer {
    /// Gives back what others handed over and may not be decided here, and hands over what may be decided elsewhere. What is
    /// left is this broker's.
    pub(super) fn let_others_decide(&mut self, asked: &mut Asked) -> Result<(), Setback> {
        let journal = &self.journal;
        let not_ours =
            |caller: &Caller| caller.origin.is_some_and(|origin| !journal.may_decide(&origin));
        let not_ours = asked.take_out(|_, _, caller| not_ours(caller));
        tell_all(not_ours.callers, &SubmitError::Overloaded);
        self.answer_what_was_decided(asked);
        if self.look_at_the_clock(false).alarm.is_some() {
            return Ok(());
        }
        let Some(handed) = self.hand_over(asked) else { return Ok(()) };
        self.take_back(asked, &handed)
    }

    /// What was handed over, and answered.
    fn hand_over(&mut self, asked: &mut Asked) -> Option<(Vec<usize>, Decided)> {
        let now = self.clock.read().monotonic.as_nanos();
        if self.unheard || now.saturating_sub(self.last_decided.as_nanos()) > OWN_AFFAIRS.as_nanos()
        {
            return None;
        }
        let all = asked.commands.iter().zip(&asked.callers).enumerate();
        let handed = all.filter(|(_, (command, caller))| {
            caller.origin.is_none() && may_be_handed(command) && !self.is_taken(command)
        });
        let (places, commands): (Vec<usize>, Vec<&Command>) =
            handed.map(|(place, (command, _))| (place, command)).unzip();
        if commands.is_empty() {
            return None;
        }
        match self.journal.hand_over(&commands) {
            HandedOver::Kept => None,
            HandedOver::Decided(decided) => {
                self.shared.meters.handed_over(decided.each.iter().flatten().count());
                Some((places, decided))
            }
            HandedOver::Unheard => {
                self.unheard = true;
                for place in places {
                    asked.callers[place].was_handed_over = true;
                }
                None
            }
        }
    }

    /// Answers what was decided elsewhere, once it is applied here.
    fn take_back(
        &mut self,
        asked: &mut Asked,
        (places, decided): &(Vec<usize>, Decided),
    ) -> Result<(), Setback> {
        let outcomes: std::collections::BTreeMap<usize, ReservationId> = places
            .iter()
            .zip(&decided.each)
            .filter_map(|(place, outcome)| Some((*place, (*outcome)?)))
            .collect();
        let settled = asked.take_out(|place, _, _| outcomes.contains_key(&place));
        let mut settled = Some(settled.callers.into_iter().zip(outcomes.into_values()));
        let mut answer = |writer: &Self| {
            if writer.position >= decided.position
                && let Some(settled) = settled.take()
            {
                let waiting = settled.map(|(Caller { reply, .. }, id)| Waiting {
                    reply,
                    decided: Ok(writer.fleet.shared_reservation(id)),
                });
                writer.answer(waiting.collect(), &Ok(()));
            }
        };
        let followed = self.follow_and_tell(&mut answer);
        // It may have been followed before, or with a snapshot.
        answer(self);
        for (caller, _) in settled.into_iter().flatten() {
            let why = "another broker has decided it, and that cannot be read at this moment";
            caller.reply.tell(Err(SubmitError::NotDurable(why.to_owned())));
        }
        followed
    }

    /// Reservations that were handed over, of which nothing was heard, and which are there.
    fn answer_what_was_decided(&mut self, asked: &mut Asked) {
        let fleet = &self.fleet;
        let there = asked.take_out(|_, command, caller| match command {
            Command::Reserve { id, .. } => {
                caller.origin.is_none()
                    && caller.was_handed_over
                    && fleet.reservation(*id).is_some()
            }
            _ => false,
        });
        let ids: Vec<_> = there.commands.iter().filter_map(reserved).collect();
        let waiting = there.callers.into_iter().zip(ids).map(|(Caller { reply, .. }, id)| {
            Waiting { reply, decided: Ok(self.fleet.shared_reservation(id)) }
        });
        self.answer(waiting.collect(), &Ok(()));
    }

    /// Whether a reservation of that name is there already.
    fn is_taken(&self, command: &Command) -> bool {
        matches!(command, Command::Reserve { id, .. } if self.fleet.reservation(*id).is_some())
    }
}

fn reserved(command: &Command) -> Option<ReservationId> {
    match command {
        Command::Reserve { id, .. } => Some(*id),
        _ => None,
    }
}
