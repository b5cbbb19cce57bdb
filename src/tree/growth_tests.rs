//! Tests that commands and queries of a tree take steps in proportion to their input, counted at two sizes.

use super::{Command, Records, Tree, decide, execute};
use crate::frame::{
    Chunk, Finish, Frame, FrameEdit, FrameRef, FrameStatus, Handle, Hold, ModelRequest, NewChunk, NewFrame, NewHold,
    Parent, PopStatus, StackState,
};
use crate::steps::{LINEAR, assert_grows, step, steps_of};
use crate::tree::{OutlineOptions, outline};

fn frame(id: String, parent: Option<String>, depends_on: Vec<String>) -> Frame {
    let status = FrameStatus::Planned;
    Frame { session_id: id, parent_session_id: parent, title: "Task".into(), status, depends_on, ..Frame::default() }
}

fn read(frames: Vec<Frame>) -> u64 {
    steps_of(|| Tree::from_state(StackState { frames, ..StackState::default() })).1
}

/// Frames `name0` to `name{size}`, each below the one before it.
fn chain(name: &str, size: usize) -> Vec<Frame> {
    let above = |index: usize| index.checked_sub(1).map(|above| format!("{name}{above}"));
    (0..size).map(|index| frame(format!("{name}{index}"), above(index), Vec::new())).collect()
}

fn imported(frames: Vec<Frame>) -> Tree {
    let mut tree = Tree::new();
    execute(&mut tree, Command::Import { frames });
    tree
}

#[test]
fn equal_ids_of_a_state() {
    assert_grows(LINEAR, 500, |size| read((0..size).map(|_| frame("same".into(), None, Vec::new())).collect()));
    assert_grows(LINEAR, 500, |size| read((0..size).map(|_| frame(" ".into(), None, Vec::new())).collect()));
}

#[test]
fn unknown_dependencies_of_a_frame() {
    assert_grows(LINEAR, 500, |size| {
        let unknown = (0..size).map(|index| format!("unknown {index}")).collect();
        read(vec![frame("a".into(), None, unknown)])
    });
}

#[test]
fn a_chain_that_depends_on_another_one() {
    let two_chains = |size: usize| {
        let mut frames = [chain("a", size), chain("b", size)].concat();
        (0..size).for_each(|index| frames[size + index].depends_on = vec![format!("a{index}")]);
        frames
    };
    assert_grows(LINEAR, 500, |size| read(two_chains(size)));
    assert_grows(LINEAR, 500, |size| steps_of(|| imported(two_chains(size))).1);
}

#[test]
fn planned_frames_of_a_chain_whose_root_has_ended() {
    assert_grows(LINEAR, 500, |size| {
        let mut frames = chain("a", size);
        frames[0].status = FrameStatus::Completed;
        let tree = imported(frames);
        let (leftovers, steps) = steps_of(|| tree.leftovers(None));
        assert_eq!(leftovers.len(), size - 1);
        steps
    });
}

#[test]
fn new_frames_below_a_chain_that_depend_on_another_one() {
    assert_grows(LINEAR, 500, |size| {
        let tree = imported([chain("a", size), chain("b", size)].concat());
        let new = |index| frame(format!("new {index}"), Some(format!("a{index}")), vec!["b0".to_owned()]);
        let frames = (0..size).map(new).collect();
        steps_of(|| decide(&tree, Command::Import { frames }, 1).unwrap()).1
    });
}

#[test]
fn children_that_depend_on_the_ones_before_them() {
    assert_grows(LINEAR, 500, |size| {
        let tree = imported(vec![frame("root".into(), None, Vec::new())]);
        let child = |index| match index {
            0 => NewFrame::new("Task").id("0"),
            _ => NewFrame::new("Task").id(index.to_string()).depends_on((index - 1).to_string()),
        };
        let children = (0..size).map(child).collect();
        let parent = Parent::Frame("root".into());
        steps_of(|| decide(&tree, Command::PlanChildren { parent, caller: None, children }, 1).unwrap()).1
    });
}

#[test]
fn a_frame_that_names_its_dependencies_by_their_beginnings() {
    assert_grows(LINEAR, 500, |size| {
        let names = |index: usize| format!("{index:05}-{index}");
        let tree = imported((0..size).map(|index| frame(names(index), None, Vec::new())).collect());
        let depends_on = |new: NewFrame, index: usize| new.depends_on(format!("{index:05}-"));
        let new = (0..size).fold(NewFrame::new("Task").id("new").root(), depends_on);
        steps_of(|| decide(&tree, Command::Push(new), 1).unwrap()).1
    });
}

#[test]
fn children_that_name_each_other_by_title() {
    assert_grows(LINEAR, 500, |size| {
        let tree = imported(vec![frame("root".into(), None, Vec::new())]);
        let title = |index: usize| format!("Task {index}");
        let child = |index| {
            let new = NewFrame::new(title(index)).id(index.to_string());
            if index + 1 < size { new.depends_on(title(index + 1)) } else { new }
        };
        let children = (0..size).map(child).collect();
        let parent = Parent::Frame("root".into());
        steps_of(|| decide(&tree, Command::PlanChildren { parent, caller: None, children }, 1).unwrap()).1
    });
}

#[test]
fn frames_that_name_others_by_title() {
    assert_grows(LINEAR, 500, |size| {
        let mut tree = imported(vec![frame("root".into(), None, Vec::new())]);
        let plan = |index: usize| {
            let new = NewFrame::new(format!("Task {index}")).id(index.to_string()).below("root");
            let new = if index > 0 { new.depends_on(format!("task {}", index - 1)) } else { new };
            execute(&mut tree, Command::Plan(new));
        };
        steps_of(|| (0..size).for_each(plan)).1
    });
}

#[test]
fn dependencies_that_are_taken_back() {
    assert_grows(LINEAR, 500, |size| {
        let mut tree = imported(vec![frame("root".into(), None, Vec::new()), frame("one".into(), None, Vec::new())]);
        let child = |index: usize| frame(index.to_string(), Some("root".into()), vec!["one".into()]);
        execute(&mut tree, Command::Import { frames: (0..size).map(child).collect() });
        let edit = |index: usize| {
            let edit = FrameEdit::default().depends_on([] as [FrameRef; 0]);
            execute(&mut tree, Command::Edit { frame: FrameRef::Id(index.to_string()), edit });
        };
        let steps = steps_of(|| (0..size).for_each(edit)).1;
        assert!(tree.dependents(tree.by_id("one").unwrap()).is_empty());
        steps
    });
}

#[test]
fn a_state_whose_frames_stand_before_their_parents() {
    assert_grows(LINEAR, 500, |size| {
        let mut frames = chain("a", size);
        frames.reverse();
        let state = StackState { frames, revision: 1, ..StackState::default() };
        let (tree, steps) = steps_of(|| Tree::from_state(state).0);
        assert_eq!((tree.roots().len(), tree.node(tree.by_id("a0").unwrap()).depth()), (1, 0));
        let (founding, more) = steps_of(|| tree.founding(1));
        let mut again = Tree::new();
        founding.events.iter().for_each(|event| again.replay(event).unwrap());
        assert_eq!(again.state().frames, tree.state().frames);
        steps + more
    });
}

#[test]
fn a_chain_that_is_finished_from_its_end() {
    assert_grows(LINEAR, 500, |size| {
        let mut frames = chain("a", size);
        frames.iter_mut().for_each(|frame| frame.status = FrameStatus::InProgress);
        let mut tree = imported(frames);
        let finish = |index: usize| {
            let frame = FrameRef::Id(format!("a{index}"));
            let handle = tree.resolve(&frame).unwrap();
            execute(&mut tree, Command::Pop { frame, status: PopStatus::Completed, results: "Done".into() });
            assert_eq!(tree.unfinished_below(handle).count(), 0);
            // A frame without children counts no steps, so each pop counts one step for itself.
            crate::steps::step();
        };
        steps_of(|| (0..size).rev().for_each(finish)).1
    });
}

#[test]
fn chunks_that_are_allocated_above_many_frames() {
    assert_grows(LINEAR, 500, |size| {
        let mut tree = imported(vec![frame("root".into(), None, Vec::new())]);
        let own = |index: usize| Chunk { name: format!("chunk {index}"), ..Chunk::default() };
        let child = |index: usize| Frame {
            heap: vec![own(index + size)],
            ..frame(index.to_string(), Some("root".into()), Vec::new())
        };
        execute(&mut tree, Command::Import { frames: (0..size).map(child).collect() });
        let allocate = |index: usize| {
            let chunk = NewChunk::new(format!("chunk {index}"));
            execute(&mut tree, Command::AllocateChunk { frame: "root".into(), chunk });
            crate::steps::step();
        };
        steps_of(|| (0..size).for_each(allocate)).1
    });
}

#[test]
fn artifacts_of_a_frame() {
    assert_grows(LINEAR, 500, |size| {
        let mut tree = imported(vec![frame("root".into(), None, Vec::new())]);
        let add = |index: usize| {
            let artifact = format!("src/{}.rs", index / 2);
            execute(
                &mut tree,
                Command::Record { frame: "root".into(), records: Records::of_artifacts(vec![artifact]) },
            );
            crate::steps::step();
        };
        let steps = steps_of(|| (0..2 * size).for_each(add)).1;
        assert_eq!(tree.node(tree.roots()[0]).record().artifacts.len(), size);
        steps
    });
}

#[test]
fn finished_frames_that_are_imported_one_by_one() {
    assert_grows(LINEAR, 500, |size| {
        let mut tree = imported(vec![frame("root".into(), None, Vec::new())]);
        let import = |index: usize| {
            let child = frame(index.to_string(), Some("root".into()), Vec::new());
            let frames = vec![Frame { status: FrameStatus::Completed, ..child }];
            execute(&mut tree, Command::Import { frames });
        };
        let steps = steps_of(|| (0..size).for_each(import)).1;
        let finished: Vec<usize> = tree.node(tree.roots()[0]).finished_children().map(|child| child.index()).collect();
        assert!(finished.is_sorted() && finished.len() == size);
        steps
    });
}

fn fail(tree: &mut Tree, frame: &FrameRef) {
    execute(tree, Command::Activate { frame: frame.clone() });
    execute(tree, Command::Pop { frame: frame.clone(), status: PopStatus::Failed, results: "No".into() });
}

fn retry(tree: &mut Tree, frame: FrameRef, id: String) {
    execute(tree, Command::Retry { frame, session_id: id, note: None, is_interrupted: false });
    crate::steps::step();
}

#[test]
fn a_frame_that_is_begun_anew_again_and_again() {
    assert_grows(LINEAR, 500, |size| {
        let depends = vec!["0".to_owned()];
        let root = || Some("root".to_owned());
        let frames = [("root", None, vec![]), ("0", root(), vec![]), ("dependent", root(), depends)];
        let mut frames: Vec<Frame> =
            frames.into_iter().map(|(id, parent, depends_on)| frame(id.into(), parent, depends_on)).collect();
        frames[0].status = FrameStatus::InProgress;
        let mut tree = imported(frames);
        let dependent = tree.by_id("dependent").unwrap();
        let steps = steps_of(|| {
            for index in 0..size {
                let newest = FrameRef::Id(index.to_string());
                fail(&mut tree, &newest);
                retry(&mut tree, newest, (index + 1).to_string());
                let newest = tree.by_id(&(index + 1).to_string()).unwrap();
                assert!(tree.unfinished_dependencies(dependent).eq([newest]));
                tree.context_revision(newest);
            }
        });
        // The same frames, read from a file that names the newest attempt first.
        let mut frames = tree.state().frames;
        frames.reverse();
        steps.1 + steps_of(|| Tree::from_state(StackState { frames, revision: 1, ..StackState::default() })).1
    });
}

#[test]
fn many_siblings_that_are_begun_anew() {
    assert_grows(LINEAR, 500, |size| {
        let mut frames = vec![frame("root".into(), None, Vec::new())];
        frames[0].status = FrameStatus::InProgress;
        frames.extend((0..size).map(|index| frame(index.to_string(), Some("root".into()), Vec::new())));
        let mut tree = imported(frames);
        let steps = steps_of(|| {
            for index in 0..size {
                let old = FrameRef::Id(index.to_string());
                fail(&mut tree, &old);
                retry(&mut tree, old, format!("again {index}"));
            }
        });
        let children = tree.children(tree.roots()[0]).iter().map(|child| tree.node(*child).session_id());
        let expected: Vec<String> = (0..size).flat_map(|index| [index.to_string(), format!("again {index}")]).collect();
        assert!(children.eq(expected.iter().map(String::as_str)));
        steps.1 + read(tree.state().frames)
    });
}

#[test]
fn unfinished_frames_among_many_finished_ones() {
    let steps = |size: usize| {
        let finished =
            |index: usize| Frame { status: FrameStatus::Completed, ..frame(index.to_string(), None, Vec::new()) };
        let mut tree = imported((0..size).map(finished).collect());
        for id in ["a", "b", "c"] {
            execute(&mut tree, Command::Plan(NewFrame::new("Task").id(id).root()));
        }
        execute(&mut tree, Command::Activate { frame: "c".into() });
        let ((ready, working), steps) =
            steps_of(|| (tree.ready().count(), tree.with_status(FrameStatus::InProgress).count()));
        assert_eq!((ready, working), (2, 1));
        steps
    };
    assert!(steps(10) > 0, "are they still counted?");
    assert_eq!(steps(1_000), steps(10), "finished frames are not looked at");
}

/// Each way up by jumps leads to the same frames as the way up by parents.
#[test]
fn jumps_find_the_same_ancestors_as_parents() {
    let mut tree = imported(vec![frame("0".into(), None, Vec::new()), frame("other".into(), None, Vec::new())]);
    let mut number = 1_u64;
    for index in 1..300_usize {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Long branches in most cases.
        let parent = if number >> 61 == 0 { index / 2 } else { index - 1 };
        let child = frame(index.to_string(), Some(parent.to_string()), Vec::new());
        execute(&mut tree, Command::Import { frames: vec![child] });
    }
    for handle in tree.handles() {
        let ancestors: Vec<_> = tree.ancestors(handle).collect();
        assert_eq!(tree.node(handle).depth(), ancestors.len());
        for other in tree.handles() {
            assert_eq!(tree.is_ancestor(other, handle), ancestors.contains(&other), "{other} above {handle}");
        }
    }
}

/// A root in progress with planned children `1` to `size`, each with the dependencies that `depends_on` gives.
fn family(size: usize, depends_on: impl Fn(usize) -> Vec<String>) -> Tree {
    let root = Frame { status: FrameStatus::InProgress, ..frame("root".into(), None, Vec::new()) };
    let child = |index: usize| frame(index.to_string(), Some("root".into()), depends_on(index));
    imported([root].into_iter().chain((1..=size).map(child)).collect())
}

/// The worker holds the next frame that is free.
fn hold(tree: &mut Tree) -> Handle {
    step();
    execute(tree, Command::Hold(NewHold::new("worker", 60_000)));
    tree.held().last().expect("a frame is free")
}

fn hold_and_finish(tree: &mut Tree) {
    let handle = hold(tree);
    let hold = Hold::of(handle, tree.node(handle).record().held_by().expect("it is held"));
    execute(tree, Command::Finish { hold, finish: Finish::Done("Done".into()) });
}

#[test]
fn frames_that_are_claimed_one_after_the_other() {
    assert_grows(LINEAR, 500, |size| {
        let mut tree = family(size, |_| Vec::new());
        steps_of(|| {
            for _ in 0..size {
                hold(&mut tree);
            }
        })
        .1
    });
}

#[test]
fn a_planned_chain_of_levels_that_is_claimed_from_its_end() {
    // A logarithm for the place in the plan, and one for the way up.
    assert_grows(2.5, 500, |size| {
        let mut tree = imported(chain("a", size));
        steps_of(|| (0..size).for_each(|_| hold_and_finish(&mut tree))).1
    });
}

#[test]
fn frames_that_each_wait_for_the_next_one() {
    assert_grows(LINEAR, 500, |size| {
        let next = |index: usize| if index < size { vec![(index + 1).to_string()] } else { Vec::new() };
        let mut tree = family(size, next);
        steps_of(|| (0..size).for_each(|_| hold_and_finish(&mut tree))).1
    });
}

#[test]
fn a_chain_of_dependencies_that_is_edited() {
    let before = |index: usize| if index > 1 { vec![(index - 1).to_string()] } else { Vec::new() };
    assert_grows(LINEAR, 500, |size| {
        let mut tree = family(size, before);
        let edit = |index: usize| {
            let depends_on = [index - 1, (index - 1).max(2) - 1].map(|other| FrameRef::Id(other.to_string()));
            let edit = FrameEdit::default().depends_on(depends_on);
            execute(&mut tree, Command::Edit { frame: FrameRef::Id(index.to_string()), edit });
        };
        steps_of(|| (2..=size).for_each(edit)).1
    });
}

#[test]
fn a_title_that_many_frames_have() {
    assert_grows(LINEAR, 500, |size| {
        let tree = family(size, |_| Vec::new());
        let near = tree.by_id("1");
        steps_of(|| {
            for _ in 0..size {
                assert_eq!(tree.resolve_near(&"task".into(), near).unwrap_err().code(), "ambiguous_frame");
            }
        })
        .1
    });
}

#[test]
fn an_outline_of_frames_that_wait_for_many_others() {
    // Each frame waits for as many others.
    assert_grows(2.0 * LINEAR, 30, |size| {
        let all =
            |index: usize| if index > size { (1..=size).map(|other| other.to_string()).collect() } else { Vec::new() };
        let tree = family(2 * size, all);
        let (text, steps) = steps_of(|| outline(&tree, &OutlineOptions::default()).unwrap());
        assert!(text.lines().all(|line| line.chars().count() <= 120));
        steps
    });
}

#[test]
fn models_of_a_frame() {
    assert_grows(LINEAR, 500, |size| {
        let mut tree = family(0, |_| Vec::new());
        let record = |index: usize| {
            let request = Box::new(ModelRequest::new(format!("model {}", index / 2)));
            execute(&mut tree, Command::RecordUsage { frame: "root".into(), request });
        };
        let steps = steps_of(|| (0..2 * size).for_each(record)).1;
        assert_eq!(tree.node(tree.roots()[0]).record().usage.len(), size);
        steps
    });
}

#[test]
fn chunks_of_a_frame() {
    assert_grows(LINEAR, 500, |size| {
        let mut tree = family(0, |_| Vec::new());
        let root = || FrameRef::from("root");
        let steps = steps_of(|| {
            for index in 0..size {
                let chunk = NewChunk::new(format!("chunk {index}"));
                execute(&mut tree, Command::AllocateChunk { frame: root(), chunk });
            }
            for index in 0..size {
                execute(&mut tree, Command::FreeChunk { frame: root(), name: format!("chunk {index}") });
            }
        });
        assert!(tree.node(tree.roots()[0]).record().heap.is_empty());
        steps.1
    });
}
