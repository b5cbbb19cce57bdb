//! Tests with randomly damaged files: every tree that is read is consistent, and nothing panics.

use callstack_core::import::{self, Format};
use callstack_core::{Settings, Stack, StackOptions, StackState, Tree};
use proptest::prelude::*;
use serde_json::Value;
use support::{Queries, Random};

const STATES: &[&str] = &["state-after-full-run", "state-scenario-A", "state-scenario-B", "state-scenario-D"];

/// Replaces, removes or duplicates values anywhere in a JSON text.
fn disturb(value: &mut Value, random: &mut Random) {
    let odd = |random: &mut Random| match random.below(9) {
        0 => Value::Null,
        1 => Value::Bool(true),
        2 => Value::from(-1),
        3 => Value::from(1.5e300),
        4 => Value::from(""),
        5 => Value::from(vec![Value::Null, Value::from("x")]),
        6 => Value::Object(Default::default()),
        7 => Value::from(support::text(random, 5)),
        _ => Value::from(u64::MAX),
    };
    match value {
        Value::Object(fields) => {
            let keys: Vec<String> = fields.keys().cloned().collect();
            for key in keys {
                match random.below(60) {
                    0 => drop(fields.remove(&key)),
                    1 => drop(fields.insert(key, odd(random))),
                    2 => {
                        let copy = fields[&key].clone();
                        fields.insert(support::text(random, 2), copy);
                    }
                    _ => disturb(fields.get_mut(&key).unwrap(), random),
                }
            }
        }
        Value::Array(items) => {
            items.iter_mut().for_each(|item| disturb(item, random));
            if !items.is_empty() && random.once_in(40) {
                let (from, to) = (random.below(items.len()), random.below(items.len()));
                items[to] = items[from].clone();
            }
        }
        other if random.once_in(60) => *other = odd(random),
        _ => {}
    }
}

/// Removes, overwrites or duplicates a few bytes.
fn garble(text: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len());
        match random.below(4) {
            0 => bytes.truncate(at),
            1 => bytes[at] = random.next() as u8,
            2 => drop(bytes.remove(at)),
            _ => bytes.insert(at, b"{}[],:\"\\0"[random.below(9)]),
        }
        if bytes.is_empty() {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Checks that the links of a tree are consistent, that its state is read back without repairs, and that
/// every frame has a context.
fn assert_sound(tree: &Tree, random: &mut Random) {
    let text = tree.state().to_json();
    let (state, repairs) = StackState::from_json(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert!(repairs.is_empty(), "{repairs:?}\n{text}");
    let (stack, repairs) = Stack::from_state(state, StackOptions::default());
    assert!(repairs.is_empty(), "{repairs:?}\n{text}");
    assert_eq!(stack.state().unwrap(), tree.state());
    if !tree.is_empty() {
        let frame = callstack_core::Handle::from_index(random.below(tree.len())).unwrap();
        let context = stack.context(frame, &Settings::default()).unwrap();
        roxmltree::Document::parse(&context.xml).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn states_with_odd_values_keep_their_frames(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let name = random.pick(STATES);
        let mut value: Value = serde_json::from_str(&support::read_data(&format!("stack-state/{name}.json"))).unwrap();
        disturb(&mut value, &mut random);
        let Ok((state, _)) = StackState::from_json(&value.to_string()) else { return Ok(()) };
        let entries = value["frames"].as_object().unwrap();
        let kept = entries.values().filter(|entry| entry.is_object()).count();
        let (tree, _) = Tree::from_state(state);
        prop_assert_eq!(tree.len(), kept, "a frame is lost of {}", value);
        assert_sound(&tree, &mut random);
    }

    #[test]
    fn garbled_states_are_errors_or_sound(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let name = random.pick(STATES);
        let text = garble(&support::read_data(&format!("stack-state/{name}.json")), &mut random);
        if let Ok((state, _)) = StackState::from_json(&text) {
            assert_sound(&Tree::from_state(state).0, &mut random);
        }
    }

    #[test]
    fn plans_with_odd_values_are_imported_soundly(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let text = if random.once_in(2) {
            let mut value: Value = serde_json::from_str(TASKS).unwrap();
            disturb(&mut value, &mut random);
            value.to_string()
        } else {
            let lines = ISSUES.lines().map(|line| {
                let mut value: Value = serde_json::from_str(line).unwrap();
                disturb(&mut value, &mut random);
                value.to_string()
            });
            let text = lines.collect::<Vec<_>>().join("\n");
            if random.once_in(3) { garble(&text, &mut random) } else { text }
        };
        if let Ok((tree, _)) = import::read(&text) {
            assert_sound(&tree, &mut random);
        }
        let imported = match Format::of(&text) {
            Ok(Format::TaskMaster) => import::task_master(&text),
            Ok(Format::Beads) => Ok(import::beads(&text)),
            _ => return Ok(()),
        };
        if let Ok(imported) = imported {
            let frames = imported.frames.len();
            let added = Stack::in_memory().import(imported.frames);
            prop_assert_eq!(added.map(|added| added.len()), Ok(frames), "what is imported is not sound: {}", text);
        }
    }
}

const TASKS: &str = r#"{"main": {"tasks": [
    {"id": 1, "title": "One", "description": "First", "details": "How", "status": "done", "dependencies": [],
     "subtasks": [{"id": 1, "title": "A", "status": "done"}, {"id": 2, "title": "B", "dependencies": [1, "2"]},
                  {"id": "1.3", "title": "C", "dependencies": ["1.2"]}]},
    {"id": "2", "title": "Two", "status": "pending", "dependencies": [1, "1.1"]},
    {"id": 3, "title": "Three", "status": "cancelled", "dependencies": [2]}],
    "metadata": {"description": "The plan", "created": "2026-01-01T00:00:00.000Z"}},
    "other": {"tasks": [{"id": 1, "title": "Also one", "status": "blocked"}]}}"#;

const ISSUES: &str = r#"{"id": "b-2", "title": "Child", "status": "open", "acceptance_criteria": "Short", "created_at": "2026-01-02T00:00:00Z", "dependencies": [{"depends_on_id": "b-1", "type": "parent-child"}, {"depends_on_id": "b-3", "type": "blocks"}]}
{"id": "b-1", "title": "Epic", "status": "in_progress", "created_at": "2026-01-01T00:00:00Z"}
{"id": "b-3", "title": "Done", "status": "closed", "close_reason": "It works", "created_at": "2026-01-01T00:00:00Z", "closed_at": "2026-01-03T00:00:00Z", "dependencies": [{"depends_on_id": "b-4", "type": "blocks"}]}
{"id": "b-4", "title": "Gone", "status": "tombstone", "delete_reason": "duplicate", "dependencies": [{"depends_on_id": "b-1", "type": "parent-child"}]}"#;
