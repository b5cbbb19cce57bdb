//! Simulates workers that share one stack, and shows where its lock becomes the limit: how long a command
//! takes, and how many there are in a second, for networks of different speed and for more and more workers.
//!
//! A worker does something for a time (a request to a model, a command), then sends a command to the stack.
//! The command waits for the lock in the order of arrival; it holds it for a round trip, in which the news of
//! others come too, and for what the server does. `cargo run -p callstack-postgres --example one_lock` prints
//! the table of docs/scale.md.

use std::collections::BinaryHeap;

/// Time of the server for a command, in milliseconds: what `make bench-postgres` measures over a socket.
const SERVICE: f64 = 0.4;
/// Mean time between two commands of a worker, in milliseconds.
const THINK: f64 = 2_000.0;
/// Simulated time, in milliseconds.
const END: f64 = 600_000.0;

fn main() {
    println!("| round trip | workers | commands per second | mean time of a command | the longest of a thousand |");
    println!("|---|---|---|---|---|");
    for round_trip in [0.1, 1.0, 20.0, 80.0] {
        for workers in [10, 100, 1_000, 4_000] {
            let Simulated { commands, mean, late } = simulate(workers, round_trip);
            println!("| {round_trip} ms | {workers} | {commands:.0} | {mean:.1} ms | {late:.0} ms |");
        }
    }
}

/// What a simulation has found. Times are in milliseconds.
struct Simulated {
    /// Commands per second.
    commands: f64,
    mean: f64,
    /// 99.9 % of the commands take at most this time.
    late: f64,
}

/// Lets workers share a stack.
fn simulate(workers: usize, round_trip: f64) -> Simulated {
    let mut random = Random(88_172_645_463_325_252);
    // The times at which commands arrive at the server, in microseconds, the earliest first.
    let mut arrivals: BinaryHeap<std::cmp::Reverse<u64>> =
        (0..workers).map(|_| std::cmp::Reverse(microseconds(random.exponential(THINK)))).collect();
    let (mut free, mut times) = (0.0_f64, Vec::new());
    while let Some(std::cmp::Reverse(arrival)) = arrivals.pop() {
        let arrival = arrival as f64 / 1_000.0;
        if arrival > END {
            break;
        }
        // The lock is taken at the server, and given back when the second request of the command was carried
        // out there.
        let locked = arrival.max(free);
        free = locked + round_trip + SERVICE;
        let answered = free + round_trip / 2.0;
        times.push(answered - arrival + round_trip / 2.0);
        arrivals.push(std::cmp::Reverse(microseconds(answered + random.exponential(THINK) + round_trip / 2.0)));
    }
    times.sort_unstable_by(f64::total_cmp);
    Simulated {
        commands: times.len() as f64 / END * 1_000.0,
        mean: times.iter().sum::<f64>() / times.len() as f64,
        late: times[times.len() * 999 / 1_000],
    }
}

fn microseconds(milliseconds: f64) -> u64 {
    (milliseconds * 1_000.0) as u64
}

/// Reproducible random numbers (xorshift).
struct Random(u64);

impl Random {
    /// A time with this mean, as of events that do not depend on each other.
    fn exponential(&mut self, mean: f64) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let uniform = (self.0 >> 11) as f64 / (1_u64 << 53) as f64;
        -mean * (1.0 - uniform).ln()
    }
}
