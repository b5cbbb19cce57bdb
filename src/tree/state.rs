//! Conversion of a tree to the specification's state and back. Inconsistencies of a state are repaired and
//! reported; no frame is lost.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::links::{Fault, Links};
use super::{Commit, Draft, Scan, Tree};
use crate::frame::{
    Change, FinishedTrees, Frame, FrameEdit, FrameStatus, Handle, Repair, StackState, leave_out_too_deep,
};
use crate::steps::step;
use crate::text::{FreeNames, beginning};

/// Number of frames up to which a `state.json` beside the database has the finished trees too.
const WHOLE_STATE_FRAMES: usize = 10_000;

impl Tree {
    /// The whole tree as the specification's `StackState`. The frames are in the order of their handles.
    pub fn state(&self) -> StackState {
        let frames: Vec<Frame> = self.records().collect();
        let id = |root: &Handle| frames[root.index()].session_id.clone();
        let root_frame_ids = self.roots().iter().map(id).collect();
        StackState { frames, root_frame_ids, ..self.state_head() }
    }

    /// The state without the finished trees, which the `state.json` of a large tree leaves out. `None` if the
    /// tree is not large, or if no tree in it has finished.
    pub(crate) fn state_without_finished(&self) -> Option<StackState> {
        if self.len() <= WHOLE_STATE_FRAMES {
            return None;
        }
        let roots = self.unfinished_roots();
        let mut shown: Vec<Handle> = roots.iter().flat_map(|root| self.subtree(*root)).collect();
        shown.sort_unstable();
        let all: usize = self.root_statuses().into_iter().sum();
        let left_out = FinishedTrees { roots: all.saturating_sub(roots.len()), frames: self.len() - shown.len() };
        let state = StackState {
            frames: shown.into_iter().map(|handle| self.frame(handle)).collect(),
            root_frame_ids: roots.iter().map(|root| self.node(*root).session_id().to_owned()).collect(),
            finished_trees: Some(left_out),
            ..self.state_head()
        };
        (left_out.frames > 0).then_some(state)
    }

    /// The records of all frames, in creation order. They are made one by one.
    pub(crate) fn records(&self) -> impl Iterator<Item = Frame> + '_ {
        let mut scan = Scan::of(self);
        self.handles().map(move |handle| scan.at(handle).frame(handle))
    }

    /// The state without its frames and the IDs of its roots.
    pub(crate) fn state_head(&self) -> StackState {
        StackState {
            active_frame_id: self.active.map(|active| self.node(active).session_id().to_owned()),
            updated_at: self.updated_at,
            revision: self.revision,
            extra: self.extra.clone(),
            ..StackState::default()
        }
    }

    /// Creates a tree from a state. Every frame is kept. The list has an entry for each inconsistency, with
    /// its repair.
    pub fn from_state(state: StackState) -> (Tree, Vec<Repair>) {
        let StackState { mut frames, active_frame_id, root_frame_ids, updated_at, mut revision, mut extra, .. } = state;
        leave_out_too_deep(&mut extra);
        if revision == 0 {
            frames.sort_by_key(|frame| frame.created_at);
        }
        // Files of this library list the frames in the order of their handles, which they keep.
        let (tree, order, mut repairs) = Tree::of_frames(&mut frames, revision > 0);
        let is_own = revision > 0;
        if revision > StackState::LAST_REVISION {
            let least = frames.len() as u64;
            repairs.push(Repair::of_state(format!("its revision {revision} is impossible; read as {least}")));
            revision = least;
        }
        let mut tree = Tree { updated_at, revision, extra, ..tree };
        for handle in tree.handles() {
            let Frame { planned_children, child_order, .. } = &frames[order[handle.index()]];
            tree.check_planned_children(handle, planned_children.as_deref().unwrap_or_default(), &mut repairs);
            tree.check_child_order(handle, child_order, &mut repairs);
            tree.reorder(Some(handle), child_order);
        }
        tree.check_roots(&root_frame_ids, &mut repairs);
        if is_own {
            tree.reorder(None, &root_frame_ids);
        }
        tree.take_active(active_frame_id, &mut repairs);
        (tree, repairs)
    }

    /// The commit that creates this tree from an empty one.
    pub(crate) fn founding(&self, now: u64) -> Commit {
        let nothing = Tree::new();
        let mut draft = Draft::new(&nothing, now);
        let mut late = Vec::new();
        for handle in self.handles() {
            let is_later = |id: &String| self.by_id(id).is_some_and(|other| other > handle);
            let mut frame = Frame { planned_children: None, child_order: Vec::new(), ..self.frame(handle) };
            if self.is_moved(handle) {
                frame.parent_session_id = None;
            }
            if frame.depends_on.iter().any(is_later) {
                late.push((handle, std::mem::take(&mut frame.depends_on)));
            }
            draft.push(handle, Change::Added { frame: Box::new(frame) });
        }
        // Parents before children, so that each frame moves once.
        let branches = self.roots().iter().flat_map(|root| self.subtree(*root));
        let (moved, added): (Vec<Handle>, Vec<Handle>) = branches.partition(|handle| self.is_moved(*handle));
        for handle in &moved {
            let parent = self.node(*handle).parent().expect("it has one");
            let edit = FrameEdit::default().below(parent.to_string());
            draft.push(*handle, Change::Edited { edit: Box::new(edit), was: None });
        }
        for (handle, depends_on) in late {
            draft.push(handle, Change::DependenciesAdded { depends_on });
        }
        for (handle, before) in self.out_of_order(added, moved) {
            let edit = FrameEdit::default().before(before.to_string());
            draft.push(handle, Change::Edited { edit: Box::new(edit), was: None });
        }
        let first = Handle::from_index(0).expect("the first handle");
        draft.push(first, Change::Imported { extra: self.extra.clone() });
        if let Some(active) = self.active {
            draft.push(active, Change::ActiveChanged { active: true });
        }
        draft.finish()
    }

    /// Creates a tree of frames in this order, except that parents come before children. Invalid IDs and
    /// links are repaired in the frames, and each repair is listed. Also returns, for each handle, the index
    /// of its frame.
    pub(crate) fn from_frames(frames: &mut [Frame]) -> (Tree, Vec<usize>, Vec<Repair>) {
        Self::of_frames(frames, false)
    }

    /// Same as [`Tree::from_frames`]. `keeps_order`: frames get their handles in the order of the list, also
    /// before their parents.
    fn of_frames(frames: &mut [Frame], keeps_order: bool) -> (Tree, Vec<usize>, Vec<Repair>) {
        let mut repairs = Vec::new();
        frames.iter_mut().for_each(Frame::separate_extra_keys);
        correct_ids(frames, &mut repairs);
        cut_bad_links(frames, &mut repairs);

        let mut tree = Tree::new();
        let nothing = Tree::new();
        let links = Links::new(&nothing, frames);
        // In files of this library each attempt has a newer handle than the one before it.
        let keeps_order = keeps_order && links.attempts_are_in_order();
        let parents_first = links.parents_first();
        let order = if keeps_order { (0..frames.len()).collect() } else { parents_first.clone() };
        for index in &order {
            let depends_on = std::mem::take(&mut frames[*index].depends_on);
            let retry_of = frames[*index].retry_of.take();
            tree.add(frames[*index].clone());
            (frames[*index].depends_on, frames[*index].retry_of) = (depends_on, retry_of);
        }
        // A frame that was added before its parent is a root so far. Parents come first, so that each frame
        // moves once.
        for index in parents_first.into_iter().filter(|_| keeps_order) {
            let handle = Handle::from_index(index).expect("as many were added");
            let parent = frames[index].parent_session_id.as_ref().and_then(|id| tree.by_id(id));
            if parent != tree.node(handle).parent {
                tree.move_to(handle, parent, None);
            }
        }
        if keeps_order {
            // A frame that was moved now comes after newer siblings.
            tree.sort_levels();
        }
        for (position, index) in order.iter().enumerate() {
            let handle = Handle::from_index(position).expect("as many were added");
            if let Some(previous) = frames[*index].retry_of.as_ref().and_then(|id| tree.by_id(id)) {
                tree.link_attempt(previous, handle);
                if !keeps_order {
                    tree.place_attempt(handle);
                }
            }
        }
        for (position, index) in order.iter().enumerate() {
            let handle = Handle::from_index(position).expect("as many were added");
            tree.link_dependencies(handle, &frames[*index].depends_on);
        }
        tree.sequence_by_time(Handle::from_index(0).expect("the first handle"));
        (tree, order, repairs)
    }

    /// Orders the starts and finishes of this frame and of all later ones, which were added together, by the
    /// frames' times. At equal times finishes come first, so a running frame started after its finished
    /// siblings.
    pub(super) fn sequence_by_time(&mut self, first: Handle) {
        let mut moments = Vec::new();
        for handle in self.handles().skip(first.index()) {
            let node = self.node(handle);
            if node.status().is_finished() {
                moments.push((node.frame.updated_at, false, handle, node.finished));
            }
            if !matches!(node.status(), FrameStatus::Planned | FrameStatus::Invalidated) {
                moments.push((node.frame.created_at, true, handle, node.started));
            }
        }
        // The places that these frames have in the sequence are distributed among them again.
        let mut places: Vec<u64> = moments.iter().map(|(.., place)| *place).collect();
        places.sort_unstable();
        moments.sort_unstable();
        let parent_of_finished = |tree: &Self, is_start: bool, handle| {
            tree.node(handle).parent.filter(|_| !is_start && tree.is_finished_child(handle))
        };
        for (_, is_start, handle, place) in &moments {
            step();
            if let Some(parent) = parent_of_finished(self, *is_start, *handle) {
                self.nodes[parent.index()].finished_children.remove(place);
            }
        }
        for (place, (_, is_start, handle, _)) in places.into_iter().zip(moments) {
            if let Some(parent) = parent_of_finished(self, is_start, handle) {
                let parent = &mut self.nodes[parent.index()];
                parent.finished_children.insert(place, handle);
                parent.finished_revision = self.revision;
            }
            let node = &mut self.nodes[handle.index()];
            if is_start {
                node.started = place;
            } else {
                node.finished = place;
            }
        }
    }

    /// True if a frame, or another attempt at its work, is older than the parent of the frame: the frame was
    /// moved below the parent.
    fn is_moved(&self, handle: Handle) -> bool {
        self.node(handle).parent().is_some_and(|parent| parent > self.first_attempt(handle))
    }

    /// The frames that come before a sibling that is added to their parent earlier than they are, in the
    /// order in which they are added, each with the first such sibling after it. Moving the frames in this
    /// order, each before that sibling, gives the order of the tree. The `added` frames are added in the
    /// order of their handles, except that each attempt comes directly after the one before it. The `moved`
    /// frames are added after them.
    fn out_of_order(&self, mut added: Vec<Handle>, moved: Vec<Handle>) -> Vec<(Handle, Handle)> {
        added.sort_unstable_by_key(|handle| (self.first_attempt(*handle), *handle));
        let mut ranks = vec![0; self.len()];
        for (rank, handle) in added.iter().chain(&moved).enumerate() {
            ranks[handle.index()] = rank;
        }
        let rank = |handle: &Handle| ranks[handle.index()];
        let mut moves = BTreeMap::new();
        for parent in self.handles().map(Some).chain([None]) {
            // The siblings after the present one. Each of them is added earlier than all siblings between the
            // present one and it.
            let mut earlier: Vec<Handle> = Vec::new();
            for sibling in self.level(parent).iter().rev() {
                step();
                while earlier.pop_if(|other| rank(other) > rank(sibling)).is_some() {}
                if let Some(before) = earlier.last() {
                    moves.insert(rank(sibling), (*sibling, *before));
                }
                earlier.push(*sibling);
            }
        }
        moves.into_values().collect()
    }

    /// Puts all siblings, and the roots, in the order of their creation.
    fn sort_levels(&mut self) {
        let parents: Vec<Option<Handle>> = self.handles().map(Some).chain([None]).collect();
        for parent in parents {
            if !self.level(parent).is_sorted() {
                let mut sorted = self.level(parent).to_vec();
                sorted.sort_unstable();
                self.set_level(parent, sorted);
            }
        }
    }

    /// Puts the children of a frame, or the roots, in the order of a list of IDs. Frames that are not listed
    /// come last.
    fn reorder(&mut self, parent: Option<Handle>, listed: &[String]) {
        if listed.is_empty() {
            return;
        }
        let mut order = Vec::new();
        let mut seen = HashSet::new();
        for child in listed.iter().filter_map(|id| self.by_id(id)) {
            if self.node(child).parent == parent && seen.insert(child) {
                order.push(child);
            }
        }
        order.extend(self.level(parent).iter().filter(|child| seen.insert(**child)));
        self.set_level(parent, order);
    }

    fn check_child_order(&self, parent: Handle, listed: &[String], repairs: &mut Vec<Repair>) {
        let is_child = |id: &&String| self.by_id(id).is_some_and(|child| self.node(child).parent() == Some(parent));
        let known: HashSet<&String> = listed.iter().filter(is_child).collect();
        let id = self.node(parent).session_id();
        if known.len() < listed.len() {
            repairs.push(Repair::of_frame(
                id,
                "its childOrder names frames twice, or frames that are not its children; left out",
            ));
        }
        if !listed.is_empty() && known.len() < self.children(parent).len() {
            repairs.push(Repair::of_frame(id, "its childOrder lacks children; they come last"));
        }
    }

    fn check_planned_children(&self, parent: Handle, listed: &[String], repairs: &mut Vec<Repair>) {
        let id = self.node(parent).session_id();
        let mut seen = HashSet::new();
        for child in listed {
            let found = self.by_id(child);
            let problem = match found {
                _ if !seen.insert(child.as_str()) => "is listed twice; the second entry is left out",
                None => "is not a frame of the state; left out",
                Some(child) if self.node(child).parent() != Some(parent) => "is not a child of it; left out",
                Some(child) if self.node(child).status() != FrameStatus::Planned => "is not planned any more; left out",
                Some(_) => continue,
            };
            repairs.push(Repair::of_frame(id, format!("its plannedChildren name `{child}`, which {problem}")));
        }
        for child in self.children(parent) {
            let child = self.node(*child);
            if child.status() == FrameStatus::Planned && !seen.contains(child.session_id()) {
                let message = format!("its plannedChildren lack `{}`; added", child.session_id());
                repairs.push(Repair::of_frame(id, message));
            }
        }
    }

    fn check_roots(&self, listed: &[String], repairs: &mut Vec<Repair>) {
        let mut seen = HashSet::new();
        for id in listed {
            let problem = match self.by_id(id) {
                _ if !seen.insert(id.as_str()) => "twice; listed once",
                None => "but there is no such frame; left out",
                Some(handle) if self.node(handle).parent().is_some() => "but the frame has a parent; left out",
                Some(_) => continue,
            };
            repairs.push(Repair::of_state(format!("rootFrameIDs name `{id}`, {problem}")));
        }
        for root in self.roots() {
            let id = self.node(*root).session_id();
            if !seen.contains(id) {
                repairs.push(Repair::of_frame(id, "it has no parent but rootFrameIDs lack it; added"));
            }
        }
    }

    fn take_active(&mut self, id: Option<String>, repairs: &mut Vec<Repair>) {
        let Some(id) = id else { return };
        let problem = match self.by_id(&id) {
            None => "but there is no such frame".to_owned(),
            Some(handle) if !self.node(handle).status().is_open() => {
                format!("but the frame is {}", self.node(handle).status())
            }
            Some(handle) => {
                self.active = Some(handle);
                return;
            }
        };
        repairs.push(Repair::of_state(format!("activeFrameID is `{id}`, {problem}; no frame is active")));
    }
}

/// Space for the number after an ID that another frame has, in characters.
const NUMBER_LENGTH: usize = 24;

/// Gives other IDs to frames whose ID is empty, too long, or the same as the ID of an earlier frame.
fn correct_ids(frames: &mut [Frame], repairs: &mut Vec<Repair>) {
    let taken: HashSet<String> = frames.iter().map(|frame| frame.session_id.clone()).collect();
    let mut met = HashSet::new();
    let mut replaced = HashMap::new();
    let mut names = FreeNames::default();
    for frame in frames.iter_mut() {
        let is_blank = frame.session_id.trim().is_empty();
        let is_too_long = frame.session_id.chars().nth(Frame::LONGEST_ID).is_some();
        let is_first = met.insert(frame.session_id.clone());
        if is_first && !is_blank && !is_too_long {
            continue;
        }
        let start = beginning(&frame.session_id, Frame::LONGEST_ID - NUMBER_LENGTH);
        let (base, problem) = match (is_blank, is_too_long) {
            (true, _) => ("unnamed", "its ID is empty".to_owned()),
            (_, true) => (start, format!("its ID has more than {} characters", Frame::LONGEST_ID)),
            _ => (start, "another frame has the same ID".to_owned()),
        };
        let is_free = |id: &str| !taken.contains(id) && !met.contains(id);
        let new = names.next(base, 2, |number| format!("{base} ({number})"), is_free);
        repairs.push(Repair::of_frame(&frame.session_id, format!("{problem}; kept as `{new}`")));
        met.insert(new.clone());
        let old = std::mem::replace(&mut frame.session_id, new);
        if is_first {
            replaced.insert(old, frame.session_id.clone());
        }
    }
    // Links to a blank or long ID follow its replacement. Links to a duplicated ID mean the first frame that
    // has it.
    let links = frames.iter_mut().flat_map(|Frame { parent_session_id, depends_on, retry_of, .. }| {
        parent_session_id.iter_mut().chain(depends_on).chain(retry_of)
    });
    for id in links {
        if let Some(new) = replaced.get(id) {
            id.clone_from(new);
        }
    }
}

fn cut_bad_links(frames: &mut [Frame], repairs: &mut Vec<Repair>) {
    let nothing = Tree::new();
    for link in Links::new(&nothing, frames).bad_parents() {
        let frame = &mut frames[link.index];
        let what = match link.fault {
            Fault::UnknownParent => "is not in the state",
            _ => "is below it",
        };
        let message = format!("its parent `{}` {what}; kept as a root", link.target);
        repairs.push(Repair::of_frame(&frame.session_id, message));
        frame.parent_session_id = None;
    }
    for link in Links::new(&nothing, frames).bad_attempts() {
        let message = format!("it cannot be the next attempt of `{}`: {}; left out", link.target, link.fault.reason());
        let frame = &mut frames[link.index];
        repairs.push(Repair::of_frame(&frame.session_id, message));
        frame.retry_of = None;
    }
    for frame in frames.iter_mut() {
        let mut seen = HashSet::new();
        frame.depends_on.retain(|id| seen.insert(id.clone()));
    }
    let mut cut: HashMap<usize, HashSet<String>> = HashMap::new();
    for link in Links::new(&nothing, frames).bad_dependencies() {
        let message = format!("it cannot depend on `{}`: {}; left out", link.target, link.fault.reason());
        repairs.push(Repair::of_frame(&frames[link.index].session_id, message));
        cut.entry(link.index).or_default().insert(link.target);
    }
    for (index, targets) in cut {
        frames[index].depends_on.retain(|id| {
            step();
            !targets.contains(id)
        });
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::frame::{Event, FrameRef, NewFrame, PopStatus, Results};
    use crate::tree::{Command, decide};

    /// A random tree with moved frames and attempts. It grows by one command at a time.
    pub(in crate::tree) struct Growing {
        pub(in crate::tree) tree: Tree,
        number: u64,
        steps: usize,
    }

    impl Growing {
        pub(in crate::tree) fn new(seed: u64) -> Self {
            Self { tree: Tree::new(), number: seed, steps: 0 }
        }

        fn below(&mut self, limit: usize) -> usize {
            self.number = self.number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.number >> 33) as usize % limit
        }

        fn frame(&mut self) -> FrameRef {
            let frames = self.tree.len().max(1);
            FrameRef::Text(format!("f{}", self.below(frames) + 1))
        }

        /// Executes a random command, and returns its events. Returns none if the command was refused.
        pub(in crate::tree) fn grow(&mut self) -> Vec<Event> {
            let step = self.steps;
            self.steps += 1;
            let (one, other) = (self.frame(), self.frame());
            let new = NewFrame::new("New").id(format!("id {step}"));
            let edit = FrameEdit::default();
            match self.below(10) {
                0 => self.attempt(Command::Plan(new.root())),
                1 => self.attempt(Command::Plan(new.below(one).depends_on(other))),
                2 => self.attempt(Command::Edit { frame: one, edit: edit.below(other) }),
                9 => self.attempt(Command::Edit { frame: one, edit: edit.last() }),
                3 => self.attempt(Command::Edit { frame: one, edit: edit.before(other) }),
                4 => self.attempt(Command::Edit { frame: one, edit: edit.depends_on([other]) }),
                5 => self.attempt(Command::Activate { frame: one }),
                6 | 7 => {
                    let results = Results::from("No");
                    let popped = self.attempt(Command::Pop { frame: one.clone(), status: PopStatus::Failed, results });
                    let session_id = format!("again {step}");
                    let retry = Command::Retry { frame: one, session_id, note: None, is_interrupted: true };
                    [popped, self.attempt(retry)].concat()
                }
                _ => self.attempt(Command::Edit { frame: one, edit: edit.root() }),
            }
        }

        /// Executes a command. It may be refused.
        fn attempt(&mut self, command: Command) -> Vec<Event> {
            let events = decide(&self.tree, command, 1).map_or(Vec::new(), |commit| commit.events);
            events.iter().for_each(|event| self.tree.apply(event));
            events
        }
    }

    pub(in crate::tree) fn grown(seed: u64) -> Tree {
        let mut growing = Growing::new(seed);
        (0..250).for_each(|_| drop(growing.grow()));
        growing.tree
    }

    #[test]
    fn a_tree_is_founded_as_it_was_with_moved_frames_and_attempts() {
        let mut moved_attempts = 0;
        for seed in 0..200 {
            let tree = grown(seed);
            let (read, repairs) = Tree::from_state(tree.state());
            assert_eq!((read.state(), &repairs[..]), (tree.state(), &[][..]), "seed {seed}");
            let mut founded = Tree::new();
            for event in &read.founding(1).events {
                founded.replay(event).unwrap();
            }
            let without_revision = |tree: &Tree| StackState { revision: 0, updated_at: 0, ..tree.state() };
            assert_eq!(without_revision(&founded), without_revision(&tree), "seed {seed}");
            for parent in tree.handles().map(Some).chain([None]) {
                assert_eq!(founded.level(parent), tree.level(parent), "seed {seed}");
            }
            for frame in tree.handles() {
                assert_eq!(founded.dependents(frame), tree.dependents(frame), "seed {seed}");
                assert_eq!(founded.newest_attempt(frame), tree.newest_attempt(frame), "seed {seed}");
                moved_attempts += usize::from(tree.is_moved(frame) && tree.node(frame).retry_of().is_some());
            }
        }
        assert!(moved_attempts > 20, "{moved_attempts} attempts are older than their parents");
    }
}
