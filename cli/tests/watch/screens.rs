//! The screens at three sizes, as goldens. UPDATE_GOLDEN=1 rewrites them.

use std::fs;
use std::path::Path;

use pseudo_terminal::{Size, Terminal, text_of};

use crate::scene::{DOWN, ENTER, Scene, UP, stable};

const SIZES: [Size; 3] = [(120, 32), (80, 24), (40, 12)];

/// Compares a screen with its golden file, when the program shows it.
fn check(scene: &Scene, terminal: &Terminal, name: &str) {
    let (rows, columns) = terminal.screen().size();
    let file = format!("tests/watch/golden/{name}-{columns}x{rows}.txt");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let shown = stable(&terminal.text(), scene.folder.path()) + "\n";
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&file, shown).unwrap();
        return;
    }
    let golden = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(shown, golden, "the screen differs from {}; UPDATE_GOLDEN=1 rewrites it", file.display());
}

/// Shows the stack of a shop after some keys, each with what the screen has afterwards.
fn check_after(name: &str, keys: &[(&str, &str)]) {
    for size in SIZES {
        let scene = Scene::of_history("cmd/shop");
        let mut terminal = scene.watch(size);
        terminal.wait_for_text("f4 Pay for the cart");
        for (keys, awaited) in keys {
            terminal.press(keys);
            terminal.wait_for(awaited, |screen| text_of(screen).contains(awaited));
        }
        check(&scene, &terminal, name);
    }
}

#[test]
fn the_tree() {
    check_after("tree", &[]);
}

#[test]
fn the_help() {
    check_after("help", &[("?", "frame before")]);
}

#[test]
fn the_details_of_a_completed_frame() {
    check_after("details", &[(UP, "f3"), (UP, "f2"), (ENTER, "Overview")]);
}

#[test]
fn the_prompt_of_an_action() {
    check_after("invalidate", &[(DOWN, "f5"), ("i", "Why?"), ("No time", "No time"), (ENTER, "The reason: No time")]);
}

#[test]
fn the_prompt_of_an_answer() {
    check_after("answer", &[(UP, "f3"), ("a", "Alt-Enter"), ("Zwanzig % 二十", "二十")]);
}

#[test]
fn the_views_of_a_frame() {
    let keys = [(UP, "f3"), (UP, "f2"), (ENTER, "Overview")];
    check_after("context", &[&keys[..], &[("v", "at most")]].concat());
    check_after("log", &[&keys[..], &[("vv", "2023-11-14")]].concat());
}
