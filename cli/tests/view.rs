//! `callstack view`: the file, and the server over plain connections.

// Only on Unix: signals, permissions and links.
#![cfg(unix)]

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use callstack_core::frame::ModelRequest;
use callstack_core::{NewFrame, Stack, StackOptions};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// The time within which an event must happen on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

fn command(stack: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_callstack"));
    command.args(arguments).env("CALLSTACK_DIR", stack).env_remove("CALLSTACK_PRICES").stdin(Stdio::null());
    command
}

fn run(stack: &Path, arguments: &[&str]) -> Output {
    command(stack, arguments).output().unwrap()
}

/// A folder with a stack of two frames in `stack`.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let stack = Stack::open(folder.path().join("stack"), StackOptions::default()).unwrap();
    let root = stack.push(NewFrame::new("Shop").criteria("Customers can pay")).unwrap();
    stack.push(NewFrame::new("Cart").below(root)).unwrap();
    stack.close().unwrap();
    folder
}

/// A running `callstack view --serve`.
struct Served {
    child: Child,
    port: u16,
    token: String,
}

impl Served {
    fn start(stack: &Path) -> Self {
        let mut child = command(stack, &["view", "--serve"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let line = lines.next().unwrap();
        let address = line.strip_prefix("serving ").unwrap_or_else(|| panic!("it says {line}"));
        let (port, token) = parts(address);
        assert_eq!(lines.next().as_deref(), Some("Ctrl-C ends it"));
        Self { child, port, token }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends a head, and returns the whole answer.
    fn ask(&self, head: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// The head of a request for a path behind the token.
    fn get(&self, path: &str) -> String {
        format!("GET /{}/{path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", self.token, self.port)
    }

    /// Connects a reader of the events.
    fn follow(&self, path: &str) -> BufReader<TcpStream> {
        let mut stream = self.connect();
        stream.write_all(self.get(path).as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            assert!(reader.read_line(&mut line).unwrap() > 0, "the answer ended in its head");
        }
        reader
    }

    fn end(mut self, signal: Signal) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The port and the token of an address.
fn parts(address: &str) -> (u16, String) {
    let rest = address.strip_prefix("http://127.0.0.1:").unwrap_or_else(|| panic!("{address} is elsewhere"));
    let (port, token) = rest.strip_suffix('/').and_then(|rest| rest.split_once('/')).unwrap();
    (port.parse().unwrap(), token.to_owned())
}

/// The next event: its ID and its data.
fn event(reader: &mut impl BufRead) -> (u64, Value) {
    let mut id = 0;
    for line in reader.lines() {
        let line = line.unwrap();
        if let Some(found) = line.strip_prefix("id: ") {
            id = found.parse().unwrap();
        }
        if let Some(data) = line.strip_prefix("data: ") {
            return (id, serde_json::from_str(data).unwrap());
        }
    }
    panic!("the events have ended");
}

#[test]
fn a_page_is_written_and_written_again_but_no_other_file_is_overwritten() {
    let folder = folder();
    let stack = folder.path().join("stack");
    let here = |arguments: &[&str]| command(&stack, arguments).current_dir(folder.path()).output().unwrap();
    for _ in 0..2 {
        let output = here(&["view"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let page = fs::read_to_string(stack.join("view.html")).unwrap();
    assert!(page.contains("Customers can pay") && page.contains("Content-Security-Policy"));
    fs::write(folder.path().join("mine.html"), "<!doctype html>\n<p>mine</p>").unwrap();
    assert_eq!(here(&["view", "mine.html"]).status.code(), Some(4));
    assert!(here(&["view", "mine.html", "--force"]).status.success());
    assert_eq!(here(&["view", "stack/page.html"]).status.code(), Some(4), "a file in the folder of the stack");
    assert_eq!(here(&["view", "mine.html", "--serve"]).status.code(), Some(2));
    assert_eq!(here(&["view", "nowhere/page.html"]).status.code(), Some(1));
}

#[cfg(unix)]
#[test]
fn a_page_and_an_address_are_opened_in_the_browser_of_the_variable() {
    let folder = folder();
    let (stack, opened) = (folder.path().join("stack"), folder.path().join("opened by it"));
    let browser = folder.path().join("browser");
    // The script writes under another name first, so that a reader sees the whole text or nothing.
    let script = "#!/bin/sh\nprintf '%s' \"$2\" > \"$1.new\" && mv \"$1.new\" \"$1\"\n";
    fs::write(&browser, script).unwrap();
    fs::set_permissions(&browser, Permissions::from_mode(0o755)).unwrap();
    let variable = format!("'{}' '{}'", browser.display(), opened.display());
    let page = folder.path().join("a page; of $HOME.html");
    let output = command(&stack, &["view", "--open"]).arg(&page).env("BROWSER", &variable).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let seen = || {
        let deadline = Instant::now() + PATIENCE;
        while !opened.exists() {
            assert!(Instant::now() < deadline, "the browser was not started");
            thread::sleep(Duration::from_millis(20));
        }
        let seen = fs::read_to_string(&opened).unwrap();
        fs::remove_file(&opened).unwrap();
        seen
    };
    assert_eq!(fs::canonicalize(seen()).unwrap(), fs::canonicalize(&page).unwrap());
    let mut serving = command(&stack, &["view", "--serve", "--open"]);
    let mut child = serving.env("BROWSER", &variable).stdout(Stdio::null()).spawn().unwrap();
    let address = seen();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(address.starts_with("http://127.0.0.1:"), "{address}");
    // If a browser cannot be started, the page is written anyway.
    let mut opening = command(&stack, &["view", "--open", "other.html"]);
    let output = opening.current_dir(folder.path()).env("BROWSER", "/no/such/browser").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(folder.path().join("other.html").exists());
}

#[test]
fn a_page_that_others_may_not_read_stays_so() {
    let folder = folder();
    let stack = folder.path().join("stack");
    let page = folder.path().join("page.html");
    let write = || assert!(command(&stack, &["view", page.to_str().unwrap()]).output().unwrap().status.success());
    write();
    fs::set_permissions(&page, Permissions::from_mode(0o600)).unwrap();
    write();
    assert_eq!(fs::metadata(&page).unwrap().permissions().mode() & 0o777, 0o600);
}

#[cfg(unix)]
#[test]
fn a_read_only_file_stays_as_it_is() {
    let folder = folder();
    let stack = folder.path().join("stack");
    let page = folder.path().join("mine.html");
    fs::write(&page, "mine").unwrap();
    fs::set_permissions(&page, Permissions::from_mode(0o444)).unwrap();
    let output = command(&stack, &["view", page.to_str().unwrap(), "--force"]).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("mine.html is read-only"), "{error}");
    assert_eq!(fs::read_to_string(&page).unwrap(), "mine");
}

#[cfg(unix)]
#[test]
fn links_stay_and_only_regular_files_are_replaced() {
    let folder = folder();
    let stack = folder.path().join("stack");
    let here = |arguments: &[&str]| command(&stack, arguments).current_dir(folder.path()).output().unwrap();
    assert!(here(&["view", "page.html"]).status.success());
    let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, folder.path().join(name)).unwrap();
    link("page.html", "link.html");
    fs::write(folder.path().join("page.html"), "mine").unwrap();
    assert_eq!(here(&["view", "link.html"]).status.code(), Some(4), "the file behind the link is no page");
    assert!(here(&["view", "link.html", "--force"]).status.success());
    assert!(folder.path().join("link.html").is_symlink(), "the link was replaced");
    assert!(fs::read_to_string(folder.path().join("page.html")).unwrap().contains("Customers can pay"));
    fs::create_dir(folder.path().join("folder")).unwrap();
    for name in ["folder", "/dev/null"] {
        let output = here(&["view", name, "--force"]);
        assert_eq!(output.status.code(), Some(4), "{name}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(&format!("{name} is not a regular file")), "{error}");
    }
    let database =
        fs::read_dir(&stack).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_file()).unwrap();
    let before = fs::read(&database).unwrap();
    link(database.to_str().unwrap(), "own.html");
    assert_eq!(here(&["view", "own.html", "--force"]).status.code(), Some(4), "a link to a file of the stack");
    assert_eq!(fs::read(&database).unwrap(), before);
}

#[test]
fn prices_of_more_than_a_mebibyte_are_too_large() {
    let folder = folder();
    let file = folder.path().join("prices.json");
    fs::write(&file, format!("{{}}{}", " ".repeat(1 << 20))).unwrap();
    let page = folder.path().join("page.html");
    let arguments = ["view", page.to_str().unwrap(), "--prices", file.to_str().unwrap()];
    let error = String::from_utf8(run(&folder.path().join("stack"), &arguments).stderr).unwrap();
    assert!(error.contains("it is larger than 1 MiB"), "{error}");
}

#[test]
fn the_page_of_ten_thousand_frames_with_long_texts_has_at_most_five_megabytes() {
    let hostile = "</script><b>\u{202E}\u{2028}".repeat(40);
    let folder = tempfile::tempdir().unwrap();
    let stack = Stack::open(folder.path(), StackOptions::default().mirror(false)).unwrap();
    let root = stack.push(NewFrame::new("Root")).unwrap();
    for part in 0..100 {
        let part = stack.push(NewFrame::new(format!("Part {part}")).below(root)).unwrap();
        let tasks = (0..99).map(|task| NewFrame::new(format!("{task} {hostile}")).criteria(&hostile)).collect();
        stack.plan_children(part, tasks).unwrap();
    }
    stack.close().unwrap();
    let file = folder.path().with_extension("html");
    let output = run(folder.path(), &["view", file.to_str().unwrap(), "--json"]);
    fs::remove_file(&file).unwrap();
    let data = &serde_json::from_slice::<Value>(&output.stdout).unwrap()["data"];
    assert_eq!(data["frames"], 10_001);
    assert!(data["bytes"].as_u64().unwrap() <= 5_000_000, "{data}");
}

/// The history of 10,000 frames with two requests, fifteen short decisions and forty blocked times each.
fn long_history() -> String {
    let mut events = Vec::new();
    let mut add = |frame: usize, change: Value| {
        let (revision, handle) = (events.len() + 1, format!("f{frame}"));
        let mut event =
            serde_json::json!({"revision": revision, "time": 1_700_000_000_000_u64 + revision as u64 * 700});
        event["handle"] = handle.into();
        event.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        events.push(event.to_string());
    };
    for frame in 1..=10_000 {
        let decisions: Vec<String> = (0..15).map(|place| format!("Use {place}")).collect();
        let mut record = serde_json::json!({
            "sessionID": format!("ses_{frame}"), "status": "in_progress", "title": format!("Task {frame} of the run"),
            "successCriteria": "", "successCriteriaCompacted": "", "createdAt": 1_700_000_000_000_u64,
            "updatedAt": 1_700_000_000_000_u64, "decisions": decisions, "artifacts": [],
        });
        if frame > 1 {
            record["parentSessionID"] = "ses_1".into();
        }
        add(frame, serde_json::json!({"kind": "added", "frame": record}));
        for _ in 0..2 {
            let request =
                serde_json::json!({"model": "large", "uncachedInput": 3_000, "cacheRead": 90_000, "output": 700});
            add(frame, serde_json::json!({"kind": "usageRecorded", "modelRequest": request}));
        }
        let times = if frame <= 1_000 { 40 } else { 1 };
        for _ in 0..times {
            let status =
                |status: &str| serde_json::json!({"kind": "statusChanged", "status": status, "results": "Rate?"});
            add(frame, status("blocked"));
            add(frame, status("in_progress"));
        }
    }
    events.join("\n") + "\n"
}

#[test]
fn requests_decisions_and_blocked_times_count_as_texts_do() {
    let folder = tempfile::tempdir().unwrap();
    let stack = folder.path().join("stack");
    let history = folder.path().join("history.jsonl");
    fs::write(&history, long_history()).unwrap();
    let output = run(&stack, &["import", history.to_str().unwrap(), "--new"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = run(&stack, &["view", folder.path().join("page.html").to_str().unwrap(), "--json"]);
    let data = &serde_json::from_slice::<Value>(&output.stdout).unwrap()["data"];
    assert_eq!(data["frames"], 10_000);
    assert!(data["bytes"].as_u64().unwrap() <= 5_000_000, "{data}");
}

#[test]
fn the_server_gives_the_page_to_those_who_know_the_token() {
    let folder = folder();
    let served = Served::start(&folder.path().join("stack"));
    let page = served.ask(&served.get(""));
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.contains("Customers can pay"), "{page}");
    let (head, body) = page.split_once("\r\n\r\n").unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
    assert_eq!(length.parse::<usize>().unwrap(), body.len());
    for header in [
        "Cache-Control: no-store",
        "Referrer-Policy: no-referrer",
        "X-Content-Type-Options: nosniff",
        "Cross-Origin-Resource-Policy: same-origin",
        "frame-ancestors 'none'",
    ] {
        assert!(head.contains(header), "{header} is missing in {head}");
    }
    let head = served.ask(&served.get("").replace("GET", "HEAD"));
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.ends_with("\r\n\r\n"), "{head}");
}

#[test]
fn a_foreign_host_origin_token_or_method_gets_nothing() {
    let folder = folder();
    let served = Served::start(&folder.path().join("stack"));
    let good = served.get("");
    let wrong_token = good.replace(&served.token, &"A".repeat(served.token.len()));
    let with = |header: &str| good.replace("\r\n\r\n", &format!("\r\n{header}\r\n\r\n"));
    let refused = [
        ("404", wrong_token),
        ("404", good.replace(&format!("/{}/", served.token), "/")),
        ("403", good.replace("Host: 127.0.0.1", "Host: evil.example")),
        ("403", with("Origin: http://evil.example")),
        ("403", with("Origin: null")),
        ("403", with("Sec-Fetch-Site: cross-site")),
        ("403", good.replace("GET", "POST")),
        ("400", good.replace(" HTTP/1.1", " NONSENSE")),
        ("400", with(&format!("X-Long: {}", "a".repeat(20_000)))),
        ("400", with(&"X: y\r\n".repeat(200))),
    ];
    for (status, head) in refused {
        let answer = served.ask(&head);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{head}\n{answer}");
        assert!(answer.ends_with("\r\n\r\n") && !answer.contains("Shop"), "{head}\n{answer}");
    }
    let mut slow = served.connect();
    slow.write_all(b"GET / HT").unwrap();
    let mut answer = Vec::new();
    // The server closes the connection if the head never ends.
    slow.read_to_end(&mut answer).unwrap();
    assert!(answer.is_empty());
}

#[test]
fn a_push_of_another_process_is_told_and_a_reader_who_comes_back_gets_what_it_missed() {
    let folder = folder();
    let stack = folder.path().join("stack");
    let served = Served::start(&stack);
    let (revision, whole) = event(&mut served.follow("events"));
    assert_eq!((&whole["isWhole"], whole["frames"].as_array().unwrap().len()), (&true.into(), 2));
    let mut reader = served.follow(&format!("events?since={revision}"));
    assert!(run(&stack, &["push", "Taxes", "--below", "f1"]).status.success());
    let (pushed, change) = event(&mut reader);
    assert_eq!(change["isWhole"], false);
    let titles: Vec<&str> =
        change["frames"].as_array().unwrap().iter().map(|frame| frame["t"].as_str().unwrap()).collect();
    assert_eq!(titles, ["Taxes"], "only what has changed");
    assert!(run(&stack, &["push", "Mails", "--below", "f1"]).status.success());
    let (_, _) = event(&mut reader);
    // Two changes behind: the server sends everything.
    let (_, whole) = event(&mut served.follow(&format!("events?since={revision}")));
    assert_eq!((&whole["isWhole"], whole["frames"].as_array().unwrap().len()), (&true.into(), 4));
    let (_, change) = event(&mut served.follow(&format!("events?since={pushed}")));
    assert_eq!(change["isWhole"], false, "one change behind");
}

#[test]
fn requests_to_models_are_told_and_a_reader_who_comes_late_has_them_too() {
    let folder = folder();
    let path = folder.path().join("stack");
    let served = Served::start(&path);
    let (revision, _) = event(&mut served.follow("events"));
    let mut reader = served.follow(&format!("events?since={revision}"));
    let stack = Stack::open(&path, StackOptions::default()).unwrap();
    stack.record_usage("f2", ModelRequest { output: 5, ..ModelRequest::new("alpha") }).unwrap();
    let (recorded, change) = event(&mut reader);
    assert_eq!((recorded, change["models"][0].as_str()), (stack.read(|tree| tree.revision()).unwrap(), Some("alpha")));
    assert_eq!((change["requests"].as_array().unwrap().len(), &change["requests"][0][0]), (1, &2.into()));
    assert_eq!((&change["costliest"], &change["total"][2]), (&serde_json::json!([2]), &5.into()));
    drop(reader);
    // No reader is connected, until one wants the newest state.
    stack.record_usage("f2", ModelRequest { output: 7, ..ModelRequest::new("alpha") }).unwrap();
    let end = Instant::now() + PATIENCE;
    while event(&mut served.follow("events")).1["total"][2] != 12 {
        assert!(Instant::now() < end, "the second request is not told");
    }
}

#[test]
fn the_address_is_written_as_json_too() {
    let folder = folder();
    let mut child =
        command(&folder.path().join("stack"), &["view", "--serve", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let json: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&json["schemaVersion"], &json["kind"]), (&1.into(), &"servedView".into()));
    assert!(parts(json["data"]["url"].as_str().unwrap()).0 > 0);
}

#[test]
fn the_end_of_the_server_is_told_and_frees_the_port() {
    let folder = folder();
    for (signal, code) in [(Signal::TERM, 0), (Signal::INT, 130)] {
        let served = Served::start(&folder.path().join("stack"));
        let port = served.port;
        let mut reader = served.follow("events?since=1");
        event(&mut reader);
        assert_eq!(served.end(signal), Some(code));
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        assert!(rest.contains("event: over"), "{rest}");
        let end = Instant::now() + PATIENCE;
        // Connections that have just ended can occupy the port for a moment on some systems.
        while let Err(error) = TcpListener::bind(("127.0.0.1", port)) {
            assert!(Instant::now() < end, "the port is still taken: {error}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_taken_port_is_an_error() {
    let folder = folder();
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let output = run(&folder.path().join("stack"), &["view", &format!("--serve={port}")]);
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains(&format!("cannot serve at 127.0.0.1:{port}")), "{error}");
}

/// The processor time of a process so far, in ticks of usually 10 ms, and its memory in bytes.
#[cfg(target_os = "linux")]
fn costs(child: &Child) -> (u64, u64) {
    let read = |name: &str| fs::read_to_string(format!("/proc/{}/{name}", child.id())).unwrap();
    let stat = read("stat");
    // After the name of the program, which can contain spaces.
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    let status = read("status");
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    (ticks, kilobytes.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024)
}

#[cfg(target_os = "linux")]
#[test]
fn a_hundred_idle_readers_cost_almost_nothing() {
    const MEGABYTE: u64 = 1_000_000;
    let folder = folder();
    let served = Served::start(&folder.path().join("stack"));
    let (_, memory_before) = costs(&served.child);
    let mut readers: Vec<_> = (0..100).map(|_| served.follow("events")).collect();
    readers.iter_mut().for_each(|reader| drop(event(reader)));
    let (ticks_before, memory) = costs(&served.child);
    // A second without work, in which there is nothing to wait for.
    thread::sleep(Duration::from_secs(1));
    let (ticks, _) = costs(&served.child);
    assert!(ticks - ticks_before <= 3, "{} ticks of processor time in an idle second", ticks - ticks_before);
    let grown = memory.saturating_sub(memory_before);
    assert!(grown <= 8 * MEGABYTE, "{grown} bytes of memory for the readers");
    assert!(run(&folder.path().join("stack"), &["push", "Taxes", "--below", "f1"]).status.success());
    for reader in &mut readers {
        assert_eq!(event(reader).1["frames"][0]["t"], "Taxes");
    }
}
