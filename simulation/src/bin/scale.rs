//! Prints how much work stacks in one server take: `callstack-scale`. `scripts/figures --only scale` writes it into
//! docs/scale.md.

use callstack_simulation::plans::Plans;
use callstack_simulation::scale::{Load, Measured, Server, measure};
use support::data;

/// As fast as the server of the comparison: two cores, and a disk that syncs in 0.1 ms.
const SERVER: Server = Server { command: 260, sync: 100, cores: 2 };

/// Workers of agents: each works on a frame for half a minute.
const AGENTS: Load = Load {
    server: SERVER,
    round_trip: 1_000,
    machines: 100,
    stacks: 1,
    frames: 10_000,
    work: 30_000,
    lease: 60_000,
    deaths: 0,
    lost: 0,
    seconds: 120,
};

fn main() {
    let plans = &Plans::read(&data("plans"));
    let run = |load: Load| measure(&load, plans);
    machines(&run);
    partitions(&run);
    leases(&run);
    answers(&run);
    frames(&run);
    disks(&run);
    compared(&run);
}

/// Prints the heads of a table.
fn heads(first: &str, others: &[&str]) {
    println!("\n| {first} | {} |\n|---{}|", others.join(" | "), "|---:".repeat(others.len()));
}

fn row(name: &str, load: &Load, measured: &Measured) {
    let rate = measured.commands as f64 / load.seconds as f64;
    let milliseconds = |micros: u64| micros as f64 / 1e3;
    println!(
        "| {name} | {rate:.1} | {:.1} ms | {:.1} ms |",
        milliseconds(measured.mean()),
        milliseconds(measured.within(999))
    );
}

const TIMES: [&str; 3] = ["commands per second", "mean", "99.9 %"];

fn machines(run: &impl Fn(Load) -> Measured) {
    heads("one stack: round trip, workers", &TIMES);
    for round_trip in [100, 1_000, 20_000, 80_000] {
        for machines in [10, 100, 300, 1_000] {
            // A worker gives a command every two seconds.
            let load = Load { round_trip, machines, work: 4_000, seconds: 60, ..AGENTS };
            let name = format!("{} ms, {machines}", round_trip as f64 / 1e3);
            row(&name, &load, &run(load));
        }
    }
}

fn partitions(run: &impl Fn(Load) -> Measured) {
    heads("1,000 workers: round trip, stacks", &TIMES);
    for round_trip in [20_000, 80_000] {
        for stacks in [1, 4, 16, 64] {
            let frames = 10_000 / stacks;
            let load = Load { round_trip, machines: 1_000, stacks, frames, work: 4_000, seconds: 60, ..AGENTS };
            row(&format!("{} ms, {stacks}", round_trip / 1_000), &load, &run(load));
        }
    }
}

fn leases(run: &impl Fn(Load) -> Measured) {
    heads("100 workers: workers that die over a frame, lease", &["frames per minute", "work lost", "results refused"]);
    for deaths in [0, 10, 100] {
        for lease in [10, 60, 600] {
            let load = Load { deaths, lease: lease * 1_000, seconds: 1_200, ..AGENTS };
            let found = run(load);
            let frames = found.finished as f64 * 60.0 / load.seconds as f64;
            let lost = found.wasted_share() * 100.0;
            println!("| {} %, {lease} s | {frames:.0} | {lost:.1} % | {} |", deaths / 10, found.refused);
        }
    }
}

fn answers(run: &impl Fn(Load) -> Measured) {
    heads("100 workers: answers that are lost", &["frames per minute", "work lost", "commands repeated"]);
    for lost in [0, 10, 100] {
        let load = Load { lost, seconds: 600, ..AGENTS };
        let found = run(load);
        let frames = found.finished as f64 * 60.0 / load.seconds as f64;
        println!("| {} % | {frames:.0} | {:.1} % | {} |", lost / 10, found.wasted_share() * 100.0, found.repeated);
    }
}

fn frames(run: &impl Fn(Load) -> Measured) {
    heads("1,000 workers: frames of the plan", &["commands per second", "mean", "asked in vain"]);
    for frames in [100, 1_000, 10_000] {
        let load = Load { machines: 1_000, frames, work: 4_000, seconds: 60, ..AGENTS };
        let found = run(load);
        let rate = found.commands as f64 / load.seconds as f64;
        let mean = found.mean() as f64 / 1e3;
        println!("| {frames} | {rate:.1} | {mean:.1} ms | {:.0} % |", found.empty as f64 * 100.0 / found.commands as f64);
    }
}

fn disks(run: &impl Fn(Load) -> Measured) {
    heads("200 workers without a pause: sync of the disk, stacks", &TIMES);
    for sync in [100, 4_000, 20_000] {
        for stacks in [1, 16, 64] {
            let server = Server { sync, ..SERVER };
            let frames = 40_000 / stacks;
            let load = Load { server, machines: 200, stacks, frames, work: 0, seconds: 5, ..AGENTS };
            row(&format!("{} ms, {stacks}", sync as f64 / 1e3), &load, &run(load));
        }
    }
}

/// The points at which the bench of PostgreSQL measures a real server.
fn compared(run: &impl Fn(Load) -> Measured) {
    heads("without a pause: round trip, stacks, workers", &TIMES);
    for (round_trip, stacks, machines) in
        [(60, 1, 1), (60, 1, 4), (60, 1, 16), (1_000, 1, 1), (1_000, 1, 4), (1_000, 1, 16), (1_000, 16, 16), (20_000, 1, 4), (20_000, 16, 16)]
    {
        let load = Load { round_trip, stacks, machines, frames: 10_000 / stacks, work: 0, seconds: 4, ..AGENTS };
        row(&format!("{} ms, {stacks}, {machines}", round_trip as f64 / 1e3), &load, &run(load));
    }
}
