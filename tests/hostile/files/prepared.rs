//! Folders that a stranger has prepared: databases that contain more than the tables of a stack, paths of
//! logs that lead outside, and exports over existing files.

use std::fs;
use std::path::{Path, PathBuf};

use callstack_core::search::SearchQuery;
use callstack_core::{NewFrame, Settings, SqliteOptions, SqliteStore, Stack, StackOptions, StackState};
use rusqlite::Connection;
use serde_json::json;
use tempfile::tempdir;

use super::{open, push};

#[test]
fn a_database_with_more_than_the_tables_of_a_stack_is_refused() {
    for (name, statement) in [
        (
            "thief",
            "CREATE TRIGGER thief AFTER INSERT ON events BEGIN DELETE FROM events WHERE revision < new.revision; END",
        ),
        ("mirror", "CREATE VIEW mirror AS SELECT * FROM events"),
        ("more", "CREATE TABLE more (x)"),
        ("more_of_events", "CREATE INDEX more_of_events ON events (kind)"),
        ("events", "ALTER TABLE events ADD COLUMN author TEXT"),
        ("events_of_frames", "DROP INDEX events_of_frames"),
    ] {
        let folder = tempdir().unwrap();
        push(&open(folder.path()), "ses_1");
        let path = folder.path().join("stack.db");
        Connection::open(&path).unwrap().execute_batch(statement).unwrap();
        let before = fs::read(&path).unwrap();
        let error = Stack::open(folder.path(), StackOptions::default()).unwrap_err();
        assert_eq!(error.code(), "damaged", "{statement}: {error}");
        assert!(error.to_string().contains(&format!("`{name}`")), "{statement}: {error}");
        assert_eq!(fs::read(&path).unwrap(), before, "{statement}: the file is as it was");
    }
}

/// Prepares a journal that must be rolled back beside a database, and a file that the journal names. The file
/// has a name in the form of a journal of several databases, and its text names the journal. So SQLite takes
/// it for such a journal, and deletes it.
fn prepare_journal(folder: &Path, database: &str) -> PathBuf {
    let journal = folder.join(format!("{database}-journal"));
    let victim = folder.with_file_name("victim-mj00000090a");
    fs::write(&victim, format!("{}\0", journal.display())).unwrap();
    let database = fs::read(folder.join(database)).unwrap();
    let name = victim.to_str().unwrap().as_bytes();
    let magic = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    let number = |number: u32| number.to_be_bytes();
    let pages = (database.len() / 4096) as u32;
    let mut text = [&magic[..], &number(1), &number(7), &number(pages), &number(512), &number(4096)].concat();
    text.resize(512, 0);
    let first = &database[..4096];
    let sum = (1..=20).map(|step| u32::from(first[4096 - 200 * step])).fold(7_u32, u32::wrapping_add);
    text.extend([&number(1)[..], first, &number(sum)].concat());
    let lock_page = number(0x4000_0000 / 4096 + 1);
    let name_sum = name.iter().fold(0_u32, |sum, byte| sum.wrapping_add(u32::from(*byte)));
    text.extend([&lock_page[..], name, &number(name.len() as u32), &number(name_sum), &magic].concat());
    fs::write(journal, text).unwrap();
    victim
}

#[test]
fn a_prepared_journal_deletes_nothing() {
    let place = tempdir().unwrap();
    let folder = place.path().join("stack");
    drop(open(&folder));
    // The database in a form in which a stranger may leave it: not in WAL mode.
    let path = folder.join("stack.db");
    let user = Connection::open(&path).unwrap();
    user.pragma_update(None, "journal_mode", "DELETE").unwrap();
    drop(user);
    let victim = prepare_journal(&folder, "stack.db");
    let before = fs::read(&victim).unwrap();
    let error = Stack::open(&folder, StackOptions::default()).unwrap_err();
    assert_eq!(error.code(), "damaged", "{error}");
    assert_eq!(fs::read(&victim).unwrap(), before);
    let error = SqliteStore::open(&path, SqliteOptions::default()).unwrap_err();
    assert!(error.to_string().contains("stack.db-journal"), "{error}");
}

#[test]
fn a_prepared_journal_of_the_word_index_deletes_nothing() {
    let place = tempdir().unwrap();
    let folder = place.path().join("stack");
    let stack = open(&folder);
    push(&stack, "ses_1");
    let frames = || stack.search(&SearchQuery::new("work")).unwrap().frames.len();
    assert_eq!(frames(), 1);
    let victim = prepare_journal(&folder, "stack.db-words");
    let before = fs::read(&victim).unwrap();
    assert_eq!(frames(), 1, "the index is made again");
    assert_eq!(fs::read(&victim).unwrap(), before);
    assert!(!folder.join("stack.db-words-journal").exists(), "the journal is gone with the index to which it belonged");
}

#[test]
fn a_log_outside_of_the_folder_is_not_handed_to_agents() {
    let place = tempdir().unwrap();
    let folder = place.path().join("stack");
    let secret = place.path().join("secret.jsonl");
    fs::write(&secret, "{}\n").unwrap();
    let inside = folder.join("logs/inside.jsonl");
    fs::create_dir_all(folder.join("logs")).unwrap();
    fs::write(&inside, "{}\n").unwrap();
    let frame = |id: &str, path: &str| {
        json!({"sessionID": id, "status": "in_progress", "title": "Work", "successCriteria": "", "artifacts": [],
               "decisions": [], "createdAt": 1, "updatedAt": 1, "logPath": path})
    };
    let paths = [
        secret.to_str().unwrap().to_owned(),
        "../secret.jsonl".to_owned(),
        "logs/../../secret.jsonl".to_owned(),
        format!("{}/../secret.jsonl", folder.display()),
        "/etc/passwd".to_owned(),
        "logs/inside.jsonl".to_owned(),
        inside.canonicalize().unwrap().to_str().unwrap().to_owned(),
    ];
    let frames: serde_json::Map<_, _> = paths
        .iter()
        .enumerate()
        .map(|(number, path)| (format!("ses_{number}"), frame(&format!("ses_{number}"), path)))
        .collect();
    let state = json!({"version": 1, "frames": frames, "rootFrameIDs": [], "updatedAt": 1});
    fs::write(folder.join("state.json"), state.to_string()).unwrap();
    let stack = open(&folder);
    for (number, path) in paths.iter().enumerate() {
        let id = format!("ses_{number}");
        let xml = stack.context(id.as_str(), &Settings::default()).unwrap().xml.to_string();
        let is_inside = number >= 5;
        assert_eq!(xml.contains("inside.jsonl"), is_inside, "{path}: {xml}");
        assert!(!xml.contains("secret") && !xml.contains("passwd"), "{path}: {xml}");
        assert_eq!(stack.frame(id.as_str()).unwrap().log_path.is_some(), is_inside, "{path}");
        let said = stack.upkeep().repairs().iter().any(|repair| repair.to_string().contains(path));
        assert_eq!(said, !is_inside, "{path}: {:?}", stack.upkeep().repairs());
    }
}

#[test]
fn a_state_without_a_folder_names_no_file() {
    let place = tempdir().unwrap();
    let secret = place.path().join("secret.jsonl");
    fs::write(&secret, "{}\n").unwrap();
    let outside = [secret.to_str().unwrap(), "/etc/passwd", "../secret.jsonl"];
    // This file exists in the working folder of the tests.
    let relative = "Cargo.toml";
    assert!(Path::new(relative).is_file());
    let frames: serde_json::Map<_, _> = outside
        .iter()
        .chain([&relative])
        .enumerate()
        .map(|(number, path)| {
            let frame = json!({"status": "in_progress", "title": "Work", "logPath": path});
            (format!("ses_{number}"), frame)
        })
        .collect();
    let (state, _) = StackState::from_json(&json!({"frames": frames}).to_string()).unwrap();
    let (stack, repairs) = Stack::from_state(state.clone(), StackOptions::default());
    let target = open(&place.path().join("stack"));
    let imported = target.import(state.frames).unwrap();
    for (number, path) in outside.iter().chain([&relative]).enumerate() {
        let id = format!("ses_{number}");
        let is_outside = number < outside.len();
        assert_eq!(stack.frame(id.as_str()).unwrap().log_path.is_some(), !is_outside, "{path}");
        let said = repairs.iter().any(|repair| repair.to_string().contains(path));
        assert_eq!(said, is_outside, "{path}: {repairs:?}");
        let xml = stack.context(id.as_str(), &Settings::default()).unwrap().xml.to_string();
        assert!(!xml.contains(path), "{path}: {xml}");
        // The log of an imported frame is not in this folder.
        assert_eq!(target.frame(imported[number]).unwrap().log_path, None);
        let xml = target.context(imported[number], &Settings::default()).unwrap().xml.to_string();
        assert!(!xml.contains(path), "{path}: {xml}");
    }
    // The host may name a log, even without a folder.
    let log = secret.to_str().unwrap();
    stack.log("ses_0").set_path(log).unwrap();
    assert!(stack.context("ses_0", &Settings::default()).unwrap().xml.contains("secret.jsonl"));
}

#[test]
fn an_export_never_writes_over_the_files_of_another() {
    let stack = Stack::in_memory();
    stack.push(NewFrame::new("Ours").id("ses_1")).unwrap();
    for name in ["state.json", "stack.db", "frames/ses_1.json"] {
        let folder = tempdir().unwrap();
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "the original plugin's").unwrap();
        let error = stack.files().export(folder.path()).unwrap_err();
        assert_eq!(error.code(), "not_empty", "{name}: {error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "the original plugin's", "{name}");
    }
    let folder = tempdir().unwrap();
    stack.files().export(folder.path()).unwrap();
    let first = fs::read(folder.path().join("state.json")).unwrap();
    let other = Stack::in_memory();
    other.push(NewFrame::new("Theirs").id("ses_2")).unwrap();
    assert_eq!(other.files().export(folder.path()).unwrap_err().code(), "not_empty");
    assert_eq!(fs::read(folder.path().join("state.json")).unwrap(), first);
    assert!(!folder.path().join("frames/ses_2.json").exists(), "two exports never mix");
}
