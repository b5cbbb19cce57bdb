//! The screens at three sizes, compared with golden files. UPDATE_GOLDEN=1 rewrites them.

use std::fs;
use std::path::Path;

use pseudo_terminal::{Size, Terminal, text_of};

use crate::scene::{DOWN, ENTER, Scene, UP, stable};

const SIZES: [Size; 3] = [(120, 32), (80, 24), (40, 12)];

/// Waits until the screen equals a golden file.
fn check(scene: &Scene, terminal: &Terminal, name: &str) {
    let (rows, columns) = terminal.screen().size();
    let file = format!("tests/watch/golden/{name}-{columns}x{rows}.txt");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let shown = |text: &str| stable(text, scene.folder.path()) + "\n";
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        // The program draws a picture each second, so the last of these pictures comes after all keys.
        for _ in 0..3 {
            terminal.wait_for_update(terminal.updates());
        }
        fs::write(&file, shown(&terminal.text())).unwrap();
        return;
    }
    let golden = fs::read_to_string(&file).unwrap_or_default();
    let awaited = format!("{}, which UPDATE_GOLDEN=1 rewrites:\n{golden}", file.display());
    terminal.wait_for(&awaited, |screen| shown(&text_of(screen)) == golden);
}

/// Shows the stack of a shop after some keys.
fn check_after(name: &str, keys: &[&str]) {
    for size in SIZES {
        let scene = Scene::of_history("cmd/shop");
        let mut terminal = scene.watch(size);
        terminal.wait_for_text("f4 Pay for the cart");
        keys.iter().for_each(|keys| terminal.press(keys));
        check(&scene, &terminal, name);
    }
}

#[test]
fn the_tree() {
    check_after("tree", &[]);
}

#[test]
fn the_help() {
    check_after("help", &["?"]);
}

#[test]
fn the_sheet_of_those_at_work() {
    check_after("at-work", &["c"]);
}

#[test]
fn the_views_of_a_frame() {
    check_after("details", &[UP, UP, ENTER]);
    check_after("context", &[UP, UP, ENTER, "v"]);
    check_after("log", &[UP, UP, ENTER, "vv"]);
}

#[test]
fn the_prompts_of_actions() {
    check_after("answer", &[UP, "a", "Zwanzig % 二十"]);
    check_after("invalidate", &[DOWN, "i", "No time", ENTER]);
}
