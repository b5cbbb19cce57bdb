//! What happens in a world, in order: the steps of its actors, and what strikes them. A schedule is made from a
//! seed, written as a text, and made shorter as long as it still fails.

use std::fmt::{self, Write};
use std::str::FromStr;

use support::Random;

use crate::medium::{Call, Kind};

/// One step of one actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Time since the step before it, in milliseconds.
    pub after: u64,
    /// The actor, by its place in the world.
    pub actor: usize,
    /// The seed of what the actor decides.
    pub choice: u64,
    /// What strikes the calls of its store.
    pub strikes: Vec<Strike>,
}

/// What happens at one call of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strike {
    /// The number of the call within the step, counted from 0: it strikes this one, or the first one after it
    /// at which it can happen.
    pub call: usize,
    /// What happens.
    pub blow: Blow,
}

/// What can happen at a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blow {
    /// The process dies before the call.
    Crash,
    /// The process dies after the call, before it knows the answer.
    CrashAfter,
    /// The lock is not free.
    Busy,
    /// The disk is full.
    Full,
    /// The connection breaks before the call.
    Lost,
    /// The connection breaks after the call: the answer is lost.
    AnswerLost,
    /// The process stands still for this time, in milliseconds.
    Freeze(u64),
    /// The power fails, or the server fails over to a standby that may lack the last commits.
    Power,
    /// The clock of the process's machine jumps by this number of milliseconds.
    Clock(i64),
    /// The clock of the process's machine stands still until it jumps.
    ClockStops,
    /// Another actor acts in between.
    Meanwhile(Box<Step>),
}

/// How often which blows are made, as shares of all steps in thousandths.
#[derive(Debug, Clone, Copy)]
pub struct Weather {
    /// Steps with a strike.
    pub struck: usize,
    /// Strikes at which another actor acts in between, of a thousand.
    pub crowded: usize,
}

impl Weather {
    /// Nothing goes wrong.
    pub const CALM: Self = Self { struck: 0, crowded: 0 };
}

impl Step {
    /// Draws a step for one of this number of actors.
    pub fn draw(random: &mut Random, actors: usize, weather: Weather) -> Self {
        let mut step = Self::calm(random, actors);
        if random.below(1_000) < weather.struck {
            // Steps within steps become rarer.
            let weather = Weather { struck: weather.struck / 2, ..weather };
            for _ in 0..1 + random.below(2) {
                // Most commands have few calls; an open or an examination can have many.
                let call = if random.once_in(4) { random.below(100) } else { random.below(10) };
                let blow = Blow::draw(random, actors, weather);
                step.strikes.push(Strike { call, blow });
            }
        }
        step
    }

    /// The step without one of its strikes, or without one of a step inside of it. The last ones leave out most.
    fn with_less(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for (place, strike) in self.strikes.iter().enumerate() {
            if let Blow::Meanwhile(inner) = &strike.blow {
                all.extend(inner.with_less().into_iter().map(|inner| {
                    let mut less = self.clone();
                    less.strikes[place].blow = Blow::Meanwhile(Box::new(inner));
                    less
                }));
            }
        }
        all.extend((0..self.strikes.len()).map(|place| {
            let mut less = self.clone();
            less.strikes.remove(place);
            less
        }));
        all
    }

    fn calm(random: &mut Random, actors: usize) -> Self {
        // Most steps follow at once; some come after a lease has ended.
        let after = match random.below(20) {
            0 => random.below(60_000),
            1..=4 => random.below(2_000),
            _ => random.below(50),
        };
        let choice = random.next() >> 40;
        Self { after: after as u64, actor: random.below(actors), choice, strikes: Vec::new() }
    }
}

impl Blow {
    fn draw(random: &mut Random, actors: usize, weather: Weather) -> Self {
        if random.below(1_000) < weather.crowded {
            return Self::Meanwhile(Box::new(Step::draw(random, actors, weather)));
        }
        match random.below(22) {
            0..=2 => Self::Crash,
            3..=5 => Self::CrashAfter,
            6..=8 => Self::Busy,
            9..=10 => Self::Full,
            11..=13 => Self::Lost,
            14..=16 => Self::AnswerLost,
            17..=18 => Self::Freeze(1 + random.below(120_000) as u64),
            19 => Self::Clock(random.below(240_000) as i64 - 120_000),
            20 => Self::ClockStops,
            _ => Self::Power,
        }
    }
}

impl Blow {
    /// The kind of blow.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Crash => "crash",
            Self::CrashAfter => "crash-after",
            Self::Busy => "busy",
            Self::Full => "full",
            Self::Lost => "lost",
            Self::AnswerLost => "answer-lost",
            Self::Freeze(_) => "freeze",
            Self::Power => "power",
            Self::Clock(_) => "clock",
            Self::ClockStops => "clock-stops",
            Self::Meanwhile(_) => "meanwhile",
        }
    }

    /// True if it changes anything at such a call of a store of this kind.
    pub fn can_strike(&self, call: Call, kind: Kind) -> bool {
        match self {
            Self::Busy => call == Call::Begin,
            Self::Full => {
                matches!(call, Call::Append | Call::Snapshot | Call::Log | Call::Compact | Call::Commit)
            }
            Self::Lost => kind == Kind::Server,
            Self::AnswerLost => kind == Kind::Server && call == Call::Commit,
            _ => true,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {} {:x}", self.after, self.actor, self.choice)?;
        self.strikes.iter().try_for_each(|strike| write!(out, " {}:{}", strike.call, strike.blow))
    }
}

impl fmt::Display for Blow {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())?;
        match self {
            Self::Freeze(span) => write!(out, "-{span}"),
            Self::Clock(by) => write!(out, "-{by}"),
            Self::Meanwhile(step) => write!(out, "({step})"),
            _ => Ok(()),
        }
    }
}

/// The text is not a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleError(pub String);

impl fmt::Display for ScheduleError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "`{}` is not a step of a schedule", self.0)
    }
}

impl std::error::Error for ScheduleError {}

impl FromStr for Step {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let wrong = || ScheduleError(text.to_owned());
        let mut words = text.trim().splitn(4, ' ');
        let mut word = || words.next().ok_or_else(wrong);
        let after = word()?.parse().map_err(|_| wrong())?;
        let actor = word()?.parse().map_err(|_| wrong())?;
        let choice = u64::from_str_radix(word()?, 16).map_err(|_| wrong())?;
        let mut strikes = Vec::new();
        let mut rest = words.next().unwrap_or_default().trim();
        while !rest.is_empty() {
            let (call, after_call) = rest.split_once(':').ok_or_else(wrong)?;
            let call = call.parse().map_err(|_| wrong())?;
            let (blow, left) = match after_call.strip_prefix("meanwhile(") {
                Some(inside) => {
                    let end = closing(inside).ok_or_else(wrong)?;
                    (Blow::Meanwhile(Box::new(inside[..end].parse()?)), &inside[end + 1..])
                }
                None => {
                    let (blow, left) = after_call.split_once(' ').unwrap_or((after_call, ""));
                    (blow.parse()?, left)
                }
            };
            strikes.push(Strike { call, blow });
            rest = left.trim_start();
        }
        Ok(Self { after, actor, choice, strikes })
    }
}

/// Where the parenthesis ends that was opened before this text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1;
    text.char_indices().find_map(|(place, sign)| {
        depth += match sign {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        (depth == 0).then_some(place)
    })
}

impl FromStr for Blow {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        Ok(match text {
            "crash" => Self::Crash,
            "crash-after" => Self::CrashAfter,
            "busy" => Self::Busy,
            "full" => Self::Full,
            "lost" => Self::Lost,
            "answer-lost" => Self::AnswerLost,
            "power" => Self::Power,
            "clock-stops" => Self::ClockStops,
            _ => {
                let freeze = text.strip_prefix("freeze-").and_then(|span| span.parse().ok()).map(Self::Freeze);
                let clock = text.strip_prefix("clock-").and_then(|by| by.parse().ok()).map(Self::Clock);
                freeze.or(clock).ok_or_else(|| ScheduleError(text.to_owned()))?
            }
        })
    }
}

/// Steps as a text, one in a line.
pub fn written(steps: &[Step]) -> String {
    steps.iter().fold(String::new(), |mut text, step| {
        // Writing into a text cannot fail.
        let _ = writeln!(text, "{step}");
        text
    })
}

/// Reads steps, one in a line.
///
/// # Errors
/// [`ScheduleError`] with the line.
pub fn read(text: &str) -> Result<Vec<Step>, ScheduleError> {
    text.lines().filter(|line| !line.trim().is_empty()).map(str::parse).collect()
}

/// Leaves out steps and strikes as long as the rest still fails (delta debugging: Zeller & Hildebrandt 2002,
/// "Simplifying and Isolating Failure-Inducing Input"). `runs` is the most that is tried.
pub fn shrunk(steps: &[Step], runs: usize, fails: impl Fn(&[Step]) -> bool) -> Vec<Step> {
    let mut steps = steps.to_vec();
    let mut left = runs;
    let mut try_now = |candidate: &[Step]| {
        let is_left = left > 0;
        left = left.saturating_sub(1);
        is_left && fails(candidate)
    };
    let mut size = steps.len().div_ceil(2);
    while size > 0 {
        let mut start = 0;
        while start < steps.len() {
            let end = (start + size).min(steps.len());
            // The time that is left out passes before the next step.
            let passed: u64 = steps[start..end].iter().map(|step| step.after).sum();
            let mut candidate = [&steps[..start], &steps[end..]].concat();
            candidate.get_mut(start).into_iter().for_each(|next| next.after += passed);
            if try_now(&candidate) {
                steps = candidate;
            } else {
                start = end;
            }
        }
        size /= 2;
    }
    for place in 0..steps.len() {
        let mut left = steps[place].with_less();
        while let Some(less) = left.pop() {
            let mut candidate = steps.clone();
            candidate[place] = less;
            if try_now(&candidate) {
                left = candidate[place].with_less();
                steps = candidate;
            }
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_read_as_it_was_written() {
        let random = &mut Random::new(7);
        let weather = Weather { struck: 800, crowded: 400 };
        let steps: Vec<Step> = (0..500).map(|_| Step::draw(random, 9, weather)).collect();
        assert_eq!(read(&written(&steps)).unwrap(), steps);
        assert!(steps.iter().any(|step| step.strikes.len() == 2));
        assert_eq!("5 x 1".parse::<Step>().unwrap_err().to_string(), "`5 x 1` is not a step of a schedule");
    }

    #[test]
    fn a_failing_schedule_gets_short() {
        let random = &mut Random::new(3);
        let steps: Vec<Step> = (0..300).map(|_| Step::draw(random, 5, Weather { struck: 500, crowded: 0 })).collect();
        let wanted = [steps[17].choice, steps[250].choice];
        let has_both = |steps: &[Step]| wanted.iter().all(|choice| steps.iter().any(|step| step.choice == *choice));
        let short = shrunk(&steps, 10_000, has_both);
        assert_eq!(short.iter().map(|step| step.choice).collect::<Vec<_>>(), wanted);
        assert!(short.iter().all(|step| step.strikes.is_empty()));
        let time = |steps: &[Step]| steps.iter().map(|step| step.after).sum::<u64>();
        assert_eq!(time(&short), time(&steps[..=250]), "the time until the failure stays");
    }
}
