//! Looking at a stack: moving, folding, searching, filtering, and the actions of other processes in the
//! meantime.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use callstack_core::frame::ModelRequest;
use callstack_core::{NewFrame, NewHold, PopStatus, Stack, StackOptions};
use pseudo_terminal::{STAND_IN, Screen, Terminal, text_of};

use crate::scene::{DOWN, END, ENTER, ESCAPE, HOME, LEFT, PAGE_DOWN, RIGHT, Scene, TAB, UP, press};

const WIDE: (u16, u16) = (120, 32);
const USUAL: (u16, u16) = (80, 24);

/// The row of the selected frame, which is reversed.
fn selected(screen: &Screen) -> String {
    let (_, columns) = screen.size();
    let is_selected = |row: &usize| screen.cell(u16::try_from(*row).unwrap(), 2).is_some_and(|cell| cell.inverse());
    let rows: Vec<String> = screen.rows(0, columns.get().min(58)).collect();
    (0..rows.len()).find(is_selected).map(|row| rows[row].trim_end().to_owned()).unwrap_or_default()
}

/// Presses keys and waits until a frame is selected.
fn go(terminal: &mut Terminal, keys: &str, frame: &str) {
    press(terminal, keys);
    terminal.wait_for(&format!("{frame} selected after {keys:?}"), |screen| {
        selected(screen).contains(&format!(" {frame} "))
    });
}

fn shows(terminal: &mut Terminal, keys: &str, text: &str) {
    press(terminal, keys);
    terminal.wait_for_text(text);
}

fn hides(terminal: &mut Terminal, keys: &str, text: &str) {
    press(terminal, keys);
    terminal.wait_for(&format!("no {text} after {keys:?}"), |screen| !text_of(screen).contains(text));
}

#[test]
fn the_arrows_move_the_selection_and_fold() {
    let scene = Scene::of_history("cmd/shop");
    let mut terminal = scene.watch(USUAL);
    go(&mut terminal, "", "f4");
    go(&mut terminal, UP, "f3");
    go(&mut terminal, "j", "f4");
    go(&mut terminal, HOME, "f1");
    hides(&mut terminal, LEFT, "f2 Shopping cart");
    assert!(text_of(&terminal.screen()).contains("▸ [>] f1 Build a shop"), "{}", terminal.text());
    assert!(terminal.text().contains("+8"), "the number of folded frames: {}", terminal.text());
    shows(&mut terminal, RIGHT, "f2 Shopping cart");
    go(&mut terminal, RIGHT, "f2");
    go(&mut terminal, LEFT, "f1");
    hides(&mut terminal, " ", "f2 Shopping cart");
    shows(&mut terminal, " ", "f2 Shopping cart");
    go(&mut terminal, END, "f10");
    go(&mut terminal, "g", "f1");
    go(&mut terminal, PAGE_DOWN, "f10");
}

#[test]
fn a_search_goes_to_matches_also_where_they_are_folded() {
    let scene = Scene::empty();
    let stack = scene.stack();
    let root = stack.push(NewFrame::new("Shop")).unwrap();
    for name in ["Cart", "Pay"] {
        let part = stack.push(NewFrame::new(name).below(root)).unwrap();
        let task = stack.push(NewFrame::new(format!("{name} totals")).below(part)).unwrap();
        stack.pop(task, PopStatus::Completed, "done").unwrap();
        stack.pop(part, PopStatus::Completed, "done").unwrap();
    }
    stack.close().unwrap();
    let mut terminal = scene.watch(USUAL);
    go(&mut terminal, "", "f1");
    assert!(!terminal.text().contains("totals"), "finished frames are folded: {}", terminal.text());
    go(&mut terminal, "/TOTALS", "f3");
    shows(&mut terminal, ENTER, "? help");
    go(&mut terminal, "n", "f5");
    go(&mut terminal, "n", "f3");
    go(&mut terminal, "N", "f5");
    shows(&mut terminal, "/nothing here\r", "No frame matches nothing here");
    go(&mut terminal, "/f2\r", "f2");
}

#[test]
fn filters_show_the_frames_of_a_status_and_those_above_them() {
    let scene = Scene::of_history("cmd/shop");
    let mut terminal = scene.watch(USUAL);
    terminal.wait_for_text("f10 Move the blog");
    hides(&mut terminal, "7", "f10 Move the blog");
    let shown = terminal.text();
    assert!(
        shown.contains("f1 Build a shop") && shown.contains("f7 Search") && shown.contains("only failed"),
        "{shown}"
    );
    assert!(!shown.contains("f2 Shopping cart"), "{shown}");
    shows(&mut terminal, "0", "f10 Move the blog");
    shows(&mut terminal, "1", "No frame waits for you. 0 shows all 10 frames.");
    shows(&mut terminal, "s", "only unfinished");
    shows(&mut terminal, ESCAPE, "f2 Shopping cart");
}

#[test]
fn the_details_show_everything_about_the_frame_and_scroll() {
    let scene = Scene::of_history("cmd/shop");
    let mut terminal = scene.watch(WIDE);
    go(&mut terminal, "", "f4");
    go(&mut terminal, "kk", "f2");
    terminal.wait_for_text("Prices are integers in cents");
    shows(&mut terminal, "v", "<stack-context");
    assert!(terminal.text().contains("at most"), "the tokens of the context: {}", terminal.text());
    shows(&mut terminal, "v", "assistant");
    shows(&mut terminal, "v", "added as in_progress");
    shows(&mut terminal, "v", "Prices are integers in cents");
    // In the details, the arrow keys scroll and change the view.
    shows(&mut terminal, &format!("{TAB}{RIGHT}"), "<stack-context");
    let before = terminal.text();
    press(&mut terminal, DOWN);
    terminal.wait_for("a scrolled context", |screen| text_of(screen) != before && text_of(screen).contains(" 2-"));
    let updates = terminal.updates();
    press(&mut terminal, ESCAPE);
    terminal.wait_for_update(updates);
    shows(&mut terminal, "V", "Prices are integers in cents");
    go(&mut terminal, DOWN, "f3");
    terminal.wait_for_text("Which VAT rate? The accountant knows");
}

#[test]
fn the_help_lists_the_keys_and_any_key_closes_it() {
    let scene = Scene::of_history("cmd/shop");
    let mut terminal = scene.watch(USUAL);
    go(&mut terminal, "", "f4");
    for key in ["?", "q", "i", "z"] {
        shows(&mut terminal, "?", "frame before, next frame");
        shows(&mut terminal, key, "f4 Pay for the cart");
        assert!(!terminal.text().contains("Why?"), "{key} only closes the help: {}", terminal.text());
    }
}

#[test]
fn a_narrow_terminal_shows_the_tree_or_the_details() {
    let scene = Scene::of_history("cmd/shop");
    let mut terminal = scene.watch((50, 20));
    go(&mut terminal, "", "f4");
    assert!(!terminal.text().contains("Overview"), "{}", terminal.text());
    shows(&mut terminal, ENTER, "Cards and vouchers work");
    assert!(!terminal.text().contains("f2 Shopping cart  "), "{}", terminal.text());
    shows(&mut terminal, ESCAPE, "f10 Move the blog");
}

#[test]
fn what_other_processes_do_appears_and_is_followed_until_the_user_moves() {
    let scene = Scene::empty();
    let mut terminal = scene.watch(WIDE);
    terminal.wait_for_text("No frames yet");
    let stack = scene.stack();
    let root = stack.push(NewFrame::new("Shop").id("ses_shop")).unwrap();
    go(&mut terminal, "", "f1");
    let cart = stack.push(NewFrame::new("Cart").below(root)).unwrap();
    go(&mut terminal, "", "f2");
    stack.pop(cart, PopStatus::Completed, "done").unwrap();
    go(&mut terminal, "", "f1");
    stack.block(root, "Which colour?", None).unwrap();
    terminal.wait_for_text("1 waits for you");
    go(&mut terminal, DOWN, "f2");
    stack.answer(root, "Blue").unwrap();
    stack.resume(root).unwrap();
    stack.push(NewFrame::new("Pay").below(root)).unwrap();
    terminal.wait_for_text("f3 Pay");
    go(&mut terminal, "", "f2");
    go(&mut terminal, "f", "f3");
    stack.close().unwrap();
}

#[test]
fn the_log_is_followed_as_it_grows() {
    let scene = Scene::of_history("cmd/shop");
    let mut terminal = scene.watch(WIDE);
    go(&mut terminal, "", "f4");
    shows(&mut terminal, "vv", "It has no log");
    let stack = scene.stack();
    for number in 0..40 {
        stack.log("f4").append(&[serde_json::json!({"role": "user", "text": format!("line {number}")})]).unwrap();
    }
    terminal.wait_for_text("line 39");
    stack.close().unwrap();
}

#[test]
fn the_screen_follows_the_size_of_the_terminal() {
    let scene = Scene::of_history("cmd/shop");
    let mut terminal = scene.watch(WIDE);
    terminal.wait_for_text("Overview");
    for size in [USUAL, (40, 12), (20, 5), (1, 1), (7, 40), (300, 3), WIDE] {
        let updates = terminal.updates();
        terminal.resize(size);
        terminal.wait_for_update(updates);
    }
    let screen = terminal.wait_for_text("Overview");
    assert!(text_of(&screen).contains("f10 Move the blog"), "{}", text_of(&screen));
    terminal.resize((20, 5));
    terminal.wait_for("the frames that fit", |screen| text_of(screen).contains("f4 Pay"));
    for keys in ["?", "q", "/", ESCAPE, "i", "reason\r", "n", ENTER, "v", "v", "v", ESCAPE] {
        let updates = terminal.updates();
        press(&mut terminal, keys);
        terminal.wait_for_update(updates);
    }
}

#[test]
fn titles_cannot_break_the_screen() {
    let scene = Scene::empty();
    let stack = scene.stack();
    let titles = [
        "\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}evil\r\nnext",
        "日本語のとても長い題名が枠からはみ出さないことを確かめるための題名です。日本語のとても長い題名",
        "e\u{301}\u{301}\u{301} zero\u{200b}width\u{200d} 👩‍👩‍👧 <script>alert(1)</script>",
        "العربية עברית mixed",
        &"x".repeat(3_000),
    ];
    for title in titles {
        let frame = stack.push(NewFrame::new(title).criteria(title)).unwrap();
        stack.add_decision(frame, title).unwrap();
    }
    stack.close().unwrap();
    let mut terminal = scene.watch(WIDE);
    terminal.wait_for_text("f5 xxx");
    for keys in ["", UP, UP, UP, UP] {
        let updates = terminal.updates();
        press(&mut terminal, keys);
        if !keys.is_empty() {
            terminal.wait_for_update(updates);
        }
        let screen = terminal.screen();
        let lines: Vec<String> = text_of(&screen).lines().map(str::to_owned).collect();
        for row in 3..30 {
            let divider = screen.cell(row, 60).unwrap().contents();
            assert_eq!(divider, "│", "the divider in row {row}:\n{}", lines.join("\n"));
        }
        assert!(lines[0].contains("callstack") && lines[31].contains("help"), "{}", lines.join("\n"));
        assert!(!text_of(&screen).contains('\u{202e}'), "marks of direction are replaced");
        assert!(text_of(&screen).contains(&format!("{STAND_IN}evil")), "by U+FFFD: {}", text_of(&screen));
    }
}

#[test]
fn large_and_deep_stacks_are_shown() {
    let scene = Scene::empty();
    let stack = scene.stack();
    let wide = stack.push(NewFrame::new("Wide").root()).unwrap();
    let children = (0..9_000).map(|number| NewFrame::new(format!("Task {number}"))).collect();
    stack.plan_children(wide, children).unwrap();
    let mut deep = stack.push(NewFrame::new("Deep").root()).unwrap();
    for level in 1..1_000 {
        deep = stack.push(NewFrame::new(format!("Level {level}")).below(deep)).unwrap();
    }
    stack.close().unwrap();
    let mut terminal = scene.watch(WIDE);
    terminal.wait_for_text("Level 999");
    assert!(terminal.text().contains("level 999 [>]"), "deep frames name their level: {}", terminal.text());
    shows(&mut terminal, HOME, "Task 0");
    shows(&mut terminal, "/task 8999\r", "f9001 Task 8999");
    shows(&mut terminal, "f", "Level 999");
}

/// The files below a folder, with their contents. The database keeps the locks of its readers in
/// `stack.db-shm`, which is shared memory: that file counts without its content.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => files.extend(contents(&entry.path())),
            false if entry.file_name() == "stack.db-shm" => drop(files.insert(entry.path(), Vec::new())),
            false => drop(files.insert(entry.path(), fs::read(entry.path()).unwrap())),
        }
    }
    files
}

#[test]
fn looking_writes_nothing() {
    let scene = Scene::of_history("cmd/shop");
    // This writes the files beside the database.
    let stack = scene.stack();
    stack.add_decision("f4", "cents").unwrap();
    stack.close().unwrap();
    let before = contents(scene.folder.path());
    for part in ["stack.db", "frames", "logs"] {
        assert!(before.keys().any(|file| file.starts_with(scene.folder.path().join(part))), "{part} is compared");
    }
    let mut terminal = scene.watch(WIDE);
    go(&mut terminal, "", "f4");
    go(&mut terminal, "kk", "f2");
    shows(&mut terminal, "v", "<stack-context");
    shows(&mut terminal, "v", "assistant");
    shows(&mut terminal, "v", "added as in_progress");
    press(&mut terminal, "q");
    terminal.ending();
    let after = contents(scene.folder.path());
    let changed: Vec<_> =
        before.keys().chain(after.keys()).filter(|file| before.get(*file) != after.get(*file)).collect();
    assert!(changed.is_empty(), "changed: {changed:?}");
}

#[test]
fn the_newest_entries_of_long_logs_are_shown() {
    let scene = Scene::of_history("cmd/shop");
    let stack = scene.stack();
    let entries: Vec<_> =
        (0..300).map(|number| serde_json::json!({"role": "user", "text": format!("entry {number}.")})).collect();
    stack.log("f4").append(&entries).unwrap();
    let mut terminal = scene.watch(WIDE);
    go(&mut terminal, "", "f4");
    shows(&mut terminal, "vv", "entry 299.");
    shows(&mut terminal, &format!("{TAB}{HOME}"), "earlier entries are left out: `callstack log f4 --full`");
    assert!(terminal.text().contains("entry 100."), "200 entries: {}", terminal.text());
    // An entry of a megabyte does not hide the others.
    let long = serde_json::json!({"role": "tool", "text": "x ".repeat(500_000)});
    stack.log("f4").append(&[long, serde_json::json!({"role": "user", "text": "the newest"})]).unwrap();
    shows(&mut terminal, END, "the newest");
    assert!(terminal.text().contains("... cut: `callstack log f4 --full` shows all of it"), "{}", terminal.text());
    shows(&mut terminal, HOME, "entry 102.");
    stack.close().unwrap();
}

#[test]
fn the_history_of_a_frame_reaches_back_and_says_what_is_left_out() {
    let scene = Scene::of_history("cmd/shop");
    let stack = scene.stack();
    let children = (0..12_000).map(|number| NewFrame::new(format!("Task {number}"))).collect();
    stack.plan_children("f10", children).unwrap();
    stack.add_decision("f4", "the newest decision").unwrap();
    let mut terminal = scene.watch(WIDE);
    go(&mut terminal, "", "f4");
    // The event that came before 12,000 other events.
    shows(&mut terminal, "V", "added as");
    assert!(!terminal.text().contains("left out"), "{}", terminal.text());
    for number in 0..250 {
        stack.add_decision("f4", format!("decision {number}.")).unwrap();
    }
    terminal.wait_for_text("decision 249.");
    shows(&mut terminal, &format!("{TAB}{HOME}"), "earlier events are left out: `callstack history --frame");
    assert!(terminal.text().contains("decision 50."), "{}", terminal.text());
    stack.close().unwrap();
}

#[test]
fn the_help_scrolls_where_it_has_no_room() {
    let scene = Scene::of_history("cmd/shop");
    let mut terminal = scene.watch((40, 12));
    terminal.wait_for_text("f4 Pay");
    shows(&mut terminal, "?", "scroll   any other key back");
    shows(&mut terminal, END, "quit; suspend");
    shows(&mut terminal, UP, "this help; draw again");
    shows(&mut terminal, HOME, "frame before, next frame");
    shows(&mut terminal, "q", "f4 Pay");
}

#[test]
fn filters_and_searches_give_back_folds_filter_and_selection() {
    let scene = Scene::of_history("cmd/shop");
    let mut terminal = scene.watch(WIDE);
    go(&mut terminal, "", "f4");
    go(&mut terminal, HOME, "f1");
    hides(&mut terminal, LEFT, "── [x] f2");
    shows(&mut terminal, "7", "only failed");
    shows(&mut terminal, ESCAPE, "+8");
    assert!(!terminal.text().contains("── [x] f2"), "the fold is kept: {}", terminal.text());
    // A search prefers the frames of the filter. What the search changes is restored.
    shows(&mut terminal, "f7", "only failed");
    shows(&mut terminal, "0", "follows the active frame");
    shows(&mut terminal, "7", "only failed");
    go(&mut terminal, "/sea", "f7");
    assert!(terminal.text().contains("only failed"), "{}", terminal.text());
    go(&mut terminal, "\x15tax", "f3");
    assert!(!terminal.text().contains("only failed"), "all frames are shown for a match: {}", terminal.text());
    shows(&mut terminal, ESCAPE, "only failed");
    shows(&mut terminal, "0", "follows the active frame");
    scene.stack().set_active("f10").unwrap();
    go(&mut terminal, "", "f10");
}

#[test]
fn without_colours_marks_and_words_say_everything() {
    let scene = Scene::of_history("cmd/shop");
    for (arguments, environment) in [(&[][..], &[("NO_COLOR", "1")][..]), (&["--color", "never"], &[])] {
        let terminal = scene.watch_with(arguments, environment, WIDE);
        let screen = terminal.wait_for_text("[?] f3 Taxes  answered");
        let (rows, columns) = screen.size();
        for (row, column) in (0..rows.get()).flat_map(|row| (0..columns.get()).map(move |column| (row, column))) {
            let color = screen.cell(row, column).unwrap().fgcolor();
            assert_eq!(color, pseudo_terminal::Color::Default, "row {row}, column {column}: {arguments:?}");
        }
    }
    let colored = scene.watch_with(&["--color", "always"], &[("NO_COLOR", "1")], WIDE);
    let screen = colored.wait_for_text("f4 Pay for the cart");
    let has_color = |row| screen.cell(row, 4).is_some_and(|cell| cell.fgcolor() != pseudo_terminal::Color::Default);
    assert!((0..32).any(has_color), "--color always wins");
}

#[test]
fn a_small_terminal_says_how_to_quit() {
    let scene = Scene::of_history("cmd/shop");
    scene.watch((20, 5)).wait_for_text("q quit");
    let mut terminal = scene.watch((40, 12));
    shows(&mut terminal, "", "q quit");
    shows(&mut terminal, ENTER, "Esc tree   q quit");
}

#[test]
fn the_drawn_part_of_a_terminal_has_a_largest_size() {
    let scene = Scene::of_history("cmd/shop");
    let terminal = scene.watch((3_000, 600));
    let screen = terminal.wait_for_text("f4 Pay for the cart");
    let text = text_of(&screen);
    let (width, height) = (text.lines().map(|line| line.chars().count()).max(), text.trim_end().lines().count());
    assert!(width.is_some_and(|width| (900..=1_000).contains(&width)), "{width:?} columns are drawn");
    assert_eq!(height, 500, "lines are drawn");
}

/// The sequence of a terminal for a click, or with `wheel` for a step of the wheel, at a column and row
/// counted from 1.
fn mouse(button: u8, column: usize, row: usize) -> String {
    format!("\x1b[<{button};{column};{row}M")
}

/// The row of the screen that contains a text, counted from 1.
fn row_with(terminal: &Terminal, text: &str) -> usize {
    let shown = terminal.text();
    let row = shown.lines().position(|line| line.contains(text));
    1 + row.unwrap_or_else(|| panic!("no {text} in\n{shown}"))
}

#[test]
fn the_mouse_selects_folds_and_scrolls_if_it_is_wanted() {
    let (left, up, down) = (0, 64, 65);
    let scene = Scene::of_history("cmd/shop");
    let mut terminal = scene.watch_with(&["--mouse"], &[], WIDE);
    terminal.wait_for_text("f4 Pay for the cart");
    let row = row_with(&terminal, "f2 Shopping cart");
    go(&mut terminal, &mouse(left, 5, row), "f2");
    let row = row_with(&terminal, "f1 Build a shop");
    go(&mut terminal, &mouse(left, 5, row), "f1");
    shows(&mut terminal, &mouse(left, 5, row), "▸ [>] f1");
    shows(&mut terminal, &mouse(left, 5, row), "▾ [>] f1");
    go(&mut terminal, &mouse(down, 5, row), "f4");
    go(&mut terminal, &mouse(up, 5, row), "f1");
    // A leaf is shown in the details. There the wheel scrolls the text.
    let row = row_with(&terminal, "f4 Pay for the cart");
    go(&mut terminal, &mouse(left, 5, row), "f4");
    press(&mut terminal, &mouse(left, 5, row));
    shows(&mut terminal, "v", "<stack-context>");
    hides(&mut terminal, &mouse(down, 90, 12), "<stack-context>");
    shows(&mut terminal, &mouse(up, 90, 12), "<stack-context>");
    // A click closes a sheet, and a question on the screen ignores the mouse.
    shows(&mut terminal, "?", "any key back");
    hides(&mut terminal, &mouse(left, 5, 5), "any key back");
    shows(&mut terminal, "/cart", "Enter keep");
    press(&mut terminal, &mouse(left, 5, row));
    shows(&mut terminal, "z", "cartz");
    press(&mut terminal, "\x03");
}

#[test]
fn a_sheet_tells_who_is_at_work_and_what_the_last_hour_has_cost() {
    let scene = Scene::empty();
    let stack = scene.stack();
    let shop = stack.push(NewFrame::new("Shop")).unwrap();
    let [cart, pay] = ["Cart", "Pay"].map(|title| stack.plan(NewFrame::new(title).below(shop)).unwrap());
    let mut terminal = scene.watch(USUAL);
    shows(&mut terminal, "c", "At work on 1 frame");
    terminal.wait_for_text("no request to a model");
    let hold = stack.work().hold(NewHold::new("build-1", 60_000).frame(cart)).unwrap().unwrap();
    // Usage from a longer time ago does not count.
    let now = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
    let earlier = StackOptions::default().clock(Arc::new(move || now - 2 * 3_600_000));
    let before = Stack::open(scene.folder.path(), earlier).unwrap();
    before.record_usage(pay, ModelRequest { output: 9_000_000, ..ModelRequest::new("small") }).unwrap();
    for (frame, model, output, cost_micro_usd) in
        [(cart, "small", 40, 0), (cart, "large", 2_000, 1_500_000), (pay, "small", 3_000, 0)]
    {
        stack.record_usage(frame, ModelRequest { output, cost_micro_usd, ..ModelRequest::new(model) }).unwrap();
    }
    let screen = terminal.wait_for_text("together");
    let text = text_of(&screen);
    let line = |part: &str| text.lines().find(|line| line.contains(part)).unwrap_or_default().to_owned();
    assert!(line("Cart  ").contains("worker `build-1`"), "{text}");
    assert!(line("together").contains("3") && line("together").contains("5,040"), "{text}");
    assert!(line("large").contains("1.5000 US dollars"), "{text}");
    assert!(text.find("f3 Pay").unwrap() < text.rfind("f2 Cart").unwrap(), "the costliest first: {text}");
    stack.as_actor(&hold).pop(cart, PopStatus::Completed, "done").unwrap();
    terminal.wait_for("the frame above in hand", |screen| {
        text_of(screen).lines().any(|line| line.contains("f1 Shop  by hand"))
    });
    shows(&mut terminal, ESCAPE, "follows the active frame");
}
