//! Two hosts and a server in a network that is cut and heals again. The hosts are network namespaces, so this
//! needs Linux and root.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use callstack_core::{Error, NewFrame, Stack, StackOptions};
use callstack_postgres::OpenUrl;

use crate::lost_connections::check;
use crate::server::{Disk, Server, database_of, is_root};

/// The variables that tell a worker its stack and its name.
const URL: &str = "NETWORK_TEST_URL";
const NAME: &str = "NETWORK_TEST_NAME";
/// How long a worker works.
const WORK: Duration = Duration::from_secs(9);

/// Records decisions, and prints the outcome of each. Without a stack, as in an ordinary test run, it does
/// nothing.
#[test]
fn a_worker() {
    let (Ok(url), Ok(name)) = (std::env::var(URL), std::env::var(NAME)) else { return };
    let end = Instant::now() + WORK;
    let stack = Stack::open_url(&url, StackOptions::default().busy_timeout(1_500)).unwrap();
    for number in 0.. {
        if Instant::now() > end {
            return;
        }
        let said = match stack.add_decision("ses_1", format!("{name}-{number}")) {
            Ok(()) => "sure",
            Err(Error::Disconnected { is_outcome_unknown: true, .. }) => "tried",
            Err(Error::Disconnected { .. } | Error::Busy { .. }) => "refused",
            Err(error) => panic!("{error}"),
        };
        std::io::stdout().write_all(format!("{said} {name}-{number}\n").as_bytes()).unwrap();
        thread::sleep(Duration::from_millis(2));
    }
}

/// A host in a network of its own, connected with this one.
struct Host {
    name: String,
    link: String,
    /// The address of this machine in the network.
    gateway: String,
}

impl Host {
    fn new(number: u32) -> Self {
        let id = std::process::id() % 10_000;
        let (name, link) = (format!("callstack-{id}-{number}"), format!("cs{id}x{number}"));
        let network = format!("10.213.{}", (id % 120) * 2 + number);
        let host = Self { gateway: format!("{network}.1"), name, link };
        let Self { name, link, gateway } = &host;
        ip(&format!("netns add {name}"));
        ip(&format!("link add {link} type veth peer name inside netns {name}"));
        ip(&format!("addr add {gateway}/24 dev {link}"));
        ip(&format!("link set {link} up"));
        ip(&format!("netns exec {name} ip addr add {network}.2/24 dev inside"));
        ip(&format!("netns exec {name} ip link set inside up"));
        host
    }

    /// Cuts the host off, or connects it again. Neither side gets a message about that.
    fn cut(&self, is_cut: bool) {
        ip(&format!("link set {} {}", self.link, if is_cut { "down" } else { "up" }));
    }

    fn worker(&self, server: &Server, database: &str, name: &str) -> Child {
        let url = format!("postgres://owner@{}:{}/{database}/stack?sslmode=disable", self.gateway, server.port());
        Command::new("ip")
            .args(["netns", "exec", &self.name])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "networks::a_worker", "--nocapture"])
            .env(URL, url)
            .env(NAME, name)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "delete", &self.name]).status();
    }
}

fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_host_that_is_cut_off_blocks_the_others_only_for_a_while_and_loses_nothing() {
    if !is_root() {
        eprintln!("*** SKIPPED: networks of their own need root ***");
        return;
    }
    let server = Server::start(Disk::Lazy, "listen_addresses = '*'");
    let database = server.database();
    let url = format!("{database}/stack");
    let stack = Stack::open_url(&url, StackOptions::default()).unwrap();
    stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    let hosts = [Host::new(0), Host::new(1)];
    let workers: Vec<Child> = ["a", "b"]
        .into_iter()
        .zip(&hosts)
        .map(|(name, host)| host.worker(&server, database_of(&database), name))
        .collect();
    let decisions = |stack: &Stack| {
        stack.refresh().unwrap();
        stack.frame("ses_1").unwrap().decisions
    };
    thread::sleep(Duration::from_millis(700));
    for _ in 0..3 {
        hosts[0].cut(true);
        thread::sleep(Duration::from_millis(1_700));
        hosts[0].cut(false);
        thread::sleep(Duration::from_millis(700));
    }
    let (mut sure, mut tried) = (Vec::new(), Vec::new());
    for mut worker in workers {
        let mut text = String::new();
        worker.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert!(worker.wait().unwrap().success(), "{text}");
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("sure", decision)) => {
                    sure.push(decision.to_owned());
                    tried.push(decision.to_owned());
                }
                Some(("tried", decision)) => tried.push(decision.to_owned()),
                _ => {}
            }
        }
    }
    let of = |name: &str| sure.iter().filter(|decision| decision.starts_with(name)).count();
    assert!(of("a") > 50 && of("b") > 50, "a: {}, b: {}", of("a"), of("b"));
    check(&url, &sure, &tried);
    println!("{} acknowledged by two hosts, {} tried, {} kept", sure.len(), tried.len(), decisions(&stack).len());
}
