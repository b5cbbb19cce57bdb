//! A repository has one stack: what the worktrees of git find, with the program of git.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

fn git(folder: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"];
    let mut command = Command::new("git");
    for (variable, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
        command.env_remove(variable);
    }
    let output = command.args(identity).args(arguments).current_dir(folder).output().expect("git runs");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_callstack"));
    command.args(arguments).current_dir(folder).env_remove("CALLSTACK_DIR").env("NO_COLOR", "1");
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().unwrap()
}

fn titles(folder: &Path) -> String {
    let output = run(folder, &["tree", "--all"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A repository `shop` with a folder `api`, and a worktree `fix` beside it.
fn repository() -> TempDir {
    let folder = TempDir::new().unwrap();
    let shop = folder.path().join("shop");
    fs::create_dir_all(shop.join("api")).unwrap();
    fs::write(shop.join("api/README"), "The API").unwrap();
    git(&shop, &["init", "--quiet"]);
    git(&shop, &["add", "."]);
    git(&shop, &["commit", "--quiet", "--message", "All"]);
    git(&shop, &["worktree", "add", "--quiet", "../fix"]);
    folder
}

fn push(folder: &Path, title: &str, more: &[&str]) {
    let output = run(folder, &[&["push", title], more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_worktree_finds_the_stack_of_the_main_checkout_unless_it_has_its_own() {
    let folder = repository();
    let [shop, fix] = ["shop", "fix"].map(|name| folder.path().join(name));
    push(&shop, "Build the shop", &["--new"]);
    for place in [&fix, &fix.join("api")] {
        assert!(titles(place).contains("Build the shop"), "{}", place.display());
    }
    push(&fix, "Mend the cart", &[]);
    assert!(titles(&shop.join("api")).contains("Mend the cart"), "the worktree writes into the same stack");
    assert!(!fix.join(".callstack").exists());

    let hidden = run(&fix, &["push", "Another", "--stack", ".callstack", "--new"]);
    assert!(hidden.status.success(), "a worktree can have its own: {}", String::from_utf8_lossy(&hidden.stderr));
    assert!(titles(&fix.join("api")).contains("Another") && !titles(&fix).contains("Build the shop"));
    assert!(!titles(&shop).contains("Another"));
}

#[test]
fn a_stack_that_is_begun_in_a_worktree_is_that_of_the_repository() {
    let folder = repository();
    let [shop, fix] = ["shop", "fix"].map(|name| folder.path().join(name));
    let missing = run(&fix, &["tree"]);
    let said = String::from_utf8(missing.stderr).unwrap();
    assert!(said.contains("nor in ") && said.contains("shop"), "{said}");
    push(&fix.join("api"), "Build the shop", &["--new"]);
    assert!(shop.join(".callstack/stack.db").is_file());
    assert!(titles(&shop).contains("Build the shop"));
}

#[test]
fn a_folder_of_the_main_checkout_with_its_own_stack_is_that_of_the_same_folder_in_a_worktree() {
    let folder = repository();
    let [shop, fix] = ["shop", "fix"].map(|name| folder.path().join(name));
    push(&shop, "Build the shop", &["--new"]);
    push(&shop.join("api"), "Build the API", &["--stack", ".callstack", "--new"]);
    assert!(titles(&fix.join("api")).contains("Build the API"));
    assert!(titles(&fix).contains("Build the shop"));
}

#[test]
fn what_is_no_worktree_of_a_checkout_is_as_it_was() {
    let folder = repository();
    // A bare repository has worktrees, but no main checkout.
    git(folder.path(), &["clone", "--quiet", "--bare", "shop", "bare.git"]);
    git(&folder.path().join("bare.git"), &["worktree", "add", "--quiet", "../of-bare"]);
    let of_bare = folder.path().join("of-bare");
    push(&of_bare, "Here", &["--new"]);
    assert!(of_bare.join(".callstack/stack.db").is_file());
    for damaged in ["gitdir: nowhere", "gitdir:", "", "gitdir: \u{fffd}\n\n"] {
        let place = folder.path().join("damaged");
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join(".git"), damaged).unwrap();
        assert_eq!(run(&place, &["tree"]).status.code(), Some(1), "{damaged:?}");
    }
}

#[test]
fn a_server_for_agents_in_a_worktree_has_the_stack_of_the_main_checkout() {
    let folder = repository();
    let [shop, fix] = ["shop", "fix"].map(|name| folder.path().join(name));
    push(&shop, "Build the shop", &["--new"]);
    let mut server = command(&fix, &["mcp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let call = |id: u64, method: &str, params: Value| serde_json::json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let client = serde_json::json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    let mut input = server.stdin.take().unwrap();
    writeln!(input, "{}", call(1, "initialize", client)).unwrap();
    writeln!(input, "{}", serde_json::json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).unwrap();
    let push = serde_json::json!({"name": "push", "arguments": {"title": "Mend the cart", "successCriteria": "It adds up", "frame": "f1"}});
    writeln!(input, "{}", call(2, "tools/call", push)).unwrap();
    drop(input);
    let output = server.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(titles(&shop).contains("Mend the cart"), "{said}");
    assert!(!fix.join(".callstack").exists());
}
