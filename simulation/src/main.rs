//! Runs simulated worlds: `callstack-simulation --seconds 60`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use callstack_simulation::plans::Plans;
use callstack_simulation::run::{explain, run, run_again};
use callstack_simulation::story::Story;
use clap::Parser;

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
}

fn main() -> ExitCode {
    let options = Options::parse();
    let plans = Plans::read(&support::data("plans"));
    let fresh = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_millis() as u64);
    let first = options.seed.unwrap_or_else(fresh);
    if let Some(path) = &options.schedule {
        return again(first, path, &plans);
    }
    let began = Instant::now();
    let (mut commands, mut seed) = (0, first);
    let is_over = |commands: u64| match options.commands {
        Some(most) => commands >= most,
        None => began.elapsed() >= Duration::from_secs(options.seconds),
    };
    while !is_over(commands) {
        let ran = run(seed, &plans, Story::default());
        commands += ran.commands;
        if let Some(failure) = ran.failure {
            let Some(found) = explain(seed, &plans) else {
                println!("seed {seed} breaks: {}\n{}\nbut not when it is repeated", failure.rule, failure.what);
                return ExitCode::FAILURE;
            };
            println!("{}\n\nseed {seed} breaks: {}\n{}\n", found.story, found.failure.rule, found.failure.what);
            println!("{}", found.test());
            return ExitCode::FAILURE;
        }
        seed += 1;
    }
    let rate = commands as f64 / began.elapsed().as_secs_f64();
    println!("{} worlds from seed {first} on, {commands} commands, {rate:.0} a second", seed - first);
    ExitCode::SUCCESS
}

fn again(seed: u64, path: &std::path::Path, plans: &Plans) -> ExitCode {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let ran = run_again(seed, &text, plans).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    println!("{}", ran.story);
    match ran.failure {
        Some(failure) => {
            println!("\nbreaks: {}\n{}", failure.rule, failure.what);
            ExitCode::FAILURE
        }
        None => ExitCode::SUCCESS,
    }
}
