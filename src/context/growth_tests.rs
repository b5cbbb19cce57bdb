//! Tests that contexts among many frames take steps in proportion to the commands between them, counted at three
//! sizes.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Advice, Approx, Contexts, Settings};
use crate::frame::{Frame, FrameRef, FrameStatus, Handle, PopStatus};
use crate::steps::{LINEAR, assert_grows, steps_of};
use crate::tree::{Command, Tree, execute};

/// A root in progress with planned children `1` to `size`, each with the dependencies that `depends_on` gives.
fn family(size: usize, depends_on: impl Fn(usize) -> Vec<String>) -> Tree {
    let root = Frame { session_id: "root".into(), status: FrameStatus::InProgress, ..Frame::default() };
    let child = |index: usize| Frame {
        session_id: index.to_string(),
        parent_session_id: Some("root".into()),
        title: format!("Task {index}: parse part {}", index % 97),
        status: FrameStatus::Planned,
        depends_on: depends_on(index),
        ..Frame::default()
    };
    let mut tree = Tree::new();
    execute(&mut tree, Command::Import { frames: [root].into_iter().chain((1..=size).map(child)).collect() });
    tree
}

fn complete(tree: &mut Tree, frame: FrameRef) {
    execute(tree, Command::Pop { frame, status: PopStatus::Completed, results: "The parser reads all options".into() });
}

/// The steps of a context after each of the commands that `run` gives for a number from 1 to the size.
fn steps_of_contexts(mut tree: Tree, size: usize, run: impl Fn(&mut Tree, usize) -> Handle) -> u64 {
    let contexts = Contexts::new(Arc::new(Approx), PathBuf::new());
    let settings = Settings::default();
    steps_of(|| {
        for index in 1..=size {
            let handle = run(&mut tree, index);
            contexts.assemble(&tree, handle, &settings, Advice::default()).unwrap();
        }
    })
    .1
}

#[test]
fn contexts_of_siblings_that_are_completed() {
    assert_grows(LINEAR, 800, |size| {
        let mut tree = family(size, |_| Vec::new());
        (1..=size).for_each(|index| execute(&mut tree, Command::Activate { frame: FrameRef::Id(index.to_string()) }));
        steps_of_contexts(tree, size, |tree, index| {
            complete(tree, FrameRef::Id(index.to_string()));
            tree.by_id(&index.to_string()).unwrap()
        })
    });
}

#[test]
fn contexts_of_a_planned_chain_that_is_worked_through() {
    let before = |index: usize| if index > 1 { vec![(index - 1).to_string()] } else { Vec::new() };
    assert_grows(LINEAR, 800, |size| {
        steps_of_contexts(family(size, before), size, |tree, index| {
            if index > 1 {
                complete(tree, FrameRef::Id((index - 1).to_string()));
            }
            execute(tree, Command::Activate { frame: FrameRef::Id(index.to_string()) });
            tree.by_id(&index.to_string()).unwrap()
        })
    });
}

#[test]
fn contexts_above_children_that_are_completed_or_blocked() {
    for is_blocked in [false, true] {
        assert_grows(LINEAR, 800, |size| {
            let tree = family(size, |_| Vec::new());
            steps_of_contexts(tree, size, |tree, index| {
                let frame = FrameRef::Id(index.to_string());
                execute(tree, Command::Activate { frame: frame.clone() });
                match is_blocked {
                    true => execute(tree, Command::Block { frame, question: None, results: None, interruption: false }),
                    false => complete(tree, frame),
                }
                tree.by_id("root").unwrap()
            })
        });
    }
}
