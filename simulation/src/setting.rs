//! What a world is made of: machines, actors, a store, a network and a plan.

use support::Random;

use crate::actors::Kind as ActorKind;
use crate::medium::{Call, Kind};
use crate::schedule::Weather;

/// What a world is made of.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The medium of the stack.
    pub kind: Kind,
    /// True: each commit is synced, so that a power loss takes nothing.
    pub is_durable: bool,
    /// How long the calls of a store take.
    pub network: Network,
    /// The actors, each with the number of its machine.
    pub actors: Vec<(ActorKind, usize)>,
    /// By how much the clock of each machine is wrong, in milliseconds. `None`: it stands still.
    pub clocks: Vec<Option<i64>>,
    /// The seed of the plan with which it begins.
    pub plan: u64,
    /// The most frames of that plan.
    pub size: usize,
    /// Number of steps in the storm.
    pub steps: usize,
    /// How often something strikes.
    pub weather: Weather,
    /// True: an adversary adds what strikes, at each call.
    pub is_adversarial: bool,
    /// When the storm is over, the first frame that a worker gets does this to each worker.
    pub poison: Option<Poison>,
    /// True: in the end all that is done is compacted.
    pub is_compacted: bool,
    /// True: it is one of [`Setting::swarm`].
    pub is_swarm: bool,
    /// True: the medium forgets some of the commits that it has acknowledged.
    pub is_forgetful: bool,
}

/// The trouble that a frame makes for each worker that gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Poison {
    /// The worker dies.
    Kills,
    /// The worker puts it back at once.
    IsPutBack,
}

/// How long the calls of a store take.
#[derive(Debug, Clone, Copy, Default)]
pub struct Network {
    /// Of a server: from a request to its answer, in microseconds.
    pub round_trip: u64,
    /// Until the disk has synced a commit, in microseconds.
    pub sync: u64,
}

impl Network {
    /// How long a call takes, in microseconds. A server gets the events with the commit.
    pub fn time_of(self, call: Call, kind: Kind, is_durable: bool) -> u64 {
        let sync = match call {
            Call::Commit if is_durable => self.sync,
            Call::Sync => self.sync,
            _ => 0,
        };
        let is_request = !matches!(call, Call::Append | Call::Snapshot | Call::Log);
        sync + if kind == Kind::Server && is_request { self.round_trip } else { 0 }
    }
}

const OTHERS: [ActorKind; 5] =
    [ActorKind::Person, ActorKind::Conversation, ActorKind::Importer, ActorKind::Keeper, ActorKind::Host];

impl Setting {
    /// Draws a small world: up to 4 machines and 120 frames. Thousands of them run in a minute.
    pub fn draw(seed: u64) -> Self {
        let random = &mut Random::new(seed);
        random.next();
        let machines = 1 + random.below(4);
        let mut actors = vec![ActorKind::Worker; 1 + random.below(5)];
        for kind in OTHERS {
            actors.extend(std::iter::repeat_n(kind, random.below(3)));
        }
        let size = [4, 12, 40, 120][random.below(4)];
        let steps = 60 + random.below(1 + 12 * size);
        Self::with(random, machines, actors, size, steps)
    }

    /// Draws a swarm: 1 to 1,000 machines with one or two actors each, most of them workers, and 10 to 10,000
    /// frames.
    pub fn swarm(seed: u64) -> Self {
        let random = &mut Random::new(seed ^ 0x5eed_0f5a);
        random.next();
        // Every size is as likely as the one ten times as large.
        let between = |random: &mut Random, least: f64, most: f64| {
            let share = random.below(1_000) as f64 / 999.0;
            (least * (most / least).powf(share)).round() as usize
        };
        let machines = between(random, 1.0, 1_000.0);
        let size = between(random, 10.0, 10_000.0);
        let count = machines + random.below(machines + 1);
        let kind = |random: &mut Random| if random.once_in(4) { OTHERS[random.below(5)] } else { ActorKind::Worker };
        let actors = (0..count).map(|_| kind(random)).collect();
        // Each actor acts a few times, and each frame has a chance.
        let setting = Self::with(random, machines, actors, size, 2 * size + 4 * count);
        Self { is_swarm: true, ..setting }
    }

    fn with(random: &mut Random, machines: usize, actors: Vec<ActorKind>, size: usize, steps: usize) -> Self {
        let is_wrong = random.once_in(3);
        let clock = |random: &mut Random| match random.below(if is_wrong { 5 } else { 1 }) {
            0 | 1 => Some(0),
            2 => Some(random.below(120_000) as i64 - 60_000),
            3 => Some(random.below(86_400_000) as i64 - 43_200_000),
            _ => None,
        };
        let weather = match random.below(4) {
            0 => Weather::CALM,
            1 => Weather { struck: 60, crowded: 300 },
            2 => Weather { struck: 250, crowded: 500 },
            _ => Weather { struck: 600, crowded: 900 },
        };
        let is_adversarial = random.once_in(6);
        // Some networks are near, some are slow, and some disks take seconds.
        let round_trip = [0, 200, 1_000, 20_000, 80_000][random.below(5)];
        let sync = [0, 100, 4_000, 2_000_000][random.below(4)];
        Self {
            kind: if random.once_in(2) { Kind::Folder } else { Kind::Server },
            is_durable: random.once_in(2),
            network: Network { round_trip, sync },
            actors: actors.into_iter().map(|kind| (kind, random.below(machines))).collect(),
            clocks: (0..machines).map(|_| clock(random)).collect(),
            plan: random.next(),
            size,
            // With an adversary each step has many steps of others in it.
            steps: if is_adversarial { steps.div_ceil(8) } else { steps },
            weather,
            is_adversarial,
            poison: [None, Some(Poison::Kills), Some(Poison::IsPutBack)][random.below(3)],
            is_compacted: random.once_in(2),
            is_swarm: false,
            is_forgetful: false,
        }
    }
}
