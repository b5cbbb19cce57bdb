//! Tests of the plan file: its content, that stacks on several machines update each other through it, and
//! that nothing is lost.

use std::fs;
use std::path::Path;

use callstack_core::import::{self, Becomes, PlanField, PlanUpdate};
use callstack_core::stack::PlanFileState;
use callstack_core::{
    Actor, FrameEdit, FrameStatus, Handle, HolderKind, Mirroring, NewFrame, PopStatus, Priority, Stack, StackOptions,
};
use support::{Queries, Random};
use tempfile::{TempDir, tempdir};

/// A stack with a plan file, as a person uses it.
struct Side {
    folder: TempDir,
    stack: Stack,
}

impl Side {
    fn new() -> Self {
        let folder = tempdir().unwrap();
        let stack = Stack::open(folder.path(), StackOptions::default().mirror(Mirroring::WithCommands)).unwrap();
        Self { folder, stack: stack.as_actor(Actor::new(HolderKind::Person, "anna")) }
    }

    fn file(&self) -> String {
        self.stack.files().flush().unwrap();
        fs::read_to_string(self.folder.path().join("plan.md")).unwrap()
    }

    /// Writes a text that git has merged into the file, and reads it.
    fn take(&self, text: &str) -> PlanUpdate {
        fs::write(self.folder.path().join("plan.md"), text).unwrap();
        self.read(text)
    }

    fn read(&self, text: &str) -> PlanUpdate {
        self.stack.bring_up_to_date(&import::frames(text).unwrap(), None).unwrap()
    }

    /// The titles with their marks, as the tree shows them.
    fn outline(&self) -> String {
        self.stack.read(|tree| import::plan_text(tree, None)).unwrap()
    }
}

fn state(side: &Side) -> PlanFileState {
    side.stack.files().plan_state().unwrap()
}

/// A stack whose plan is in its file, and another stack that has read this file.
fn two() -> (Side, Side) {
    let (one, other) = (Side::new(), Side::new());
    let shop = one.stack.push(NewFrame::new("Shop").criteria("Pay\nand print").root()).unwrap();
    let cart = one.stack.plan(NewFrame::new("Cart").task("Sums\n- [ ] no item").below(shop)).unwrap();
    one.stack.plan(NewFrame::new("Pay").below(shop).depends_on(cart).label("a b").assignee("ben")).unwrap();
    one.stack.files().begin_plan().unwrap();
    other.take(&one.file());
    other.stack.files().begin_plan().unwrap();
    (one, other)
}

#[test]
fn a_plan_file_follows_the_stack_until_a_person_changes_it() {
    let side = Side::new();
    assert_eq!(state(&side), PlanFileState::Off);
    let shop = side.stack.push(NewFrame::new("Shop").root()).unwrap();
    assert_eq!(side.stack.files().begin_plan().unwrap(), PlanFileState::On);
    let ignored = || fs::read_to_string(side.folder.path().join(".gitignore")).unwrap_or_default();
    assert_eq!(ignored(), "*\n!.gitignore\n!plan.md\n");
    side.stack.plan(NewFrame::new("Cart").below(shop)).unwrap();
    let text = side.file();
    assert!(text.contains("\n  - [ ] Cart <!-- f2."), "{text}");
    let changed = text.replace("Cart", "Basket");
    fs::write(side.folder.path().join("plan.md"), &changed).unwrap();
    assert_eq!(state(&side), PlanFileState::Changed);
    side.stack.plan(NewFrame::new("Pay").below(shop)).unwrap();
    assert_eq!(side.file(), changed, "a change of a person is not written over");
    let update = side.read(&changed);
    assert_eq!((update.changes.len(), update.added.len(), update.conflicts), (1, 0, vec![]));
    assert_eq!(update.changes[0].fields, [PlanField::Title]);
    assert_eq!(state(&side), PlanFileState::On);
    assert!(side.file().contains("Basket") && side.file().contains("Pay"));
    assert!(side.stack.files().end_plan().unwrap() && !side.stack.files().end_plan().unwrap());
    assert_eq!((state(&side), ignored()), (PlanFileState::Off, "*\n".to_owned()));
    assert!(!side.folder.path().join(".last.plan.md").exists());
    assert!(side.stack.frame("Basket").unwrap().origin.is_none(), "it is a frame of this stack as before");
}

#[test]
fn a_plan_file_is_written_whatever_state_json_is_left_to() {
    let folder = tempdir().unwrap();
    let options = StackOptions::default().mirror(Mirroring::WithCommands).state_file_frames(3);
    let stack = Stack::open(folder.path(), options.clone()).unwrap();
    let root = stack.push(NewFrame::new("Root").root()).unwrap();
    stack.files().begin_plan().unwrap();
    let children = (0..20).map(|number| NewFrame::new(format!("Part {number}"))).collect();
    stack.plan_children(root, children).unwrap();
    let lines = || fs::read_to_string(folder.path().join("plan.md")).unwrap().matches("- [").count();
    assert_eq!(lines(), 21);
    drop(stack);
    Stack::open(folder.path(), options).unwrap().plan(NewFrame::new("Last").below(root)).unwrap();
    assert_eq!(lines(), 22);
}

#[test]
fn a_frame_of_two_lines_is_refused_and_one_of_another_file_is_known_in_both_stacks() {
    let (one, other) = two();
    let text = one.file();
    let line = text.lines().find(|line| line.contains("Cart")).unwrap();
    let twice = text.replace(line, &format!("{line}\n{line}"));
    assert!(import::frames(&twice).unwrap_err().to_string().contains("keep one line"));
    for side in [&one, &other] {
        let issue = |id: &str| format!("{{\"id\": \"{id}\", \"title\": \"Issue {id}\", \"status\": \"open\"}}\n");
        let order = if std::ptr::eq(side, &one) { ["b-1", "b-2"] } else { ["b-2", "b-1"] };
        side.read(&order.map(issue).concat());
    }
    let update = other.take(&one.file());
    assert_eq!((update.added.len(), update.conflicts), (0, vec![]));
    assert_eq!(other.stack.with_status(FrameStatus::Invalidated).unwrap(), []);
}

#[test]
fn a_new_clone_has_the_whole_plan() {
    let (one, other) = two();
    assert_eq!(other.outline(), one.outline());
    let pay = other.stack.frame("Pay").unwrap();
    assert_eq!((pay.labels, pay.assignee.as_deref()), (vec!["a b".to_owned()], Some("ben")));
    assert_eq!(other.stack.frame("Shop").unwrap().success_criteria, "Pay\nand print");
    assert_eq!(other.stack.frame("Cart").unwrap().task, "Sums\n- [ ] no item");
    assert_eq!(other.file(), one.file(), "the IDs stay");
    let again = other.read(&one.file());
    assert_eq!((again.added.len(), again.changes.len(), again.conflicts.len()), (0, 0, 0));
}

#[test]
fn what_only_one_side_has_changed_is_taken_over_by_the_other() {
    let (one, other) = two();
    one.stack.begin("Cart").unwrap();
    one.stack.pop("Cart", PopStatus::Completed, "In cart.rs\n9 tests").unwrap();
    one.stack.plan(NewFrame::new("Invoice").below("Shop").depends_on("Pay")).unwrap();
    other.stack.edit("Pay", FrameEdit::default().title("Pay by card").priority(Some(Priority::HIGHEST))).unwrap();
    other.stack.plan(NewFrame::new("Texts").below("Pay by card")).unwrap();
    // Both lines of work are merged in git, which merges the texts. The lines of Pay come from the
    // other side.
    let theirs = other.file();
    let of_pay: Vec<&str> = theirs.lines().filter(|line| line.contains("Pay by") || line.contains("Texts")).collect();
    let mine = one.file();
    let merged = mine.lines().map(|line| if line.contains("] Pay ") { of_pay.join("\n") } else { line.to_owned() });
    let update = other.take(&(merged.collect::<Vec<_>>().join("\n") + "\n"));
    assert_eq!(update.conflicts, []);
    assert_eq!(update.changes.iter().map(|change| change.becomes).collect::<Vec<_>>(), [Becomes::Finished]);
    let cart = other.stack.frame("Cart").unwrap();
    assert_eq!((cart.status, cart.results.as_deref()), (FrameStatus::Completed, Some("In cart.rs\n9 tests")));
    let update = one.take(&other.file());
    assert_eq!(update.conflicts, []);
    assert_eq!(one.stack.frame("Pay by card").unwrap().priority, Some(Priority::HIGHEST));
    assert_eq!(one.file(), other.file());
    // A line that is missing takes its frame out of the plan; a new line is a new frame.
    let text: String =
        one.file().lines().filter(|line| !line.contains("Texts")).map(|line| format!("{line}\n")).collect();
    let update = one.take(&format!("{text}- [ ] Launch\n"));
    assert_eq!((update.added.len(), update.changes[0].becomes), (1, Becomes::Removed));
    other.take(&one.file());
    assert_eq!(one.file(), other.file());
    assert!(one.file().contains("- [ ] Launch <!-- plan/Launch -->") && !one.file().contains("Texts"));
}

#[test]
fn what_both_sides_have_changed_is_a_conflict_and_stays() {
    let (one, other) = two();
    one.stack.edit("Cart", FrameEdit::default().title("Basket")).unwrap();
    // The file has arrived by a pull, and the stack does not overwrite it.
    fs::write(other.folder.path().join("plan.md"), one.file()).unwrap();
    other.stack.edit("Cart", FrameEdit::default().title("Trolley")).unwrap();
    let update = other.read(&other.file());
    let conflict = &update.conflicts[0];
    assert_eq!((conflict.field, &*conflict.file, &*conflict.stack), (PlanField::Title, "Basket", "Trolley"));
    assert!(other.outline().contains("Trolley"));
    let text = one.file();
    let torn = text.replacen("- [", "<<<<<<< mine\n- [", 1);
    assert!(import::frames(&torn).unwrap_err().to_string().contains("merge conflict"));
}

#[test]
fn lines_that_say_nothing_are_reported_and_hostile_ones_are_read() {
    let text = "<!-- callstack plan -->\n\nwords\n- [ ] One <!-- a after=b,b priority=9 colour=red -->\n  more\n- [z] no mark\n\
                \t- [?] <!-- % -->\n      Waits: What?\n- [x] --> <!-- <!-- x -->\n  Results:\n  > a\n  >b\n  > - [ ] c\n";
    let imported = import::frames(text).unwrap();
    let titles: Vec<&str> = imported.frames.iter().map(|frame| frame.title.as_str()).collect();
    assert_eq!(titles, ["One", "%", "--> <!--"]);
    assert_eq!(imported.frames[2].results.as_deref(), Some("a\nb\n- [ ] c"));
    assert_eq!(imported.frames[1].questions[0].question, "What?");
    let problems: Vec<String> = imported.problems.iter().map(ToString::to_string).collect();
    for part in ["line 5:", "line 6:", "line 7: has no title", "`colour=red`", "`b`"] {
        assert!(problems.iter().any(|problem| problem.contains(part)), "no {part} in {problems:#?}");
    }
}

/// Changes a stack at random.
fn change(stack: &Stack, random: &mut Random) {
    let frames = stack.read(|tree| tree.handles().collect::<Vec<Handle>>()).unwrap();
    let some = |random: &mut Random| frames[random.below(frames.len())];
    let title = format!("Title <!-- {} --> \u{202e}ä", random.below(1_000));
    let (frame, other) = (some(random), some(random));
    // Some of these commands are refused.
    let _ = match random.below(9) {
        0 => stack.plan(NewFrame::new(title).below(frame).depends_on(other)).map(drop),
        1 => stack.plan(NewFrame::new(title).root().task("One\n\n> Two\n")).map(drop),
        2 => stack.begin(frame),
        3 => stack.pop(frame, PopStatus::Completed, "Done\n- [ ] not an item").map(drop),
        4 => stack.pop(frame, PopStatus::Failed, "No").map(drop),
        5 => stack.block(frame, "Which?\nOr what?", None).map(drop),
        6 => stack.edit(frame, FrameEdit::default().title(title).labels(["x,y=z"])),
        7 => stack.edit(frame, FrameEdit::default().before(other)),
        _ => stack.invalidate(frame, "Not wanted").map(drop),
    };
}

#[test]
fn stacks_that_take_turns_have_the_same_plan() {
    for seed in 0..20 {
        let random = &mut Random::new(seed);
        let (one, other) = two();
        for turn in 0..12 {
            let (writer, reader) = if turn % 2 == 0 { (&one, &other) } else { (&other, &one) };
            (0..1 + random.below(4)).for_each(|_| change(&writer.stack, random));
            let text = writer.file();
            let imported = import::frames(&text).unwrap();
            // Reading what was written changes nothing.
            let own = writer.stack.compare_plan(&imported, None).unwrap();
            assert_eq!((own.added.len(), own.changes, own.conflicts), (0, vec![], vec![]), "seed {seed}:\n{text}");
            reader.take(&text);
            assert_eq!(writer.stack.history().check().unwrap(), [""; 0]);
            assert_eq!(reader.stack.history().check().unwrap(), [""; 0]);
        }
    }
}

#[test]
fn a_link_in_place_of_the_plan_is_not_followed() {
    let side = Side::new();
    side.stack.push(NewFrame::new("Shop").root()).unwrap();
    side.stack.files().begin_plan().unwrap();
    let outside = side.folder.path().join("precious");
    fs::write(&outside, "text").unwrap();
    fs::remove_file(side.folder.path().join("plan.md")).unwrap();
    link(&outside, &side.folder.path().join("plan.md"));
    side.stack.plan(NewFrame::new("Cart").below("Shop")).unwrap();
    let _ = side.stack.files().flush();
    assert_eq!(fs::read_to_string(&outside).unwrap(), "text");
    assert_eq!(side.stack.files().plan_state().unwrap_err().code(), "io");
}

#[cfg(unix)]
fn link(to: &Path, at: &Path) {
    std::os::unix::fs::symlink(to, at).unwrap();
}

#[cfg(not(unix))]
fn link(_: &Path, at: &Path) {
    fs::create_dir(at).unwrap();
}
