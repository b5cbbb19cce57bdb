//! Random commands on the model and on the library, in memory and in stores. The model and the library must
//! agree after each command.

use std::collections::BTreeMap;
#[cfg(feature = "tools")]
use std::sync::Arc;
#[cfg(feature = "tools")]
use std::sync::atomic::{AtomicU64, Ordering};

use callstack_core::frame::Register;
use callstack_core::tree::decide_as;
use callstack_core::{Command, Event, FrameRef, FrameStatus, Tree};
#[cfg(feature = "tools")]
use callstack_core::{Stack, StackOptions};

use super::asks::{command, random_ask};
use super::holders::Who;
use super::undo::{Commands, ann};
use super::{Model, Plain};
use crate::Queries;
use crate::Random;
#[cfg(feature = "tools")]
use crate::options_at;

/// Executes random commands on a tree and on the model. Checks that both agree after each command, that a
/// refused command changes nothing, and that a replay of the events gives the same tree.
pub fn check(random: &mut Random, length: usize) {
    let (mut tree, mut model) = (Tree::new(), Model::default());
    let mut commands = Commands::default();
    let mut history: Vec<Event> = Vec::new();
    for now in 1..=length as u64 {
        if random.once_in(25) {
            let decided = decide_as(&tree, Some(&ann()), Command::Undo, now);
            let events = decided.as_ref().map_or(&[][..], |commit| &commit.events);
            events.iter().for_each(|event| tree.apply(event));
            history.extend_from_slice(events);
            commands.check_undone(decided.map(drop), &mut model, view(&tree));
        }
        let ask = random_ask(random, &model);
        let who = Who::random(random, &model);
        let before = tree.state();
        let decided = decide_as(&tree, who.actor().as_ref(), command(&model, &ask), now);
        assert_eq!(tree.state(), before, "deciding changed the tree");
        let events = decided.as_ref().map_or(&[][..], |commit| &commit.events);
        events.iter().for_each(|event| tree.apply(event));
        history.extend_from_slice(events);

        let mut expected = model.clone();
        let answer = expected.carry_out(&ask, who, now);
        if answer.is_ok() {
            commands.note(events, &model, &expected);
            model = expected;
        }
        assert_eq!(decided.map(drop).map_err(|error| error.code()), answer, "{who:?}: {ask:?}");
        assert_eq!(view(&tree), model.settled(), "after {who:?}: {ask:?}");
    }
    check_queries(&tree, &model);

    // The same history, through JSON, gives the same tree.
    let lines: Vec<String> = history.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
    let mut replayed = Tree::new();
    for (revision, line) in (1..).zip(&lines) {
        let event: Event = serde_json::from_str(line).unwrap();
        assert_eq!(event.revision, revision, "revisions are consecutive");
        replayed.replay(&event).unwrap();
    }
    assert_eq!(replayed.state(), tree.state());
    assert_eq!(view(&replayed), model.settled());

    // The state, through JSON, gives the same tree too.
    let (read, repairs) = callstack_core::StackState::from_json(&tree.state().to_json()).unwrap();
    let (again, more) = Tree::from_state(read);
    assert_eq!(again.state(), tree.state());
    assert_eq!(view(&again).order, model.settled().order);
    assert_eq!(repairs.len() + more.len(), 0, "{repairs:?} {more:?}");
}

/// Executes random commands on the model and on a stack that `opened` opens, again and again. The stack keeps
/// at most this number of frames of finished trees in memory. Snapshots are made often, so finished trees
/// leave the memory. From time to time, the stack is opened again, rebuilt from its events, or its history is
/// compacted. Both must agree after each command.
#[cfg(feature = "tools")]
pub fn check_in_store(
    random: &mut Random,
    length: usize,
    finished_frames: usize,
    opened: &dyn Fn(StackOptions) -> Stack,
) {
    let now = Arc::new(AtomicU64::new(1));
    let open = || opened(options_at(&now).mirror(false).finished_frames(finished_frames));
    let (mut stack, mut model) = (open(), Model::default());
    let mut commands = Commands::default();
    // A second opened stack in the same place, which is often behind.
    let other = open();
    for time in 1..=length as u64 {
        // The clock can be set back.
        now.store(if random.once_in(20) { time / 2 } else { time }, Ordering::Relaxed);
        if random.once_in(25) {
            drop(stack);
            stack = open();
            assert_eq!(stack.upkeep().repairs(), []);
        }
        match random.below(80) {
            // Makes a snapshot, and removes no event.
            0..16 => drop(stack.history().compact(0).unwrap()),
            16 | 17 => drop(stack.history().compact(random.below(length) as u64).unwrap()),
            18 => drop(stack.upkeep().repair().unwrap()),
            _ => {}
        }
        if random.once_in(25) {
            let undone = stack.as_actor(ann()).undo().map(drop);
            commands.check_undone(undone, &mut model, stack.read(view).unwrap());
        }
        let ask = random_ask(random, &model);
        let user = if random.once_in(8) { &other } else { &stack };
        let who = Who::random(random, &model);
        let user = who.actor().map_or_else(|| user.clone(), |actor| user.as_actor(actor));
        let done = user.execute(command(&model, &ask));
        let mut expected = model.clone();
        let answer = expected.carry_out(&ask, who, now.load(Ordering::Relaxed));
        if answer.is_ok() {
            commands.note(done.as_deref().unwrap_or_default(), &model, &expected);
            model = expected;
        }
        assert_eq!(done.map(drop).map_err(|error| error.code()), answer, "{who:?}: {ask:?}");
        if random.once_in(4) {
            stack.refresh().unwrap();
            assert_eq!(stack.read(view).unwrap(), model.settled(), "after {who:?}: {ask:?}");
        }
    }
    for user in [&stack, &other] {
        user.refresh().unwrap();
        user.read(|tree| check_queries(tree, &model)).unwrap();
        assert_eq!(user.read(view).unwrap(), model.settled());
    }
    let places = |stack: &Stack| {
        stack
            .read(|tree| ["c1", "c2"].map(|conversation| (tree.place_of(conversation), tree.lost_place(conversation))))
            .unwrap()
    };
    assert_eq!(places(&open()), places(&stack), "where the conversations are, read from the store");
    assert_eq!(stack.history().check().unwrap(), [""; 0]);
    if let Ok(health) = stack.upkeep().health() {
        assert!(health.is_sound(), "{health:?}");
    }
    assert_eq!(open().state().unwrap(), stack.state().unwrap());
    check_export(&stack, &options_at(&now).finished_frames(finished_frames));
}

/// Checks that the exported history makes the same stack again, even if it was compacted.
#[cfg(feature = "tools")]
fn check_export(stack: &Stack, options: &StackOptions) {
    let exported = |stack: &Stack| {
        let mut text = Vec::new();
        stack.history().export(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    };
    let text = exported(stack);
    let folder = tempfile::tempdir().unwrap();
    let copy = Stack::rebuild(folder.path(), text.as_bytes(), options.clone()).unwrap();
    assert_eq!(copy.state().unwrap(), stack.state().unwrap());
    assert_eq!(exported(&copy), text);
    assert_eq!(copy.history().check().unwrap(), [""; 0]);
    copy.close().unwrap();
    let copy = Stack::open(folder.path(), options.clone()).unwrap();
    assert_eq!((copy.state().unwrap(), copy.upkeep().repairs()), (stack.state().unwrap(), &[][..]));
    let health = copy.upkeep().health().unwrap();
    assert!(health.is_sound(), "{health:?}");
}

/// Compares the queries of the tree with the model.
fn check_queries(tree: &Tree, model: &Model) {
    let mut ready = model.most_urgent_first();
    ready.retain(|frame| model.can_begin(*frame));
    let found: Vec<usize> = tree.ready().map(|handle| handle.index()).collect();
    assert_eq!(found, ready, "what can begin, the most urgent first");
    for handle in tree.handles() {
        let (at, node) = (handle.index(), tree.node(handle));
        let positions = |handles: &mut dyn Iterator<Item = callstack_core::Handle>| {
            handles.map(|handle| handle.index()).collect::<Vec<_>>()
        };
        let where_ = |is: &dyn Fn(usize, &Plain) -> bool| {
            model.order.iter().copied().filter(|other| is(*other, &model.frames[*other])).collect::<Vec<_>>()
        };
        let parent = model.frames[at].parent;
        assert_eq!(positions(&mut tree.ancestors(handle)), model.above(at));
        assert_eq!(positions(&mut node.children().iter().copied()), where_(&|_, frame| frame.parent == Some(at)));
        let siblings = where_(&|other, frame| parent.is_some() && frame.parent == parent && other != at);
        assert_eq!(positions(&mut tree.siblings(handle)), siblings);
        let completed = |other: &usize| model.frames[*other].status == FrameStatus::Completed;
        assert_eq!(
            positions(&mut tree.completed_siblings(handle)),
            siblings.into_iter().filter(completed).collect::<Vec<_>>()
        );
        let mut finished =
            where_(&|other, frame| frame.parent == Some(at) && frame.status.is_finished() && !model.is_retried(other));
        let mut in_order = positions(&mut node.finished_children());
        assert!(node.finished_children().is_sorted_by_key(|child| tree.node(child).finished()));
        in_order.sort_unstable();
        finished.sort_unstable();
        assert_eq!(in_order, finished, "finished children of {handle}");
        let held = where_(&|_, frame| frame.parent == Some(at) && frame.held);
        assert_eq!(node.held_children(), held.len(), "held children of {handle}");
        assert_eq!(tree.newest_attempt(handle).index(), model.newest(at));
        let mut dependents =
            where_(&|_, frame| frame.depends_on.iter().any(|other| model.first(*other) == model.first(at)));
        dependents.sort_unstable();
        assert_eq!(positions(&mut tree.dependents(handle).iter().copied()), dependents, "dependents of {handle}");
        assert_eq!(tree.resolve(&FrameRef::Text(model.frames[at].id.clone())), Ok(handle));
        for (owner, chunk) in tree.chunks(handle) {
            assert_eq!(model.owner(at, &chunk.name), Some(owner.index()), "who owns {} for {handle}", chunk.name);
        }
    }
}

/// Converts a tree to the model.
fn view(tree: &Tree) -> Model {
    let frames = tree.handles().map(|handle| {
        let (node, frame) = (tree.node(handle), tree.frame(handle));
        Plain {
            id: frame.session_id,
            parent: node.parent().map(|parent| parent.index()),
            status: frame.status,
            title: frame.title,
            results: frame.results,
            questions: frame.questions.into_iter().map(|asked| (asked.question, asked.answer)).collect(),
            artifacts: frame.artifacts,
            decisions: frame.decisions,
            depends_on: node.dependencies().iter().map(|dependency| dependency.index()).collect(),
            reason: frame.invalidation_reason,
            placeholder: frame.placeholder,
            criteria: frame.success_criteria,
            priority: frame.priority,
            was_planned: frame.begun_at.is_some(),
            log: frame.log_path,
            chunks: frame.heap.into_iter().map(|chunk| (chunk.name, chunk.content)).collect(),
            registers: frame
                .registers
                .map(|file| std::array::from_fn(|index| file.get(Register::ALL[index]).to_owned())),
            held: tree.is_held(handle),
            retry_of: node.retry_of().map(|earlier| earlier.index()),
            holder: frame.holder.map(|holder| *holder),
        }
    });
    let children = tree.handles().flat_map(|handle| tree.children(handle));
    let order = tree.roots().iter().chain(children).map(|handle| handle.index()).collect();
    let active = tree.active().map(|active| active.index());
    // Of the last entries, those that can still be told.
    Model { frames: frames.collect(), active, order, entered: BTreeMap::new() }
}
