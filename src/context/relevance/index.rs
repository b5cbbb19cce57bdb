//! The inverted index of a frame's finished children, which follows the changes of single children.

use super::habit::Habit;
use super::lengths::Lengths;
use super::notes::Notes;
use super::plan::distance;
use super::postings::Places;
use super::query::{MOST_WORDS, TITLE_WEIGHT};
use super::words::{WordCounts, beginnings, term};
use crate::frame::{FrameStatus, Handle, first_filled, has_handle_form};
use crate::keys::KeyMap;
use crate::ordered::Ordered;
use crate::tree::{Node, Tree};

/// The inverted index of a frame's finished children. The documents are in the order in which the children
/// finished; the position in this order is the *place* of a document.
#[derive(Debug, Default)]
pub(in crate::context) struct SiblingIndex {
    pub(super) documents: Vec<Document>,
    /// The places of the documents by their frames.
    places: KeyMap<Handle, u32>,
    /// The lengths of the documents: their weighted numbers of words, which are whole numbers.
    pub(super) lengths: Lengths,
    /// For each word, the places of the documents that contain it, in order, each with the weighted number of
    /// occurrences.
    pub(super) words: Places<(u32, f32)>,
    /// For each name, the places of the documents that have it, in order.
    pub(super) names: Places<u32>,
    /// The documents in the order of the plan, by the keys of their places in it.
    pub(super) planned: Ordered<(u64, u32)>,
    pub(super) habit: Habit,
    pub(super) notes: Notes,
    /// The parent's revision of its finished children at the last update.
    checked_at: u64,
}

#[derive(Debug)]
pub(super) struct Document {
    pub(super) handle: Handle,
    settled_revision: u64,
    /// Key of its place among its siblings.
    pub(super) order: u64,
    pub(super) finished: u64,
    pub(super) created_at: u64,
    /// The places of the documents on which it depends; only those that had finished before it.
    pub(super) dependencies: Vec<u32>,
    /// The places of the documents that depend on it, in order.
    pub(super) dependents: Vec<u32>,
    /// Number of all frames on which it depends. A frame that has begun gets more dependencies, but loses
    /// none, so they are the same as long as their number is.
    declared: usize,
    /// False for a failed frame without results, which is never shown unless it is a dependency.
    pub(super) is_candidate: bool,
    pub(super) is_failed: bool,
    /// Its words and its names in the index, each once.
    words: Box<[u64]>,
    names: Box<[u64]>,
}

impl Document {
    /// A document that is not read yet.
    fn new(handle: Handle) -> Self {
        Self {
            handle,
            settled_revision: 0,
            order: 0,
            finished: 0,
            created_at: 0,
            dependencies: Vec::new(),
            dependents: Vec::new(),
            declared: 0,
            is_candidate: false,
            is_failed: false,
            words: Box::default(),
            names: Box::default(),
        }
    }

    /// True if its frame is the same in this version of the tree.
    fn is_current(&self, tree: &Tree) -> bool {
        self.handle.index() < tree.len() && {
            let node = tree.node(self.handle);
            node.settled_revision() == self.settled_revision
                && node.finished() == Some(self.finished)
                && node.order() == self.order
        }
    }

    /// True if its frame has finished in this version of the tree, at the same time.
    fn is_finished(&self, tree: &Tree) -> bool {
        self.handle.index() < tree.len()
            && tree.is_finished_child(self.handle)
            && tree.node(self.handle).finished() == Some(self.finished)
    }
}

impl SiblingIndex {
    /// Updates the index to a version of the tree, also to an older one. A child that has changed is read
    /// again, and a child that finished last is added or removed. The cost of each does not depend on the
    /// other children. If another child was added or removed, the places of the children after it change.
    /// Then only numbers are changed, and no other child is read.
    ///
    /// The revision of a parent says in constant time that no finished child has changed. If one has changed,
    /// the index of the parent's children names it. To another version of the tree than a later one, all
    /// documents are compared.
    pub(in crate::context) fn update(&mut self, tree: &Tree, parent: Handle, words: &mut WordCounts) {
        let node = tree.node(parent);
        let count = node.finished_children().len();
        if self.checked_at == node.finished_revision() && self.documents.len() == count {
            return;
        }
        let changed = self.changed(tree, parent);
        let (changed, mut gone): (Vec<usize>, Vec<usize>) =
            changed.into_iter().partition(|place| self.documents[*place].is_finished(tree));
        let mut has_new_links = false;
        for place in changed {
            let Document { handle, declared, order, .. } = self.documents[place];
            let node = tree.node(handle);
            has_new_links |= declared != node.dependencies().len() || order != node.order();
            self.read(tree, place, words);
        }
        while gone.pop_if(|place| *place + 1 == self.documents.len()).is_some() {
            self.pop();
        }
        let newest = self.documents.last().map_or(0, |document| document.finished);
        let is_new = |child: &Handle| tree.node(*child).finished() > Some(newest);
        let new: Vec<Handle> = node.finished_children().rev().take_while(is_new).collect();
        if has_new_links || !gone.is_empty() || self.documents.len() + new.len() != count {
            self.rearrange(tree, node, words);
        } else {
            new.into_iter().rev().for_each(|child| self.push(tree, child, words));
        }
        self.checked_at = node.finished_revision();
    }

    /// The places of the documents that differ from their frames in this version of the tree, in order.
    fn changed(&self, tree: &Tree, parent: Handle) -> Vec<usize> {
        let is_later = tree.node(parent).finished_revision() > self.checked_at;
        let known = tree.child_index(parent).changed_since(self.checked_at).filter(|_| is_later);
        let is_changed = |place: &usize| !self.documents[*place].is_current(tree);
        match known {
            Some(known) => {
                let mut places: Vec<usize> =
                    known.filter_map(|child| self.places.get(&child).map(|place| *place as usize)).collect();
                places.sort_unstable();
                places.retain(is_changed);
                places
            }
            None => (0..self.documents.len()).filter(is_changed).collect(),
        }
    }

    /// Adds a child at the end.
    fn push(&mut self, tree: &Tree, child: Handle, words: &mut WordCounts) {
        let place = self.documents.len();
        self.documents.push(Document::new(child));
        self.places.insert(child, place as u32);
        self.lengths.push();
        self.read(tree, place, words);
        self.link(tree, place);
    }

    /// Removes the last document.
    fn pop(&mut self) {
        let Some(document) = self.documents.pop() else { return };
        let place = self.documents.len();
        self.places.remove(&document.handle);
        self.words.remove(place, &document.words);
        self.names.remove(place, &document.names);
        self.lengths.pop();
        self.planned.remove(|(other, _)| other.cmp(&document.order));
        for dependency in &document.dependencies {
            self.documents[*dependency as usize].dependents.pop();
        }
        let distances = self.distances(document.order, &document.dependencies);
        self.habit.pop(place as u32, distances.into_iter());
    }

    /// Removes the documents of children that are not finished in this version of the tree, and adds those
    /// that are missing, also between others.
    fn rearrange(&mut self, tree: &Tree, parent: &Node, words: &mut WordCounts) {
        let old = std::mem::take(&mut self.documents);
        let old_lengths = std::mem::take(&mut self.lengths).into_values();
        let mut new_lengths = Vec::with_capacity(parent.finished_children().len());
        let mut new_places = vec![None; old.len()];
        let mut missing = Vec::new();
        let mut old = old.into_iter().enumerate().peekable();
        for child in parent.finished_children() {
            let finished = tree.node(child).finished().unwrap_or_default();
            while old.next_if(|(_, document)| document.finished < finished).is_some() {}
            let place = self.documents.len();
            match old.next_if(|(_, document)| document.finished == finished && document.handle == child) {
                Some((old_place, document)) => {
                    new_places[old_place] = Some(place as u32);
                    self.documents.push(document);
                    new_lengths.push(old_lengths[old_place]);
                }
                None => {
                    missing.push(place);
                    self.documents.push(Document::new(child));
                    new_lengths.push(0.0);
                }
            }
        }
        self.lengths = Lengths::of(new_lengths);
        self.places = self.documents.iter().map(|document| document.handle).zip(0..).collect();
        self.words.retain(|(place, _)| move_to(place, &new_places));
        self.names.retain(|place| move_to(place, &new_places));
        missing.into_iter().for_each(|place| self.read(tree, place, words));
        self.planned = Ordered::default();
        self.habit = Habit::default();
        self.documents.iter_mut().for_each(|document| document.dependents.clear());
        (0..self.documents.len()).for_each(|place| self.link(tree, place));
    }

    /// Reads the frame of a document, and puts its words and names in the place of the old ones.
    fn read(&mut self, tree: &Tree, place: usize, words: &mut WordCounts) {
        let document = &mut self.documents[place];
        let node = tree.node(document.handle);
        let (settled, record) = (node.settled(), node.record());
        let results = first_filled(settled.results.unwrap_or_default(), settled.results_compacted.unwrap_or_default());
        document.settled_revision = node.settled_revision();
        document.order = node.order();
        document.finished = node.finished().unwrap_or_default();
        document.created_at = record.created_at;
        document.declared = node.dependencies().len();
        document.is_failed = node.status() == FrameStatus::Failed;
        document.is_candidate = !document.is_failed || !results.trim().is_empty();
        let [of_task, of_results, of_lists] = MOST_WORDS;
        let left = words.add(settled.title, TITLE_WEIGHT, of_task);
        words.add(settled.success_criteria, 1.0, left);
        words.add(results, 1.0, of_results);
        let lists = [settled.artifacts, settled.decisions].into_iter().flat_map(beginnings);
        lists.fold(of_lists, |left, text| words.add(text, 1.0, left));
        let counts = words.take();
        self.lengths.set(place, counts.iter().map(|(_, count)| count).sum());
        let counts: Vec<(u64, (u32, f32))> =
            counts.into_iter().map(|(word, count)| (word, (place as u32, count))).collect();
        self.words.remove(place, &document.words);
        self.words.add(&counts);
        document.words = counts.iter().map(|(word, _)| *word).collect();
        let names = names(document.handle, &record.session_id);
        if names != document.names {
            self.names.remove(place, &document.names);
            self.names.add(&names.iter().map(|name| (*name, place as u32)).collect::<Vec<_>>());
            document.names = names;
        }
    }

    /// Notes on which documents this one depends, and its place in the plan. All documents before it must be
    /// linked, and none after it.
    fn link(&mut self, tree: &Tree, place: usize) {
        let handle = self.documents[place].handle;
        let node = tree.node(handle);
        let find = |dependency: Handle| {
            let other = tree.node(dependency);
            let finished = other.finished().filter(|_| other.parent() == node.parent())?;
            let earlier = &self.documents[..place];
            let found = earlier.binary_search_by_key(&finished, |document| document.finished).ok()?;
            Some(found as u32)
        };
        let dependencies: Vec<u32> = tree.newest_dependencies(handle).filter_map(find).collect();
        let order = self.documents[place].order;
        let distances = self.distances(order, &dependencies);
        self.habit.push(place as u32, distances.into_iter());
        for dependency in &dependencies {
            self.documents[*dependency as usize].dependents.push(place as u32);
        }
        self.documents[place].dependencies = dependencies;
        self.planned.insert((order, place as u32), |(other, _)| other.cmp(&order));
    }

    /// How many places before a child its dependencies were planned, among the children that finished before
    /// it.
    fn distances(&self, child: u64, dependencies: &[u32]) -> Vec<i64> {
        if dependencies.is_empty() {
            return Vec::new();
        }
        let rank = |child: u64| self.planned.rank(|(other, _)| other.cmp(&child));
        let own = rank(child);
        let other = |place: &u32| self.documents[*place as usize].order;
        dependencies.iter().map(other).map(|other| distance(own, rank(other), other < child, true)).collect()
    }
}

/// The names of a frame: its ID, the last part of it, and its handle, each once.
fn names(handle: Handle, session_id: &str) -> Box<[u64]> {
    let id = session_id.to_lowercase();
    let last_part = id.rsplit('/').next().unwrap_or(&id);
    // A text of the form of a handle names the frame with this handle, not the frame with such an ID.
    let ids = [id.as_str(), last_part].into_iter().filter(|name| !has_handle_form(name));
    let mut names: Vec<u64> = ids.chain([handle.to_string().as_str()]).map(term).collect();
    names.sort_unstable();
    names.dedup();
    names.into()
}

/// Changes a place to the new one; false if it is removed.
fn move_to(place: &mut u32, new_places: &[Option<u32>]) -> bool {
    let new_place = new_places[*place as usize];
    *place = new_place.unwrap_or_default();
    new_place.is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::context::relevance::Extent;
    use crate::context::relevance::tests::query_of;
    use crate::context::relevance::words::beginning;
    use crate::context::relevance::{Scored, Standpoint};
    use crate::frame::{FrameEdit, NewFrame, PopStatus};
    use crate::steps::steps_of;
    use crate::tree::{Command, Records, decide};

    /// Each finished child takes a minute.
    fn execute(tree: &mut Tree, command: Command) {
        let finished = tree.roots().first().map_or(0, |root| tree.node(*root).finished_children().len());
        let commit = decide(tree, command, 1 + finished as u64 * 60_000).unwrap();
        commit.events.iter().for_each(|event| tree.apply(event));
    }

    /// Pushes a frame below the first root.
    fn push(tree: &mut Tree, mut frame: NewFrame) -> Handle {
        frame.session_id.get_or_insert(format!("new{}", tree.len()));
        execute(tree, Command::Push(frame.below(tree.roots()[0])));
        tree.handles().next_back().unwrap()
    }

    fn pop(tree: &mut Tree, frame: Handle, status: PopStatus, results: &str) {
        execute(tree, Command::Pop { frame: frame.into(), status, results: results.into() });
    }

    fn invalidate(tree: &mut Tree, frame: Handle) {
        execute(tree, Command::Invalidate { frame: frame.into(), reason: "Wrong".into() });
    }

    fn replace_id(tree: &mut Tree, frame: Handle, session_id: &str) {
        execute(tree, Command::ReplaceId { frame: frame.into(), session_id: session_id.into() });
    }

    /// Records an artifact of a frame. The stable part of contexts shows it after the push of another task.
    fn add_artifact(tree: &mut Tree, frame: Handle, artifact: &str) {
        execute(tree, Command::Record { frame: frame.into(), records: Records::of_artifacts(vec![artifact.into()]) });
        let id = format!("task{}", tree.len());
        execute(tree, Command::Push(NewFrame::new("Another task").id(id).root()));
    }

    /// A tree with one root.
    fn root() -> Tree {
        let mut tree = Tree::new();
        execute(&mut tree, Command::Push(NewFrame::new("The plan").id("root")));
        tree
    }

    /// Updates an index, and returns the steps.
    fn update(index: &mut SiblingIndex, tree: &Tree) -> u64 {
        steps_of(|| index.update(tree, tree.roots()[0], &mut WordCounts::default())).1
    }

    /// All scores that the index gives for the children of the root.
    fn all_scores(index: &mut SiblingIndex, tree: &Tree) -> Vec<Vec<Scored>> {
        let mut all = Vec::new();
        for child in tree.node(tree.roots()[0]).children() {
            let (from, query) = (Standpoint::new(tree, *child, *child), query_of(tree.node(*child)));
            all.extend([
                index.scores(&from, &query, Extent::ALL),
                index.scores(&from, &query, Extent::of(4)),
                index.scores(&from, &query, Extent::of(32)),
            ]);
        }
        all
    }

    #[track_caller]
    fn check(index: &mut SiblingIndex, tree: &Tree) {
        update(index, tree);
        let mut new = SiblingIndex::default();
        update(&mut new, tree);
        assert_eq!(all_scores(index, tree), all_scores(&mut new, tree));
    }

    const TITLES: [&str; 8] = [
        "Page of users",
        "Page of orders",
        "Sweep the floor",
        "See c1",
        "API of users and orders",
        "Water the plants",
        "c2 again",
        "Page",
    ];

    /// Changes a tree. `kind` and `which` choose what changes.
    fn change(tree: &mut Tree, kind: u8, which: usize) {
        let number = tree.len();
        let children = tree.node(tree.roots()[0]).children().to_vec();
        let chosen = |is_right: &dyn Fn(FrameStatus) -> bool| {
            let right: Vec<Handle> =
                children.iter().copied().filter(|child| is_right(tree.node(*child).status())).collect();
            (!right.is_empty()).then(|| right[which % right.len()])
        };
        let title = TITLES[which % TITLES.len()];
        let mut frame = NewFrame::new(title).id(format!("c{number}")).criteria("All users see the orders");
        let finished = chosen(&FrameStatus::is_finished);
        if let Some(dependency) = finished.filter(|_| which.is_multiple_of(2)) {
            frame = frame.depends_on(dependency).depends_on(children[which / 2 % children.len()]);
        }
        match kind {
            0..=3 => {
                let child = push(tree, frame);
                let status = if which.is_multiple_of(5) { PopStatus::Failed } else { PopStatus::Completed };
                pop(tree, child, status, ["", "Users are done", "The orders of page 3"][which % 3]);
            }
            4 => drop(push(tree, frame)),
            5 => execute(tree, Command::Plan(frame.below(tree.roots()[0]))),
            6 | 7 => {
                if let Some(planned) = chosen(&|status| status == FrameStatus::Planned) {
                    execute(tree, Command::Activate { frame: planned.into() });
                } else if let Some(open) = chosen(&FrameStatus::is_open) {
                    pop(tree, open, PopStatus::Completed, "It works");
                }
            }
            8 => chosen(&|status| status != FrameStatus::Invalidated)
                .into_iter()
                .for_each(|child| invalidate(tree, child)),
            9 => finished.into_iter().for_each(|child| invalidate(tree, child)),
            10 => chosen(&|_| true)
                .into_iter()
                .for_each(|child| replace_id(tree, child, &format!("c{}/new", tree.revision()))),
            12 => {
                let other = (!children.is_empty()).then(|| children[which / 3 % children.len()]);
                if let Some(planned) = chosen(&|status| status == FrameStatus::Planned) {
                    let edit = FrameEdit::default().title(title);
                    let edit = match other.filter(|other| *other != planned) {
                        Some(other) => edit.before(other),
                        None => edit.last(),
                    };
                    execute(tree, Command::Edit { frame: planned.into(), edit });
                }
            }
            13 => {
                let is_failed = |child: &&Handle| {
                    tree.node(**child).status() == FrameStatus::Failed && tree.node(**child).retried_as().is_none()
                };
                let failed: Vec<Handle> = children.iter().filter(is_failed).copied().collect();
                if let Some(frame) = failed.get(which % failed.len().max(1)) {
                    let (frame, session_id) = ((*frame).into(), format!("c{number}"));
                    execute(tree, Command::Retry { frame, session_id, note: None, is_interrupted: false });
                }
            }
            _ => finished.into_iter().for_each(|child| add_artifact(tree, child, &format!("src/page_{which}.rs"))),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

        #[test]
        fn an_index_that_was_changed_gives_the_same_scores_as_a_new_one(
            changes in proptest::collection::vec((0u8..15, 0usize..1_000, any::<bool>()), 1..60),
        ) {
            let mut tree = root();
            let mut versions = vec![tree.clone()];
            let mut index = SiblingIndex::default();
            for (kind, which, is_looked_at) in changes {
                // The last kind is a reader of an older version.
                if kind == 14 {
                    check(&mut index, &versions[which % versions.len()]);
                } else {
                    change(&mut tree, kind, which);
                    versions.push(tree.clone());
                }
                if is_looked_at {
                    check(&mut index, &tree);
                }
            }
            check(&mut index, &tree);
        }
    }

    #[test]
    fn an_index_of_long_texts_is_the_same_whatever_was_read_before_them() {
        let mut tree = root();
        let mut grown = SiblingIndex::default();
        for number in 0..3 {
            let kinds = 400 + 50 * number;
            let text: String = (0..1_800).map(|place| format!("word{} ", place * (7 + number) % kinds)).collect();
            let child = push(&mut tree, NewFrame::new("Page"));
            pop(&mut tree, child, PopStatus::Completed, &text);
            update(&mut grown, &tree);
        }
        let query: String = (0..500).map(|number| format!("word{number} ")).collect();
        push(&mut tree, NewFrame::new("Page").criteria(query));
        let mut new = SiblingIndex::default();
        update(&mut new, &tree);
        let [grown_words, new_words] = [&grown, &new].map(|index| index.words.all());
        assert!(grown_words == new_words, "{} words, {} words", grown_words.len(), new_words.len());
        assert_eq!(grown.lengths, new.lengths);
        check(&mut grown, &tree);
    }

    #[test]
    fn an_index_follows_moves_that_need_new_keys() {
        let mut tree = finished(6);
        let children = tree.node(tree.roots()[0]).children().to_vec();
        let mut index = SiblingIndex::default();
        check(&mut index, &tree);
        for number in 0..80 {
            let frame = NewFrame::new("Page").id(format!("p{number}")).below(tree.roots()[0]);
            execute(&mut tree, Command::Plan(frame));
            let planned = tree.handles().next_back().unwrap();
            let edit = FrameEdit::default().before(children[3]);
            execute(&mut tree, Command::Edit { frame: planned.into(), edit });
            if number % 10 == 0 {
                execute(&mut tree, Command::Activate { frame: planned.into() });
                pop(&mut tree, planned, PopStatus::Completed, "All users see the page");
            }
            check(&mut index, &tree);
        }
    }

    /// A root with this number of finished children with the same words.
    fn finished(count: usize) -> Tree {
        let mut tree = root();
        for number in 0..count {
            let child = push(&mut tree, NewFrame::new("Page of the shop").id(format!("c{number}")));
            pop(&mut tree, child, PopStatus::Completed, "All users see the page with the orders");
        }
        tree
    }

    #[test]
    fn an_index_reads_only_the_children_that_have_changed() {
        let steps = |count: usize| {
            let mut tree = finished(count);
            let mut index = SiblingIndex::default();
            assert!(update(&mut index, &tree) > 5 * count as u64, "all are read");
            let middle = tree.by_id(&format!("c{}", count / 2)).unwrap();
            let mut steps = Vec::new();
            let retry = push(&mut tree, NewFrame::new("Another try"));
            pop(&mut tree, retry, PopStatus::Completed, "It works");
            steps.push(update(&mut index, &tree));
            let old = tree.clone();
            invalidate(&mut tree, retry);
            steps.push(update(&mut index, &tree));
            steps.extend([update(&mut index, &old), update(&mut index, &tree)]);
            replace_id(&mut tree, middle, "other");
            steps.push(update(&mut index, &tree));
            add_artifact(&mut tree, middle, "src/shop.rs");
            steps.push(update(&mut index, &tree));
            execute(&mut tree, Command::Deliver { frame: middle.into() });
            assert_eq!(update(&mut index, &tree), 0);
            check(&mut index, &tree);
            invalidate(&mut tree, middle);
            assert!(update(&mut index, &tree) <= 2, "numbers change, but nothing is read");
            check(&mut index, &tree);
            steps
        };
        let few = steps(20);
        assert!(few.iter().all(|steps| (1..=24).contains(steps)), "{few:?}");
        assert_eq!(few, steps(200));
    }

    #[test]
    fn the_beginning_of_a_text_is_read() {
        let steps = |words: usize| {
            let mut tree = root();
            let text: String = (0..words).map(|number| format!("word{number} ")).collect();
            let child = push(&mut tree, NewFrame::new("Page").criteria(text.clone()));
            (0..words / 20_000).for_each(|number| add_artifact(&mut tree, child, &format!("{number}{text}")));
            pop(&mut tree, child, PopStatus::Completed, &text);
            let (_, query) = steps_of(|| query_of(tree.node(child)));
            (update(&mut SiblingIndex::default(), &tree), query)
        };
        let (index, query) = steps(40_000);
        assert!((2_000..8_000).contains(&index) && (1_000..3_000).contains(&query), "{index} {query}");
        let (longer, longer_query) = steps(80_000);
        assert!(longer <= index + 10 && longer_query == query, "{longer} {longer_query}");
        // Empty texts count too, and no character is split.
        assert_eq!(beginnings(&vec![String::new(); 20_000]).count(), 16_000);
        assert_eq!(beginning(&"ü".repeat(20_000)).chars().count(), 16_000);
    }

    #[test]
    fn invalidated_siblings_have_no_place() {
        let scores = |invalidated: usize| {
            let mut tree = root();
            for title in ["Walk", "Swim", "Read"] {
                let child = push(&mut tree, NewFrame::new(title).id(title));
                pop(&mut tree, child, PopStatus::Completed, "Done");
            }
            for number in 0..invalidated {
                let frame = NewFrame::new(format!("Wrong {number}")).id(format!("wrong{number}"));
                let child = match number % 3 {
                    0 => push(&mut tree, frame),
                    1 => {
                        let parent = tree.roots()[0];
                        execute(&mut tree, Command::Plan(frame.below(parent)));
                        tree.handles().next_back().unwrap()
                    }
                    _ => {
                        let child = push(&mut tree, frame);
                        pop(&mut tree, child, PopStatus::Completed, "Done");
                        child
                    }
                };
                invalidate(&mut tree, child);
            }
            let next = push(&mut tree, NewFrame::new("Sing").id("Sing"));
            let mut index = SiblingIndex::default();
            update(&mut index, &tree);
            let (from, query) = (Standpoint::new(&tree, next, next), query_of(tree.node(next)));
            assert_eq!(index.scores(&from, &query, Extent::ALL), index.scores(&from, &query, Extent::of(32)));
            index.scores(&from, &query, Extent::ALL).iter().map(|scored| scored.score).collect::<Vec<_>>()
        };
        assert_eq!(scores(0).len(), 3);
        assert_eq!(scores(12), scores(0));
    }

    #[test]
    fn invalidated_siblings_do_not_change_the_habit() {
        let share = |invalidated: usize| {
            let mut tree = root();
            let mut before = None;
            for number in 0..6 {
                let mut frame = NewFrame::new(format!("Walk {number}"));
                if let Some(before) = before {
                    frame = frame.depends_on(before);
                }
                let child = push(&mut tree, frame);
                pop(&mut tree, child, PopStatus::Completed, "Done");
                for _ in 0..invalidated {
                    let wrong = push(&mut tree, NewFrame::new("Swim"));
                    pop(&mut tree, wrong, PopStatus::Completed, "Done");
                    invalidate(&mut tree, wrong);
                }
                before = Some(child);
            }
            let mut index = SiblingIndex::default();
            update(&mut index, &tree);
            index.habit.before(6).share(1)
        };
        assert!(share(0) > 0.8 && share(2) == share(0), "{} {}", share(0), share(2));
    }
}
