//! Plans that are edited as texts.

use callstack_core::import::plan_text;
use callstack_core::{Actor, Handle, HolderKind, NewFrame, PopStatus, Stack};
use proptest::prelude::*;
use support::{Queries, Random};

fn text(stack: &Stack, below: Option<Handle>) -> String {
    stack.read(|tree| plan_text(tree, below)).unwrap()
}

/// The lines without handles, because new frames get their handles later.
fn without_handles(text: &str) -> Vec<String> {
    text.lines().map(|line| line.rsplit_once(" (f").map_or(line, |(title, _)| title).to_owned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_becomes_what_the_edited_text_says(seed in any::<u64>(), size in 1usize..14) {
        let mut random = Random::new(seed);
        let stack = Stack::in_memory().as_actor(Actor::new(HolderKind::Person, ""));
        let root = stack.push(NewFrame::new("Root").id("root")).unwrap();
        for number in 0..size {
            let parent = if number == 0 || random.once_in(3) { root } else { Handle::from_index(1 + random.below(number)).unwrap() };
            stack.plan(NewFrame::new(format!("Task {number}")).id(format!("plan-{number}")).below(parent)).unwrap();
        }
        let before = text(&stack, Some(root));
        let mut lines: Vec<String> = before.lines().map(|line| line.trim_start().to_owned()).collect();
        for index in (1..lines.len()).rev() {
            lines.swap(index, random.below(index + 1));
        }
        lines.retain(|_| !random.once_in(5));
        for number in 0..random.below(3) {
            lines.insert(random.below(lines.len() + 1), format!("- [ ] New {number}"));
        }
        let mut level = 0;
        let edited: String = lines.iter().enumerate().map(|(index, line)| {
            level = if index == 0 { 0 } else { random.below(level + 2) };
            let line = if random.once_in(4) { line.replace("Task", "Job") } else { line.clone() };
            format!("{}{line}\n", "  ".repeat(level))
        }).collect();
        let result = stack.edit_plan(Some(root), &before, &edited).unwrap();
        prop_assert!(result.is_ok(), "{result:?}\n{before}---\n{edited}");
        prop_assert_eq!(without_handles(&text(&stack, Some(root))), without_handles(&edited), "before:\n{}", before);
        if !result.unwrap().is_nothing() {
            stack.undo().unwrap_or_else(|error| panic!("{error}\n{before}---\n{edited}"));
            prop_assert_eq!(text(&stack, Some(root)), before, "undone, after:\n{}", edited);
        }
    }
}

#[test]
fn what_has_begun_stays_and_nothing_changes_if_a_line_is_refused() {
    let stack = Stack::in_memory().as_actor(Actor::new(HolderKind::Person, ""));
    let root = stack.push(NewFrame::new("Shop").id("shop")).unwrap();
    for title in ["Schema", "Routes", "Pages"] {
        stack.plan(NewFrame::new(title).id(title).below(root)).unwrap();
    }
    stack.activate("Schema").unwrap();
    stack.pop("Schema", PopStatus::Completed, "done").unwrap();
    stack.activate("Routes").unwrap();
    let before = text(&stack, Some(root));
    assert_eq!(before, "- [x] Schema (f2)\n- [>] Routes (f3)\n- [ ] Pages (f4)\n");
    let state = stack.state().unwrap();
    for (edited, problem) in [
        (
            "- [>] Routes (f3)\n- [x] Schema (f2)\n- [ ] Pages (f4)\n",
            "line 1: frames that have begun stay in their order",
        ),
        ("- [x] Schema (f2)\n- [ ] Pages (f4)\n", "the line of f3 is gone, but it is in_progress"),
        (
            "- [x] Schema (f2)\n- [x] Routes (f3)\n- [ ] Pages (f4)\n",
            "line 2: marks are not edited: `callstack done f3",
        ),
        ("- [x] Schema (f2)\n- [>] Routes (f3)\n- [ ] Pages (f4)\n- [ ] Pages (f4)\n", "line 4: f4 is there twice"),
        ("- [x] Schema (f2)\n- [>] Routes (f3)\n- [ ] Pages (f9)\n", "line 3: f9 is not a frame of this plan"),
        (
            "- [x] Schema (f2)\n- [>] Routes (f3)\n    - [ ] Pages (f4)\n",
            "line 3: it is indented by more than one level",
        ),
        ("- [x] Schema (f2)\n- [>] Routes (f3)\n- [x] New\n- [ ] Pages (f4)\n", "line 3: a new frame is planned"),
        (
            "- [x] Schema (f2)\n- [ ] Pages (f4)\n  - [>] Routes (f3)\n",
            "line 3: f3 is not planned, and stays where it is",
        ),
        ("Schema\n", "line 1: a line is `- [ ] Title`"),
        (
            "- [x] Schema (f2)\n- [>] Routes (f3)\n- [ ] Pages (f4) urgent\n",
            "line 3: only the frames that it needs come after (f4)",
        ),
        (
            "- [x] Schema (f2)\n- [>] Routes (f3)\n- [ ] Pages (f4) after Routes\n",
            "line 3: only the frames that it needs come after (f4)",
        ),
        ("- [x] Schema (f2)\n- [>] Routes (f3)\n- [o] New\n- [ ] Pages (f4)\n", "line 3: [o] is not a mark"),
    ] {
        let refused = stack.edit_plan(Some(root), &before, edited).unwrap().unwrap_err().to_string();
        assert!(refused.starts_with(problem), "{edited}: {refused}");
        assert_eq!(stack.state().unwrap(), state, "{edited}");
    }
    // The rules of the tree refuse the last line, after a line that could be carried out.
    let error = stack
        .edit_plan(Some(root), &before, "- [x] Schema (f2)\n- [>] API (f3)\n- [ ] Pages (f4) after f4\n")
        .unwrap_err();
    assert_eq!((error.code(), stack.state().unwrap()), ("dependency", state));
}

#[test]
fn lines_are_read_as_people_write_them() {
    let stack = Stack::in_memory();
    let root = stack.push(NewFrame::new("Shop").id("shop")).unwrap();
    for title in ["Schema", "Routes", "Pages"] {
        stack.plan(NewFrame::new(title).id(title).below(root)).unwrap();
    }
    let before = text(&stack, Some(root));
    let edited = "\u{feff}# mine\r\n* [ ] Schema (F2):\r\n- [] Pages (f4)\tAfter f2 and f3,\r\n\t- [API] New\r\n- [ ] Routes (f3) after f2\r\n";
    stack.edit_plan(Some(root), &before, edited).unwrap().unwrap();
    let expected =
        "- [ ] Schema (f2)\n- [ ] Pages (f4) after f2, f3\n  - [ ] [API] New (f5)\n- [ ] Routes (f3) after f2\n";
    assert_eq!(text(&stack, Some(root)), expected);
    // The direction of a dependency is reversed, and a frame leaves the frame that it then needs.
    let turned = "- [ ] Schema (f2) after f3\n- [ ] Pages (f4) after f5\n- [ ] [API] New (f5)\n- [ ] Routes (f3)\n";
    stack.edit_plan(Some(root), expected, turned).unwrap().unwrap();
    assert_eq!(text(&stack, Some(root)), turned);
}

#[test]
fn what_others_change_meanwhile_stays_unless_it_is_the_same_frame() {
    let stack = Stack::in_memory();
    let root = stack.push(NewFrame::new("Shop").id("shop")).unwrap();
    for title in ["Schema", "Routes", "Pages"] {
        stack.plan(NewFrame::new(title).id(title).below(root)).unwrap();
    }
    let before = text(&stack, Some(root));
    stack.activate("Schema").unwrap();
    stack.plan(NewFrame::new("Mail").id("mail").below(root)).unwrap();
    let renamed = before.replace("Routes", "API");
    stack.edit_plan(Some(root), &before, &renamed).unwrap().unwrap();
    assert_eq!(text(&stack, Some(root)), "- [>] Schema (f2)\n- [ ] API (f3)\n- [ ] Pages (f4)\n- [ ] Mail (f5)\n");
    let refused = stack.edit_plan(Some(root), &before, &before.replace("Routes", "Ways")).unwrap().unwrap_err();
    assert_eq!(refused.to_string(), "f3 has changed meanwhile; edit the plan as it is now");
}

#[test]
fn only_what_gets_another_place_is_moved() {
    let stack = Stack::in_memory();
    let root = stack.push(NewFrame::new("Shop").id("shop")).unwrap();
    for title in ["Cart", "Taxes", "Fax", "Pages"] {
        stack.plan(NewFrame::new(title).id(title).below(root)).unwrap();
    }
    let edit = |change: fn(&str) -> String| {
        let before = text(&stack, None);
        stack.edit_plan(None, &before, &change(&before)).unwrap().unwrap()
    };
    let handles =
        |numbers: &[usize]| numbers.iter().map(|number| Handle::from_index(number - 1).unwrap()).collect::<Vec<_>>();
    // One frame is removed, and new frames come at the end: the other frames stay where they are.
    let edited = edit(|text| text.replace("  - [ ] Fax (f4)\n", "") + "  - [ ] Sizes\n  - [ ] Colours\n");
    assert_eq!((edited.edited, edited.invalidated), (vec![], handles(&[4])));
    assert_eq!(edited.planned, handles(&[6, 7]));
    // One frame moves to another parent.
    let edited = edit(|text| {
        let without = text.replace("  - [ ] Taxes (f3)\n", "");
        without.replace("Pages (f5)\n", "Pages (f5)\n    - [ ] Taxes (f3)\n")
    });
    assert_eq!((edited.edited, edited.invalidated), (handles(&[3]), vec![]));
    let titles = without_handles(&text(&stack, None));
    let expected = ["  - [ ] Cart", "  - [ ] Pages", "    - [ ] Taxes", "  - [ ] Sizes", "  - [ ] Colours"];
    assert_eq!(titles[1..], expected);
}
