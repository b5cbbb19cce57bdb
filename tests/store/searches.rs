//! Tests of the word index in a folder: it finds the same frames as a look at all frames. It can be behind,
//! damaged or missing.

use std::fs;
use std::path::Path;
use std::thread;

use callstack_core::search::SearchQuery;
use callstack_core::{LogLimits, NewFrame, PopStatus, Stack, StackOptions};
use serde_json::json;
use support::searches::{compare, follow};
use support::{Random, setting};
use tempfile::tempdir;

const INDEX: &str = "stack.db-words";

fn open(folder: &Path) -> Stack {
    Stack::open(folder, StackOptions::default().finished_frames(4)).unwrap()
}

fn titles(stack: &Stack, query: &str) -> Vec<String> {
    let found = stack.search(&SearchQuery::new(query).logs(true)).unwrap();
    let mut titles: Vec<String> = found.frames.into_iter().map(|found| found.title).collect();
    titles.sort();
    titles
}

#[test]
fn an_index_finds_what_a_look_at_all_frames_finds() {
    for seed in 0..setting("CALLSTACK_SEARCHES", 6) as u64 {
        let folder = tempdir().unwrap();
        let stacks = [(); 2].map(|()| open(folder.path()));
        follow(&stacks, 60, seed);
        assert!(folder.path().join(INDEX).is_file());
        let compacted = open(folder.path());
        compacted.history().compact(0).unwrap();
        follow(&[compacted, open(folder.path())], 20, seed + 1_000);
    }
}

#[test]
fn words_of_a_record_and_of_its_log_are_found_together() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    let cart = stack.push(NewFrame::new("Cart")).unwrap();
    stack.log(cart).append(&[json!({"text": "the lorry"}), json!({"text": "a ferry"}), json!({"text": "x"})]).unwrap();
    let found = stack.search(&SearchQuery::new("cart ferry lorry").logs(true)).unwrap();
    assert_eq!(found.frames[0].handle, cart);
    assert_eq!(titles(&stack, "cart plane"), [""; 0]);
    assert_eq!(stack.search(&SearchQuery::new("cart ferry")).unwrap().frames, []);
    let line = stack.search(&SearchQuery::new("lorry").logs(true)).unwrap().frames.remove(0);
    assert_eq!((line.line, line.excerpt.as_str()), (Some(1), "the lorry"));
}

#[test]
fn an_index_that_is_damaged_strange_or_in_the_way_costs_no_frame() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    for title in ["Cart", "Carts", "Tax"] {
        stack.push(NewFrame::new(title).root()).unwrap();
    }
    let index = folder.path().join(INDEX);
    let expected = ["Cart", "Carts"];
    assert_eq!(titles(&stack, "cart"), expected);
    let sound = fs::read(&index).unwrap();
    let mut damaged = sound.clone();
    damaged[2_000..].fill(7);
    let strange = tempdir().unwrap();
    stack.files().export(strange.path().join("copy")).unwrap();
    drop(open(&strange.path().join("copy")));
    let other = fs::read(strange.path().join("copy/stack.db")).unwrap();
    for text in [&b""[..], b"nothing of this kind", &damaged, &sound[..sound.len() / 2], &other] {
        fs::write(&index, text).unwrap();
        assert_eq!(titles(&stack, "cart"), expected);
        assert_eq!(titles(&stack, "cart"), expected, "after it was made again");
    }
    assert!(fs::read(&index).unwrap().starts_with(b"SQLite"), "it is made again");
    fs::remove_file(&index).unwrap();
    fs::create_dir(&index).unwrap();
    assert_eq!(titles(&stack, "cart"), expected);
}

#[cfg(unix)]
#[test]
fn an_index_never_leads_out_of_the_folder() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    stack.push(NewFrame::new("Cart")).unwrap();
    let outside = folder.path().join("precious");
    fs::write(&outside, "text").unwrap();
    for name in [INDEX.to_owned(), format!("{INDEX}-journal")] {
        let link = folder.path().join(name);
        std::os::unix::fs::symlink(&outside, &link).unwrap();
        assert_eq!(titles(&stack, "cart"), ["Cart"]);
        assert_eq!(fs::read_to_string(&outside).unwrap(), "text");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        fs::remove_file(link).unwrap();
    }
}

#[test]
fn an_index_of_another_history_is_not_used() {
    let [one, other] = [(); 2].map(|()| tempdir().unwrap());
    for (folder, title) in [(&one, "Cart"), (&other, "Tax")] {
        let stack = open(folder.path());
        stack.push(NewFrame::new(title)).unwrap();
        stack.pop(stack.active().unwrap(), PopStatus::Completed, "Done").unwrap();
        assert_eq!(titles(&stack, title), [title]);
    }
    fs::copy(one.path().join(INDEX), other.path().join(INDEX)).unwrap();
    let stack = open(other.path());
    assert_eq!(titles(&stack, "cart"), [""; 0]);
    assert_eq!(titles(&stack, "tax"), ["Tax"]);
}

#[test]
fn a_log_that_begins_again_is_read_again() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    let frame = stack.push(NewFrame::new("Root")).unwrap();
    stack.log(frame).append(&[json!("first"), json!("second")]).unwrap();
    stack.pop(frame, PopStatus::Completed, "Done").unwrap();
    assert_eq!(titles(&stack, "second"), ["Root"]);
    stack.files().prune_logs(LogLimits::default().bytes(0)).unwrap();
    assert_eq!(titles(&stack, "second"), [""; 0]);
    stack.log(frame).append(&[json!("third"), json!("fourth"), json!("fifth"), json!("sixth")]).unwrap();
    assert_eq!(titles(&stack, "third"), ["Root"]);
    assert_eq!(titles(&stack, "second"), [""; 0]);
}

#[test]
fn a_log_is_read_again_from_where_it_is_another_one() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    let frame = stack.push(NewFrame::new("Root").id("ses_1")).unwrap();
    let log = folder.path().join("logs/ses_1.jsonl");
    let line = |text: &str| format!("{{\"text\": \"{text}\"}}\n");
    stack.log(frame).append(&[json!({"text": "first"})]).unwrap();
    assert_eq!(titles(&stack, "first"), ["Root"]);
    // Lines after the known lines. The last line is still being written.
    let written = line("first") + &line("second") + "{\"text\": \"thi";
    fs::write(&log, &written).unwrap();
    assert_eq!((titles(&stack, "second"), titles(&stack, "third")), (vec!["Root".to_owned()], vec![]));
    fs::write(&log, written + "rd\"}\n").unwrap();
    assert_eq!(titles(&stack, "third"), ["Root"]);
    // The same first line, followed by other lines: longer than before, of the same length, and shorter.
    for text in ["fourth and more", "fifth and now it", "sixth"] {
        fs::write(&log, line("first") + &line(text) + &line("the end")).unwrap();
        let word = text.split(' ').next().unwrap();
        assert_eq!(titles(&stack, word), ["Root"], "{text}");
    }
    assert_eq!(titles(&stack, "second"), [""; 0]);
}

#[test]
fn searches_that_add_all_frames_at_the_same_time_lose_none() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    let root = stack.push(NewFrame::new("Shop")).unwrap();
    let words = |frame: usize| (0..100).map(|word| format!("w{frame}x{word}e ")).collect::<String>();
    let frames = (0..600).map(|frame| NewFrame::new("Part").task(words(frame))).collect();
    stack.plan_children(root, frames).unwrap();
    let index = folder.path().join(INDEX);
    for _ in 0..3 {
        let _ = fs::remove_file(&index);
        thread::scope(|scope| {
            for thread in 0..3 {
                let stack = open(folder.path());
                scope.spawn(move || {
                    for frame in (thread..600).step_by(97) {
                        let found = stack.search(&SearchQuery::new(format!("w{frame}x7e"))).unwrap();
                        assert_eq!(found.frames.len(), 1, "{frame}");
                    }
                });
            }
        });
        for frame in (0..600).step_by(7) {
            assert_eq!(stack.search(&SearchQuery::new(format!("w{frame}x79e"))).unwrap().frames.len(), 1, "{frame}");
        }
    }
}

#[test]
fn searches_at_the_same_time_find_all() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    thread::scope(|scope| {
        for thread in 0..4 {
            let stack = open(folder.path());
            scope.spawn(move || {
                let random = &mut Random::new(thread);
                for number in 0..15 {
                    let title = format!("Cart t{thread}n{number}e");
                    stack.push(NewFrame::new(&title).root()).unwrap();
                    assert_eq!(titles(&stack, &format!("car t{thread}n{number}e")), [title]);
                    random.next();
                }
            });
        }
    });
    stack.refresh().unwrap();
    assert_eq!(stack.search(&SearchQuery::new("cart").limit(100)).unwrap().frames.len(), 60);
    compare(&stack, &mut Random::new(1));
}
