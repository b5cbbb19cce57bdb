//! The frames of a stack that a plan is about.
//!
//! Many IDs are not names of the plan: `beads`, tags and headings are made up, and other projects have a task
//! 1 and an item `Tests` too. So two files belong to one plan if they have most of their work in common, by
//! IDs and words.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::merge::{said_by, said_of};
use crate::error::{Error, Result};
use crate::frame::{Frame, FrameStatus, Handle};
use crate::import::Imported;
use crate::import::collector::is_made;
use crate::import::plan_file::PLAN_FILE;
use crate::tree::{Scan, Tree};

/// The frames of a stack that a plan is about.
pub(in crate::import) struct Known {
    /// The name of the plan.
    pub(in crate::import) plan: String,
    /// The frames by their IDs in the plan, also those that the file does not have any more.
    pub(in crate::import) handles: HashMap<String, Handle>,
    /// The frames that were made here and whose entries an export has written, but has not noted.
    pub(super) adopted: HashSet<Handle>,
}

impl Known {
    /// # Errors
    /// [`Error::DuplicateId`] if an ID of the plan belongs to a frame that is not in the plan.
    pub(super) fn of(tree: &Tree, plan: &Imported) -> Result<Self> {
        let taken = |id: &str, handle: Handle| Err(Error::DuplicateId { session_id: id.to_owned(), handle });
        let plans = Plans::of(tree);
        let found = match plan.plan_file.is_some() {
            true => plans.named(PLAN_FILE),
            false => plans.find(tree, plan),
        };
        let (mut known, is_new) = match found {
            Some(known) => (known, false),
            None => {
                let first = plan.frames.first().map(|frame| frame.session_id.clone()).unwrap_or_default();
                let name = if plan.plan_file.is_some() { PLAN_FILE.to_owned() } else { first };
                let other = plans.plans.get(&name).and_then(|others| others.values().min());
                if let Some(handle) = other {
                    return taken(&name, *handle);
                }
                (Self { plan: name, handles: HashMap::new(), adopted: HashSet::new() }, true)
            }
        };
        for frame in &plan.frames {
            let id = frame.session_id.as_str();
            let Some(handle) = tree.by_id(id).filter(|_| !known.handles.contains_key(id)) else { continue };
            if is_new || tree.node(handle).record().origin.is_some() {
                return taken(id, handle);
            }
            known.handles.insert(id.to_owned(), handle);
        }
        known.adopt(tree, plan);
        Ok(known)
    }

    /// The plan that a file belongs to. `None`: no plan was imported from it.
    pub(in crate::import) fn find(tree: &Tree, plan: &Imported) -> Option<Self> {
        Plans::of(tree).find(tree, plan)
    }

    /// Finds the entries that an export has written, but not noted, because the program ended in between. An
    /// entry with the parent, the title and the texts of a frame that was made here is that frame.
    fn adopt(&mut self, tree: &Tree, plan: &Imported) {
        let is_new = |frame: &&Frame| !self.handles.contains_key(&frame.session_id);
        if self.handles.is_empty() || !plan.frames.iter().any(|frame| is_new(&frame)) {
            return;
        }
        let taken: HashSet<Handle> = self.handles.values().copied().collect();
        let mut made: HashMap<(Handle, &str), Vec<Handle>> = HashMap::new();
        for handle in tree.handles().filter(|handle| !taken.contains(handle)) {
            let node = tree.node(handle);
            let record = node.record();
            let is_made = record.origin.is_none() && !record.placeholder && node.retry_of().is_none();
            if let Some(parent) = node.parent().filter(|_| is_made && record.status != FrameStatus::Invalidated) {
                made.entry((parent, record.title.as_str())).or_default().push(handle);
            }
        }
        for frame in &plan.frames {
            let parent = frame.parent_session_id.as_ref().and_then(|parent| self.handles.get(parent)).copied();
            let Some(parent) = parent.filter(|_| !self.handles.contains_key(&frame.session_id)) else { continue };
            let Some(made) = made.get_mut(&(parent, frame.title.as_str())) else { continue };
            let texts = texts(frame);
            if let Some(at) = made.iter().position(|made| self::texts(tree.node(*made).record()) == texts) {
                let handle = made.remove(at);
                self.handles.insert(frame.session_id.clone(), handle);
                self.adopted.insert(handle);
            }
        }
    }
}

/// The texts of a frame, no matter where they are: a file may have one place for both.
fn texts(frame: &Frame) -> Vec<&str> {
    [&frame.success_criteria, &frame.task].into_iter().map(|text| text.trim()).filter(|text| !text.is_empty()).collect()
}

/// The plans of a stack: the frames of each by their IDs in it.
struct Plans {
    plans: BTreeMap<String, HashMap<String, Handle>>,
}

impl Plans {
    fn of(tree: &Tree) -> Self {
        let mut plans: BTreeMap<String, HashMap<String, Handle>> = BTreeMap::new();
        let mut scan = Scan::of(tree);
        for handle in tree.handles() {
            if let Some(origin) = &scan.at(handle).node(handle).record().origin {
                plans.entry(origin.plan.clone()).or_default().insert(origin.id.clone(), handle);
            }
        }
        Self { plans }
    }

    /// The plan with a name, if frames of it are here.
    fn named(&self, name: &str) -> Option<Known> {
        let handles = self.plans.get(name)?.clone();
        Some(Known { plan: name.to_owned(), handles, adopted: HashSet::new() })
    }

    /// The plan with which a file has the most in common.
    fn find(&self, tree: &Tree, plan: &Imported) -> Option<Known> {
        let file: HashMap<&str, &Frame> = plan.frames.iter().map(|frame| (frame.session_id.as_str(), frame)).collect();
        let counted = self.plans.iter().map(|(name, handles)| (name, handles, Common::of(tree, handles, &file)));
        let mut of_plan = counted.filter(|(_, _, common)| match plan.is_same_plan {
            true => common.ids > 0,
            false => common.is_same_plan(),
        });
        let first = of_plan.next()?;
        let (name, handles, _) =
            of_plan.fold(first, |best, other| if other.2.rank() > best.2.rank() { other } else { best });
        Some(Known { plan: name.clone(), handles: handles.clone(), adopted: HashSet::new() })
    }
}

/// What a plan of a stack and a file have in common. Entries that are made up for the frame do not count,
/// except in `ids`.
#[derive(Default)]
struct Common {
    /// The IDs that both have, also those that are made up.
    ids: usize,
    /// Entries of both that have something in common, apart from the ID.
    same: usize,
    /// Entries of both that do not.
    strangers: usize,
    /// The entries that the file had at the last import.
    known: usize,
    /// The entries of the file.
    file: usize,
}

impl Common {
    fn of(tree: &Tree, handles: &HashMap<String, Handle>, file: &HashMap<&str, &Frame>) -> Self {
        let mut common = Self { file: file.values().filter(|frame| !is_made(frame)).count(), ..Self::default() };
        for (id, handle) in handles {
            let record = tree.node(*handle).record();
            let entry = file.get(id.as_str());
            common.ids += usize::from(entry.is_some());
            if is_made(record) {
                continue;
            }
            common.known += usize::from(record.origin.as_ref().is_some_and(|origin| !origin.gone));
            match entry {
                Some(entry) if is_same_work(record, entry) => common.same += 1,
                Some(_) => common.strangers += 1,
                None => {}
            }
        }
        common
    }

    /// True if most of the entries that both have say something in common, and these entries are most of the
    /// plan, or of the file.
    fn is_same_plan(&self) -> bool {
        self.same > self.strangers && (self.same + self.strangers) * 2 > self.known.min(self.file)
    }

    /// The more the two have in common, the higher.
    fn rank(&self) -> (usize, usize) {
        (self.same, self.ids)
    }
}

/// True if a frame and an entry with its ID have some words in common: most words of the title, or one of the
/// long texts, as it is here or as the file said it.
fn is_same_work(record: &Frame, entry: &Frame) -> bool {
    let has_same = |here: &str, there: &str| !there.is_empty() && here == there;
    let said = said_by(entry, None);
    let before = said_of(record);
    let is_as_before = |sum: u64, before: u64| sum != 0 && sum == before;
    has_similar_words(&record.title, &entry.title)
        || has_same(&record.success_criteria, &entry.success_criteria)
        || has_same(&record.task, &entry.task)
        || is_as_before(said.title, before.title)
        || is_as_before(said.criteria, before.criteria)
        || is_as_before(said.task, before.task)
}

/// True if most of the words of the shorter title are in the other title.
fn has_similar_words(one: &str, other: &str) -> bool {
    let words = |title: &str| -> HashSet<String> {
        let words = title.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let (one_words, other_words) = (words(one), words(other));
    let common = one_words.intersection(&other_words).count();
    one == other || common * 2 > one_words.len().min(other_words.len())
}
