//! Connections that break, servers that are killed, networks that are cut: a command is kept once or not at
//! all. The caller is told whether it was kept, or that this is not known.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use callstack_core::{Error, EventQuery, NewFrame, Stack, StackOptions};
use callstack_postgres::OpenUrl;
use serde_json::json;
use support::Random;
use support::setting;

use crate::server::{Disk, Server, database_of};

/// What a proxy does with the bytes that it forwards.
#[derive(Default)]
struct Trouble {
    /// Number of bytes after which the proxy acts; 0: it forwards everything.
    after: AtomicU64,
    /// True: the proxy swallows all further bytes, and sends nothing. False: it closes both sides of this
    /// connection.
    is_silent: AtomicBool,
    /// True: the proxy swallows all bytes now.
    is_down: AtomicBool,
    /// Time by which the proxy delays each piece, in microseconds.
    delay: AtomicU64,
    /// Number of times that the proxy has acted.
    acts: AtomicU64,
    /// Number of times that the client has sent something after the server.
    turns: AtomicU64,
    /// True: the server was the last one to send something.
    is_servers_turn: AtomicBool,
}

impl Trouble {
    /// How many of these bytes pass before the proxy acts. `None`: all of them.
    fn take(&self, length: usize) -> Option<usize> {
        let length = length as u64;
        let before = self
            .after
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| (left > 0).then(|| left.saturating_sub(length)));
        match before {
            Ok(left) if left <= length => {
                self.acts.fetch_add(1, Ordering::SeqCst);
                Some(left as usize)
            }
            _ => None,
        }
    }
}

/// A proxy between this process and a server. Returns its port.
fn proxy(server: u16, trouble: &Arc<Trouble>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let trouble = trouble.clone();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
            for (from, to, is_client) in [(&client, &server, true), (&server, &client, false)] {
                let (from, to, trouble) = (from.try_clone().unwrap(), to.try_clone().unwrap(), trouble.clone());
                thread::spawn(move || pass_on(from, to, is_client, &trouble));
            }
        }
    });
    port
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, is_client: bool, trouble: &Trouble) {
    let mut bytes = [0; 4096];
    loop {
        let length = match from.read(&mut bytes) {
            Ok(0) | Err(_) => break,
            Ok(length) => length,
        };
        let was_servers_turn = trouble.is_servers_turn.swap(!is_client, Ordering::SeqCst);
        if is_client && was_servers_turn {
            trouble.turns.fetch_add(1, Ordering::SeqCst);
        }
        thread::sleep(Duration::from_micros(trouble.delay.load(Ordering::SeqCst)));
        match trouble.take(length) {
            None if trouble.is_down.load(Ordering::SeqCst) => {}
            None if to.write_all(&bytes[..length]).is_ok() => {}
            Some(passed) => {
                let _ = to.write_all(&bytes[..passed]);
                if !trouble.is_silent.load(Ordering::SeqCst) {
                    break;
                }
                trouble.is_down.store(true, Ordering::SeqCst);
            }
            None => break,
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

/// Checks that each decision of `sure` is there once, that no decision is there twice, and that there is no
/// decision that no caller has tried to record.
pub fn check(url: &str, sure: &[String], tried: &[String]) {
    let stack = Stack::open_url(url, StackOptions::default()).unwrap();
    let decisions = stack.frame("ses_1").unwrap().decisions;
    let found: BTreeSet<&String> = decisions.iter().collect();
    assert_eq!(found.len(), decisions.len(), "a decision is there twice: {decisions:?}");
    for decision in sure {
        assert!(found.contains(decision), "{decision} was acknowledged and is lost");
    }
    for decision in found {
        assert!(tried.contains(decision), "{decision} was refused as unchanged, and is there");
    }
    assert_eq!(stack.history().check().unwrap(), [""; 0]);
}

/// The decisions that a caller has tried to record.
#[derive(Default)]
struct Attempts {
    /// The decisions that were acknowledged.
    sure: Vec<String>,
    /// The acknowledged decisions, and those whose result is not known.
    tried: Vec<String>,
}

impl Attempts {
    /// Tries to record a decision. Returns the reason why it was not acknowledged. Every error other than a
    /// lost connection fails the test, unless `allows` accepts the error.
    fn record(&mut self, stack: &Stack, decision: String, allows: fn(&Error) -> bool) -> Option<Error> {
        match stack.add_decision("ses_1", &*decision) {
            Ok(()) => {
                self.sure.push(decision.clone());
                self.tried.push(decision);
                None
            }
            Err(error) => {
                match &error {
                    Error::Disconnected { is_outcome_unknown: true, .. } => self.tried.push(decision),
                    Error::Disconnected { .. } => {}
                    error => assert!(allows(error), "{error}"),
                }
                Some(error)
            }
        }
    }

    fn check(&self, url: &str) {
        check(url, &self.sure, &self.tried);
    }
}

/// Allows no other error.
fn nothing_else(_: &Error) -> bool {
    false
}

#[test]
fn a_connection_may_be_cut_after_any_byte() {
    let server = Server::shared();
    let database = server.database();
    let url = format!("{database}/stack");
    Stack::open_url(&url, StackOptions::default()).unwrap().push(NewFrame::new("Root").id("ses_1")).unwrap();
    let trouble = Arc::new(Trouble::default());
    let port = proxy(server.port(), &trouble);
    let through = format!("postgres://owner@127.0.0.1:{port}/{}/stack?sslmode=disable", database_of(&database));
    let stack = Stack::open_url(&through, StackOptions::default()).unwrap();
    let mut attempts = Attempts::default();
    let cuts = setting("STACK_TEST_CUTS", 400);
    for number in 0..cuts as u64 {
        // A command sends and receives about 800 bytes. A connection that is made again sends and receives
        // some more.
        trouble.after.store(1 + number * 7 % 1_100, Ordering::SeqCst);
        attempts.record(&stack, format!("decision {number}"), nothing_else);
        trouble.after.store(0, Ordering::SeqCst);
    }
    let acts = trouble.acts.load(Ordering::SeqCst);
    assert!(acts > cuts as u64 / 2, "only {acts} connections were cut");
    // The proxy only interferes once, so the store finds out what has happened.
    let kept = attempts.sure.len();
    assert_eq!(attempts.tried.len(), kept, "the outcome of a commit stayed unknown");
    attempts.check(&url);
    println!("{acts} connections cut, {kept} of {cuts} commands kept, the others known as not kept");
}

#[test]
fn a_log_line_is_kept_once_when_its_commit_breaks() {
    let server = Server::shared();
    let database = server.database();
    let trouble = Arc::new(Trouble::default());
    let port = proxy(server.port(), &trouble);
    let through = format!("postgres://owner@127.0.0.1:{port}/{}/stack?sslmode=disable", database_of(&database));
    let stack = Stack::open_url(&through, StackOptions::default()).unwrap();
    stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    let mut sure = Vec::new();
    for number in 0..setting("STACK_TEST_CUTS", 400) as u64 {
        trouble.after.store(1 + number * 7 % 1_100, Ordering::SeqCst);
        match stack.log("ses_1").append(&[json!({ "line": number })]) {
            Ok(()) => sure.push(json!(number)),
            Err(Error::Disconnected { is_outcome_unknown: false, .. }) => {}
            Err(error) => panic!("{error}"),
        }
        trouble.after.store(0, Ordering::SeqCst);
    }
    let page = stack.log("ses_1").read(&Default::default()).unwrap();
    let lines: Vec<_> = page.lines.into_iter().map(|line| line.entry["line"].clone()).collect();
    assert_eq!(lines, sure);
}

#[test]
fn a_silent_network_is_an_error_within_the_time_limit() {
    let server = Server::shared();
    let database = server.database();
    let url = format!("{database}/stack");
    Stack::open_url(&url, StackOptions::default()).unwrap().push(NewFrame::new("Root").id("ses_1")).unwrap();
    let trouble = Arc::new(Trouble::default());
    let port = proxy(server.port(), &trouble);
    let through = format!("postgres://owner@127.0.0.1:{port}/{}/stack?sslmode=disable", database_of(&database));
    let stack = Stack::open_url(&through, StackOptions::default().busy_timeout(500)).unwrap();
    trouble.is_silent.store(true, Ordering::SeqCst);
    let mut attempts = Attempts::default();
    for number in 0..10 {
        trouble.after.store(60 + number * 190, Ordering::SeqCst);
        let begun = Instant::now();
        attempts.record(&stack, format!("decision {number}"), |error| matches!(error, Error::Busy { .. }));
        assert!(begun.elapsed() < Duration::from_secs(10), "the call waits without a limit");
        trouble.after.store(0, Ordering::SeqCst);
        trouble.is_down.store(false, Ordering::SeqCst);
    }
    assert!(attempts.tried.len() > attempts.sure.len(), "no outcome was unknown");
    let other = Stack::open_url(&url, StackOptions::default().busy_timeout(60_000)).unwrap();
    other.add_artifact("ses_1", "after").unwrap();
    attempts.check(&url);
}

#[test]
fn slow_connections_are_only_slow() {
    let server = Server::shared();
    let database = server.database();
    let trouble = Arc::new(Trouble::default());
    trouble.delay.store(1_000, Ordering::SeqCst);
    let port = proxy(server.port(), &trouble);
    let through = format!("postgres://owner@127.0.0.1:{port}/{}/stack?sslmode=disable", database_of(&database));
    let stack = Stack::open_url(&through, StackOptions::default()).unwrap();
    stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    for number in 0..50 {
        stack.add_decision("ses_1", format!("{number}")).unwrap();
    }
    assert_eq!(stack.history().events(&EventQuery::default()).unwrap().len(), 52);
}

#[test]
fn a_command_takes_two_round_trips_and_a_refresh_one() {
    let server = Server::shared();
    let database = server.database();
    let trouble = Arc::new(Trouble::default());
    let port = proxy(server.port(), &trouble);
    let through = format!("postgres://owner@127.0.0.1:{port}/{}/stack?sslmode=disable", database_of(&database));
    let stack = Stack::open_url(&through, StackOptions::default()).unwrap();
    stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    let turns = |run: &dyn Fn()| {
        let before = trouble.turns.load(Ordering::SeqCst);
        (0..20).for_each(|_| run());
        trouble.turns.load(Ordering::SeqCst) - before
    };
    let push = turns(&|| drop(stack.push(NewFrame::new("Part").below("ses_1")).map(drop)));
    let refresh = turns(&|| assert!(!stack.refresh().unwrap()));
    assert_eq!((push, refresh), (40, 20), "round trips of 20 pushes and of 20 refreshes");
}

#[test]
fn the_server_may_be_killed_at_any_moment() {
    let server = Server::start(Disk::Durable, "");
    let url = format!("{}/stack", server.database());
    Stack::open_url(&url, StackOptions::default()).unwrap().push(NewFrame::new("Root").id("ses_1")).unwrap();
    let kills = setting("STACK_TEST_SERVER_KILLS", 10);
    let is_over = Arc::new(AtomicBool::new(false));
    let workers = ["a", "b"].map(|name| {
        let (url, is_over) = (url.clone(), is_over.clone());
        thread::spawn(move || {
            let stack = Stack::open_url(&url, StackOptions::default().busy_timeout(30_000)).unwrap();
            let mut attempts = Attempts::default();
            for number in 0.. {
                if is_over.load(Ordering::SeqCst) {
                    break;
                }
                if attempts.record(&stack, format!("{name} {number}"), nothing_else).is_some() {
                    // Waits, as a caller does.
                    thread::sleep(Duration::from_millis(5));
                }
            }
            attempts
        })
    });
    let mut random = Random::new(7);
    for _ in 0..kills {
        thread::sleep(Duration::from_millis(50 + random.below(150) as u64));
        server.kill();
        server.start_again();
    }
    is_over.store(true, Ordering::SeqCst);
    let mut all = Attempts::default();
    for worker in workers {
        let Attempts { sure, tried } = worker.join().unwrap();
        assert!(sure.len() > kills, "a worker has done only {} commands", sure.len());
        all.sure.extend(sure);
        all.tried.extend(tried);
    }
    all.check(&url);
    println!("{kills} kills of the server: {} acknowledged, {} tried, nothing lost", all.sure.len(), all.tried.len());
}

/// Settings of a server that standbys can follow.
const PRIMARY: &str = "wal_level = replica\nmax_wal_senders = 4\nhot_standby = on";

/// The URL of a stack on the first of two servers that may write.
fn either(servers: [&Server; 2], database: &str) -> String {
    let [first, second] = servers.map(Server::port);
    format!(
        "postgres://owner@127.0.0.1:{first},127.0.0.1:{second}/{database}/stack?target_session_attrs=read-write&connect_timeout=2"
    )
}

#[test]
fn a_failover_to_a_synchronous_standby_loses_nothing() {
    let primary = Server::start(Disk::Lazy, PRIMARY);
    let database = primary.database();
    let database = database_of(&database);
    let standby = primary.standby("second");
    primary.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'second'");
    primary.sql("postgres", "SELECT pg_reload_conf()");
    let url = either([&primary, &standby], database);
    let stack = Stack::open_url(&url, StackOptions::default().busy_timeout(30_000)).unwrap();
    stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    let is_over = AtomicBool::new(false);
    let attempts = thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let mut attempts = Attempts::default();
            let is_standby = |error: &Error| matches!(error, Error::ReadOnly { .. });
            for number in 0.. {
                if is_over.load(Ordering::SeqCst) && attempts.sure.len() > 100 {
                    break;
                }
                let refused = attempts.record(&stack, format!("decision {number}"), is_standby);
                if refused.is_some_and(|error| is_standby(&error)) {
                    thread::sleep(Duration::from_millis(20));
                }
            }
            attempts
        });
        thread::sleep(Duration::from_millis(500));
        primary.kill();
        standby.promote();
        thread::sleep(Duration::from_millis(300));
        is_over.store(true, Ordering::SeqCst);
        worker.join().unwrap()
    });
    attempts.check(&url);
}

#[test]
fn commits_that_an_asynchronous_failover_has_lost_are_reported() {
    let primary = Server::start(Disk::Lazy, PRIMARY);
    let database = primary.database();
    let database = database_of(&database);
    let standby = primary.standby("second");
    let url = either([&primary, &standby], database);
    let stack = Stack::open_url(&url, StackOptions::default()).unwrap();
    stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    // The standby has all changes so far, and then receives nothing more.
    let deadline = Instant::now() + Duration::from_secs(20);
    let count = "SELECT count(*) FROM callstack.events";
    while standby.sql(database, count) != "2" {
        assert!(Instant::now() < deadline, "the standby does not follow");
        thread::sleep(Duration::from_millis(20));
    }
    standby.sql("postgres", "ALTER SYSTEM SET primary_conninfo = ''");
    standby.sql("postgres", "SELECT pg_reload_conf()");
    while primary.sql("postgres", "SELECT count(*) FROM pg_stat_replication") != "0" {
        assert!(Instant::now() < deadline, "the standby still follows");
        thread::sleep(Duration::from_millis(20));
    }
    stack.add_decision("ses_1", "lost").unwrap();
    primary.kill();
    standby.promote();
    let error = stack.add_decision("ses_1", "after").unwrap_err();
    assert!(matches!(&error, Error::Replaced { message, .. } if message.contains("lost commits")), "{error}");
    let again = Stack::open_url(&url, StackOptions::default()).unwrap();
    assert_eq!(again.frame("ses_1").unwrap().decisions, [""; 0]);
    again.add_decision("ses_1", "after").unwrap();
    assert_eq!(again.history().check().unwrap(), [""; 0]);
}
