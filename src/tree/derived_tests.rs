//! Tests that what follows from a tree, and is kept up to date from event to event, is always what it would be
//! if it was made only then.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::child_index::ChildIndex;
use super::snapshot::tests::Kept;
use super::{Command, Parts, Tree, decide, execute};
use crate::frame::{
    Finish, Frame, FrameEdit, FrameRef, FrameStatus, Handle, Hold, NewChunk, NewFrame, NewHold, PopStatus, Priority,
    Question, Release, Results,
};
use crate::steps::steps_of;

/// A pseudorandom walk of commands.
struct Walk {
    tree: Tree,
    number: u64,
    now: u64,
}

impl Walk {
    fn below(&mut self, limit: usize) -> usize {
        self.number = self.number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.number >> 33) as usize % limit
    }

    fn frame(&mut self) -> FrameRef {
        let frames = self.tree.len().max(1);
        // The newest frames are chosen most often, so that trees become deep.
        let place = if self.below(2) == 0 { frames - 1 - self.below(frames.min(4)) } else { self.below(frames) };
        FrameRef::Text(format!("f{}", place + 1))
    }

    fn hold(&mut self) -> Option<Hold> {
        let held: Vec<Handle> = self.tree.held().collect();
        let handle = *held.get(self.below(held.len().max(1)))?;
        Some(Hold::of(handle, self.tree.node(handle).record().held_by()?))
    }

    /// Executes a random command, which may be refused.
    fn step(&mut self, step: usize) {
        self.now += self.below(40) as u64;
        let (one, other) = (self.frame(), self.frame());
        let title = ["Build", "build", "Test the shop", "Docs"][self.below(4)];
        let new = NewFrame::new(title).id(format!("id {step}"));
        let edit = FrameEdit::default();
        let results = || Results::from("Some results");
        let priority = Priority::new(self.below(5) as u64);
        let command = match self.below(24) {
            0 => Command::Plan(new.root()),
            1..=4 => Command::Plan(new.below(one)),
            5 => Command::Plan(new.below(one).depends_on(other)),
            6 => Command::Push(new.below(one)),
            7 => Command::Edit { frame: one, edit: edit.below(other) },
            8 => Command::Edit { frame: one, edit: edit.before(other) },
            9 if self.below(3) == 0 => Command::Edit { frame: one, edit: edit.depends_on([] as [FrameRef; 0]) },
            9 => Command::Edit { frame: one, edit: edit.depends_on([other]) },
            10 => Command::Edit { frame: one, edit: edit.priority(priority) },
            11 => Command::Edit { frame: one, edit: edit.title(title) },
            12 | 13 => Command::Activate { frame: one },
            14 | 15 => Command::Pop { frame: one, status: PopStatus::Completed, results: results() },
            16 => Command::Pop { frame: one, status: PopStatus::Failed, results: results() },
            17 => Command::Retry { frame: one, session_id: format!("again {step}"), note: None, is_interrupted: false },
            18 => Command::Block { frame: one, question: Some("Which?".into()), results: None, interruption: false },
            19 => Command::AnswerAndResume { frame: one, answer: "This".into() },
            20 => match self.below(3) {
                0 => Command::Invalidate { frame: one, reason: "It is not needed".into() },
                1 => Command::Reopen { frame: one, reason: "It is wrong".into() },
                _ => Command::Answer { frame: one, answer: "That".into() },
            },
            21 | 22 => Command::Hold(NewHold::new(["anna", "bob"][self.below(2)], 60)),
            _ => match (self.hold(), self.below(4)) {
                (None, _) => return,
                (Some(hold), 0) => Command::Finish { hold, finish: Finish::Done(results()) },
                (Some(hold), 1) => Command::Finish { hold, finish: Finish::Later { wait: Some(30) } },
                (Some(hold), 2) => Command::Release { hold, release: Release::Interrupted {} },
                (Some(hold), _) => {
                    Command::Finish { hold, finish: Finish::Asks { question: "?".into(), results: None } }
                }
            },
        };
        self.attempt(command);
    }

    /// Executes a command, which may be refused.
    fn attempt(&mut self, command: Command) {
        let events = decide(&self.tree, command, self.now).map_or(Vec::new(), |commit| commit.events);
        events.iter().for_each(|event| self.tree.apply(event));
    }
}

/// The same tree, which has made nothing that follows from it.
fn bare(tree: &Tree) -> Tree {
    let mut bare = tree.clone();
    bare.next.forget();
    bare.dependency_order.forget();
    bare.clear_above.forget();
    bare.titles = Default::default();
    for handle in tree.handles() {
        // A finished tree may be in the archive only.
        bare.node(handle);
        let node = bare.nodes.derived_mut(handle.index()).unwrap();
        node.child_index.forget();
        if let Some(waits) = node.derived_waits() {
            waits.left.forget();
            waits.counted.forget();
        }
    }
    bare
}

/// The path of a frame: the keys of the places from its root down to itself.
fn path(tree: &Tree, handle: Handle) -> Vec<(u64, Handle)> {
    let mut path: Vec<_> = tree.lineage(handle).map(|frame| (tree.node(frame).order(), frame)).collect();
    path.reverse();
    path
}

/// Whether a frame waits for another one, found by a walk.
fn waits(tree: &Tree, handle: Handle, other: Handle) -> bool {
    let mut seen = HashSet::new();
    let mut pending = vec![tree.first_attempt(handle)];
    while let Some(first) = pending.pop() {
        if first == tree.first_attempt(other) {
            return true;
        }
        let newest = tree.newest_attempt(first);
        let before = tree.node(newest).dependencies().iter().map(|dependency| tree.first_attempt(*dependency));
        pending.extend(before.filter(|before| seen.insert(*before)));
    }
    false
}

/// The part of a worker's frame that is left, found by a look at all children.
fn part_left(tree: &Tree, handle: Handle) -> Option<Handle> {
    let mut looked = vec![handle];
    while let Some(frame) = looked.pop() {
        for child in tree.children(frame).iter().rev() {
            let node = tree.node(*child);
            let record = node.record();
            let is_left = match node.status() {
                FrameStatus::Planned => true,
                FrameStatus::Failed => record.was_planned() && node.retried_as().is_none(),
                FrameStatus::InProgress | FrameStatus::Blocked => record.was_planned() || record.waits_to_begin(),
                FrameStatus::Completed | FrameStatus::Invalidated => false,
            };
            if is_left {
                return Some(*child);
            }
            if node.status().is_open() {
                looked.push(*child);
            }
        }
    }
    None
}

fn check(tree: &Tree, now: u64, what: &str) {
    let bare = bare(tree);
    for handle in tree.handles() {
        assert_eq!(tree.needs_left(handle), bare.needs_left(handle), "{what}: needs of {handle}");
        let [kept, made] = [tree, &bare].map(|tree| ChildIndex::content(tree.child_index(handle)));
        assert_eq!(kept, made, "{what}: children of {handle}");
        for parts in [Parts::First, Parts::Within] {
            assert_eq!(tree.can_begin(handle, parts), bare.can_begin(handle, parts), "{what}: {handle} {parts:?}");
        }
        assert_eq!(tree.part_for_workers(handle), part_left(tree, handle), "{what}: part of {handle}");
        let ready = |tree: &Tree| tree.ready_children(handle, None).collect::<Vec<_>>();
        assert_eq!(ready(tree), ready(&bare), "{what}: ready children of {handle}");
        for other in tree.handles() {
            let order = path(tree, handle).cmp(&path(tree, other));
            assert_eq!(tree.plan_order(handle, other), order, "{what}: order of {handle} and {other}");
            assert_eq!(
                tree.depends_on(handle, other),
                waits(tree, handle, other),
                "{what}: {handle} waits for {other}"
            );
        }
    }
    // The rule, without any index.
    let mut ready: Vec<Handle> =
        tree.handles().filter(|handle| bare.can_begin(*handle, Parts::First).is_ok()).collect();
    ready.sort_by(|one, other| {
        let urgency = |handle: &Handle| tree.priority(*handle);
        urgency(one).cmp(&urgency(other)).then_with(|| path(tree, *one).cmp(&path(tree, *other)))
    });
    assert_eq!(tree.ready().collect::<Vec<_>>(), ready, "{what}: ready");
    for name in ["anna", "carl"] {
        let mut left: Vec<Handle> = tree.with_workers().filter(|handle| tree.can_hold(*handle, now).is_ok()).collect();
        left.sort_by_key(|handle| {
            (tree.node(*handle).record().worker().map_or(0, crate::frame::Holder::free_since), *handle)
        });
        let free = left.first().or(ready.first()).copied();
        assert_eq!(tree.free_for_workers(name, None, now), free, "{what}: free for {name}");
    }
    for title in ["Build", "BUILD", "docs"] {
        for near in tree.handles().map(Some).chain([None]) {
            let all: Vec<Handle> = tree
                .handles()
                .filter(|handle| tree.node(*handle).title().to_lowercase() == title.to_lowercase())
                .collect();
            let meant = tree.preferred(all, title, near);
            let found = tree.titled(title, near);
            assert!(
                found.len() == meant.len().min(super::LISTED + 1) && found.iter().all(|handle| meant.contains(handle)),
                "{what}: {title} near {near:?}: {found:?}, not {meant:?}"
            );
        }
    }
}

#[test]
fn what_is_kept_is_what_would_be_made() {
    let mut reached: BTreeMap<FrameStatus, usize> = BTreeMap::new();
    for seed in 0..60 {
        let mut walk = Walk { tree: Tree::new(), number: seed, now: 1_000 };
        for step in 0..120 {
            walk.step(step);
            // Everything is made early, and then kept up to date.
            if step == 5 || step % 10 == 9 {
                check(&walk.tree, walk.now, &format!("seed {seed}, step {step}"));
            }
        }
        for handle in walk.tree.handles() {
            *reached.entry(walk.tree.node(handle).status()).or_default() += 1;
        }
    }
    assert!(reached.len() == FrameStatus::ALL.len() && reached.values().all(|count| *count > 20), "{reached:?}");
}

/// The snapshot of a tree that is completely in memory: its head, its unfinished trees, and its archive.
fn snapshot(tree: &mut Tree) -> (String, Vec<u8>, Arc<Kept>) {
    let archive = Arc::new(Kept::default());
    tree.use_archive(archive.clone());
    archive.take(tree.unarchived());
    (tree.snapshot_head(), tree.pack_unfinished().unwrap(), archive)
}

/// The indexes that a tree has at once when it is opened.
fn opened_indexes(tree: &Tree) -> [String; 10] {
    let ordered = |map: &dyn Fn() -> Vec<String>| {
        let mut lines = map();
        lines.sort();
        lines.concat()
    };
    [
        format!("unfinished {:?}", tree.unfinished),
        format!("busy roots {:?}", tree.busy_roots),
        format!("prioritized {:?}", tree.prioritized),
        format!("waiting {:?}", tree.waiting),
        format!("no work {:?}", tree.no_work),
        format!("held {:?}", tree.held),
        format!("with workers {:?}", tree.with_workers),
        format!("times {:?}", tree.worker_times.times()),
        ordered(&|| tree.ways.iter().map(|way| format!("way {way:?}")).collect()),
        ordered(&|| tree.chunk_owners.iter().map(|owner| format!("owner {owner:?}")).collect()),
    ]
}

/// A tree that is opened from the packed frames of its snapshot reads few of them. Its indexes are those of one that
/// reads all.
#[test]
fn an_opened_tree_has_all_its_indexes() {
    let (mut seen, mut unread) = ([0; 10], 0);
    for seed in 0..40 {
        let mut walk = Walk { tree: Tree::new(), number: seed, now: 1_000 };
        (0..100).for_each(|number| plan(&mut walk.tree, &format!("plan {number}"), None, &[]));
        for step in 0..150 {
            walk.step(step);
            let frame = walk.frame();
            match walk.below(12) {
                0 => walk.attempt(Command::AllocateChunk { frame, chunk: NewChunk::new(format!("chunk {step}")) }),
                1 => walk.attempt(Command::Enter { frame, session_id: format!("conversation {}", step % 3) }),
                2 => {
                    let (session_id, title) = (format!("item {step}"), "Item".to_owned());
                    let mut frame = Frame { session_id, title, ..Frame::default() };
                    if walk.below(2) == 0 {
                        frame.no_work = Some(String::new());
                    } else {
                        frame.status = FrameStatus::Blocked;
                        frame.questions =
                            vec![Question { question: "When?".into(), unbegun: true, ..Question::default() }];
                    }
                    walk.attempt(Command::Import { frames: vec![frame] });
                }
                _ => {}
            }
        }
        let (head, unfinished, archive) = snapshot(&mut walk.tree);
        let [packed, whole] =
            [&unfinished[..], &[]].map(|piece| Tree::of_snapshot(&head, piece, archive.clone(), false).unwrap());
        unread += packed.nodes.all_packed().count();
        for ((packed, whole), seen) in opened_indexes(&packed).iter().zip(opened_indexes(&whole)).zip(&mut seen) {
            assert_eq!(*packed, whole, "seed {seed}");
            *seen = whole.len().max(*seen);
        }
    }
    assert!(seen.iter().all(|length| *length > 20), "each index had something: {seen:?}");
    assert!(unread > 500, "{unread} frames were not read");
}

/// A tree makes indexes while most of its frames are packed. They stay right.
#[test]
fn what_is_kept_of_packed_frames_is_what_would_be_made() {
    for seed in 0..60 {
        let mut walk = Walk { tree: Tree::new(), number: seed, now: 1_000 };
        (0..70).for_each(|step| walk.step(step));
        let (head, unfinished, archive) = snapshot(&mut walk.tree);
        walk.tree = Tree::of_snapshot(&head, &unfinished, archive, false).unwrap();
        walk.tree.ready().count();
        for step in 70..100 {
            walk.step(step);
            // The frames stay packed in the walk.
            check(&walk.tree.clone(), walk.now, &format!("seed {seed}, step {step}"));
        }
    }
}

#[test]
fn frames_below_each_other_come_in_the_order_of_the_plan() {
    let mut walk = Walk { tree: Tree::new(), number: 7, now: 1 };
    (0..200).for_each(|step| walk.step(step));
    let tree = &walk.tree;
    let mut sorted: Vec<Handle> = tree.handles().collect();
    sorted.sort_by(|one, other| tree.plan_order(*one, *other));
    let walked: Vec<Handle> = tree.roots().iter().flat_map(|root| tree.subtree(*root)).collect();
    assert_eq!(sorted, walked);
    assert!(sorted.windows(2).all(|pair| tree.plan_order(pair[0], pair[1]) == Ordering::Less));
    assert!(steps_of(|| tree.plan_order(sorted[0], sorted[1])).1 < 100);
}

fn plan(tree: &mut Tree, id: &str, parent: Option<&str>, depends_on: &[&str]) {
    let new = NewFrame::new("Task").id(id);
    let new = parent.map_or_else(|| new.clone().root(), |parent| new.clone().below(parent));
    execute(tree, Command::Plan(depends_on.iter().fold(new, |new, other| new.depends_on(*other))));
}

fn depend(tree: &mut Tree, id: &str, depends_on: &[&str]) -> crate::error::Result<()> {
    let depends_on: Vec<FrameRef> = depends_on.iter().map(|other| (*other).into()).collect();
    let commit =
        decide(tree, Command::Edit { frame: id.into(), edit: FrameEdit::default().depends_on(depends_on) }, 1)?;
    commit.events.iter().for_each(|event| tree.apply(event));
    Ok(())
}

/// The dependencies of an earlier attempt do not order the plan any more.
#[test]
fn a_circle_through_a_retried_frame_is_refused() {
    let mut tree = Tree::new();
    plan(&mut tree, "root", None, &[]);
    for (id, depends_on) in [("y", &[][..]), ("a", &["y"]), ("x", &["a"]), ("z", &["y"])] {
        plan(&mut tree, id, Some("root"), depends_on);
    }
    depend(&mut tree, "y", &["z"]).unwrap_err();
    execute(&mut tree, Command::Activate { frame: "root".into() });
    execute(&mut tree, Command::Activate { frame: "x".into() });
    execute(&mut tree, Command::Pop { frame: "x".into(), status: PopStatus::Failed, results: "No".into() });
    let retry = Command::Retry { frame: "x".into(), session_id: "x2".into(), note: None, is_interrupted: false };
    execute(&mut tree, retry);
    depend(&mut tree, "x2", &[]).unwrap();
    depend(&mut tree, "y", &["x"]).unwrap();
    assert_eq!(depend(&mut tree, "x2", &["y"]).unwrap_err().code(), "dependency");
}

/// The parts of a frame are done. Frames that are planned below it later have its new dependencies.
#[test]
fn a_frame_that_was_clear_may_wait_later() {
    let mut tree = Tree::new();
    plan(&mut tree, "other", None, &[]);
    let chain = |tree: &mut Tree, name: &str| {
        for level in 0..5 {
            let above = if level == 0 { "top".to_owned() } else { format!("{name}{}", level - 1) };
            plan(tree, &format!("{name}{level}"), Some(&above), &[]);
        }
    };
    plan(&mut tree, "top", None, &[]);
    chain(&mut tree, "a");
    assert_eq!(tree.ready().count(), 2);
    for level in (0..5).rev() {
        let frame = || FrameRef::from(format!("a{level}").as_str());
        execute(&mut tree, Command::Activate { frame: frame() });
        execute(&mut tree, Command::Pop { frame: frame(), status: PopStatus::Completed, results: "Done".into() });
    }
    depend(&mut tree, "top", &["other"]).unwrap();
    chain(&mut tree, "b");
    assert!(tree.can_begin(tree.by_id("b4").unwrap(), Parts::First).is_err(), "its top waits for another frame");
}
