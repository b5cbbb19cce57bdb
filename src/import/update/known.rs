//! The frames of a stack that a plan is about.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::error::{Error, Result};
use crate::frame::{Frame, Handle};
use crate::tree::{Scan, Tree};

/// Number of frames that have nothing in common with those of the same ID, from which on the plan may be another one.
const STRANGERS: usize = 3;

/// The frames of a stack that a plan is about.
pub(super) struct Known {
    /// The name of the plan.
    pub(super) plan: String,
    /// The frames by their IDs in the plan, also those that the file does not have any more.
    pub(super) handles: HashMap<String, Handle>,
}

impl Known {
    /// # Errors
    /// [`Error::DuplicateId`] if an ID of the plan belongs to a frame that is not of the plan.
    pub(super) fn of(tree: &Tree, frames: &[Frame]) -> Result<Self> {
        let first = frames.first().map(|frame| frame.session_id.clone()).unwrap_or_default();
        let ids: HashSet<&str> = frames.iter().map(|frame| frame.session_id.as_str()).collect();
        let found = frames_of_plan(tree, |id| ids.contains(id));
        let is_new = found.is_none();
        let (plan, mut handles) = found.unwrap_or((first, HashMap::new()));
        let taken = |id: &str, handle: Handle| Err(Error::DuplicateId { session_id: id.to_owned(), handle });
        for frame in frames {
            let id = frame.session_id.as_str();
            let Some(handle) = tree.by_id(id).filter(|_| !handles.contains_key(id)) else { continue };
            if is_new || tree.node(handle).record().origin.is_some() {
                return taken(id, handle);
            }
            handles.insert(id.to_owned(), handle);
        }
        let is_stranger = |frame: &&Frame| {
            let known = handles.get(&frame.session_id).map(|handle| tree.node(*handle).record());
            known.is_some_and(|known| {
                let has_same = |a: &str, b: &str| !a.is_empty() && a == b;
                frame.no_work.is_none()
                    && known.title != frame.title
                    && !has_same(&known.success_criteria, &frame.success_criteria)
                    && !has_same(&known.task, &frame.task)
            })
        };
        let common = frames.iter().filter(|frame| frame.no_work.is_none() && handles.contains_key(&frame.session_id));
        let strangers: Vec<&Frame> = frames.iter().filter(is_stranger).collect();
        if strangers.len() >= STRANGERS && strangers.len() * 2 > common.count() {
            let id = &strangers[0].session_id;
            return taken(id, handles[id]);
        }
        Ok(Self { plan, handles })
    }
}

/// The plan with the most frames whose IDs are asked for, and all its frames by their IDs in it. `None`: no frame of such an ID was imported.
pub(in crate::import) fn frames_of_plan(
    tree: &Tree,
    is_asked: impl Fn(&str) -> bool,
) -> Option<(String, HashMap<String, Handle>)> {
    let mut plans: BTreeMap<String, (usize, HashMap<String, Handle>)> = BTreeMap::new();
    let mut scan = Scan::of(tree);
    for handle in tree.handles() {
        let record = scan.at(handle).node(handle).record();
        let Some(origin) = &record.origin else { continue };
        let (count, handles) = plans.entry(origin.plan.clone()).or_default();
        *count += usize::from(is_asked(&origin.id));
        handles.insert(origin.id.clone(), handle);
    }
    let (plan, (count, handles)) = plans.into_iter().max_by_key(|(_, (count, _))| *count)?;
    (count > 0).then_some((plan, handles))
}
