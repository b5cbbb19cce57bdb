//! `callstack plan --edit`: the plan in the person's editor, here a script.

// Only on Unix: the editor is a script for a shell.
#![cfg(unix)]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use callstack_core::{FrameStatus, NewFrame, Stack, StackOptions};
use serde_json::Value;
use tempfile::TempDir;

/// A folder with a stack of a shop, and space for editors and the files that they leave.
struct Place {
    folder: TempDir,
    stack: Stack,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let stack = Stack::open(folder.path().join(".callstack"), StackOptions::default()).unwrap();
        let shop = stack.push(NewFrame::new("Build a shop").id("shop")).unwrap();
        for title in ["Cart", "Taxes", "Fax"] {
            stack.plan(NewFrame::new(title).id(title).below(shop)).unwrap();
        }
        Self { folder, stack }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// `callstack plan --edit` with an editor, if one is given.
    fn edit(&self, editor: Option<&str>, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callstack"));
        command.args(["plan", "--edit", "--json"]).args(arguments).current_dir(self.path()).stdin(Stdio::null());
        for variable in ["CALLSTACK_DIR", "CALLSTACK_FRAME", "VISUAL", "EDITOR"] {
            command.env_remove(variable);
        }
        command.env("TMPDIR", self.path());
        if let Some(editor) = editor {
            command.env("EDITOR", editor);
        }
        command.output().unwrap()
    }

    /// An editor that does what a script says: `$1` is the file.
    fn editor(&self, script: &str) -> String {
        let path = self.path().join("an editor");
        fs::write(&path, format!("#!/bin/sh\nset -e\n{script}\n")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        format!("'{}'", path.display())
    }

    /// Titles and statuses below the shop, in their order.
    fn parts(&self) -> Vec<(String, FrameStatus)> {
        self.stack.refresh().unwrap();
        let shop = self.stack.resolve("shop").unwrap();
        let children = self.stack.read(|tree| tree.children(shop).to_vec()).unwrap();
        let frames = children.into_iter().map(|child| self.stack.frame(child).unwrap());
        frames.map(|frame| (frame.title, frame.status)).collect()
    }

    /// The texts that earlier editors have left.
    fn kept(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.to_string_lossy().contains("callstack-plan-")).collect()
    }
}

fn report(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The code, the message and the next step of a failure. The shell of the editor may have written a message
/// before it.
fn failure(output: &Output) -> Value {
    assert!(!output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    let json = said.find('{').map_or("", |start| &said[start..]);
    serde_json::from_str::<Value>(json).unwrap_or_else(|_| panic!("{said}"))["data"].clone()
}

#[test]
fn what_the_editor_leaves_becomes_the_plan_and_is_taken_back_as_one() {
    let place = Place::new();
    let editor = place.editor(
        r#"grep -q '^# Each line is a frame' "$1"
           sed -i -e 's/Taxes/Taxes of all countries/' -e '/Fax/d' "$1"
           echo '  - [ ] Invoices' >> "$1""#,
    );
    let edited = report(&place.edit(Some(&editor), &[]));
    assert_eq!(edited["kind"], "planEdited", "{edited}");
    let planned = |title: &str| (title.to_owned(), FrameStatus::Planned);
    let after = [
        planned("Cart"),
        planned("Taxes of all countries"),
        ("Fax".to_owned(), FrameStatus::Invalidated),
        planned("Invoices"),
    ];
    assert_eq!(place.parts(), after);
    assert_eq!(place.kept(), Vec::<PathBuf>::new(), "a text that has been taken is not kept");
    let mut undo = Command::new(env!("CARGO_BIN_EXE_callstack"));
    let undone = undo.arg("undo").current_dir(place.path()).env_remove("CALLSTACK_DIR").output().unwrap();
    assert!(undone.status.success(), "{undone:?}");
    let titles: Vec<(String, FrameStatus)> = place.parts().into_iter().take(3).collect();
    assert_eq!(titles, [planned("Cart"), planned("Taxes"), planned("Fax")]);
}

#[test]
fn an_editor_that_changes_nothing_or_removes_everything_changes_nothing() {
    let place = Place::new();
    let before = place.parts();
    for script in ["true", r#": > "$1""#, r#"sed -i '/^[^#]/d' "$1""#] {
        report(&place.edit(Some(&place.editor(script)), &[]));
        assert_eq!(place.parts(), before, "{script}");
        assert_eq!(place.kept(), Vec::<PathBuf>::new(), "{script}");
    }
}

#[test]
fn a_text_with_a_mistake_is_kept_and_can_be_corrected() {
    let place = Place::new();
    let before = place.parts();
    let editor = place.editor(r#"sed -i 's/(f2)/(f2) after f9/; s/Taxes/Customs/' "$1""#);
    let failed = failure(&place.edit(Some(&editor), &[]));
    assert!(failed["message"].as_str().unwrap().contains("f9"), "{failed}");
    assert_eq!(place.parts(), before, "half of a text is not taken");
    let [kept] = &place.kept()[..] else { panic!("the text was not kept: {failed}") };
    let name = kept.to_string_lossy();
    assert!(failed["nextStep"].as_str().unwrap().contains(&*name), "{failed}");
    let text = fs::read_to_string(kept).unwrap();
    assert!(text.contains("Customs"), "{text}");
    fs::write(kept, text.replace("after f9", "after f3")).unwrap();
    report(&place.edit(None, &["--file", &name]));
    assert_eq!(place.parts()[1], ("Customs".to_owned(), FrameStatus::Planned));
    let needed = place.stack.frame("Cart").unwrap().depends_on;
    assert_eq!(needed, ["Taxes"]);
}

#[test]
fn an_editor_that_fails_or_does_not_exist_changes_nothing() {
    let place = Place::new();
    let before = place.parts();
    for editor in [&*place.editor("exit 3"), "/no/such/editor"] {
        let failed = failure(&place.edit(Some(editor), &[]));
        assert_eq!(failed["code"], "editor", "{failed}");
        assert_eq!(place.parts(), before);
        assert_eq!(place.kept(), Vec::<PathBuf>::new(), "a text that nothing was written to is not kept");
    }
    let failed = failure(&place.edit(None, &[]));
    assert_eq!(failed["code"], "no_terminal", "{failed}");
}

#[test]
fn what_others_have_changed_while_the_editor_was_open_is_not_overwritten() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_callstack");
    let script = format!(r#"'{program}' edit Taxes --title Duties >/dev/null 2>&1; sed -i 's/Taxes/Customs/' "$1""#);
    let failed = failure(&place.edit(Some(&place.editor(&script)), &[]));
    assert!(failed["message"].as_str().unwrap().contains("has changed meanwhile"), "{failed}");
    assert_eq!(place.parts()[1].0, "Duties");
    assert_eq!(place.kept().len(), 1, "the text of the editor is kept");
}
