//! The things that are particular to a stack in PostgreSQL: its database, its roles, its connections.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use callstack_core::search::SearchQuery;
use callstack_core::{
    Durability, Error, EventQuery, LogLimits, LogQuery, MemoryStore, NewFrame, PopStatus, Stack, StackOptions, Store,
};
use callstack_postgres::{Access, Listener, OpenUrl, PostgresOptions, PostgresServer, grant, migrate, revoke};
use serde_json::json;
use support::{Queries, Random};

use crate::server::{Disk, Server, as_server, database_of, free_port, give_away, program};

fn open(url: &str) -> Stack {
    Stack::open_url(url, StackOptions::default()).unwrap()
}

/// A stack with finished trees and an unfinished one.
fn filled(url: &str) -> Stack {
    let stack = open(url);
    for tree in 0..20 {
        let root = stack.push(NewFrame::new(format!("Tree {tree}")).id(format!("root \0ä{tree}")).root()).unwrap();
        let child = stack.push(NewFrame::new("Child \0 it's").below(root)).unwrap();
        stack.pop(child, PopStatus::Completed, "done \\ \u{1f600}").unwrap();
        stack.pop(root, PopStatus::Completed, "all done").unwrap();
    }
    stack.push(NewFrame::new("Unfinished").id("ses_last").root()).unwrap();
    stack
}

#[test]
fn a_stack_is_the_same_for_all_who_open_it() {
    let server = Server::shared();
    let url = format!("{}/team/shop", server.database());
    let stack = filled(&url);
    let other = open(&url);
    assert_eq!(other.state().unwrap(), stack.state().unwrap());
    other.add_decision("ses_last", "Use PostgreSQL").unwrap();
    assert!(stack.refresh().unwrap());
    assert_eq!(stack.frame("ses_last").unwrap().decisions, ["Use PostgreSQL"]);
    assert!(!stack.refresh().unwrap());
    assert_eq!(stack.history().check().unwrap(), [""; 0]);
    // A search by the beginning of an ID, by a title or by a status finds frames in the database.
    let forgetful = Stack::open_url(&url, StackOptions::default().finished_frames(0)).unwrap();
    stack.history().compact(0).unwrap();
    assert_eq!(forgetful.resolve("root \0ä17").unwrap(), stack.resolve("root \0ä17").unwrap());
    assert_eq!(forgetful.resolve("root \0ä1").unwrap(), stack.resolve("root \0ä1").unwrap());
    assert_eq!(forgetful.resolve("Tree 3").unwrap(), stack.resolve("Tree 3").unwrap());
    assert_eq!(forgetful.state().unwrap(), stack.state().unwrap());
}

#[test]
fn stacks_and_tenants_have_nothing_in_common() {
    let server = Server::shared();
    let url = server.database();
    for name in ["a/one", "a/two", "b/one"] {
        open(&format!("{url}/{name}")).push(NewFrame::new(name)).unwrap();
    }
    let connections = PostgresServer::connect(&url, PostgresOptions::default()).unwrap();
    assert_eq!(connections.stacks("a").unwrap(), [("one".to_owned(), 2), ("two".to_owned(), 2)]);
    assert_eq!(open(&format!("{url}/b/one")).frame("f1").unwrap().title, "b/one");
    assert!(Stack::open_existing_url(&format!("{url}/c/one"), StackOptions::default()).unwrap().is_none());
}

#[test]
fn a_database_without_the_schema_says_how_to_make_it() {
    let server = Server::shared();
    server.sql("postgres", "CREATE DATABASE bare");
    let error = Stack::open_url(&format!("{}/shop", server.url("bare")), StackOptions::default()).unwrap_err();
    assert!(error.to_string().contains("callstack postgres migrate"), "{error}");
    let first = thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| migrate(&server.url("bare")).unwrap().from));
        both.map(|one| one.join().unwrap())
    });
    assert!(first.contains(&None) && first.contains(&Some(1)), "two at a time: {first:?}");
    assert_eq!(migrate(&server.url("bare")).unwrap().from, Some(1));
    // A newer library may allow this library to use its schema, or forbid it.
    server.sql("bare", "INSERT INTO callstack.schema_versions VALUES (2, 1)");
    open(&format!("{}/shop", server.url("bare"))).push(NewFrame::new("Root")).unwrap();
    server.sql("bare", "INSERT INTO callstack.schema_versions VALUES (3, 3)");
    let error = Stack::open_url(&format!("{}/shop", server.url("bare")), StackOptions::default()).unwrap_err();
    assert_eq!(error.code(), "version");
    assert_eq!(migrate(&server.url("bare")).unwrap_err().code(), "version");
    server.sql("postgres", "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    assert!(migrate(&server.url("latin")).unwrap_err().to_string().contains("UTF8"));
}

#[test]
fn roles_use_their_tenants_and_no_others() {
    let server = Server::shared();
    let url = server.database();
    let database = database_of(&url);
    let role = |name: &str| format!("{database}_{name}");
    for name in ["writer", "reader", "stranger"] {
        server.sql(database, &format!("CREATE ROLE {} LOGIN", role(name)));
    }
    open(&format!("{url}/secret/shop")).push(NewFrame::new("Secret")).unwrap();
    open(&format!("{url}/ours/shop")).push(NewFrame::new("Ours").id("ses_1")).unwrap();
    grant(&url, &role("writer"), "ours", Access::Write).unwrap();
    grant(&url, &role("reader"), "ours", Access::Read).unwrap();
    let as_role = |name: &str| url.replace("owner@", &format!("{}@", role(name)));

    let writer = open(&format!("{}/ours/shop", as_role("writer")));
    writer.push(NewFrame::new("By the writer").below("ses_1").id("ses_2")).unwrap();
    writer.log("ses_2").append(&[json!("a line")]).unwrap();
    writer.history().compact(0).unwrap();
    open(&format!("{}/ours/another", as_role("writer"))).push(NewFrame::new("New")).unwrap();

    let reader = open(&format!("{}/ours/shop", as_role("reader")));
    assert_eq!(reader.frame("ses_2").unwrap().title, "By the writer");
    assert_eq!(reader.log("ses_2").read(&LogQuery::default()).unwrap().total, 1);
    assert_eq!(reader.add_decision("ses_1", "No").unwrap_err().code(), "read_only");
    let new = Stack::open_url(&format!("{}/ours/third", as_role("reader")), StackOptions::default());
    assert_eq!(new.unwrap_err().code(), "read_only");

    for name in ["writer", "reader"] {
        let other = Stack::open_existing_url(&format!("{}/secret/shop", as_role(name)), StackOptions::default());
        let error = other.unwrap_err().to_string();
        assert!(error.contains("may not use the tenant"), "{name} sees the stack of another tenant: {error}");
        let events = Command::new(program("psql"))
            .args([
                "-X",
                "-A",
                "-t",
                "-h",
                "127.0.0.1",
                "-p",
                &server.port().to_string(),
                "-U",
                &role(name),
                "-d",
                database,
            ])
            .args(["-c", "SELECT count(*) FILTER (WHERE event LIKE '%Secret%'), count(*) > 0 FROM callstack.events"])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&events.stdout).trim(), "0|t", "{name}");
    }
    // A role that may make functions and can send any SQL does not get access to another tenant either.
    server.sql(database, &format!("CREATE SCHEMA mine AUTHORIZATION {}", role("writer")));
    let secret = server.sql(database, "SELECT id FROM callstack.stacks JOIN callstack.tenants USING (id) LIMIT 1");
    let sent_by = |name: &str, sql: &str| {
        let output = Command::new(program("psql"))
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-d", database])
            .args(["-p", &server.port().to_string(), "-U", &role(name), "-c", sql])
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let as_writer = |sql: &str| sent_by("writer", sql);
    let own_function = "CREATE FUNCTION mine.pg_has_role(name, oid, text) RETURNS boolean LANGUAGE sql AS 'SELECT true'; \
                        SET search_path = mine, pg_catalog; SELECT count(*) FROM callstack.tenants WHERE name = 'secret'";
    assert_eq!(as_writer(own_function), (true, "0".into()));
    let tenant = "(SELECT id FROM callstack.tenants WHERE name = 'ours')";
    for sql in [
        &format!("INSERT INTO callstack.events VALUES ({tenant}, {secret}, 3, 1, 1, 'stopped', '{{}}')"),
        &format!(
            "INSERT INTO callstack.stacks (id, tenant, name) OVERRIDING SYSTEM VALUE VALUES (1000, {tenant}, 'next')"
        ),
        "UPDATE callstack.stacks SET tenant = tenant",
        "UPDATE callstack.events SET event = ''",
        "SELECT callstack.allow(current_user, 'secret', true)",
        "INSERT INTO callstack.members SELECT oid, 1 FROM pg_roles WHERE rolname = current_user",
        "CREATE TABLE callstack.mine (id int)",
    ] {
        assert!(!as_writer(sql).0, "the writer may: {sql}");
    }
    server.sql(database, &format!("GRANT CREATE ON SCHEMA public TO {}", role("writer")));
    let stranger = "CREATE FUNCTION public.multiply(numeric, integer) RETURNS numeric LANGUAGE plpgsql AS \
                    $$ BEGIN RAISE EXCEPTION 'code of the writer runs'; END $$; \
                    CREATE OPERATOR public.* (LEFTARG = numeric, RIGHTARG = integer, FUNCTION = public.multiply)";
    assert!(as_writer(stranger).0);
    for (function, result) in [
        ("cardinality(text[])", "int"),
        ("array_agg(int)", "int[]"),
        ("unnest(text[])", "SETOF text"),
        ("pg_has_role(name, oid, text)", "boolean"),
    ] {
        let body = "BEGIN RAISE EXCEPTION 'code of the writer runs'; END";
        let made =
            as_writer(&format!("CREATE FUNCTION public.{function} RETURNS {result} LANGUAGE plpgsql AS $$ {body} $$"));
        assert!(made.0, "{function}");
    }
    let by_owner = open(&format!("{url}/ours/shop"));
    by_owner.add_decision("ses_1", "By the owner").unwrap();
    by_owner.log("ses_1").append(&[json!("a line")]).unwrap();
    by_owner.history().compact(0).unwrap();
    by_owner.files().prune_logs(LogLimits::default().bytes(0)).unwrap();
    assert!(reader.refresh().unwrap());

    let forbidden = Stack::open_url(&format!("{}/mine/shop", as_role("writer")), StackOptions::default()).unwrap_err();
    assert!(forbidden.to_string().contains("callstack postgres grant"), "{forbidden}");
    let stranger = Stack::open_url(&format!("{}/ours/shop", as_role("stranger")), StackOptions::default()).unwrap_err();
    assert!(stranger.to_string().contains("callstack postgres grant"), "{stranger}");
    assert!(
        grant(&as_role("writer"), &role("writer"), "secret", Access::Write).is_err(),
        "a writer grants itself more"
    );
    assert!(migrate(&as_role("writer")).is_ok(), "there is nothing to migrate");

    // Each grant applies to its tenant, and the last grant counts.
    grant(&url, &role("reader"), "theirs", Access::Write).unwrap();
    open(&format!("{}/theirs/shop", as_role("reader"))).push(NewFrame::new("Ours to change")).unwrap();
    assert_eq!(reader.add_decision("ses_1", "No").unwrap_err().code(), "read_only");
    grant(&url, &role("reader"), "theirs", Access::Read).unwrap();
    let theirs = open(&format!("{}/theirs/shop", as_role("reader")));
    assert_eq!(theirs.add_decision("f1", "No").unwrap_err().code(), "read_only");
    assert_eq!(theirs.frame("f1").unwrap().title, "Ours to change");
    // Also if the role may write in other tenants, and other processes have committed since.
    grant(&url, &role("reader"), "own", Access::Write).unwrap();
    let theirs = open(&format!("{}/theirs/shop", as_role("reader")));
    open(&format!("{url}/theirs/shop")).push(NewFrame::new("News")).unwrap();
    assert_eq!(theirs.add_decision("f1", "No").unwrap_err().code(), "read_only");
    assert!(theirs.refresh().unwrap());
    // A role that may not write the index reads the frames instead.
    assert_eq!(theirs.search(&SearchQuery::new("news")).unwrap().frames.len(), 1);
    let connections = PostgresServer::connect(&as_role("reader"), PostgresOptions::default()).unwrap();
    assert_eq!(connections.remove("theirs", "shop").unwrap_err().code(), "read_only");
    assert!(revoke(&url, &role("reader"), "own").unwrap());
    server.sql(database, &format!("CREATE ROLE \"{}\" LOGIN", role("Reader")));
    grant(&url, &role("Reader"), "mine", Access::Write).unwrap();
    assert!(Stack::open_url(&format!("{}/mine/shop", as_role("reader")), StackOptions::default()).is_err());
    assert!(grant(&url, "nobody of this name", "mine", Access::Read).unwrap_err().to_string().contains("no role"));

    // The owner needs no grant, and loses nothing with one.
    grant(&url, "owner", "ours", Access::Read).unwrap();
    assert!(revoke(&url, "owner", "ours").unwrap());
    by_owner.add_decision("ses_1", "Still by the owner").unwrap();
    // A role that may no longer write cannot take locks that stop others.
    assert!(!sent_by("reader", "BEGIN; LOCK TABLE callstack.events IN ACCESS EXCLUSIVE MODE").0);
    let by_reader = open(&format!("{}/ours/shop", as_role("reader")));
    assert!(revoke(&url, &role("reader"), "ours").unwrap());
    assert!(!revoke(&url, &role("reader"), "ours").unwrap());
    let gone = by_reader.refresh().unwrap_err().to_string();
    assert!(gone.contains("postgres grant"), "{gone}");
    let revoked = Stack::open_existing_url(&format!("{}/ours/shop", as_role("reader")), StackOptions::default());
    assert!(revoked.unwrap_err().to_string().contains("postgres grant"));
}

#[test]
fn names_and_texts_of_any_length_are_kept() {
    let server = Server::shared();
    let url = format!("{}/shop", server.database());
    let stack = Stack::open_url(&url, StackOptions::default().finished_frames(0)).unwrap();
    let mut random = Random::new(11);
    let mut long = |length: usize| (0..length).map(|_| char::from(b'a' + random.below(26) as u8)).collect::<String>();
    let longest = callstack_core::Frame::LONGEST_ID;
    let ids: Vec<String> = (0..4).map(|_| format!("{}{}", "same beginning ".repeat(20), long(longest - 300))).collect();
    for id in &ids {
        stack.push(NewFrame::new("Long").id(id.clone()).criteria(long(5_000_000)).root()).unwrap();
        stack.pop(id.as_str(), PopStatus::Completed, "done").unwrap();
    }
    stack.history().compact(0).unwrap();
    for (place, id) in ids.iter().enumerate() {
        assert_eq!(stack.resolve(id.as_str()).unwrap().index(), place);
        assert_eq!(stack.resolve(&id[..310]).unwrap().index(), place, "by its beginning");
    }
    assert_eq!(stack.resolve(&ids[0][..100]).unwrap_err().code(), "ambiguous_frame");
    assert_eq!(open(&url).state().unwrap(), stack.state().unwrap());
}

#[test]
fn a_stack_can_be_removed() {
    let server = Server::shared();
    let url = server.database();
    let connections = PostgresServer::connect(&url, PostgresOptions::default()).unwrap();
    let stack = filled(&format!("{url}/shop"));
    stack.log("ses_last").append(&[json!("a line")]).unwrap();
    stack.history().compact(u64::MAX).unwrap();
    let other = filled(&format!("{url}/other"));
    assert!(connections.remove("default", "shop").unwrap());
    assert!(!connections.remove("default", "shop").unwrap());
    assert_eq!(stack.add_decision("ses_last", "No").unwrap_err().code(), "replaced");
    assert!(!other.refresh().unwrap());
    let left = "SELECT count(DISTINCT stack) FROM (SELECT stack FROM callstack.events UNION ALL SELECT stack FROM callstack.frames \
                UNION ALL SELECT stack FROM callstack.logs UNION ALL SELECT stack FROM callstack.heads) AS all_rows";
    assert_eq!(server.sql(database_of(&url), left), "1");
    assert_eq!(open(&format!("{url}/shop")).read(|tree| tree.len()).unwrap(), 0);
}

#[test]
fn logs_are_in_the_database() {
    let server = Server::shared();
    let url = format!("{}/shop", server.database());
    let now = Arc::new(std::sync::atomic::AtomicU64::new(1));
    let stack = Stack::open_url(&url, support::options_at(&now)).unwrap();
    let root = stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    for number in 0..3_000 {
        stack.log(root).append(&[json!({ "number": number }), json!({ "text": "ä".repeat(number % 50) })]).unwrap();
    }
    stack.replace_id(root, "ses_other").unwrap();
    let page = open(&url).log("ses_other").read(&LogQuery::default().search("2999")).unwrap();
    assert_eq!((page.total, page.lines[0].number), (6_000, 5_999));
    assert_eq!(stack.log(root).read(&LogQuery::default().range(10, 12).tail(2)).unwrap().lines[0].number, 11);
    let before = stack.files().prune_logs(LogLimits::default().bytes(0)).unwrap();
    assert_eq!((before.files, before.left > 100_000), (0, true), "the frame is not finished");
    stack.pop(root, PopStatus::Completed, "done").unwrap();
    let pruned = stack.files().prune_logs(LogLimits::default().bytes(0)).unwrap();
    assert_eq!((pruned.files, pruned.bytes, pruned.left), (1, before.left, 0));
    assert_eq!(stack.log(root).read(&LogQuery::default()).unwrap().total, 0);
}

#[test]
fn a_compacted_history_makes_the_same_stack_in_a_database_and_in_a_folder() {
    let server = Server::shared();
    let database = server.database();
    let exported = |stack: &Stack| {
        let mut text = Vec::new();
        stack.history().export(&mut text).unwrap();
        text
    };
    let stack = filled(&format!("{database}/shop"));
    stack.history().compact(u64::MAX).unwrap();
    // Frames of the compacted base that change later.
    stack.add_decision("root \0ä7", "late").unwrap();
    stack.history().compact(0).unwrap();
    (0..5).for_each(|number| stack.add_decision("ses_last", format!("Decision {number}")).unwrap());
    let text = exported(&stack);
    let folder = tempfile::tempdir().unwrap();
    let in_folder = Stack::rebuild(folder.path(), &*text, StackOptions::default()).unwrap();
    let url = format!("{database}/copy");
    let copy = Stack::rebuild_at_url(&url, &*exported(&in_folder), StackOptions::default().finished_frames(0)).unwrap();
    for copy in [&in_folder, &copy, &open(&url)] {
        assert_eq!(copy.state().unwrap(), stack.state().unwrap());
        assert_eq!(
            copy.history().events(&EventQuery::default()).unwrap(),
            stack.history().events(&EventQuery::default()).unwrap()
        );
        assert_eq!(exported(copy), text);
        assert_eq!(copy.history().check().unwrap(), [""; 0]);
    }
    let root = copy.push(NewFrame::new("After").root()).unwrap();
    copy.pop(root, PopStatus::Completed, "done").unwrap();
    assert!(copy.history().compact(u64::MAX).unwrap().trees > 0);
    copy.upkeep().repair().unwrap();
    assert_eq!(open(&url).state().unwrap(), copy.state().unwrap());
    // A text that cannot be a history leaves nothing in the database.
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let connections = PostgresServer::connect(&database, PostgresOptions::default()).unwrap();
    let refuse = |what: &str, history: &[u8], code: &str| {
        let url = format!("{database}/refused");
        let error = Stack::rebuild_at_url(&url, history, StackOptions::default()).unwrap_err();
        assert_eq!(error.code(), code, "{what}: {error}");
        assert_eq!(connections.stacks("default").unwrap().len(), 2, "{what} leaves a stack");
    };
    for missing in [3, lines.len() - 3] {
        let less = [&lines[..missing], &lines[missing + 1..]].concat().concat();
        refuse("a line less", &less, if missing == 3 { "json" } else { "history" });
    }
    refuse("a frame twice", &[&lines[..2], &lines[1..]].concat().concat(), "json");
    let mut large: Vec<serde_json::Value> = lines.iter().map(|line| serde_json::from_slice(line).unwrap()).collect();
    let mut head: serde_json::Value = serde_json::from_str(large[0]["base"].as_str().unwrap()).unwrap();
    let base = head["revision"].clone();
    large.iter_mut().filter(|line| line["revision"] == base).for_each(|line| line["revision"] = json!(u64::MAX));
    head["revision"] = json!(u64::MAX);
    large[0]["base"] = json!(head.to_string());
    let large = large.iter().map(|line| format!("{line}\n")).collect::<String>();
    refuse("a revision beyond the database's", large.as_bytes(), "history");
}

#[test]
fn frames_of_a_stack_that_is_not_in_the_statistics_are_found_by_their_index() {
    let server = Server::shared();
    let url = server.database();
    filled(&format!("{url}/known")).history().compact(0).unwrap();
    let database = database_of(&url);
    server.sql(
        database,
        "INSERT INTO callstack.frames SELECT tenant, stack, handle + number, tree + number, session_id, title, \
        status, is_run, NULL, changed, '' FROM callstack.frames, generate_series(100, 20000) AS number WHERE handle = 1; \
        ANALYZE callstack.frames",
    );
    for (condition, index) in
        [("tree = 7", "frames_by_tree"), ("handle = 7", "frames_pkey"), ("status = 'blocked'", "frames_by_status")]
    {
        let plan = server
            .sql(database, &format!("EXPLAIN SELECT image FROM callstack.frames WHERE stack = 999 AND {condition}"));
        assert!(plan.contains(index), "{condition}: {plan}");
    }
}

#[test]
fn a_stack_that_is_made_of_its_history_has_the_mirror_of_its_url() {
    let server = Server::shared();
    let database = server.database();
    let stack = filled(&format!("{database}/shop"));
    let mut text = Vec::new();
    stack.history().export(&mut text).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let url = format!("{database}/copy?sslmode=disable&mirror={}", folder.path().display());
    let copy = Stack::rebuild_at_url(&url, &*text, StackOptions::default()).unwrap();
    copy.files().flush().unwrap();
    assert!(fs::read_to_string(folder.path().join("state.json")).unwrap().contains("ses_last"));
}

#[test]
fn a_large_history_is_rebuilt_and_compacted_piece_by_piece() {
    let server = Server::shared();
    let database = server.database();
    let source = Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap();
    let mut random = Random::new(3);
    for tree in 0..150 {
        let root = source.push(NewFrame::new(format!("Tree {tree}")).root()).unwrap();
        for _ in 0..random.below(40) {
            let text = support::text(&mut random, 400);
            let child = source.push(NewFrame::new("Child").criteria(text.clone()).below(root)).unwrap();
            source.pop(child, PopStatus::Completed, text).unwrap();
        }
        source.pop(root, PopStatus::Completed, "done").unwrap();
    }
    let mut history = Vec::new();
    source.history().export(&mut history).unwrap();
    assert!(history.len() > 8 << 20, "the history has only {} bytes", history.len());
    let url = format!("{database}/copy");
    let options = || StackOptions::default().finished_frames(50);
    let copy = Stack::rebuild_at_url(&url, &*history, options()).unwrap();
    assert_eq!(copy.state().unwrap(), source.state().unwrap());
    assert_eq!(Stack::rebuild_at_url(&url, &*history, options()).unwrap_err().code(), "not_empty");
    let compacted = copy.history().compact(u64::MAX).unwrap();
    assert_eq!(compacted.trees, 150);
    assert!(copy.history().events(&EventQuery::default()).unwrap().len() < 3);
    copy.push(NewFrame::new("After").root()).unwrap();
    let again = Stack::open_url(&url, options()).unwrap();
    assert_eq!(again.state().unwrap(), copy.state().unwrap());
    assert_eq!(again.history().check().unwrap(), [""; 0]);
    again.upkeep().repair().unwrap();
    assert_eq!(again.state().unwrap(), copy.state().unwrap());
    // A history that cannot be read to its end leaves nothing in the database.
    let half = &history[..history.len() - 10];
    assert!(Stack::rebuild_at_url(&format!("{database}/half"), half, options()).is_err());
    assert_eq!(open(&format!("{database}/half")).read(|tree| tree.revision()).unwrap(), 0);
}

#[test]
fn a_listener_hears_of_commits_that_are_notified() {
    let server = Server::shared();
    let url = server.database();
    let connections = PostgresServer::connect(&url, PostgresOptions::default()).unwrap();
    let mut listener = Listener::of(&connections.store("default", "shop").unwrap()).unwrap();
    open(&format!("{url}/shop?notify=false")).push(NewFrame::new("Silent").id("ses_1")).unwrap();
    assert!(!listener.wait(Duration::from_millis(200)).unwrap());
    let loud = open(&format!("{url}/shop?notify=true"));
    let another = open(&format!("{url}/another?notify=true"));
    let waiting = thread::spawn(move || listener.wait(Duration::from_secs(20)).unwrap());
    another.push(NewFrame::new("Another stack")).unwrap();
    loud.add_decision("ses_1", "Heard").unwrap();
    assert!(waiting.join().unwrap());
}

#[test]
fn a_stack_works_within_a_runtime_of_its_host() {
    let server = Server::shared();
    let url = format!("{}/shop", server.database());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let stack = open(&url);
        stack.push(NewFrame::new("Within a runtime").id("ses_1")).unwrap();
        stack.refresh().unwrap();
    });
    assert_eq!(open(&url).frame("ses_1").unwrap().title, "Within a runtime");
}

#[test]
fn many_stacks_share_few_connections() {
    let server = Server::shared();
    let url = server.database();
    let connections = PostgresServer::connect(&url, PostgresOptions::default().connections(3)).unwrap();
    let database = database_of(&url);
    let count = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}'");
    let used = || server.sql("postgres", &count).parse::<usize>().unwrap();
    let mut most = 0;
    thread::scope(|scope| {
        let threads = (0..12).map(|thread| {
            let connections = &connections;
            scope.spawn(move || {
                let stores = (0..5).map(|number| connections.store("many", &format!("{thread} {number}")).unwrap());
                let stacks: Vec<Stack> =
                    stores.map(|store| Stack::with_store(store, StackOptions::default()).unwrap()).collect();
                for round in 0..20 {
                    for stack in &stacks {
                        stack.push(NewFrame::new(format!("Frame {round}")).root()).unwrap();
                        stack.history().events(&EventQuery::default()).unwrap();
                    }
                }
            })
        });
        let threads: Vec<_> = threads.collect();
        while !threads.iter().all(|thread| thread.is_finished()) {
            most = most.max(used());
        }
    });
    assert!(most <= 6, "{most} connections at the same time: three for commands, three for queries");
    assert!(used() <= 6, "{} connections stay open", used());
    assert!(connections.stacks("many").unwrap().iter().all(|(_, revision)| *revision == 40));
}

#[test]
fn commits_that_must_last_wait_for_the_disk() {
    let server = Server::start(Disk::Durable, "synchronous_commit = off\nwal_writer_delay = 10s");
    let url = format!("{}/shop", server.database());
    let position = || server.sql("postgres", "SELECT pg_current_wal_insert_lsn()");
    let is_on_disk =
        |position: &str| server.sql("postgres", &format!("SELECT pg_current_wal_flush_lsn() >= '{position}'")) == "t";
    let lazy = open(&url);
    lazy.push(NewFrame::new("Root").id("ses_1")).unwrap();
    let written = position();
    assert!(!is_on_disk(&written), "the server does not wait for the disk");
    lazy.files().flush().unwrap();
    assert!(is_on_disk(&written));
    let durable = Stack::open_url(&url, StackOptions::default().durability(Durability::Full)).unwrap();
    durable.add_decision("ses_1", "durable").unwrap();
    assert!(is_on_disk(&position()));
}

#[test]
fn a_stack_works_through_a_pooler_in_transaction_mode() {
    let server = Server::shared();
    let url = server.database();
    let database = database_of(&url);
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let settings = format!(
        "[databases]\n{database} = host=127.0.0.1 port={} user=owner dbname={database}\n\n[pgbouncer]\n\
         listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
         pool_mode = transaction\ndefault_pool_size = 3\nmax_client_conn = 500\n",
        server.port()
    );
    let path = folder.path().join("pgbouncer.ini");
    fs::write(&path, settings).unwrap();
    give_away(folder.path());
    let pooler = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].into_iter().find(|path| fs::exists(path).unwrap());
    let mut pooler = as_server(pooler.unwrap_or("pgbouncer").as_ref()).arg("-q").arg(&path).spawn().unwrap();
    let through = format!("postgres://owner@127.0.0.1:{port}/{database}/shop?sslmode=disable");
    let stack = Stack::open_url(&through, StackOptions::default()).unwrap();
    stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    thread::scope(|scope| {
        for name in 0..12 {
            let through = &through;
            scope.spawn(move || {
                let stack = open(through);
                for number in 0..25 {
                    stack.add_decision("ses_1", format!("{name} {number}")).unwrap();
                    stack.refresh().unwrap();
                }
            });
        }
    });
    let stack = open(&format!("{url}/shop"));
    assert_eq!(stack.frame("ses_1").unwrap().decisions.len(), 300);
    assert_eq!(stack.history().check().unwrap(), [""; 0]);
    pooler.kill().unwrap();
    pooler.wait().unwrap();
}

#[test]
fn connections_are_encrypted_and_certificates_verified_if_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let [certificate, key] = ["server.crt", "server.key"].map(|name| folder.path().join(name));
    let made = Command::new("openssl")
        .args(["req", "-new", "-x509", "-days", "2", "-nodes", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-out")
        .arg(&certificate)
        .arg("-keyout")
        .arg(&key)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let copy = folder.path().join("authority.pem");
    fs::copy(&certificate, &copy).unwrap();
    give_away(folder.path());
    let settings = format!("ssl = on\nssl_cert_file = '{}'\nssl_key_file = '{}'", certificate.display(), key.display());
    let server = Server::start(Disk::Lazy, &settings);
    let database = server.database();
    let database = database_of(&database);
    let url =
        |host: &str, options: &str| format!("postgres://owner@{host}:{}/{database}/shop?{options}", server.port());
    let is_encrypted = |url: &str| {
        let stack = open(url);
        stack.refresh().unwrap();
        let others = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                      WHERE ssl AND datname = current_database() AND pid <> pg_backend_pid()";
        let count = server.sql(database, others);
        drop(stack);
        count != "0"
    };
    assert!(!is_encrypted(&url("localhost", "sslmode=disable")));
    assert!(is_encrypted(&url("localhost", "")));
    assert!(is_encrypted(&url("localhost", "sslmode=require")));
    let authority = copy.display().to_string().replace('/', "%2F");
    assert!(is_encrypted(&url("localhost", &format!("sslmode=verify-full&sslrootcert={authority}"))));
    let fails = |url: &str| {
        // Long enough for a busy machine to read its trusted certificates.
        let error = Stack::open_url(url, StackOptions::default().busy_timeout(5_000)).unwrap_err();
        assert!(matches!(&error, Error::Disconnected { .. } | Error::Io { .. }), "{error}");
        error.to_string()
    };
    let other_name = fails(&url("127.0.0.1", &format!("sslmode=verify-full&sslrootcert={authority}")));
    assert!(other_name.contains("certificate"), "{other_name}");
    let unknown = fails(&url("localhost", "sslmode=verify-full"));
    assert!(unknown.contains("certificate"), "{unknown}");
}

#[test]
fn time_limits_of_any_length_are_possible() {
    let server = Server::shared();
    let url = format!("{}/shop", server.database());
    for (number, busy_timeout) in [0, 1, u64::from(u32::MAX), u64::MAX].into_iter().enumerate() {
        let stack = Stack::open_url(&url, StackOptions::default().busy_timeout(busy_timeout)).unwrap();
        stack.push(NewFrame::new(format!("Frame {number}")).root()).unwrap();
        stack.refresh().unwrap();
    }
    let options = PostgresOptions::default().idle_timeout(u64::MAX).busy_timeout(u64::MAX).connections(0);
    let connections = PostgresServer::connect(&url, options).unwrap();
    let store = connections.store("default", "shop").unwrap();
    let stack = Stack::with_store(store, StackOptions::default().busy_timeout(u64::MAX).finished_frames(0)).unwrap();
    stack.push(NewFrame::new("Last").root()).unwrap();
    assert_eq!(stack.read(|tree| tree.len()).unwrap(), 5);
}

#[test]
fn who_waits_too_long_for_others_is_told_so() {
    let server = Server::shared();
    let url = server.database();
    let connections = PostgresServer::connect(&url, PostgresOptions::default()).unwrap();
    let mut holder = connections.store("default", "shop").unwrap();
    holder.begin(Duration::from_secs(1)).unwrap();
    let hasty = Stack::open_url(&format!("{url}/shop"), StackOptions::default().busy_timeout(200)).unwrap();
    let error = hasty.push(NewFrame::new("Too early")).unwrap_err();
    assert_eq!(error.code(), "busy", "{error}");
    holder.rollback();
    hasty.push(NewFrame::new("In time")).unwrap();
    // Also for threads that share the connections.
    let few = PostgresServer::connect(&url, PostgresOptions::default().connections(1)).unwrap();
    let mut holder = few.store("default", "shop").unwrap();
    holder.begin(Duration::from_secs(1)).unwrap();
    let error = few.store("default", "another").unwrap().begin(Duration::from_millis(100)).unwrap_err();
    assert_eq!(error.code(), "busy");
}

#[test]
fn a_process_that_stops_in_a_command_holds_up_the_others_for_a_while_only() {
    let server = Server::shared();
    let url = server.database();
    let open = || {
        let connections = PostgresServer::connect(&url, PostgresOptions::default().idle_timeout(1_000)).unwrap();
        connections.store("default", "shop").unwrap()
    };
    let stack = Stack::with_store(open(), StackOptions::default()).unwrap();
    let root = stack.push(NewFrame::new("Root")).unwrap();
    let decision = |revision| callstack_core::Event {
        revision,
        time: 1,
        handle: root,
        change: callstack_core::Change::DecisionAdded { decision: format!("decision {revision}") },
    };
    let patience = Duration::from_secs(10);
    let mut stopped = open();
    stopped.begin(patience).unwrap();
    stopped.append(&[decision(3)]).unwrap();
    // Longer than the server waits. No other process has committed, so the command is committed again.
    thread::sleep(Duration::from_millis(1_500));
    stopped.commit().unwrap();
    stack.refresh().unwrap();
    assert_eq!(stack.frame(root).unwrap().decisions, ["decision 3"]);

    stopped.begin(patience).unwrap();
    stopped.append(&[decision(4)]).unwrap();
    // The server ends the transaction because of this command.
    stack.add_decision(root, "of another").unwrap();
    let error = stopped.commit().unwrap_err();
    assert!(matches!(error, Error::Disconnected { is_outcome_unknown: false, .. }), "{error}");
    assert_eq!(stack.history().check().unwrap(), [""; 0]);
    stack.refresh().unwrap();
    assert_eq!(stack.frame(root).unwrap().decisions, ["decision 3", "of another"]);
}

#[test]
fn searches_find_what_a_look_at_all_frames_finds() {
    let server = Server::shared();
    let database = server.database();
    let url = format!("{database}/team/searched");
    let stacks = [(); 2].map(|()| open(&url));
    support::searches::follow(&stacks, 60, 1);
    let words = || server.sql(database_of(&database), "SELECT count(*) FROM callstack.words");
    assert_ne!(words().trim(), "0", "the index is used");
    // Row-level security lets a role use the index of the table only with such operators.
    let leaks = "SELECT count(*) FROM pg_proc WHERE proname IN ('text_ge', 'text_lt', 'int8eq') AND NOT proleakproof";
    assert_eq!(server.sql(database_of(&database), leaks).trim(), "0");
    stacks[0].history().compact(0).unwrap();
    support::searches::follow(&[open(&url), open(&url)], 20, 2);
    let frame = stacks[0].push(NewFrame::new("Logged").root()).unwrap();
    stacks[0].log(frame).append(&[json!("first"), json!("second")]).unwrap();
    stacks[0].pop(frame, PopStatus::Completed, "Done").unwrap();
    let find = |word: &str| stacks[0].search(&SearchQuery::new(word).logs(true)).unwrap().frames.len();
    assert_eq!(find("second"), 1);
    stacks[0].files().prune_logs(LogLimits::default().bytes(0)).unwrap();
    stacks[0].log(frame).append(&[json!("third")]).unwrap();
    assert_eq!((find("second"), find("third")), (0, 1));
}
