//! Repairs of the files beside the database: a repair that finds nothing wrong leaves no copy.

use std::fs;

use callstack_core::{Stack, StackOptions};
use tempfile::tempdir;

use super::{open, push};

#[test]
fn a_repair_keeps_a_copy_only_of_files_that_are_wrong() {
    let folder = tempdir().unwrap();
    let stack = open(folder.path());
    (0..3).for_each(|number| push(&stack, &format!("ses_{number}")));
    stack.files().flush().unwrap();
    let copies = || {
        fs::read_dir(folder.path())
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("before-repair"))
            .count()
    };
    let repaired = stack.upkeep().repair().unwrap();
    assert_eq!((repaired.are_rewritten, repaired.kept_in, copies()), (false, None, 0));
    // Files that are behind the database are not wrong.
    let other = Stack::open(folder.path(), StackOptions::default().mirror(false)).unwrap();
    push(&other, "ses_3");
    other.add_decision("ses_0", "Cents").unwrap();
    assert_eq!((stack.upkeep().repair().unwrap().kept_in, copies()), (None, 0));
    assert!(fs::read_to_string(folder.path().join("frames/ses_0.json")).unwrap().contains("Cents"));
    // A missing file is written, and there is nothing to keep.
    fs::remove_file(folder.path().join("frames/ses_1.json")).unwrap();
    let repaired = stack.upkeep().repair().unwrap();
    assert_eq!((repaired.are_rewritten, repaired.kept_in, copies()), (true, None, 0));
    assert!(folder.path().join("frames/ses_1.json").exists());
    // Of two stacks that find the same damage, the first one keeps it.
    let second = open(folder.path());
    for (name, text) in [("frames/ses_1.json", "spilled coffee"), ("state.json", "{}")] {
        fs::write(folder.path().join(name), text).unwrap();
        let before = copies();
        let repaired = stack.upkeep().repair().unwrap();
        let kept = repaired.kept_in.unwrap();
        assert_eq!(fs::read_to_string(folder.path().join(&kept).join(name)).unwrap(), text);
        assert_eq!((second.upkeep().repair().unwrap().kept_in, copies()), (None, before + 1));
    }
    assert!(stack.upkeep().health().unwrap().is_sound());
}
