//! The inverted index of a frame's finished children, which follows the changes of single children.

use super::habit::Habit;
use super::plan::{PlannedOrder, distance};
use super::query::{TITLE_WEIGHT, beginning, beginnings, term};
use super::scores::Notes;
use crate::context::keys::KeyMap;
use crate::frame::{FrameStatus, Handle, first_filled, has_handle_form};
use crate::keywords::for_each_word;
use crate::steps::step;
use crate::tree::{Node, Tree};

/// The inverted index of a frame's finished children. The documents are in the order in which the children finished; the
/// position in this order is the *place* of a document.
#[derive(Debug, Default)]
pub(in crate::context) struct SiblingIndex {
    pub(super) documents: Vec<Document>,
    /// The lengths of the documents: their weighted numbers of words, which are whole numbers.
    pub(super) lengths: Vec<f32>,
    /// For each document, the sum of its length and those of all documents before it.
    pub(super) total_lengths: Vec<f64>,
    /// For each word, the places of the documents that contain it, in order, each with the weighted number of
    /// occurrences.
    pub(super) words: KeyMap<u64, Vec<(u32, f32)>>,
    /// For each name, the places of the documents that have it, in order.
    pub(super) names: KeyMap<u64, Vec<u32>>,
    pub(super) planned: PlannedOrder,
    pub(super) habit: Habit,
    pub(super) notes: Notes,
    /// The parent's revision of its finished children at the last update.
    checked_at: u64,
}

#[derive(Debug)]
pub(super) struct Document {
    pub(super) handle: Handle,
    settled_revision: u64,
    pub(super) finished: u64,
    pub(super) created_at: u64,
    /// The places of the documents on which it depends; only those that had finished before it.
    pub(super) dependencies: Vec<u32>,
    /// The places of the documents that depend on it, in order.
    pub(super) dependents: Vec<u32>,
    /// Number of all frames on which it depends. Dependencies are only ever added, so they are the same as long as their
    /// number is.
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
            node.settled_revision() == self.settled_revision && node.finished() == Some(self.finished)
        }
    }

    /// True if its frame has finished in this version of the tree, at the same time.
    fn is_finished(&self, tree: &Tree) -> bool {
        self.handle.index() < tree.len() && {
            let node = tree.node(self.handle);
            node.status().is_finished() && node.finished() == Some(self.finished)
        }
    }
}

impl SiblingIndex {
    /// Updates the index to a version of the tree, also to an older one. A child that has changed is read again, one that
    /// finished last is added or removed, all at a cost that does not depend on the other children. If another one has
    /// come or gone, the places of those after it change; only numbers are changed then, no other child is read.
    ///
    /// The revision of a parent says in constant time that no finished child has changed. If one has, a comparison of the
    /// revisions of all finds it.
    pub(in crate::context) fn update(&mut self, tree: &Tree, parent: Handle) {
        let node = tree.node(parent);
        let count = node.finished_children().len();
        if self.checked_at == node.finished_revision() && self.documents.len() == count {
            return;
        }
        let is_changed = |place: &usize| !self.documents[*place].is_current(tree);
        let changed: Vec<usize> = (0..self.documents.len()).filter(is_changed).collect();
        let (changed, mut gone): (Vec<usize>, Vec<usize>) =
            changed.into_iter().partition(|place| self.documents[*place].is_finished(tree));
        let mut has_new_links = false;
        for place in changed {
            has_new_links |=
                self.documents[place].declared != tree.node(self.documents[place].handle).dependencies().len();
            let length = self.lengths[place];
            self.read(tree, place);
            if self.lengths[place] != length {
                self.sum_lengths(place);
            }
        }
        while gone.pop_if(|place| *place + 1 == self.documents.len()).is_some() {
            self.pop();
        }
        let newest = self.documents.last().map_or(0, |document| document.finished);
        let is_new = |child: &Handle| tree.node(*child).finished() > Some(newest);
        let new: Vec<Handle> = node.finished_children().rev().take_while(is_new).collect();
        if has_new_links || !gone.is_empty() || self.documents.len() + new.len() != count {
            self.rearrange(tree, node);
        } else {
            new.into_iter().rev().for_each(|child| self.push(tree, child));
        }
        self.checked_at = node.finished_revision();
    }

    /// Adds a child at the end.
    fn push(&mut self, tree: &Tree, child: Handle) {
        let place = self.documents.len();
        self.documents.push(Document::new(child));
        self.lengths.push(0.0);
        self.total_lengths.push(0.0);
        self.read(tree, place);
        self.sum_lengths(place);
        self.link(tree, place);
    }

    /// Removes the last document.
    fn pop(&mut self) {
        let Some(document) = self.documents.pop() else { return };
        let place = self.documents.len();
        for word in &document.words {
            remove_at(&mut self.words, *word, |(other, _)| *other as usize, place);
        }
        for name in &document.names {
            remove_at(&mut self.names, *name, |other| *other as usize, place);
        }
        self.lengths.pop();
        self.total_lengths.pop();
        self.planned.remove(document.handle);
        for dependency in &document.dependencies {
            self.documents[*dependency as usize].dependents.pop();
        }
        let distances = self.distances(document.handle, &document.dependencies);
        self.habit.pop(place as u32, distances.into_iter());
    }

    /// Removes the documents of children that are not finished in this version of the tree, and adds those that are
    /// missing, also between others.
    fn rearrange(&mut self, tree: &Tree, parent: &Node) {
        let old = std::mem::take(&mut self.documents);
        let old_lengths = std::mem::take(&mut self.lengths);
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
                    self.lengths.push(old_lengths[old_place]);
                }
                None => {
                    missing.push(place);
                    self.documents.push(Document::new(child));
                    self.lengths.push(0.0);
                }
            }
        }
        self.words.retain(|_, postings| {
            postings.retain_mut(|(place, _)| move_to(place, &new_places));
            !postings.is_empty()
        });
        self.names.retain(|_, places| {
            places.retain_mut(|place| move_to(place, &new_places));
            !places.is_empty()
        });
        missing.into_iter().for_each(|place| self.read(tree, place));
        self.total_lengths = vec![0.0; self.documents.len()];
        self.sum_lengths(0);
        self.planned = PlannedOrder::default();
        self.habit = Habit::default();
        self.documents.iter_mut().for_each(|document| document.dependents.clear());
        (0..self.documents.len()).for_each(|place| self.link(tree, place));
    }

    /// Reads the frame of a document, and puts its words and names in the place of the old ones.
    fn read(&mut self, tree: &Tree, place: usize) {
        let document = &mut self.documents[place];
        let node = tree.node(document.handle);
        let (settled, record) = (node.settled(), node.record());
        let results = first_filled(settled.results.unwrap_or_default(), settled.results_compacted.unwrap_or_default());
        document.settled_revision = node.settled_revision();
        document.finished = node.finished().unwrap_or_default();
        document.created_at = record.created_at;
        document.declared = node.dependencies().len();
        document.is_failed = node.status() == FrameStatus::Failed;
        document.is_candidate = !document.is_failed || !results.trim().is_empty();
        let texts = [(settled.title, TITLE_WEIGHT), (settled.success_criteria, 1.0), (results, 1.0)];
        let mut counts: KeyMap<u64, f32> = KeyMap::default();
        let mut length = 0.0;
        let mut count = |text: &str, weight: f32| {
            for_each_word(text, |stem| {
                step();
                *counts.entry(term(stem)).or_default() += weight;
                length += weight;
            });
        };
        texts.into_iter().for_each(|(text, weight)| count(beginning(text), weight));
        for list in [settled.artifacts, settled.decisions] {
            beginnings(list).for_each(|text| count(text, 1.0));
        }
        self.lengths[place] = length;
        let names = names(document.handle, &record.session_id);
        let old_words = std::mem::replace(&mut document.words, counts.keys().copied().collect());
        let old_names = std::mem::replace(&mut document.names, names);
        for word in old_words.iter().filter(|word| !counts.contains_key(word)) {
            remove_at(&mut self.words, *word, |(other, _)| *other as usize, place);
        }
        for (word, count) in counts {
            put_at(self.words.entry(word).or_default(), |(other, _)| *other as usize, (place as u32, count));
        }
        for name in old_names.iter().filter(|name| !document.names.contains(name)) {
            remove_at(&mut self.names, *name, |other| *other as usize, place);
        }
        for name in &document.names {
            put_at(self.names.entry(*name).or_default(), |other| *other as usize, place as u32);
        }
    }

    /// Sums up the lengths again, from a place on.
    fn sum_lengths(&mut self, place: usize) {
        let mut total = place.checked_sub(1).map_or(0.0, |before| self.total_lengths[before]);
        for (sum, length) in self.total_lengths[place..].iter_mut().zip(&self.lengths[place..]) {
            total += f64::from(*length);
            *sum = total;
        }
    }

    /// Notes on which documents this one depends, and its place in the plan. All documents before it must be linked, and
    /// none after it.
    fn link(&mut self, tree: &Tree, place: usize) {
        let handle = self.documents[place].handle;
        let node = tree.node(handle);
        let find = |dependency: &Handle| {
            let other = tree.node(*dependency);
            let finished = other.finished().filter(|_| other.parent() == node.parent())?;
            let earlier = &self.documents[..place];
            let found = earlier.binary_search_by_key(&finished, |document| document.finished).ok()?;
            Some(found as u32)
        };
        let dependencies: Vec<u32> = node.dependencies().iter().filter_map(find).collect();
        let distances = self.distances(handle, &dependencies);
        self.habit.push(place as u32, distances.into_iter());
        for dependency in &dependencies {
            self.documents[*dependency as usize].dependents.push(place as u32);
        }
        self.documents[place].dependencies = dependencies;
        self.planned.insert(handle, place as u32);
    }

    /// How many places before a child its dependencies were planned, among the children that finished before it.
    fn distances(&self, child: Handle, dependencies: &[u32]) -> Vec<i64> {
        if dependencies.is_empty() {
            return Vec::new();
        }
        let own = self.planned.rank(child);
        let other = |place: &u32| self.documents[*place as usize].handle;
        dependencies
            .iter()
            .map(other)
            .map(|other| distance(own, self.planned.rank(other), other < child, true))
            .collect()
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

/// Puts an entry into a list that is sorted by places, instead of the one with the same place.
fn put_at<T>(list: &mut Vec<T>, place_of: impl Fn(&T) -> usize, entry: T) {
    let place = place_of(&entry);
    if list.last().is_none_or(|last| place_of(last) < place) {
        list.push(entry);
        return;
    }
    match list.binary_search_by_key(&place, &place_of) {
        Ok(found) => list[found] = entry,
        Err(found) => list.insert(found, entry),
    }
}

/// Removes the entry with this place from the list of a term, which is sorted by places, and the list if it is empty.
fn remove_at<T>(lists: &mut KeyMap<u64, Vec<T>>, term: u64, place_of: impl Fn(&T) -> usize, place: usize) {
    step();
    let Some(list) = lists.get_mut(&term) else { return };
    if let Ok(found) = list.binary_search_by_key(&place, place_of) {
        list.remove(found);
    }
    if list.is_empty() {
        lists.remove(&term);
    }
}
