//! No matter how the full screen ends, the terminal is as before.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use pseudo_terminal::{Ending, Terminal, text_of};
use rustix::process::{Pid, Signal, kill_process};

use crate::scene::{PROGRAM, Scene};

const SIZE: (u16, u16) = (80, 24);

fn send(terminal: &Terminal, signal: Signal) {
    kill_process(Pid::from_raw(terminal.process()).unwrap(), signal).unwrap();
}

/// The full screen in a terminal, and the modes that the terminal had before.
fn watching(scene: &Scene) -> (Terminal, String) {
    // A program that changes no modes.
    let before = Terminal::start(Path::new("cat"), &[], &[], SIZE).modes();
    let terminal = scene.watch(SIZE);
    let screen = terminal.wait_for_text("f4 Pay for the cart");
    assert!(
        screen.alternate_screen() && screen.hide_cursor() && screen.bracketed_paste(),
        "the full screen is entered"
    );
    assert_ne!(terminal.modes(), before, "keys are read one by one");
    (terminal, before)
}

/// Checks that a program has ended and has left the terminal as before.
fn check_restored(terminal: &mut Terminal, before: &str, ending: &Ending, how: &str) {
    assert_eq!(&terminal.ending(), ending, "{how}");
    check_normal(terminal, before, how);
}

fn check_normal(terminal: &Terminal, before: &str, how: &str) {
    let screen = terminal.screen();
    assert!(!screen.alternate_screen(), "{how}: the normal screen is shown");
    assert!(!screen.hide_cursor(), "{how}: the cursor is shown");
    assert!(!screen.bracketed_paste(), "{how}: pastes are not marked any more");
    assert_eq!(terminal.modes(), before, "{how}: the modes of the terminal");
}

fn code(code: u32) -> Ending {
    Ending { code, signal: None }
}

#[test]
fn keys_end_the_program() {
    for (key, ending) in [("q", code(0)), ("\x03", code(130))] {
        let scene = Scene::of_history("cmd/shop");
        let (mut terminal, before) = watching(&scene);
        terminal.press(key);
        check_restored(&mut terminal, &before, &ending, &format!("{key:?}"));
        assert_eq!(terminal.text().trim(), "", "nothing is left on the normal screen");
    }
}

#[test]
fn signals_end_the_program_as_they_end_others() {
    let by = |signal: &str| Ending { code: 1, signal: Some(signal.to_owned()) };
    let endings = [(Signal::TERM, by("Terminated")), (Signal::HUP, by("Hangup")), (Signal::INT, code(130))];
    for (signal, ending) in endings {
        let scene = Scene::of_history("cmd/shop");
        let (mut terminal, before) = watching(&scene);
        send(&terminal, signal);
        check_restored(&mut terminal, &before, &ending, &format!("{signal:?}"));
    }
}

#[test]
fn a_stop_gives_the_terminal_back_until_the_program_goes_on() {
    for stop in ["Ctrl-Z", "the signal"] {
        let scene = Scene::of_history("cmd/shop");
        let (mut terminal, before) = watching(&scene);
        match stop {
            "Ctrl-Z" => terminal.press("\x1a"),
            _ => send(&terminal, Signal::TSTP),
        }
        terminal.wait_until("the normal screen", |screen| !screen.alternate_screen() && !screen.hide_cursor());
        check_stopped(&terminal);
        check_normal(&terminal, &before, stop);
        send(&terminal, Signal::CONT);
        let screen = terminal.wait_for("the full screen", |screen| {
            screen.alternate_screen() && text_of(screen).contains("f4 Pay for the cart")
        });
        assert!(screen.hide_cursor(), "{stop}");
        terminal.press("q");
        check_restored(&mut terminal, &before, &code(0), stop);
    }
}

/// Waits until the program is stopped. It restores the modes before that.
fn check_stopped(terminal: &Terminal) {
    let status = format!("/proc/{}/stat", terminal.process());
    let deadline = Instant::now() + Duration::from_secs(60);
    let is_stopped = || fs::read_to_string(&status).is_ok_and(|status| status.contains(") T "));
    while !is_stopped() {
        assert!(Instant::now() < deadline, "the program does not stop");
        thread::yield_now();
    }
}

#[test]
fn a_stop_that_nothing_can_notice_is_repaired_when_the_program_goes_on() {
    let scene = Scene::of_history("cmd/shop");
    let (mut terminal, before) = watching(&scene);
    send(&terminal, Signal::STOP);
    check_stopped(&terminal);
    let updates = terminal.updates();
    send(&terminal, Signal::CONT);
    terminal.wait_for_update(updates);
    terminal.wait_for("the full screen", |screen| screen.alternate_screen() && screen.hide_cursor());
    terminal.press("q");
    check_restored(&mut terminal, &before, &code(0), "a stop");
}

#[test]
fn where_there_is_no_full_screen_changes_are_lines() {
    let cases = [(&["--lines"][..], &[][..]), (&[], &[("TERM", "dumb")]), (&["--since", "0"], &[])];
    for (arguments, environment) in cases {
        let scene = Scene::of_history("cmd/shop");
        let mut terminal = scene.watch_with(arguments, environment, SIZE);
        let is_shown = || terminal.text().contains("decision: cents");
        // The lines can begin with events from now on, and no message says when they begin.
        let deadline = Instant::now() + Duration::from_secs(60);
        while !is_shown() {
            assert!(Instant::now() < deadline, "{arguments:?} shows no lines: {}", terminal.text());
            let stack = scene.stack();
            stack.add_decision("f4", "cents").unwrap();
            stack.close().unwrap();
        }
        assert!(!terminal.screen().alternate_screen(), "{arguments:?}");
        terminal.press("\x03");
        assert_eq!(terminal.ending(), code(130), "{arguments:?}");
    }
}

#[test]
fn the_full_screen_needs_keys() {
    let scene = Scene::of_history("cmd/shop");
    let folder = scene.folder.path().to_str().unwrap();
    let command = format!("{PROGRAM} watch < /dev/null");
    let environment = [("CALLSTACK_DIR", folder)];
    let mut terminal = Terminal::start(Path::new("sh"), &["-c", &command], &environment, SIZE);
    assert_eq!(terminal.ending(), code(2));
    let shown = terminal.text();
    assert!(shown.contains("needs a terminal") && shown.contains("watch --lines"), "{shown}");
}
