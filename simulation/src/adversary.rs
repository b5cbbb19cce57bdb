//! An adversary: at the calls of a store it lets that happen which has happened there least, so that rare meetings
//! of two commands, and faults at each moment of each command, come about in few steps. Chance alone needs many.

use std::collections::HashMap;

use support::Random;

use crate::actors::Kind as ActorKind;
use crate::medium::{Call, Kind};
use crate::schedule::{Blow, Step};

/// How many steps of others may be inside of each other.
pub(crate) const DEEPEST: usize = 3;

/// The most steps of others within a step of the schedule: an open can have hundreds of calls.
const MOST: u32 = 48;

/// A moment: a call within a command.
type Moment = (&'static str, Call);

/// Decides what strikes the calls of one world, from one seed.
pub(crate) struct Adversary {
    random: Random,
    /// True: another actor acts at each call, unless a fault strikes it. False: at about half of the calls, and also at
    /// those of the other actor. Both only as long as some are `left`.
    is_eager: bool,
    /// How many more steps of others there may be within the present step of the schedule.
    left: u32,
    /// How often what has struck at which moment, by the name of a blow or of the kind of another actor.
    struck: HashMap<(Moment, &'static str), u32>,
}

impl Adversary {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        random.next();
        Self { is_eager: random.once_in(2), random, left: MOST, struck: HashMap::new() }
    }

    /// How many steps may be inside of each other.
    pub(crate) fn deepest(&self) -> usize {
        if self.is_eager { 1 } else { DEEPEST }
    }

    /// A step of the schedule begins.
    pub(crate) fn begin_step(&mut self) {
        self.left = MOST;
    }

    /// Chooses a blow for a moment, or none. `others` finds the actors that may act in between.
    pub(crate) fn choose(
        &mut self,
        moment: Moment,
        kind: Kind,
        others: impl FnOnce() -> Vec<(usize, ActorKind)>,
    ) -> Option<Blow> {
        match self.random.below(16) {
            0 => self.fault(moment, kind),
            chance if self.left > 0 && (self.is_eager || chance < 8) => self.other(moment, &others()),
            _ => None,
        }
    }

    /// The fault that was here least. Each comes back, but seldom, so that work goes on.
    fn fault(&mut self, moment: Moment, kind: Kind) -> Option<Blow> {
        let (_, call) = moment;
        let span = 1 + self.random.below(120_000) as u64;
        let mut faults = vec![
            Blow::Crash,
            Blow::CrashAfter,
            Blow::Busy,
            Blow::Full,
            Blow::Lost,
            Blow::AnswerLost,
            Blow::Freeze(span),
            Blow::Power,
            Blow::Clock(span as i64 - 60_000),
            Blow::ClockStops,
        ];
        faults.retain(|fault| fault.can_strike(call, kind));
        let place = self.least(moment, faults.iter().map(Blow::name))?;
        let fault = faults.swap_remove(place);
        let count = self.struck.entry((moment, fault.name())).or_default();
        if *count > 0 && !self.random.once_in(12) {
            return None;
        }
        *count += 1;
        Some(fault)
    }

    /// A step of an actor of the kind that was here least.
    fn other(&mut self, moment: Moment, others: &[(usize, ActorKind)]) -> Option<Blow> {
        let place = self.least(moment, others.iter().map(|(_, kind)| kind.name()))?;
        let (actor, kind) = others[place];
        self.left -= 1;
        *self.struck.entry((moment, kind.name())).or_default() += 1;
        let after = if self.random.once_in(12) { self.random.below(90_000) as u64 } else { 0 };
        let choice = self.random.next() >> 40;
        Some(Blow::Meanwhile(Box::new(Step { after, actor, choice, strikes: Vec::new() })))
    }

    /// The place of a name that has struck least; one of them by chance.
    fn least(&mut self, moment: Moment, names: impl Iterator<Item = &'static str>) -> Option<usize> {
        let counts: Vec<u32> =
            names.map(|name| self.struck.get(&(moment, name)).copied().unwrap_or_default()).collect();
        let least = counts.iter().min()?;
        let places: Vec<usize> = (0..counts.len()).filter(|place| counts[*place] == *least).collect();
        Some(places[self.random.below(places.len())])
    }
}
