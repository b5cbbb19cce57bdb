//! Acting on frames: each action asks first, does what the command does, and shows the refusal of the stack.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use callstack_core::session::{Effect, HostEvent};
use callstack_core::{
    FrameStatus, HostSettings, NewFrame, SqliteOptions, SqliteStore, Stack, StackOptions, Store, ToolSet, tools,
};
use pseudo_terminal::{Terminal, text_of};
use serde_json::{Value, json};

use crate::scene::{DOWN, ENTER, ESCAPE, PROGRAM, Scene, press};

const SIZE: (u16, u16) = (120, 32);

/// The stack of the shop, with Taxes blocked and waiting.
fn scene() -> Scene {
    let scene = Scene::of_history("cmd/shop");
    let stack = scene.stack();
    stack.resume("f3").unwrap();
    stack.block("f3", "Which rate for books?", None).unwrap();
    stack.set_active("f4").unwrap();
    stack.close().unwrap();
    scene
}

/// Selects a frame by its handle.
fn select(terminal: &mut Terminal, frame: &str) {
    terminal.wait_for_text("f4 Pay for the cart");
    press(terminal, &format!("/{frame}"));
    terminal.wait_for_text("Enter keep");
    press(terminal, ENTER);
    terminal.wait_for(&format!("the details of {frame}"), |screen| {
        text_of(screen).lines().any(|line| line.contains(&format!("│ {frame} "))) && text_of(screen).contains("? help")
    });
}

fn shows(terminal: &mut Terminal, keys: &str, text: &str) {
    press(terminal, keys);
    terminal.wait_for_text(text);
}

fn status(stack: &Stack, frame: &str) -> FrameStatus {
    stack.frame(frame).unwrap().status
}

#[test]
fn an_answer_of_several_lines_is_given() {
    let scene = scene();
    let mut terminal = scene.watch(SIZE);
    select(&mut terminal, "f4");
    // The keys go to the frame that waits and to its question, and leave the question.
    shows(&mut terminal, "w", "waits for you: a answers");
    shows(&mut terminal, "a", "Alt-Enter new line");
    assert!(terminal.text().contains("Which rate for books?"), "{}", terminal.text());
    shows(&mut terminal, &format!("20{ESCAPE}"), "Nothing was changed");
    assert_eq!(scene.stack().frame("f3").unwrap().pending_answer(), None, "a cancelled answer is not given");
    shows(&mut terminal, "a7 %\x1b\rof the price", "  of the price");
    shows(&mut terminal, ENTER, "answered f3: Taxes");
    assert_eq!(scene.stack().frame("f3").unwrap().pending_answer(), Some("7 %\nof the price"));
    terminal.wait_for_text("nothing waits for you");
}

#[test]
fn a_paste_is_not_obeyed_as_keys() {
    let scene = scene();
    let mut terminal = scene.watch(SIZE);
    select(&mut terminal, "f3");
    press(&mut terminal, "\x1b[200~q\x1b[201~");
    terminal.wait_for_text("keys rest");
    shows(&mut terminal, "a", "Alt-Enter new line");
    shows(&mut terminal, "\x1b[200~one\ntwo\x1b[201~", "  two");
    shows(&mut terminal, ENTER, "answered f3: Taxes");
    assert_eq!(scene.stack().frame("f3").unwrap().pending_answer(), Some("one\ntwo"));
}

#[test]
fn an_invalidation_asks_for_a_reason_and_again() {
    let scene = scene();
    let mut terminal = scene.watch(SIZE);
    select(&mut terminal, "f1");
    shows(&mut terminal, "i", "and 3 planned frames below it. Why?");
    shows(&mut terminal, ESCAPE, "Nothing was changed");
    shows(&mut terminal, "iToo much\r", "The reason: Too much");
    shows(&mut terminal, "n", "Nothing was changed");
    assert_eq!(status(&scene.stack(), "f1"), FrameStatus::InProgress);
    shows(&mut terminal, "iToo much\r", "The reason: Too much");
    shows(&mut terminal, "y", "invalidated f1");
    let stack = scene.stack();
    assert_eq!(stack.frame("f1").unwrap().invalidation_reason.as_deref(), Some("Too much"));
    assert_eq!([status(&stack, "f1"), status(&stack, "f6")], [FrameStatus::Invalidated; 2]);
    shows(&mut terminal, "i", "! ");
}

#[test]
fn a_retry_plans_another_attempt() {
    let scene = scene();
    let mut terminal = scene.watch(SIZE);
    select(&mut terminal, "f3");
    shows(&mut terminal, "r", "f3 fails, and another attempt is planned");
    shows(&mut terminal, "Ask the office", "Ask the office");
    shows(&mut terminal, ENTER, "planned f11, attempt 2 in place of f3");
    let stack = scene.stack();
    assert_eq!((status(&stack, "f3"), status(&stack, "f11")), (FrameStatus::Failed, FrameStatus::Planned));
    terminal.wait_for_text("f11 Taxes  attempt 2");
}

#[test]
fn frames_are_begun_and_completed() {
    let scene = scene();
    let mut terminal = scene.watch(SIZE);
    select(&mut terminal, "f6");
    shows(&mut terminal, "b", "Begin f6?");
    shows(&mut terminal, "n", "Nothing was changed");
    assert_eq!(status(&scene.stack(), "f6"), FrameStatus::Planned);
    shows(&mut terminal, "b", "Begin f6?");
    shows(&mut terminal, "y", "began f6");
    assert_eq!(scene.stack().active(), "f6".parse().ok(), "what a person begins is active");
    shows(&mut terminal, "d", "the results of f6");
    shows(&mut terminal, &format!("Half{ESCAPE}"), "Nothing was changed");
    shows(&mut terminal, "dTexts in products.md\x1b\rfor all", "  for all");
    shows(&mut terminal, ENTER, "completed f6");
    let done = scene.stack().frame("f6").unwrap();
    assert_eq!((done.status, &*done.results.unwrap()), (FrameStatus::Completed, "Texts in products.md\nfor all"));
    select(&mut terminal, "f1");
    shows(&mut terminal, "d", "is not done");
    assert_eq!(status(&scene.stack(), "f1"), FrameStatus::InProgress, "its parts are open");
}

#[test]
fn a_plan_grows_gets_other_titles_and_is_taken_back() {
    let scene = scene();
    let mut terminal = scene.watch(SIZE);
    select(&mut terminal, "f6");
    shows(&mut terminal, "p", "The title of a new frame below f6");
    shows(&mut terminal, "Name the sizes\r", "planned f11 below f6");
    shows(&mut terminal, "e", "Describe the products");
    // The editor shows the old title, and the new text is added after it.
    shows(&mut terminal, " and prices\r", "edited f6");
    assert_eq!(scene.stack().frame("f6").unwrap().title, "Describe the products and prices");
    shows(&mut terminal, "u", "Take back your last command");
    shows(&mut terminal, "n", "Nothing was changed");
    shows(&mut terminal, "u", "Take back your last command");
    shows(&mut terminal, "y", "taken back: edit");
    assert_eq!(scene.stack().frame("f6").unwrap().title, "Describe the products");
    shows(&mut terminal, "u", "Take back your last command");
    shows(&mut terminal, "y", "taken back: plan");
    assert_eq!(status(&scene.stack(), "f11"), FrameStatus::Invalidated);
    terminal.wait_for("that f11 is out of the tree", |screen| !text_of(screen).contains("── [-] f11"));
    shows(&mut terminal, "9", "── [-] f11");
}

#[test]
fn a_stop_asks_first() {
    let scene = scene();
    let mut terminal = scene.watch(SIZE);
    select(&mut terminal, "f4");
    shows(&mut terminal, "x", "No host runs anything at or below f4");
    shows(&mut terminal, "\r", "Nothing was changed");
    let before = scene.stack().read(|tree| tree.revision()).unwrap();
    shows(&mut terminal, "x", "No host runs anything");
    shows(&mut terminal, "y", "nothing runs there");
    assert!(
        scene.stack().read(|tree| tree.revision()).unwrap() > before,
        "the stop is recorded for what hosts have queued"
    );
}

#[test]
fn what_the_stack_refuses_is_refused_before_anything_is_typed() {
    let scene = scene();
    let mut terminal = scene.watch(SIZE);
    select(&mut terminal, "f2");
    for key in ["a", "r"] {
        let updates = terminal.updates();
        press(&mut terminal, key);
        terminal.wait_for_update(updates);
        let screen = terminal.wait_for("a refusal", |screen| text_of(screen).contains(" ! "));
        assert!(text_of(&screen).contains("completed"), "{key}: {}", text_of(&screen));
        press(&mut terminal, DOWN);
        terminal.wait_for("the keys", |screen| text_of(screen).contains("? help"));
        select(&mut terminal, "f2");
    }
}

#[test]
fn a_change_of_another_actor_meanwhile_is_refused_by_the_stack() {
    let scene = scene();
    let mut terminal = scene.watch(SIZE);
    select(&mut terminal, "f3");
    shows(&mut terminal, "a7 %", "> 7 %");
    let stack = scene.stack();
    stack.resume("f3").unwrap();
    stack.close().unwrap();
    shows(&mut terminal, ENTER, "! ");
    assert!(terminal.text().contains("f3") && terminal.text().contains("in_progress"), "{}", terminal.text());
}

#[test]
fn an_answer_does_not_reach_a_question_that_was_not_seen() {
    let scene = scene();
    let mut terminal = scene.watch(SIZE);
    select(&mut terminal, "f3");
    shows(&mut terminal, "aThat of books", "> That of books");
    let stack = scene.stack();
    stack.resume("f3").unwrap();
    stack.block("f3", "Delete the table?", None).unwrap();
    terminal.wait_for_text("Delete the table?");
    assert!(terminal.text().contains("\n Which rate for books?"), "the prompt stays: {}", terminal.text());
    shows(&mut terminal, ENTER, "! f3 waits for something else now");
    terminal.wait_for_text("\n Delete the table?");
    assert!(terminal.text().contains("> That of books"), "the text is kept: {}", terminal.text());
    assert_eq!(scene.stack().frame("f3").unwrap().pending_answer(), None);
    shows(&mut terminal, "\x15No", "> No");
    shows(&mut terminal, ENTER, "answered f3: Taxes");
    assert_eq!(scene.stack().frame("f3").unwrap().pending_answer(), Some("No"));
}

#[test]
fn an_answer_of_another_actor_meanwhile_is_shown_first() {
    let scene = scene();
    let mut terminal = scene.watch(SIZE);
    select(&mut terminal, "f3");
    shows(&mut terminal, "aBut 19 % for toys", "> But 19 % for toys");
    scene.stack().answer("f3", "7 %").unwrap();
    shows(&mut terminal, ENTER, "! f3 was answered meanwhile");
    terminal.wait_for_text(" Answered: 7 %");
    assert!(terminal.text().contains("> But 19 % for toys"), "the text is kept: {}", terminal.text());
    assert_eq!(scene.stack().frame("f3").unwrap().pending_answer(), Some("7 %"));
    shows(&mut terminal, ENTER, "answered f3: Taxes");
    assert_eq!(scene.stack().frame("f3").unwrap().pending_answer(), Some("7 %\nBut 19 % for toys"));
}

#[test]
fn the_selection_stays_while_a_prompt_is_open() {
    let scene = scene();
    let mut terminal = scene.watch(SIZE);
    terminal.wait_for_text("│ f4 Pay for the cart");
    shows(&mut terminal, "i", "Why?");
    scene.stack().set_active("f10").unwrap();
    let screen = terminal.wait_for_text("f10 Move the blog  ← active");
    assert!(text_of(&screen).contains("│ f4 Pay for the cart"), "{}", text_of(&screen));
    shows(&mut terminal, ESCAPE, "│ f10 Move the blog");
}

#[test]
fn a_retry_says_what_it_changes() {
    let scene = scene();
    let stack = scene.stack();
    for title in ["Ask", "Calculate"] {
        stack.plan(NewFrame::new(title).below("f3")).unwrap();
    }
    stack.close().unwrap();
    let mut terminal = scene.watch(SIZE);
    select(&mut terminal, "f3");
    shows(&mut terminal, "r", "f3 fails, 2 planned frames below it are invalidated, and another attempt is planned");
    shows(&mut terminal, ENTER, "planned f13, attempt 2 in place of f3");
    let stack = scene.stack();
    assert_eq!([status(&stack, "f11"), status(&stack, "f12")], [FrameStatus::Invalidated; 2]);
    assert_eq!(status(&stack, "f3"), FrameStatus::Failed);
}

#[test]
fn an_empty_text_is_refused_before_it_is_confirmed() {
    let scene = scene();
    let mut terminal = scene.watch(SIZE);
    select(&mut terminal, "f3");
    for (key, field) in [("i ", "reason"), ("a", "answer")] {
        shows(&mut terminal, &format!("{key}\r"), "! ");
        let shown = terminal.text();
        assert!(shown.contains(field) && shown.contains("Esc cancel") && !shown.contains("yes"), "{key}: {shown}");
        shows(&mut terminal, ESCAPE, "Nothing was changed");
    }
}

#[test]
fn a_locked_stack_keeps_the_typed_text() {
    let scene = scene();
    let mut terminal = scene.watch(SIZE);
    select(&mut terminal, "f3");
    shows(&mut terminal, "a7 %", "> 7 %");
    let mut other = SqliteStore::open(scene.folder.path().join("stack.db"), SqliteOptions::default()).unwrap();
    other.begin(Duration::ZERO).unwrap();
    shows(&mut terminal, ENTER, " next: ");
    let shown = terminal.text();
    assert!(shown.contains(" ! ") && shown.contains("> 7 %") && shown.contains("Enter send"), "{shown}");
    other.rollback();
    shows(&mut terminal, ENTER, "answered f3: Taxes");
    assert_eq!(scene.stack().frame("f3").unwrap().pending_answer(), Some("7 %"));
}

/// Runs a child of the root as a host does: f2 Cart, in the session `cart`.
fn run_child(stack: &Stack) {
    let host = stack.host();
    assert_eq!(host.configure(HostSettings::default().tools(ToolSet::all())), []);
    let tell = |event: Value| host.report(serde_json::from_value::<HostEvent>(event).unwrap());
    tell(json!({"kind": "sessionCreated", "sessionID": "root", "title": "Shop"}));
    tell(json!({"kind": "message", "sessionID": "root", "messageID": "m1", "role": "user", "text": "Build a shop"}));
    let arguments = json!({"title": "Cart", "successCriteria": "It works", "successCriteriaCompacted": "",
        "background": true});
    let answer = tools::call(stack, "root", "stack_frame_push", &arguments.to_string());
    for effect in answer.effects {
        if let Effect::CreateSession { call, .. } = effect {
            tell(json!({"kind": "callStarted", "call": call, "sessionID": "cart"}));
        }
    }
    assert!(stack.frame("f2").unwrap().host().is_some(), "the host runs f2");
}

#[test]
fn a_running_frame_is_stopped() {
    let scene = Scene::empty();
    let host = scene.stack();
    run_child(&host);
    let mut terminal = scene.watch(SIZE);
    terminal.wait_for_text("f2 Cart");
    shows(&mut terminal, "/f1\r", "│ f1 ");
    shows(&mut terminal, "x", "Stop 1 frame at or below f1? It waits for you afterwards.");
    shows(&mut terminal, "n", "Nothing was changed");
    assert_eq!(status(&scene.stack(), "f2"), FrameStatus::InProgress);
    shows(&mut terminal, "x", "Stop 1 frame");
    shows(&mut terminal, "y", "stopped f2");
    terminal.wait_for_text("1 waits for you");
    let stack = scene.stack();
    assert_eq!(status(&stack, "f2"), FrameStatus::Blocked);
    assert_eq!(stack.frame("f2").unwrap().waits_for(), "It was stopped: by a person");
}

#[test]
fn a_read_only_stack_is_watched_and_not_changed() {
    let scene = scene();
    let reachable = tempfile::tempdir().unwrap();
    // Root may write everywhere, so another user runs a copy of the program that is in a folder that this
    // user can reach.
    let program = reachable.path().join("callstack");
    fs::copy(PROGRAM, &program).unwrap();
    let limit = |mode: u32| fs::set_permissions(scene.folder.path(), Permissions::from_mode(mode)).unwrap();
    fs::set_permissions(reachable.path(), Permissions::from_mode(0o755)).unwrap();
    limit(0o555);
    let is_root = fs::write(scene.folder.path().join("probe"), "").is_ok();
    let _ = fs::remove_file(scene.folder.path().join("probe"));
    let user = ["--reuid=65534", "--regid=65534", "--clear-groups", program.to_str().unwrap(), "watch"];
    let (command, arguments) = match is_root {
        true => (Path::new("/usr/bin/setpriv"), &user[..]),
        false => (program.as_path(), &["watch"][..]),
    };
    if is_root && !command.exists() {
        println!("skipped: setpriv is missing, so no process with less rights can be started");
        return;
    }
    let folder = scene.folder.path().to_str().unwrap();
    let mut terminal = Terminal::start(command, arguments, &[("CALLSTACK_DIR", folder)], SIZE);
    select(&mut terminal, "f3");
    shows(&mut terminal, "a7 %", "> 7 %");
    shows(&mut terminal, ENTER, "read-only");
    let shown = terminal.text();
    assert!(shown.contains(" next: change the rights") && shown.contains("> 7 %"), "{shown}");
    shows(&mut terminal, ESCAPE, "Nothing was changed");
    press(&mut terminal, "q");
    assert_eq!(terminal.ending().code, 0);
    limit(0o755);
    assert_eq!(scene.stack().frame("f3").unwrap().pending_answer(), None);
}

#[test]
fn an_action_does_not_reach_a_stack_in_the_same_place() {
    let scene = scene();
    let mut terminal = scene.watch(SIZE);
    select(&mut terminal, "f3");
    shows(&mut terminal, "iToo much\r", "The reason: Too much");
    let folder = scene.folder.path();
    let before = folder.with_extension("before");
    fs::rename(folder, &before).unwrap();
    let other = Stack::open(folder, StackOptions::default()).unwrap();
    for title in ["One", "Two", "Three"] {
        other.push(NewFrame::new(title)).unwrap();
    }
    terminal.wait_for_text("cannot read the stack");
    // The text is kept.
    shows(&mut terminal, "y", "> Too much");
    assert_eq!(status(&other, "f3"), FrameStatus::InProgress, "{}", terminal.text());
    fs::remove_dir_all(before).unwrap();
}

/// Copies the files of a folder, without the folders in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for file in fs::read_dir(from).unwrap().map(Result::unwrap).filter(|file| file.path().is_file()) {
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

#[test]
fn an_action_does_not_reach_a_copy_of_the_stack() {
    let scene = scene();
    let folder = scene.folder.path();
    let (copied, before) = (folder.with_extension("copied"), folder.with_extension("before"));
    copy(folder, &copied);
    let mut terminal = scene.watch(SIZE);
    select(&mut terminal, "f3");
    shows(&mut terminal, "iToo much\r", "The reason: Too much");
    fs::rename(folder, &before).unwrap();
    fs::rename(&copied, folder).unwrap();
    terminal.wait_for_text("cannot read the stack");
    // The text is kept.
    shows(&mut terminal, "y", "> Too much");
    assert_eq!(status(&scene.stack(), "f3"), FrameStatus::Blocked, "{}", terminal.text());
    shows(&mut terminal, ESCAPE, "Nothing was changed");
    shows(&mut terminal, "x", " ! ");
    assert!(!terminal.text().contains("No host runs"), "nothing is asked about it: {}", terminal.text());
    fs::remove_dir_all(before).unwrap();
}

#[test]
fn a_confirmation_is_asked_again_if_the_frame_has_changed() {
    let scene = scene();
    let mut terminal = scene.watch(SIZE);
    select(&mut terminal, "f6");
    shows(&mut terminal, "iNo time\r", "Invalidate f6? The reason: No time");
    let stack = scene.stack();
    stack.activate("f6").unwrap();
    for title in ["One", "Two", "Three"] {
        stack.plan(NewFrame::new(title).below("f6")).unwrap();
    }
    shows(&mut terminal, "y", "! f6 has become in_progress meanwhile");
    terminal.wait_for_text("and 3 planned frames below it. Why?");
    assert_eq!(status(&scene.stack(), "f6"), FrameStatus::InProgress);
    shows(&mut terminal, ENTER, "Invalidate f6, and 3 planned frames below it? The reason: No time");
    stack.plan(NewFrame::new("Four").below("f6")).unwrap();
    shows(&mut terminal, "y", "! the frames at or below f6 have changed meanwhile");
    shows(&mut terminal, ENTER, "Invalidate f6, and 4 planned frames below it? The reason: No time");
    shows(&mut terminal, "y", "invalidated f6");
    assert_eq!(status(&scene.stack(), "f6"), FrameStatus::Invalidated);
}

#[test]
fn a_paste_that_comes_as_keys_ends_with_the_question() {
    let scene = scene();
    let mut terminal = scene.watch(SIZE);
    select(&mut terminal, "f3");
    shows(&mut terminal, "a", "Alt-Enter new line");
    shows(&mut terminal, "It is done\rif it fails, retry\ryes\r", "answered f3: Taxes");
    assert_eq!(scene.stack().frame("f3").unwrap().pending_answer(), Some("It is done"));
    // The program accepts keys again, and no question is open.
    shows(&mut terminal, "?", "this help");
    shows(&mut terminal, ESCAPE, "? help");
    // A paste does not answer a confirmation that was not drawn before it either.
    shows(&mut terminal, "iNo time\ryyy\r", "The reason: No time");
    terminal.wait_for("that keys count", |screen| !text_of(screen).contains("keys rest"));
    assert!(terminal.text().contains("The reason: No time"), "{}", terminal.text());
    assert_eq!(status(&scene.stack(), "f3"), FrameStatus::Blocked);
}

#[test]
fn a_paste_that_contains_the_mark_of_its_end_does_nothing_more() {
    let scene = scene();
    let mut terminal = scene.watch(SIZE);
    select(&mut terminal, "f4");
    let revision = scene.stack().read(|tree| tree.revision()).unwrap();
    press(&mut terminal, "\x1b[200~text\x1b[201~xy\rq\x1b[201~");
    terminal.wait_for_text("keys rest");
    shows(&mut terminal, "?", "this help");
    assert_eq!(scene.stack().read(|tree| tree.revision()).unwrap(), revision, "{}", terminal.text());
}
