//! Acting on frames: each action asks first, does what the command does, and shows the refusal of the stack.

use callstack_core::{FrameStatus, Stack};
use pseudo_terminal::{Terminal, text_of};

use crate::scene::{DOWN, ENTER, ESCAPE, Scene};

const SIZE: (u16, u16) = (120, 32);

/// The stack of the shop, with Taxes blocked and waiting.
fn scene() -> Scene {
    let scene = Scene::of_history("cmd/shop");
    let stack = scene.stack();
    stack.set_status("f3", FrameStatus::InProgress, None).unwrap();
    stack.block("f3", "Which rate for books?", None).unwrap();
    stack.set_active("f4").unwrap();
    stack.close().unwrap();
    scene
}

/// Selects a frame by its handle.
fn select(terminal: &mut Terminal, frame: &str) {
    terminal.wait_for_text("f4 Pay for the cart");
    terminal.press(&format!("/{frame}\r"));
    terminal.wait_for(&format!("the details of {frame}"), |screen| {
        text_of(screen).lines().any(|line| line.contains(&format!("│ {frame} "))) && text_of(screen).contains("? help")
    });
}

fn shows(terminal: &mut Terminal, keys: &str, text: &str) {
    terminal.press(keys);
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
    // To what waits, its question, and a way out.
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
    shows(&mut terminal, "\x1b[200~q\x1b[201~a", "Alt-Enter new line");
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
fn a_stop_asks_first() {
    let scene = scene();
    let mut terminal = scene.watch(SIZE);
    select(&mut terminal, "f4");
    shows(&mut terminal, "x", "No host runs anything at or below f4");
    shows(&mut terminal, "\r", "Nothing was changed");
    let before = scene.stack().read(|tree| tree.revision());
    shows(&mut terminal, "xy", "nothing runs there");
    assert!(scene.stack().read(|tree| tree.revision()) > before, "the stop is recorded for what hosts have queued");
}

#[test]
fn what_the_stack_refuses_is_refused_before_anything_is_typed() {
    let scene = scene();
    let mut terminal = scene.watch(SIZE);
    select(&mut terminal, "f2");
    for key in ["a", "r"] {
        let updates = terminal.updates();
        terminal.press(key);
        terminal.wait_for_update(updates);
        let screen = terminal.wait_for("a refusal", |screen| text_of(screen).contains(" ! "));
        assert!(text_of(&screen).contains("completed"), "{key}: {}", text_of(&screen));
        terminal.press(DOWN);
        terminal.wait_for("the keys", |screen| text_of(screen).contains("? help"));
        select(&mut terminal, "f2");
    }
}

#[test]
fn a_change_of_somebody_else_meanwhile_is_refused_by_the_stack() {
    let scene = scene();
    let mut terminal = scene.watch(SIZE);
    select(&mut terminal, "f3");
    shows(&mut terminal, "a7 %", "> 7 %");
    let stack = scene.stack();
    stack.set_status("f3", FrameStatus::InProgress, None).unwrap();
    stack.close().unwrap();
    shows(&mut terminal, ENTER, "! ");
    assert!(terminal.text().contains("f3") && terminal.text().contains("in_progress"), "{}", terminal.text());
}
