//! A repository has one stack: these tests check which stack the worktrees of git find, with the real
//! program of git.

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
    let said = push_by_server(&fix, &["mcp"], "the worktree");
    assert!(titles(&shop).contains("Mend the cart"), "{said}");
    assert!(!fix.join(".callstack").exists());
}

#[test]
fn a_submodule_of_a_worktree_finds_what_one_of_the_main_checkout_finds() {
    let folder = repository();
    let [shop, fix] = ["shop", "fix"].map(|name| folder.path().join(name));
    let module = folder.path().join("module");
    fs::create_dir(&module).unwrap();
    fs::write(module.join("README"), "A module").unwrap();
    git(&module, &["init", "--quiet"]);
    git(&module, &["add", "."]);
    git(&module, &["commit", "--quiet", "--message", "All"]);
    for checkout in [&shop, &fix] {
        git(checkout, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../module", "module"]);
    }
    push(&shop, "Build the shop", &["--new"]);
    for checkout in [&shop, &fix] {
        assert!(titles(&checkout.join("module")).contains("Build the shop"), "{}", checkout.display());
    }
    push(&fix.join("module"), "Mend the module", &[]);
    assert!(titles(&shop).contains("Mend the module"));
}

#[test]
fn a_folder_with_only_the_data_of_git_is_no_main_checkout() {
    let folder = TempDir::new().unwrap();
    let (data, shop) = (folder.path().join("data"), folder.path().join("data/shop"));
    fs::create_dir_all(&shop).unwrap();
    git(&shop, &["init", "--quiet", "--separate-git-dir", data.join(".git").to_str().unwrap()]);
    fs::write(shop.join("README"), "The shop").unwrap();
    git(&shop, &["add", "."]);
    git(&shop, &["commit", "--quiet", "--message", "All"]);
    git(&shop, &["worktree", "add", "--quiet", folder.path().join("fix").to_str().unwrap()]);
    for (place, title) in [(&shop, "Build"), (&folder.path().join("fix"), "Mend")] {
        push(place, title, &["--new"]);
        assert!(place.join(".callstack/stack.db").is_file(), "{title}");
    }
    assert!(!data.join(".callstack").exists());
}

#[test]
fn files_of_a_stranger_do_not_lead_to_the_stack_of_another_checkout() {
    let folder = repository();
    let shop = folder.path().join("shop");
    push(&shop, "Build the shop", &["--new"]);
    let of_fix = shop.join(".git/worktrees/fix");
    let foreign = folder.path().join("foreign");
    let own = foreign.join("data/worktrees/foreign");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("gitdir"), format!("{}\n", foreign.join(".git").display())).unwrap();
    fs::write(own.join("commondir"), format!("{}\n", shop.join(".git").display())).unwrap();
    for named in [&of_fix, &own] {
        fs::write(foreign.join(".git"), format!("gitdir: {}\n", named.display())).unwrap();
        let found = run(&foreign, &["tree"]);
        assert_eq!(found.status.code(), Some(1), "{}", String::from_utf8_lossy(&found.stdout));
    }
    fs::remove_dir_all(shop.join(".callstack")).unwrap();
    push(&foreign, "Not there", &["--new"]);
    assert!(!shop.join(".callstack").exists() && foreign.join(".callstack").exists());
}

/// Some hosts do not promise a working folder. They name the folder of the project, and the server looks for
/// the stack starting from this folder.
#[test]
fn the_entries_of_hosts_lead_a_worktree_to_the_stack_of_the_repository() {
    let folder = repository();
    let [shop, fix] = ["shop", "fix"].map(|name| folder.path().join(name));
    push(&shop, "Build the shop", &["--new"]);
    for (host, file, section) in [
        ("cursor", ".cursor/mcp.json", "mcpServers"),
        ("vscode", ".vscode/mcp.json", "servers"),
        ("windsurf", "home/.codeium/windsurf/mcp_config.json", "mcpServers"),
    ] {
        let home = fix.join("home");
        let made = command(&fix, &["init", host]).env("HOME", &home).env("USERPROFILE", &home).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let settings: Value = serde_json::from_str(&fs::read_to_string(fix.join(file)).unwrap()).unwrap();
        let words: Vec<String> = serde_json::from_value(settings[section]["callstack"]["args"].clone()).unwrap();
        let words: Vec<String> =
            words.iter().map(|word| word.replace("${workspaceFolder}", fix.to_str().unwrap())).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        assert!(!words.contains(&fix.to_str().unwrap()) || host != "windsurf", "a worktree does not last");
        let elsewhere = TempDir::new().unwrap();
        let said = push_by_server(elsewhere.path(), &words, host);
        assert!(titles(&shop).contains(&format!("Mend the cart in {host}")), "{said}");
    }
    assert!(!fix.join(".callstack").exists());
    let missing = run(&fix, &["mcp", "--folder", "nowhere"]);
    let said = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(!missing.status.success() && said.contains("nowhere"), "{said}");
}

/// Starts a server in a folder, pushes a frame below f1 with it, and returns the answer of the server.
fn push_by_server(folder: &Path, words: &[&str], name: &str) -> String {
    let mut server = command(folder, words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let call = |id: u64, method: &str, params: Value| serde_json::json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let client = serde_json::json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    let mut input = server.stdin.take().unwrap();
    writeln!(input, "{}", call(1, "initialize", client)).unwrap();
    writeln!(input, "{}", serde_json::json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).unwrap();
    let title = format!("Mend the cart in {name}");
    let push = serde_json::json!({"name": "push", "arguments": {"title": title, "successCriteria": "It adds up", "frame": "f1"}});
    writeln!(input, "{}", call(2, "tools/call", push)).unwrap();
    drop(input);
    let output = server.wait_with_output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}
