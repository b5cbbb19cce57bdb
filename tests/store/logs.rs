//! Tests of the full logs of frames: concurrent appends, reading, and their names in contexts, which require
//! that the file exists.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use callstack_core::{Budget, Guidance, LogLimits, LogQuery, NewFrame, PopStatus, Settings, Stack, StackOptions};
use serde_json::{Value, json};
use tempfile::tempdir;

fn open(folder: &Path) -> Stack {
    Stack::open(folder, StackOptions::default()).unwrap()
}

fn numbers(stack: &Stack, query: LogQuery) -> Vec<usize> {
    stack.log("ses_1").read(&query).unwrap().lines.iter().map(|line| line.number).collect()
}

fn append_raw(path: &Path, bytes: &[u8]) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

#[test]
fn a_line_with_half_a_character_is_read() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    stack.log("ses_1").append(&[json!({ "text": "whole" })]).unwrap();
    append_raw(&folder.path().join("logs/ses_1.jsonl"), b"{\"text\": \"cut \\ud83d\"}\n");
    let page = stack.log("ses_1").read(&LogQuery::default()).unwrap();
    assert_eq!((page.lines.len(), page.damaged), (2, vec![]));
    assert_eq!(page.lines[1].entry["text"], "cut \u{fffd}");
    assert_eq!(numbers(&stack, LogQuery::default().search("cut")), [2]);
}

#[test]
fn lines_are_read_back_by_range_tail_and_search() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    let root = stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    assert_eq!(stack.log(root).read(&LogQuery::default()).unwrap().total, 0, "no log has no lines");
    let entries: Vec<Value> =
        (1..=20).map(|number| json!({ "step": number, "text": format!("Zeile {number}\n\"Ü\"") })).collect();
    stack.log(root).append(&entries[..1]).unwrap();
    stack.log(root).append(&entries[1..]).unwrap();
    stack.log(root).append(&[]).unwrap();
    let page = stack.log(root).read(&LogQuery::default()).unwrap();
    assert_eq!(page.lines.iter().map(|line| line.entry.clone()).collect::<Vec<_>>(), entries);
    assert_eq!((page.total, page.damaged), (20, vec![]));
    assert_eq!(numbers(&stack, LogQuery::default().range(3, 5)), [3, 4, 5]);
    assert_eq!(numbers(&stack, LogQuery::default().range(0, 2)), [1, 2]);
    assert_eq!(numbers(&stack, LogQuery::default().range(19, usize::MAX)), [19, 20]);
    assert_eq!(numbers(&stack, LogQuery::default().tail(2)), [19, 20]);
    assert_eq!(numbers(&stack, LogQuery::default().tail(0)), [0; 0]);
    assert_eq!(numbers(&stack, LogQuery::default().search("ZEILE 1\n\"ü")), [1], "decoded, and whatever the case");
    assert_eq!(numbers(&stack, LogQuery::default().search("zeile 1").tail(3)), [17, 18, 19]);
    assert_eq!(numbers(&stack, LogQuery::default().search("zeile 1").range(1, 12)), [1, 10, 11, 12]);
    assert_eq!(numbers(&stack, LogQuery::default().search("step").range(1, 2)), [1, 2], "keys count too");
    assert_eq!(numbers(&stack, LogQuery::default().search("17")), [17]);
    assert_eq!(stack.frame(root).unwrap().log_path.as_deref(), Some("logs/ses_1.jsonl"));
    let again = open(folder.path());
    assert_eq!(again.log(root).read(&LogQuery::default()).unwrap().total, 20);
}

#[test]
fn torn_lines_are_skipped_and_reported() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    let root = stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    let path = folder.path().join("logs/ses_1.jsonl");
    stack.log(root).append(&[json!({ "step": 1 }), json!({ "step": 2 })]).unwrap();
    // `12` is valid JSON, but without a line end it may be the beginning of a longer number.
    append_raw(&path, b"12");
    let page = stack.log(root).read(&LogQuery::default()).unwrap();
    assert_eq!((page.lines.len(), page.total), (2, 3));
    assert_eq!(page.damaged[0].number, 3);
    assert_eq!(page.damaged[0].message, "it is cut off, or still being written");
    assert_eq!(numbers(&stack, LogQuery::default().tail(1)), [2], "the last whole line");
    stack.log(root).append(&[json!({ "step": 4 })]).unwrap();
    append_raw(&path, b"{\"text\": \"\xff\"}\n{\"half\n1e999\n\n{\"step\": 9}\n");
    let page = stack.log(root).read(&LogQuery::default()).unwrap();
    assert_eq!(page.lines.iter().map(|line| line.number).collect::<Vec<_>>(), [1, 2, 3, 4, 9]);
    assert_eq!(page.lines[2].entry, 12, "behind the torn line a new one begins");
    let damaged: Vec<usize> = page.damaged.iter().map(|damage| damage.number).collect();
    assert_eq!((damaged, page.total), (vec![5, 6, 7, 8], 9));
}

#[test]
fn entries_that_could_not_be_read_again_are_refused() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    let root = stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    let nested = |levels: usize| (0..levels).fold(json!("deep"), |value, _| json!([value]));
    stack.log(root).append(&[nested(100)]).unwrap();
    let error = stack.log(root).append(&[json!(1), nested(101)]).unwrap_err();
    assert_eq!(error.to_string(), "the log entry cannot be read: it is nested more than 100 levels deep");
    let page = stack.log(root).read(&LogQuery::default()).unwrap();
    assert_eq!((page.total, page.damaged), (1, vec![]), "all or none");
}

#[test]
fn appenders_never_interleave() {
    const APPENDERS: usize = 8;
    const LINES: usize = 60;
    let folder = tempdir().unwrap();
    let root = open(folder.path()).push(NewFrame::new("Root").id("ses_1")).unwrap();
    std::thread::scope(|scope| {
        for appender in 0..APPENDERS {
            let folder = folder.path();
            scope.spawn(move || {
                let stack = open(folder);
                for line in 0..LINES {
                    let text = "x".repeat(line * 300);
                    stack.log(root).append(&[json!({ "appender": appender, "line": line, "text": text })]).unwrap();
                }
            });
        }
    });
    let page = open(folder.path()).log(root).read(&LogQuery::default()).unwrap();
    assert_eq!(page.damaged, []);
    for appender in 0..APPENDERS {
        let own = page.lines.iter().filter(|line| line.entry["appender"] == appender);
        let lines: Vec<u64> = own.map(|line| line.entry["line"].as_u64().unwrap()).collect();
        assert_eq!(
            lines,
            (0..LINES as u64).collect::<Vec<_>>(),
            "the lines of appender {appender}, each once, in order"
        );
    }
}

#[test]
fn logs_follow_their_frame_to_another_id() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    let other = open(folder.path());
    let root = stack.push(NewFrame::new("Root").id("plan-1")).unwrap();
    stack.log(root).append(&[json!(1)]).unwrap();
    other.refresh().unwrap();
    stack.replace_id(root, "ses_1").unwrap();
    assert_eq!(stack.frame(root).unwrap().log_path.as_deref(), Some("logs/ses_1.jsonl"));
    other.log(root).append(&[json!(2)]).unwrap();
    assert_eq!(numbers(&stack, LogQuery::default()), [1, 2]);
    assert!(!folder.path().join("logs/plan-1.jsonl").exists());
    // A file that is already at the path of the log is neither read as this frame's log nor lost.
    fs::write(folder.path().join("logs/ses_2.jsonl"), "\"of someone else\"\n").unwrap();
    stack.replace_id(root, "ses_2").unwrap();
    let page = stack.log(root).read(&LogQuery::default()).unwrap();
    assert_eq!(page.lines.iter().map(|line| line.entry.clone()).collect::<Vec<_>>(), [json!(1), json!(2)]);
    assert_eq!(fs::read_to_string(folder.path().join("logs/ses_2-2.jsonl")).unwrap(), "\"of someone else\"\n");
    let new = stack.push(NewFrame::new("New").id("plan-1").root()).unwrap();
    stack.log(new).append(&[json!("new")]).unwrap();
    assert_eq!(stack.log(new).read(&LogQuery::default()).unwrap().total, 1);
    assert_eq!(other.log(root).read(&LogQuery::default()).unwrap().total, 2, "the other finds it under its new name");
}

#[test]
fn contexts_name_the_log_of_their_frame_while_it_exists() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    let settings = Settings::default().guidance(Guidance::None);
    let root = stack.push(NewFrame::new("Root").id("ses_1").criteria("All of the parser works")).unwrap();
    let done = stack.push(NewFrame::new("Parser").id("ses_2").below(root)).unwrap();
    stack.log(done).append(&[json!("parsing")]).unwrap();
    stack.pop(done, PopStatus::Completed, "The parser works").unwrap();
    let next = stack.push(NewFrame::new("Parser tests").id("ses_3").below(root)).unwrap();
    let without = stack.context(next, &settings).unwrap();
    assert!(
        !without.xml.contains("<log>"),
        "it has no log yet, and the log of a sibling is not named: {}",
        without.xml
    );

    stack.log(next).append(&[json!(1)]).unwrap();
    let path = folder.path().join("logs/ses_3.jsonl");
    let context = stack.context(next, &settings).unwrap();
    assert!(context.volatile.contains(&format!("<log>{}</log>", path.display())), "{}", context.volatile);
    assert_eq!(context.stable, without.stable);
    let named: Vec<_> =
        context.report.entries.iter().filter_map(|entry| Some((entry.handle, entry.log.clone()?))).collect();
    assert_eq!(named, [(next, path.to_str().unwrap().to_owned())]);

    fs::rename(&path, folder.path().join("elsewhere")).unwrap();
    assert!(!stack.context(next, &settings).unwrap().xml.contains("<log>"), "cached or not");
    assert!(!stack.context_uncached(next, &settings).unwrap().xml.contains("<log>"));
    fs::rename(folder.path().join("elsewhere"), &path).unwrap();
    stack.upkeep().clear_cache(None).unwrap();
    assert_eq!(stack.context(next, &settings).unwrap().xml, context.xml, "it is back, and so is its path");
    fs::remove_file(&path).unwrap();
    assert!(!stack.context(next, &settings).unwrap().xml.contains("<log>"));
    stack.log(next).append(&[json!("written anew")]).unwrap();
    assert_eq!(stack.context(next, &settings).unwrap().xml, context.xml);
    stack.replace_id(next, "ses_9").unwrap();
    let renamed = stack.context(next, &settings).unwrap();
    assert!(renamed.volatile.contains("logs/ses_9.jsonl"), "{}", renamed.volatile);

    let tight = settings.budget(Budget::default().total(140));
    assert!(stack.context(next, &tight).unwrap().tokens <= 140);
}

#[test]
fn a_folder_given_relative_to_the_working_directory_is_named_in_full() {
    let folder = tempfile::tempdir_in(".").unwrap();
    let relative = Path::new(folder.path().file_name().unwrap());
    let stack = open(relative);
    let root = stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    stack.log(root).append(&[json!(1)]).unwrap();
    let full = std::env::current_dir().unwrap().join(relative).join("logs/ses_1.jsonl");
    let context = stack.context(root, &Settings::default()).unwrap();
    assert!(context.volatile.contains(full.to_str().unwrap()), "{}", context.volatile);
}

#[test]
fn hosts_may_keep_logs_elsewhere() {
    let folder = tempdir().unwrap();
    let transcript = folder.path().join("transcript.jsonl");
    fs::write(&transcript, "").unwrap();
    let stack = Stack::in_memory();
    let root = stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    stack.log(root).set_path(transcript.to_str().unwrap()).unwrap();
    assert!(stack.context(root, &Settings::default()).unwrap().volatile.contains("transcript.jsonl</log>"));
    fs::remove_file(&transcript).unwrap();
    assert!(!stack.context(root, &Settings::default()).unwrap().volatile.contains("<log>"));
    assert_eq!(stack.log(root).append(&[]).unwrap_err().code(), "in_memory");
    assert_eq!(
        stack.log(root).read(&LogQuery::default()).unwrap_err().to_string(),
        "this stack has no logs; open a stack in a folder with Stack::open"
    );
    assert_eq!(stack.log(root).set_path(" ").unwrap_err().code(), "empty");
}

#[test]
fn a_log_that_is_kept_elsewhere_for_a_while_is_continued() {
    let folder = tempdir().unwrap();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    let root = stack.push(NewFrame::new("Shop").id("ses_1")).unwrap();
    stack.log(root).append(&[json!("one"), json!("two")]).unwrap();
    stack.log(root).set_path("/var/host.jsonl").unwrap();
    stack.log(root).append(&[json!("three")]).unwrap();
    assert_eq!(stack.frame(root).unwrap().log_path.as_deref(), Some("logs/ses_1.jsonl"));
    stack.files().prune_logs(LogLimits::default().bytes(0)).unwrap();
    let page = stack.log(root).read(&LogQuery::default()).unwrap();
    assert_eq!(page.lines.iter().map(|line| &line.entry).collect::<Vec<_>>(), ["one", "two", "three"]);
}
