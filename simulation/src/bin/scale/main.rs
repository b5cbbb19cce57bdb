//! Prints how much work stacks in one server take, and draws it: `callstack-scale FOLDER`, the folder of the pictures.
//! `scripts/figures --only scale` writes it into docs/scale.md.

mod curves;

use std::env::args_os;
use std::path::PathBuf;

use callstack_simulation::plans::Plans;
use callstack_simulation::scale::{Load, Measured, Server, measure};
use support::data;

use self::curves::{Picture, Points};

/// The server of the comparison: two cores that the workers use too, and a disk that syncs in 0.1 ms.
const SERVER: Server = Server { command: 260, sync: 100, cores: 2 };

/// Workers that give a command every two seconds: each works on a frame for four.
const AGENTS: Load = Load {
    server: SERVER,
    round_trip: 1_000,
    follow: 5,
    machines: 1_000,
    stacks: 1,
    frames: 20_000,
    is_wide: true,
    work: 4_000,
    lease: 60_000,
    deaths: 0,
    freezes: 0,
    lost: 0,
    seconds: 30,
};

/// A plan like real ones, until it is done: 20 workers, half a minute for each frame.
const PLAN: Load = Load { machines: 20, frames: 400, is_wide: false, work: 30_000, seconds: 100_000, ..AGENTS };

const TIMES: [&str; 3] = ["commands per second", "mean", "99.9 %"];

fn main() {
    let folder = args_os().nth(1).map(PathBuf::from).expect("callstack-scale FOLDER");
    std::fs::create_dir_all(&folder).expect("the folder of the pictures");
    let plans = &Plans::read(&data("plans"));
    let run = |load: Load| measure(&load, plans);
    let [rates, waits] = machines(&run);
    let pictures = [rates, waits, partitions(&run), frames(&run), leases(&run), failures(&run)];
    answers(&run);
    disks(&run);
    compared(&run);
    for picture in pictures {
        let path = folder.join(format!("{}.svg", picture.name));
        picture.write(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

/// Prints the name and the heads of a table.
fn heads(name: &str, first: &str, others: &[&str]) {
    println!("<!-- {name} -->\n| {first} | {} |\n|---{}|", others.join(" | "), "|---:".repeat(others.len()));
}

fn milliseconds(micros: u64) -> String {
    let figure = micros as f64 / 1e3;
    if figure < 100.0 { format!("{figure:.1} ms") } else { format!("{figure:.0} ms") }
}

fn row(name: &str, measured: &Measured) {
    let (mean, late) = (milliseconds(measured.mean()), milliseconds(measured.within(999)));
    println!("| {name} | {:.0} | {mean} | {late} |", measured.rate());
}

/// The round trips of the tables, in microseconds.
const ROUND_TRIPS: [u64; 4] = [100, 1_000, 20_000, 80_000];

/// A round trip in words.
fn away(round_trip: u64) -> String {
    format!("{} ms", round_trip as f64 / 1e3)
}

fn machines(run: &impl Fn(Load) -> Measured) -> [Picture; 2] {
    heads("workers", "round trip, workers", &TIMES);
    let (mut rates, mut tails) = (Vec::new(), Vec::new());
    for round_trip in ROUND_TRIPS {
        let (mut rate, mut tail) = (Points::new(), Points::new());
        for machines in [10, 30, 100, 300, 1_000] {
            let found = run(Load { round_trip, machines, seconds: seconds(round_trip), ..AGENTS });
            row(&format!("{}, {machines}", away(round_trip)), &found);
            rate.push((machines as f64, found.rate()));
            tail.push((machines as f64, found.within(999) as f64 / 1e3));
        }
        rates.push((away(round_trip), rate));
        tails.push((away(round_trip), tail));
    }
    let across = "workers on one stack";
    let title = "One stack: throughput";
    let rates = Picture { name: "workers", title, across, up: "commands a second", curves: rates };
    let title = "One stack: 99.9 % of the commands take less";
    let waits = Picture { name: "waits", title, across, up: "milliseconds", curves: tails };
    [rates, waits]
}

/// Long enough for the queue of a network with this round trip to become as long as it gets.
fn seconds(round_trip: u64) -> u64 {
    if round_trip >= 20_000 { 300 } else { 30 }
}

fn partitions(run: &impl Fn(Load) -> Measured) -> Picture {
    heads("stacks", "round trip, stacks", &TIMES);
    let mut curves = Vec::new();
    for round_trip in &ROUND_TRIPS[1..] {
        let mut rates = Points::new();
        for stacks in [1, 4, 16, 64] {
            let seconds = seconds(*round_trip);
            let found = run(Load { round_trip: *round_trip, stacks, frames: 20_000 / stacks, seconds, ..AGENTS });
            row(&format!("{}, {stacks}", away(*round_trip)), &found);
            rates.push((stacks as f64, found.rate()));
        }
        curves.push((away(*round_trip), rates));
    }
    let title = "1,000 workers, spread over stacks: throughput";
    Picture { name: "stacks", title, across: "stacks", up: "commands a second", curves }
}

/// How long a load took, in minutes.
fn minutes(measured: &Measured) -> f64 {
    measured.span as f64 / 60e6
}

fn frames(run: &impl Fn(Load) -> Measured) -> Picture {
    heads("plans", "frames, workers", &["done after", "of the time of one worker", "asked in vain"]);
    let mut curves = Vec::new();
    for frames in [100, 1_000, 3_000] {
        let one = minutes(&run(Load { machines: 1, frames, ..PLAN }));
        let mut times = vec![(1.0, one)];
        for machines in [3, 10, 30, 100] {
            let found = run(Load { machines, frames, ..PLAN });
            let vain = found.empty as f64 * 100.0 / found.commands as f64;
            let took = minutes(&found);
            println!("| {frames}, {machines} | {took:.0} min | 1 / {:.1} | {vain:.0} % |", one / took);
            times.push((machines as f64, took));
        }
        curves.push((format!("{frames} frames"), times));
    }
    Picture { name: "plans", title: "Real plans: done after", across: "workers", up: "minutes", curves }
}

/// The leases of the tables, in seconds.
const LEASES: [u64; 4] = [10, 60, 300, 1_800];

fn leases(run: &impl Fn(Load) -> Measured) -> Picture {
    heads("leases", "of 100 workers over a frame, lease", &["done after", "work lost", "results refused"]);
    let mut curves = Vec::new();
    for (deaths, freezes, what) in [(0, 0, "none fails"), (50, 0, "5 die"), (0, 50, "5 sleep for 2 min")] {
        let mut times = Points::new();
        for lease in LEASES {
            let found = run(Load { deaths, freezes, lease: lease * 1_000, ..PLAN });
            let (took, lost) = (minutes(&found), found.wasted_share() * 100.0);
            println!("| {what}, {lease} s | {took:.0} min | {lost:.1} % | {} |", found.refused);
            times.push((lease as f64, took));
        }
        curves.push((what.to_owned(), times));
    }
    let title = "400 frames, 20 workers: done after";
    Picture { name: "leases", title, across: "lease in seconds", up: "minutes", curves }
}

fn failures(run: &impl Fn(Load) -> Measured) -> Picture {
    heads("failures", "of 100 workers over a frame, lease", &["done after", "work lost"]);
    let mut curves = Vec::new();
    for lease in LEASES {
        let mut times = Points::new();
        for deaths in [5, 10, 20, 50, 100, 200, 400] {
            let found = run(Load { deaths, lease: lease * 1_000, ..PLAN });
            let (took, lost, share) = (minutes(&found), found.wasted_share() * 100.0, deaths as f64 / 10.0);
            println!("| {share} die, {lease} s | {took:.0} min | {lost:.1} % |");
            times.push((share, took));
        }
        curves.push((format!("lease of {lease} s"), times));
    }
    let (title, across) = ("400 frames, 20 workers: done after", "of 100 workers over a frame die");
    Picture { name: "failures", title, across, up: "minutes", curves }
}

fn answers(run: &impl Fn(Load) -> Measured) {
    heads("answers", "answers that are lost", &["done after", "work lost", "commands repeated"]);
    for lost in [0, 10, 50, 100, 200] {
        let found = run(Load { lost, ..PLAN });
        let (took, wasted) = (minutes(&found), found.wasted_share() * 100.0);
        println!("| {} % | {took:.0} min | {wasted:.1} % | {} |", lost / 10, found.repeated);
    }
}

fn disks(run: &impl Fn(Load) -> Measured) {
    heads("disks", "sync of the disk, stacks", &TIMES);
    for sync in [100, 4_000, 20_000] {
        for stacks in [1, 16, 64] {
            let server = Server { sync, ..SERVER };
            let load = Load { server, machines: 64, stacks, frames: 20_000 / stacks, work: 0, seconds: 4, ..AGENTS };
            row(&format!("{} ms, {stacks}", sync as f64 / 1e3), &run(load));
        }
    }
}

/// The points at which the bench of PostgreSQL measures a real server.
fn compared(run: &impl Fn(Load) -> Measured) {
    heads("simulated", "round trip, stacks, workers", &TIMES);
    for round_trip in [60, 1_060, 20_060] {
        for (stacks, machines) in [(1, 1), (1, 4), (1, 16), (16, 16)] {
            let load = Load { round_trip, stacks, machines, frames: 20_000 / stacks, work: 0, seconds: 5, ..AGENTS };
            row(&format!("{} ms, {stacks}, {machines}", round_trip / 1_000), &run(load));
        }
    }
}
