//! Attacks on the program: texts that a terminal would obey, files with byte order marks, names that forge
//! lines, and repairs at the same time.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;

use callstack_core::{NewFrame, Stack, StackOptions, Tree};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

fn command(stack: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_callstack"));
    command.args(arguments).env("CALLSTACK_DIR", stack).env_remove("COLUMNS").stdin(Stdio::null());
    command
}

fn run(stack: &Path, arguments: &[&str]) -> Output {
    command(stack, arguments).output().unwrap()
}

#[track_caller]
fn said(stack: &Path, arguments: &[&str]) -> String {
    let output = run(stack, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn write(folder: &TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A text with characters that terminals obey: they clear the screen, move the cursor, and turn the direction
/// of writing around.
const OBEYED: &str = "clear\u{9b}2J \u{90}q\u{9c} \u{7f} \u{202e}back";

#[test]
fn no_json_for_other_programs_has_characters_that_a_terminal_obeys() {
    let folder = tempdir().unwrap();
    let stack = Stack::open(folder.path().join("stack"), StackOptions::default()).unwrap();
    let frame = stack.push(NewFrame::new(OBEYED).id("ses_1").criteria(OBEYED)).unwrap();
    stack.log(frame).append(&[json!({ "role": "user", "text": OBEYED })]).unwrap();
    stack.close().unwrap();
    let place = folder.path().join("stack");
    let mut formats = vec![vec!["log", "f1", "--raw"], vec!["show", "f1", "--json"]];
    for format in ["state", "events", "html", "svg", "speedscope", "chrome", "otlp", "atif"] {
        formats.push(vec!["export", "--format", format]);
    }
    for arguments in formats {
        let text = said(&place, &arguments);
        let is_obeyed = |character: &char| character.is_control() && *character != '\n' || *character == '\u{202e}';
        assert_eq!(text.chars().find(is_obeyed), None, "{arguments:?}");
        assert!(text.contains("clear"), "{arguments:?}: {text}");
    }
    // Output for programs has the same text.
    let log: Value = serde_json::from_str(&said(&place, &["log", "f1", "--raw"])).unwrap();
    assert_eq!(log["text"], OBEYED);
    let state: Value = serde_json::from_str(&said(&place, &["export"])).unwrap();
    assert_eq!(state["frames"]["ses_1"]["title"], OBEYED);
    let file = folder.path().join("events.jsonl");
    said(&place, &["export", "--format", "events", file.to_str().unwrap()]);
    assert!(!fs::read_to_string(&file).unwrap().contains('\u{9b}'));
    said(&folder.path().join("again"), &["import", "--new", file.to_str().unwrap()]);
    let again = Stack::open(folder.path().join("again"), StackOptions::default()).unwrap();
    assert_eq!(again.frame("f1").unwrap().title, OBEYED);
}

#[test]
fn notes_about_repairs_have_no_characters_that_a_terminal_obeys() {
    let folder = tempdir().unwrap();
    let id = format!("{OBEYED}\nerror: forged");
    let frame = json!({ "sessionID": id, "status": "planned", "title": "Work", "parentSessionID": "nobody" });
    write(&folder, "state.json", &json!({ "frames": { id: frame } }).to_string());
    let output = run(folder.path(), &["plan", "Part", "--root"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && errors.contains("its parent `nobody` is not in the state"), "{errors}");
    assert!(!errors.contains(|character: char| character.is_control() && character != '\n'), "{errors:?}");
    assert!(errors.lines().all(|line| line.starts_with("note: ")), "{errors}");
}

#[test]
fn marks_at_the_beginning_of_files_are_no_part_of_them() {
    let folder = tempdir().unwrap();
    let place = folder.path().join("stack");
    let old = Stack::open(folder.path().join("old"), StackOptions::default()).unwrap();
    old.push(NewFrame::new("Old").id("old")).unwrap();
    let mut history = Vec::new();
    old.history().export(&mut history).unwrap();
    old.files().flush().unwrap();
    let history = String::from_utf8(history).unwrap();
    let titles = |place: &Path| -> Vec<String> {
        let stack = Stack::open(place, StackOptions::default()).unwrap();
        stack.read(Tree::state).unwrap().frames.into_iter().map(|frame| frame.title).collect()
    };
    for (name, text, arguments, title) in [
        ("lines.txt", "- Schema\n- Login\n", &["plan", "--new", "--root", "--file"][..], "Schema"),
        ("list.json", "[{\"title\": \"List \\ud83d\"}]", &["plan", "--root", "--file"], "List \u{fffd}"),
        ("tasks.json", "{\"tasks\": [{\"id\": 1, \"title\": \"Task \\ud83d\"}]}", &["import"], "Task \u{fffd}"),
        (
            "issues.jsonl",
            "{\"id\": \"x-1\", \"title\": \"Issue\"}\n{\"id\": \"x-2\", \"title\": \"Other\"}\n",
            &["import"],
            "Issue",
        ),
        ("state.json", &old.read(Tree::state).unwrap().to_json().replace("Old", "State"), &["import"], "State"),
    ] {
        let file = write(&folder, name, &format!("\u{feff}{text}"));
        said(&place, &[arguments, &[&file]].concat());
        assert!(titles(&place).contains(&title.to_owned()), "{name}: {:?}", titles(&place));
    }
    let file = write(&folder, "events.jsonl", &format!("\u{feff}{history}"));
    let again = folder.path().join("again");
    said(&again, &["import", "--new", &file]);
    assert_eq!(titles(&again), ["Old"]);
    // The same is true for the files of a stack.
    let restored = folder.path().join("restored");
    fs::create_dir_all(restored.join("frames")).unwrap();
    for file in ["state.json", "frames/old.json"] {
        let text = fs::read_to_string(folder.path().join("old").join(file)).unwrap();
        fs::write(restored.join(file), format!("\u{feff}{text}")).unwrap();
    }
    assert_eq!(titles(&restored), ["Old"]);
    let results = write(&folder, "results.txt", "\u{feff}Done");
    said(&restored, &["pop", "f1", "--results-file", &results]);
    let stack = Stack::open(&restored, StackOptions::default()).unwrap();
    assert_eq!(stack.frame("f1").unwrap().results.as_deref(), Some("Done"));
    let prices = write(&folder, "prices.json", "\u{feff}{\"m\": {\"uncachedInput\": 3}}");
    let used = command(&restored, &["usage"]).env("CALLSTACK_PRICES", prices).output().unwrap();
    assert!(used.status.success(), "{}", String::from_utf8_lossy(&used.stderr));
}

#[test]
fn files_of_titles_and_check_lists_become_plans() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/field");
    for (name, titles) in [
        ("titles-byte-order-mark.txt", &["Schema", "Routes"][..]),
        ("titles-byte-order-mark.json", &["Schema", "Routes"]),
        ("checklist.md", &["grammar", "Write the pull request:", "Tell everybody"]),
    ] {
        let folder = tempdir().unwrap();
        let file = data.join(name);
        let file = file.to_str().unwrap();
        said(folder.path(), &["plan", "--new", "--root", "--file", file]);
        let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
        let title = |tree: &Tree, frame| tree.node(frame).title().to_owned();
        let ready: Vec<String> = stack.read(|tree| tree.ready().map(|frame| title(tree, frame)).collect()).unwrap();
        assert_eq!(ready, titles, "{name}");
    }
    // Imports the same plan a second time, and below a frame.
    let folder = tempdir().unwrap();
    let list = write(&folder, "PLAN.md", "- [ ] Cart\n  - [x] Totals\n");
    let place = folder.path().join("stack");
    said(&place, &["plan", "--new", "Shop", "--root"]);
    for _ in 0..2 {
        said(&place, &["plan", "--below", "f1", "--file", &list]);
    }
    said(&place, &["import", &list]);
    let stack = Stack::open(&place, StackOptions::default()).unwrap();
    let shop = stack.resolve("f1").unwrap();
    assert_eq!(stack.read(|tree| (tree.children(shop).len(), tree.len())).unwrap(), (2, 7));
    let chained = run(&place, &["plan", "--chain", "--file", &list]);
    assert_eq!(chained.status.code(), Some(2), "{}", String::from_utf8_lossy(&chained.stderr));
    let utf16: Vec<u8> = "\u{feff}Schéma\r\nRoutes".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let file = folder.path().join("titles.txt");
    fs::write(&file, utf16).unwrap();
    said(&place, &["plan", "--root", "--file", file.to_str().unwrap()]);
    fs::write(&file, b"ok\nb\xffd").unwrap();
    let refused = run(&place, &["plan", "--root", "--file", file.to_str().unwrap()]);
    let errors = String::from_utf8(refused.stderr).unwrap();
    assert!(errors.contains("line 2, column 2"), "{errors}");
    assert!(Stack::open(&place, StackOptions::default()).unwrap().frame("Schéma").is_ok());
}

#[test]
fn a_line_break_in_an_id_forges_no_defect() {
    let folder = tempdir().unwrap();
    let issue = json!({ "id": "x\n    line 9: forged", "title": "Issue", "dependencies": [{ "type": "blocks", "depends_on_id": "none" }] });
    let file = write(&folder, "issues.jsonl", &issue.to_string());
    let told = said(&folder.path().join("stack"), &["import", "--new", &file]);
    assert!(told.contains("x line 9: forged: depends on `none`"), "{told}");
}

#[test]
fn two_repairs_at_once_leave_one_copy() {
    let folder = tempdir().unwrap();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    for number in 0..200 {
        stack.push(NewFrame::new(format!("Part {number}")).root()).unwrap();
    }
    stack.close().unwrap();
    let copies = || {
        let entries = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        entries.filter(|name| name.to_string_lossy().contains("before-repair")).count()
    };
    let repair = || said(folder.path(), &["doctor", "--repair"]);
    // Nothing is wrong, so no copy is kept.
    let told = repair();
    assert!(told.contains("state.json and frames/ were right.") && told.contains("The stack is sound."), "{told}");
    assert_eq!(copies(), 0);
    for round in 1..4 {
        let right = fs::read_to_string(folder.path().join("state.json")).unwrap();
        write(&folder, "state.json", &right.replace("Part 7\"", "Part x\""));
        let told = thread::scope(|scope| [scope.spawn(repair), scope.spawn(repair)].map(|one| one.join().unwrap()));
        assert!(told.iter().all(|told| told.contains("The stack is sound.")), "{told:?}");
        let rewritten = told.iter().filter(|told| told.contains("The files as they were are in before-repair"));
        assert_eq!((rewritten.count(), copies()), (1, round), "{told:?}");
    }
}
