//! Runs simulated worlds: `callstack-simulation --seconds 60`.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use callstack_simulation::oracle::Violation;
use callstack_simulation::plans::Plans;
use callstack_simulation::run::{explain, run_again, run_in};
use callstack_simulation::setting::Setting;
use callstack_simulation::story::Story;
use clap::Parser;
use parking_lot::Mutex;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs simulated worlds, each from its seed, until the time or the number of commands is reached. Prints the first
/// seed that breaks a rule, with its story and a test.
#[derive(Parser)]
struct Options {
    /// The first seed. Default: the time, so that each run looks at other worlds
    #[arg(long)]
    seed: Option<u64>,
    /// How long to run, in seconds
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// How many commands stacks decide, those of the plan and of the end included; the time does not count then
    #[arg(long)]
    commands: Option<u64>,
    /// Run only the world of the first seed, with the schedule of this file
    #[arg(long)]
    schedule: Option<PathBuf>,
    /// Run swarms: up to 1,000 machines and 10,000 frames in a world
    #[arg(long)]
    swarms: bool,
    /// How many worlds run at the same time, each in a thread of its own. Default: the number of cores
    #[arg(long)]
    jobs: Option<usize>,
    /// Only say which rule a seed breaks, and do not look for a shorter schedule, which can take minutes
    #[arg(long)]
    brief: bool,
    /// At the end, print the pairs of commands that have never met: the second one between two calls of the first
    #[arg(long)]
    pairs: bool,
}

impl Options {
    fn setting(&self, seed: u64) -> Setting {
        if self.swarms { Setting::swarm(seed) } else { Setting::draw(seed) }
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    let plans = Plans::read(&support::data("plans"));
    let fresh = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_millis() as u64);
    let first = options.seed.unwrap_or_else(fresh);
    if let Some(path) = &options.schedule {
        return again(&options.setting(first), path, &plans);
    }
    let runs = Runs { options: &options, plans: &plans, began: Instant::now(), first, done: Mutex::default() };
    let cores = || thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        (0..options.jobs.unwrap_or_else(cores).max(1)).for_each(|_| drop(scope.spawn(|| runs.go())));
    });
    runs.report()
}

/// The runs of worlds, one after the other in each thread. Within a world there are no threads.
struct Runs<'a> {
    options: &'a Options,
    plans: &'a Plans,
    began: Instant,
    first: u64,
    done: Mutex<Done>,
}

/// The sum of the worlds that have run.
#[derive(Default)]
struct Done {
    worlds: u64,
    commands: u64,
    pairs: BTreeSet<(&'static str, &'static str)>,
    /// The minute in which progress was told last.
    minute: u64,
    /// The first seed that has broken a rule, and what it has broken.
    failure: Option<(u64, Violation)>,
}

impl Runs<'_> {
    /// The next seed, unless it is time to end.
    fn next(&self) -> Option<u64> {
        let mut done = self.done.lock();
        let is_over = match self.options.commands {
            Some(most) => done.commands >= most,
            None => self.began.elapsed() >= Duration::from_secs(self.options.seconds),
        };
        if is_over || done.failure.is_some() {
            return None;
        }
        done.worlds += 1;
        Some(self.first + done.worlds - 1)
    }

    fn go(&self) {
        while let Some(seed) = self.next() {
            let ran = run_in(&self.options.setting(seed), seed, self.plans, Story::default());
            let mut done = self.done.lock();
            done.commands += ran.commands;
            done.pairs.extend(ran.pairs);
            let minute = self.began.elapsed().as_secs() / 60;
            if minute > std::mem::replace(&mut done.minute, minute) {
                eprintln!("{minute} min: {} worlds, {} commands", done.worlds, done.commands);
            }
            if let Some(failure) = ran.failure {
                done.failure.get_or_insert((seed, failure));
            }
        }
    }

    /// Says what was run, and explains the seed that has broken a rule.
    fn report(&self) -> ExitCode {
        let done = self.done.lock();
        if let Some((seed, failure)) = &done.failure {
            println!("seed {seed} breaks: {}\n{}\n", failure.rule, failure.what);
            if !self.options.brief {
                match explain(&self.options.setting(*seed), *seed, self.plans) {
                    Some(found) => println!("{}\n\n{}\n\n{}", found.story, found.failure.what, found.test()),
                    None => println!("It does not break the rule when it is repeated."),
                }
            }
            return ExitCode::FAILURE;
        }
        let rate = done.commands as f64 / self.began.elapsed().as_secs_f64();
        println!("{} worlds from seed {} on, {} commands, {rate:.0} a second", done.worlds, self.first, done.commands);
        let met: BTreeSet<&str> = done.pairs.iter().flat_map(|(outer, inner)| [*outer, *inner]).collect();
        println!("{} of {} pairs of commands have met", done.pairs.len(), met.len().pow(2));
        if self.options.pairs {
            for outer in &met {
                let is_missing = |inner: &&&str| !done.pairs.contains(&(*outer, **inner));
                let missing: Vec<&str> = met.iter().filter(is_missing).copied().collect();
                println!("{outer}: {}", missing.join(", "));
            }
        }
        ExitCode::SUCCESS
    }
}

fn again(setting: &Setting, path: &Path, plans: &Plans) -> ExitCode {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let ran = run_again(setting, &text, plans).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    println!("{}", ran.story);
    match ran.failure {
        Some(failure) => {
            println!("\nbreaks: {}\n{}", failure.rule, failure.what);
            ExitCode::FAILURE
        }
        None => ExitCode::SUCCESS,
    }
}
