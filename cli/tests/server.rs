//! Tests of the program with stacks on a server: PostgreSQL, which the tests start.
#![cfg(unix)]

use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use server::Server;
use tempfile::tempdir;

#[allow(dead_code)]
#[path = "../../postgres/tests/server.rs"]
mod server;

/// The program with the stack of this URL.
fn callstack(url: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_callstack"));
    command.env("CALLSTACK_DIR", url);
    command
}

fn run(url: &str, arguments: &[&str]) -> Output {
    callstack(url).args(arguments).output().unwrap()
}

/// The output of a command that must succeed.
#[track_caller]
fn said(url: &str, arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = run(url, arguments);
    assert!(status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

/// The message of a command that must fail.
#[track_caller]
fn refused(url: &str, arguments: &[&str]) -> String {
    let Output { status, stderr, .. } = run(url, arguments);
    assert!(!status.success(), "{arguments:?} succeeds");
    String::from_utf8(stderr).unwrap()
}

#[test]
fn a_stack_on_a_server_is_used_as_one_in_a_folder() {
    let server = Server::shared();
    server.sql("postgres", "CREATE DATABASE program");
    let url = &format!("{}/team/shop", server.url("program"));
    assert!(refused(url, &["tree"]).contains("callstack postgres migrate"));
    assert_eq!(said(url, &["postgres", "migrate", url]), "made the schema callstack, version 1\n");
    assert!(refused(url, &["tree"]).contains("there is no stack postgres://"));
    said(url, &["push", "--new", "Build a shop", "--criteria", "Customers can pay"]);
    said(url, &["plan", "Cart", "Pay", "--below", "f1", "--chain"]);
    assert!(said(url, &["tree"]).contains("`-- [ ] f3 Pay"));
    assert!(said(url, &["context", "f2"]).contains("Customers can pay"));
    let worked =
        run(url, &["work", "--worker", "anna", "--", "sh", "-c", "cat | grep -c Build; echo $CALLSTACK_TITLE"]);
    assert!(worked.status.success(), "{}", String::from_utf8_lossy(&worked.stderr));
    assert!(said(url, &["show", "f3"]).contains("Pay"));
    assert!(said(url, &["history", "--kind", "held"]).contains("anna"));
    said(url, &["pop", "f1", "--results", "done"]);
    let doctor = said(url, &["doctor"]);
    assert!(doctor.contains("The stack is sound.") && doctor.contains("3 frames, "), "{doctor}");
    assert!(said(url, &["doctor", "--repair"]).contains("The stack is sound."));
    assert!(said(url, &["compact", "--days", "0"]).starts_with("removed"));
    let lines = said(url, &["watch", "--since", "0", "--until-idle"]);
    assert!(lines.lines().count() < 5, "the events were compacted: {lines}");
    assert_eq!(said(url, &["postgres", "stacks", url, "--tenant", "team"]).lines().count(), 1);
}

#[test]
fn a_stack_is_copied_to_a_server_and_back() {
    let server = Server::shared();
    let database = server.database();
    let [there, other] = ["there", "other"].map(|name| format!("{database}/{name}"));
    let folder = tempdir().unwrap();
    let [here, back] = ["here", "back"].map(|name| folder.path().join(name).display().to_string());
    for number in 0..40 {
        let title = format!("Tree {number}");
        said(&here, &["push", "--new", "--root", &title, "--id", &format!("ses_{number}")]);
        if number % 3 == 0 {
            said(&here, &["pop", &format!("ses_{number}"), "--results", "done"]);
        }
    }
    {
        let stack = callstack_core::Stack::open(&here, callstack_core::StackOptions::default()).unwrap();
        let lines: Vec<_> = (0..2_500).map(|number| serde_json::json!({ "line": number })).collect();
        stack.log("ses_1").append(&lines).unwrap();
        stack.close().unwrap();
    }
    let copied = said(&here, &["copy", &here, &there]);
    assert!(copied.contains("40 frames and 2500 log lines"), "{copied}");
    assert_eq!(said(&there, &["export", "--format", "state"]), said(&here, &["export", "--format", "state"]));
    assert_eq!(said(&there, &["export", "--format", "events"]), said(&here, &["export", "--format", "events"]));
    said(&here, &["copy", &there, &back]);
    assert_eq!(said(&back, &["export", "--format", "events"]), said(&here, &["export", "--format", "events"]));
    assert_eq!(said(&back, &["log", "ses_1"]), said(&here, &["log", "ses_1"]));
    // Also after a compaction, in both directions.
    let [there_again, back_again] = [format!("{database}/again"), folder.path().join("again").display().to_string()];
    assert!(said(&here, &["compact", "--days", "0"]).starts_with("removed"));
    said(&here, &["push", "--root", "After the compaction"]);
    for (from, to) in [(&here, &there_again), (&there_again, &back_again)] {
        let copied = said(from, &["copy", from, to]);
        assert!(copied.contains("41 frames and 2500 log lines"), "{copied}");
        assert_eq!(said(to, &["export", "--format", "events"]), said(&here, &["export", "--format", "events"]));
        assert!(said(to, &["doctor"]).contains("The stack is sound."));
    }
    assert!(refused(&here, &["copy", &here, &there]).contains("already contains a stack"));
    assert!(refused(&here, &["copy", &format!("{database}/missing"), &other]).contains("there is no stack"));
    assert!(refused(&other, &["tree"]).contains("there is no stack"), "a refused copy leaves nothing");
    assert!(refused(&here, &["postgres", "remove", &there]).contains("--yes removes it"));
    assert!(said(&there, &["tree"]).contains("40 frames"));
    assert!(said(&here, &["postgres", "remove", &there, "--yes"]).starts_with("removed postgres://"));
    assert!(refused(&there, &["tree"]).contains("there is no stack"));
}

#[test]
fn passwords_are_not_shown() {
    let server = Server::shared();
    let database = server.database();
    let url = &format!("{}/shop", database.replace("owner@", "owner:hunter2@"));
    said(url, &["push", "--new", "Build a shop"]);
    let missing = url.replace("shop", "missing");
    for arguments in
        [&["--stack", &missing, "tree"][..], &["--stack", url, "pop", "nothing"], &["--stack", url, "doctor"]]
    {
        let Output { stdout, stderr, .. } = run(url, arguments);
        let text = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        assert!(!text.contains("hunter2"), "{arguments:?}: {text}");
    }
    let wrong = url.replace("/shop", "/a/b/c/d");
    assert!(!refused(&wrong, &["tree"]).contains("hunter2"));
    let folder = tempdir().unwrap();
    for scheme in ["postgress://", "Postgres://", "mysql://", "postgres:/", "postgres:"] {
        let wrong = url.replace("postgres://", scheme);
        let mut command = callstack("");
        let output =
            command.args(["--stack", &wrong, "push", "--new", "A"]).current_dir(folder.path()).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains("postgres://HOST/DATABASE/STACK") && !errors.contains("hunter2"), "{errors}");
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
    for wrong in ["?color=blue", "?sslmode=requre", "?connect_timeout=abc"] {
        let output = run(&format!("{url}{wrong}"), &["tree"]);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong}: {errors}");
        assert!(!errors.contains("folder"), "{wrong}: {errors}");
    }
}

#[test]
fn grants_are_listed_and_a_wrong_one_is_no_success() {
    let server = Server::shared();
    let owner = &server.database();
    let url = &format!("{owner}/team/shop");
    said(url, &["push", "--new", "Build a shop"]);
    server.sql("postgres", "CREATE ROLE listed_role LOGIN");
    let (host, database) = owner.rsplit_once('/').unwrap();
    let by_role = &format!("{}/{database}/team/shop", host.replace("owner@", ""));
    let as_role = |arguments: &[&str]| {
        let output = callstack(by_role).args(arguments).env("PGUSER", "listed_role").output().unwrap();
        format!("{}{}", String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    assert!(as_role(&["tree"]).contains("postgres grant"), "{}", as_role(&["tree"]));
    // The tenant in the URL counts.
    assert!(said(url, &["postgres", "grant", url, "listed_role"]).contains("the tenant team"));
    assert!(as_role(&["tree"]).contains("Build a shop"));
    assert_eq!(said(url, &["postgres", "grants", url]), "team: listed_role write\n");
    assert!(
        refused(url, &["postgres", "grant", url, "listed_role", "--tenant", "other"]).contains("leave one of them")
    );
    assert!(refused(url, &["postgres", "grant", owner, "listed_role", "--tenant", ""]).contains("not empty"));
    // One name after the database names a stack. The person may have meant a tenant.
    assert!(refused(url, &["postgres", "grant", &format!("{owner}/team"), "listed_role"]).contains("--tenant"));
    let by_writer = as_role(&["postgres", "grant", by_role, "listed_role"]);
    assert!(by_writer.contains("only the owner of the schema"), "{by_writer}");
    for (role, tenant) in [("listed_role", "teem"), ("nobody", "team")] {
        assert!(refused(url, &["postgres", "revoke", owner, role, "--tenant", tenant]).contains("has no grant"));
    }
    said(url, &["postgres", "grant", url, "listed_role", "--read-only"]);
    let refusal = as_role(&["decide", "Use SQLite"]);
    assert!(refusal.contains("callstack postgres grant"), "{refusal}");
    said(url, &["postgres", "revoke", url, "listed_role"]);
    assert_eq!(said(url, &["postgres", "grants", url]), "team: only the owner of the schema\n");
    let gone = as_role(&["tree"]);
    assert!(gone.contains("postgres grant") && !gone.contains("no stack"), "{gone}");
}

#[test]
fn a_history_that_is_refused_leaves_no_stack_on_the_server() {
    let server = Server::shared();
    let database = server.database();
    let folder = tempdir().unwrap();
    let file = folder.path().join("events.jsonl").display().to_string();
    let here = folder.path().join("here").display().to_string();
    said(&here, &["push", "--new", "Build a shop"]);
    said(&here, &["push", "Cart"]);
    said(&here, &["export", &file, "--format", "events"]);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.lines().skip(1).collect::<Vec<_>>().join("\n")).unwrap();
    let url = &format!("{database}/refused");
    assert!(refused(url, &["import", &file, "--new"]).contains("event 1 is next"));
    assert!(refused(&here, &["copy", &here, &format!("{url}?mirror=/dev/null/no")]).contains("/dev/null/no"));
    assert!(refused(&format!("{url}?mirror=/dev/null/no"), &["push", "--new", "Shop"]).contains("/dev/null/no"));
    assert!(said(url, &["postgres", "stacks", url]).contains("no stack"));
    said(&here, &["copy", &here, url]);
    assert!(said(url, &["postgres", "stacks", url]).contains("refused: "));
}

#[test]
fn agents_of_other_programs_use_a_stack_on_a_server() {
    let server = Server::shared();
    let url = &format!("{}/shop", server.database());
    said(url, &["push", "--new", "Build a shop"]);
    let mut serving =
        callstack(url).arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let requests = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"status","arguments":{}}}"#,
    ];
    let mut input = serving.stdin.take().unwrap();
    requests.iter().for_each(|request| writeln!(input, "{request}").unwrap());
    let output = std::io::BufReader::new(serving.stdout.take().unwrap());
    let answered =
        std::io::BufRead::lines(output).map_while(Result::ok).find(|line| line.contains("\"id\":2")).unwrap();
    drop(input);
    serving.wait().unwrap();
    assert!(answered.contains("Build a shop"), "{answered}");
}

#[test]
fn a_worker_outlasts_a_server_that_is_gone_for_a_while() {
    let server = Server::start(server::Disk::Durable, "");
    let url = &format!("{}/shop", server.database());
    said(url, &["plan", "--new", "--root", "Build"]);
    let worker = callstack(url)
        .args(["work", "--worker", "anna", "--", "sh", "-c", "cat > /dev/null; sleep 2; echo It is built"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !said(url, &["history", "--kind", "held"]).contains("anna") {
        thread::sleep(Duration::from_millis(20));
    }
    server.kill();
    // Meanwhile the command ends, and a call of the stack gives up.
    thread::sleep(Duration::from_secs(13));
    server.start_again();
    let output = worker.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said(url, &["show", "f1"]).contains("It is built"));
}
