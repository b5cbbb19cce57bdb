//! Measures stacks in PostgreSQL, with a durable server of their own on this machine: a push and a refresh,
//! over a socket and over a slow network; an import of ten thousand frames over that network; commits of one
//! stack and of a thousand; how large a stack is, and how long opening it takes.
//!
//! `POSTGRES_BENCH_ONLY=import` measures only the import, and `POSTGRES_BENCH_ONLY=scale` only workers beside each
//! other, which docs/scale.md compares with simulated ones. `POSTGRES_BENCH_FRAMES=100000` sets the number of finished
//! frames of the large stack, `POSTGRES_BENCH_SECONDS` the time for each number of commits.

use std::env;
use std::io::{Read, Seek, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use callstack_core::{Finish, Frame, FrameStatus, MemoryStore, NewFrame, NewHold, PopStatus, Stack, StackOptions};
use callstack_postgres::{OpenUrl, PostgresOptions, PostgresServer};

#[allow(dead_code)]
#[path = "../tests/server.rs"]
mod server;

use server::{Disk, Server, database_of};

/// Number of pushes and of refreshes.
const SAMPLES: usize = 3_000;
/// Frames of a finished tree, and of the active one.
const TREE: usize = 31;
const ACTIVE: usize = 100;
/// Frames of an import.
const IMPORTED: usize = 10_000;

fn main() {
    let server = Server::start(Disk::Durable, "shared_buffers = 512MB\nmax_wal_size = 8GB");
    let database = server.database();
    let only = env::var("POSTGRES_BENCH_ONLY").unwrap_or_default();
    if only == "scale" {
        return scale(&server, &database);
    }
    println!("disk/fdatasync: {}", shown(&syncs()));
    let port = slow_network(server.port(), Duration::from_micros(500));
    let far_url =
        |name: &str| format!("postgres://owner@127.0.0.1:{port}/{}/{name}?sslmode=disable", database_of(&database));
    import(&far_url("import"));
    if only == "import" {
        return;
    }
    let stack = open(&format!("{database}/socket"));
    let pushes = pushes(&stack);
    println!("postgres/push/socket: {}", shown(&pushes));
    println!("postgres/refresh/socket: {}", shown(&times(|| assert!(!stack.refresh().unwrap()))));

    let far = open(&far_url("far"));
    far.push(NewFrame::new("Root").id("ses_1")).unwrap();
    let round_trip = mean(&few(|| assert!(!far.refresh().unwrap())));
    let push = mean(&few(|| {
        far.push(NewFrame::new("Far").below("ses_1")).unwrap();
    }));
    println!(
        "postgres/push/network: {push:?}, {:.2} round trips of {round_trip:?}",
        push.as_secs_f64() / round_trip.as_secs_f64()
    );

    for writers in [1, 2, 4, 8, 16] {
        println!(
            "postgres/commits/one_stack/{writers}: {:.0}/s",
            commits(&database, &format!("one {writers}"), 1, writers)
        );
    }
    for stacks in [10, 100, 1_000] {
        println!(
            "postgres/commits/stacks/{stacks}: {:.0}/s",
            commits(&database, &format!("many {stacks}"), stacks, 32)
        );
    }
    large(&server, &database);
}

/// Imports frames, plans as many, and brings them up to date, each as one commit.
fn import(url: &str) {
    let stack = open(url);
    let timed = |what: &str, run: &dyn Fn()| {
        let begun = Instant::now();
        run();
        println!("postgres/{what}/network/{IMPORTED}: {:.0} ms", begun.elapsed().as_secs_f64() * 1e3);
    };
    let frame = |number: usize| Frame {
        session_id: format!("ses_{number:08}"),
        parent_session_id: (number > 0).then(|| format!("ses_{:08}", (number - 1) / 8)),
        status: FrameStatus::Planned,
        title: format!("Part {number}"),
        success_criteria: words(number, 30),
        ..Frame::default()
    };
    timed("import", &|| drop(stack.import((0..IMPORTED).map(frame).collect()).unwrap()));
    let child = |number: usize| NewFrame::new(format!("Child {number}")).criteria(words(number, 30));
    timed("plan_children", &|| {
        drop(stack.plan_children("ses_00000000", (0..IMPORTED).map(child).collect()).unwrap());
    });
}

/// Words that differ from frame to frame.
fn words(seed: usize, count: usize) -> String {
    let words = (0..count).map(|place| format!("w{:06x}", (seed * 7_919 + place * 104_729) % 0xff_ffff));
    words.collect::<Vec<_>>().join(" ")
}

/// Times of writes of 8 KB that wait for the disk, as the commit of a server does.
fn syncs() -> Vec<Duration> {
    let mut file = tempfile::tempfile().unwrap();
    file.set_len(1 << 20).unwrap();
    measured(SAMPLES / 3, || {
        file.rewind().unwrap();
        file.write_all(&[1; 8_192]).unwrap();
        file.sync_data().unwrap();
    })
}

fn open(url: &str) -> Stack {
    Stack::open_url(url, StackOptions::default()).unwrap()
}

fn pushes(stack: &Stack) -> Vec<Duration> {
    let root = stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    times(|| {
        let frame = stack.push(NewFrame::new("A part of the work").below(root)).unwrap();
        stack.pop(frame, PopStatus::Completed, "done").unwrap();
    })
    .into_iter()
    // A push and a pop write as much.
    .map(|both| both / 2)
    .collect()
}

fn times(run: impl FnMut()) -> Vec<Duration> {
    measured(SAMPLES, run)
}

fn few(run: impl FnMut()) -> Vec<Duration> {
    measured(SAMPLES / 10, run)
}

fn measured(samples: usize, mut run: impl FnMut()) -> Vec<Duration> {
    let timed = (0..samples).map(|_| {
        let begun = Instant::now();
        run();
        begun.elapsed()
    });
    timed.collect()
}

/// The time for each number of commits or of workers, in seconds.
fn seconds() -> u64 {
    env::var("POSTGRES_BENCH_SECONDS").map_or(5, |text| text.parse().expect("a number of seconds"))
}

fn mean(times: &[Duration]) -> Duration {
    times.iter().sum::<Duration>() / u32::try_from(times.len()).unwrap()
}

/// The time that this many of a thousand do not exceed.
fn within(times: &[Duration], thousandths: usize) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() * thousandths / 1_000]
}

fn shown(times: &[Duration]) -> String {
    format!("{:?}, median {:?}, 99.9 % below {:?}", mean(times), within(times, 500), within(times, 999))
}

/// A network that takes this long in each direction. Returns the port on this side of it.
fn slow_network(server: u16, delay: Duration) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
            for stream in [&client, &server] {
                stream.set_nodelay(true).unwrap();
            }
            for (mut from, mut to) in [(&client, &server), (&server, &client)]
                .map(|(from, to)| (from.try_clone().unwrap(), to.try_clone().unwrap()))
            {
                let (sender, receiver) = mpsc::channel::<(Instant, Vec<u8>)>();
                thread::spawn(move || {
                    for (due, bytes) in receiver {
                        // A sleep of the system is longer than it should be by some 50 µs.
                        let left = due.saturating_duration_since(Instant::now());
                        thread::sleep(left.saturating_sub(Duration::from_micros(80)));
                        while Instant::now() < due {
                            std::hint::spin_loop();
                        }
                        if to.write_all(&bytes).is_err() {
                            return;
                        }
                    }
                });
                thread::spawn(move || {
                    let mut bytes = [0; 65_536];
                    while let Ok(length @ 1..) = from.read(&mut bytes) {
                        if sender.send((Instant::now() + delay, bytes[..length].to_vec())).is_err() {
                            return;
                        }
                    }
                });
            }
        }
    });
    port
}

/// Commits per second of some stacks, with so many threads that write.
fn commits(database: &str, name: &str, stacks: usize, threads: usize) -> f64 {
    let options = PostgresOptions::default().connections(16).busy_timeout(60_000);
    let server = PostgresServer::connect(database, options).unwrap();
    let opened: Vec<Stack> = (0..stacks.max(threads))
        .map(|number| {
            let store = server.store(name, &format!("stack {}", number % stacks)).unwrap();
            let stack = Stack::with_store(store, StackOptions::default().busy_timeout(60_000)).unwrap();
            stack.push(NewFrame::new("Root").id(format!("ses_{number}")).root()).unwrap();
            stack
        })
        .collect();
    let seconds = seconds();
    let (is_over, count) = (Arc::new(AtomicBool::new(false)), AtomicUsize::new(0));
    let begun = Instant::now();
    thread::scope(|scope| {
        for thread in 0..threads {
            let (opened, is_over, count) = (&opened, is_over.clone(), &count);
            scope.spawn(move || {
                let own: Vec<usize> = (thread..opened.len()).step_by(threads).collect();
                for number in 0.. {
                    let stack = own[number % own.len()];
                    opened[stack].add_decision(&*format!("ses_{stack}"), format!("{thread} {number}")).unwrap();
                    count.fetch_add(1, Ordering::Relaxed);
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
        }
        thread::sleep(Duration::from_secs(seconds));
        is_over.store(true, Ordering::Relaxed);
    });
    count.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64()
}

/// Prints how many commands workers get through that hold and finish frames without a pause.
fn scale(server: &Server, database: &str) {
    println!("| round trip, stacks, workers | commands per second | mean | 99.9 % |\n|---|---:|---:|---:|");
    let slow = |milliseconds| slow_network(server.port(), Duration::from_millis(milliseconds) / 2);
    let far = [1, 20].map(|milliseconds| {
        let port = slow(milliseconds);
        format!("postgres://owner@127.0.0.1:{port}/{}?sslmode=disable", database_of(database))
    });
    for (round_trip, url) in [(0, database), (1, &far[0]), (20, &far[1])] {
        for (stacks, workers) in [(1, 1), (1, 4), (1, 16), (16, 16)] {
            let name = format!("scale {round_trip} {stacks} {workers}");
            let (times, seconds) = work(database, url, &name, stacks, workers);
            let rate = times.len() as f64 / seconds;
            let [mean, late] = [mean(&times), within(&times, 999)].map(|time| time.as_secs_f64() * 1e3);
            println!("| {round_trip} ms, {stacks}, {workers} | {rate:.0} | {mean:.1} ms | {late:.1} ms |");
        }
    }
}

/// Workers, each in a thread with a connection of its own, hold and finish frames. Returns the time of each command,
/// and the time of all in seconds.
fn work(near: &str, url: &str, tenant: &str, stacks: usize, workers: usize) -> (Vec<Duration>, f64) {
    let near = PostgresServer::connect(near, PostgresOptions::default()).unwrap();
    for stack in 0..stacks {
        let store = near.store(tenant, &format!("stack {stack}")).unwrap();
        let frame = |number: usize| Frame {
            session_id: format!("task-{number}"),
            title: format!("Task {number}"),
            status: FrameStatus::Planned,
            ..Frame::default()
        };
        let made = Stack::with_store(store, StackOptions::default()).unwrap();
        made.import((0..20_000 / stacks).map(frame).collect()).unwrap();
    }
    let open = |worker: usize| {
        let options = PostgresOptions::default().connections(1).busy_timeout(60_000);
        let store = PostgresServer::connect(url, options).unwrap().store(tenant, &format!("stack {}", worker % stacks));
        Stack::with_store(store.unwrap(), StackOptions::default().busy_timeout(60_000)).unwrap()
    };
    let opened: Vec<Stack> = (0..workers).map(open).collect();
    let seconds = seconds();
    let begun = Instant::now();
    let times = thread::scope(|scope| {
        let threads: Vec<_> = opened
            .iter()
            .enumerate()
            .map(|(worker, stack)| {
                scope.spawn(move || {
                    let mut times = Vec::new();
                    while begun.elapsed() < Duration::from_secs(seconds) {
                        let asked = Instant::now();
                        let hold = stack.work().hold(NewHold::new(format!("machine-{worker}-"), 60_000)).unwrap();
                        let held = Instant::now();
                        let Some(hold) = hold else { break };
                        stack.work().finish(&hold, Finish::Done("It is done. The tests pass.".into())).unwrap();
                        times.extend([held - asked, held.elapsed()]);
                    }
                    times
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    (times, begun.elapsed().as_secs_f64())
}

/// Makes a stack with many finished trees, and measures its size and how it opens.
fn large(server: &Server, database: &str) {
    let frames = env::var("POSTGRES_BENCH_FRAMES").map_or(1_000_000, |text| text.parse().expect("a number of frames"));
    let url = format!("{database}/large");
    let begun = Instant::now();
    {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let filling = thread::spawn(move || {
            let source = Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap();
            fill(&source, frames);
            source.history().export(&mut writer).unwrap();
        });
        Stack::rebuild_at_url(&url, std::io::BufReader::new(reader), StackOptions::default()).unwrap();
        filling.join().unwrap();
    }
    println!("postgres/rebuild/{frames}: {:.0} s", begun.elapsed().as_secs_f64());
    let name = database_of(database);
    let bytes: f64 = server
        .sql(
            name,
            "SELECT sum(pg_total_relation_size('callstack.' || name)) FROM unnest('{events,frames}'::text[]) AS name",
        )
        .parse()
        .unwrap();
    println!("postgres/bytes_per_frame/{frames}: {:.0}", bytes / frames as f64);
    let mut opened = measured(20, || drop(open(&url)));
    opened.sort_unstable();
    println!("postgres/open/{frames}: {:?}, slowest {:?}", opened[opened.len() / 2], opened[opened.len() - 1]);
    let stack = Stack::open_url(&url, StackOptions::default().finished_frames(0)).unwrap();
    let mut number = 0;
    let cold = measured(200, || {
        number += 7_919;
        drop(stack.frame(&*format!("f{}", 1 + number % frames)).unwrap());
    });
    println!("postgres/fetch/{frames}: {}", shown(&cold));
    let push = measured(1_000, || {
        stack.push(NewFrame::new("A part of the work").below("active")).unwrap();
    });
    println!("postgres/push/{frames}: {}", shown(&push));
}

/// Finished trees of frames of 2 KB, and an active one.
fn fill(stack: &Stack, frames: usize) {
    let text = |seed: usize| words(seed, 120);
    for tree in 0..frames.div_ceil(TREE) {
        let root = stack.push(NewFrame::new(format!("Tree {tree}")).criteria(text(tree)).root()).unwrap();
        for child in 1..TREE {
            let frame = NewFrame::new(format!("Part {child}")).criteria(text(tree + child)).below(root);
            let frame = stack.push(frame).unwrap();
            stack.pop(frame, PopStatus::Completed, text(child)).unwrap();
        }
        stack.pop(root, PopStatus::Completed, text(tree)).unwrap();
    }
    stack.push(NewFrame::new("Active").id("active").root()).unwrap();
    for _ in 1..ACTIVE {
        stack.push(NewFrame::new("Part").below("active")).unwrap();
    }
}
