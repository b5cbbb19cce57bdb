//! Writes a plan back: what was done here is written into the file from which the plan was imported.
//!
//! Only what has changed here since the last import is written, and only where the file still says what it
//! said then. All other bytes of the file stay as they are.

mod beads;
mod edits;
mod task_master;

use std::collections::HashMap;

use serde::Serialize;

use self::edits::Edits;
use super::update::{Here, Known, Sides, Verdict, begun_here, said_by, status_verdict, verdict};
use super::{Becomes, Format, Imported, PlanChange, PlanConflict, PlanField, frames};
use crate::error::{Error, Result};
use crate::frame::{Change, Frame, FrameStatus, Handle, Origin};
use crate::import::collector::is_made;
use crate::tree::{Draft, Tree};

/// What a file cannot be exported to.
const WHAT: &str = "the file";

/// A plan with what was done here.
///
/// In JSON: `{"text": "…", "written": [{"frame": "f3", "id": "app-2", "title": "Cart", "becomes": "finished",
/// "fields": ["status"]}], "added": [], "conflicts": []}`, with entries as in
/// [`PlanUpdate`](super::PlanUpdate).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ExportedPlan {
    /// The new text of the file.
    pub text: String,
    /// The frames whose records were changed.
    pub written: Vec<PlanChange>,
    /// The frames that were made here, and are new in the file.
    pub added: Vec<PlanChange>,
    /// The changes that were not written: the file has other values since the import.
    pub conflicts: Vec<PlanConflict>,
    /// What the file says about the frames that were written.
    #[serde(skip)]
    origins: Vec<(Handle, Origin)>,
}

/// What is written about a frame.
struct Written<'a> {
    /// The newest attempt at its work.
    record: &'a Frame,
    /// True if only its results have changed.
    is_result: bool,
}

/// A frame that was made here, for the file.
struct New<'a> {
    handle: Handle,
    record: &'a Frame,
    /// The ID of its parent in the file.
    parent: String,
    /// The IDs of what it depends on, as far as the file has them.
    depends_on: Vec<String>,
}

/// The records of a file.
trait Records {
    /// True if the file has one record of this ID, as the plan has it.
    fn has(&self, id: &str) -> bool;

    /// Writes the status and the results of a frame into its record.
    fn write(&self, id: &str, frame: &Written<'_>, edits: &mut Edits);

    /// Gives a new frame its ID. `None`: the file has no place for it.
    fn place(&mut self, frame: &New<'_>) -> Option<String>;

    /// Adds the records of the new frames that have a place.
    fn add(&mut self, edits: &mut Edits);
}

/// Writes what was done here into the text of a plan: statuses, results, and frames that were made here below
/// frames of the plan. `prefix` was put before the IDs at the import ([`Imported::with_prefix`]). When the
/// file is written, [`Stack::note_export`](crate::Stack::note_export) notes what was exported.
///
/// ```
/// use callstack_core::{PopStatus, Stack, import};
///
/// let file = "{\"id\": \"app-1\", \"title\": \"Set up\",   \"status\": \"open\"}\n";
/// let stack = Stack::in_memory();
/// stack.bring_up_to_date(&import::frames(file)?, None)?;
/// assert_eq!(stack.read(|tree| import::export(tree, file, ""))??.text, file);
/// stack.activate("app-1")?;
/// let exported = stack.read(|tree| import::export(tree, file, ""))??;
/// assert!(exported.text.starts_with("{\"id\": \"app-1\", \"title\": \"Set up\",   \"status\": \"in_progress\""));
/// stack.note_export(&exported)?;
/// # Ok::<(), callstack_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Json`] if the text is not a plan of Beads or Task Master, or if no frame was imported from it.
pub fn export(tree: &Tree, text: &str, prefix: &str) -> Result<ExportedPlan> {
    let format = Format::of(text)?;
    let plan = frames(text)?.with_prefix(prefix);
    let file: HashMap<&str, &Frame> = plan.frames.iter().map(|frame| (frame.session_id.as_str(), frame)).collect();
    let Known { plan: name, handles, .. } = Known::find(tree, &plan)
        .ok_or_else(|| Error::json(WHAT, "no frame of the stack was imported from it; import it first"))?;
    let ids: HashMap<Handle, String> = handles.iter().map(|(id, handle)| (*handle, id.clone())).collect();
    let mut records: Box<dyn Records> = match format {
        Format::Beads => Box::new(beads::Issues::of(text, prefix)),
        Format::TaskMaster => Box::new(task_master::Tasks::of(text, prefix)),
        _ => return Err(Error::json(WHAT, "it is neither a plan of Beads nor of Task Master")),
    };
    let mut exporter = Exporter { tree, plan: &plan, ids, exported: ExportedPlan::default(), edits: Edits::default() };
    exporter.write_changed(&handles, &*records);
    let mut added = exporter.add_new(&mut *records);
    let Exporter { mut exported, edits, .. } = exporter;
    exported.text = edits.applied(text);
    // What the file says from now on.
    let new = frames(&exported.text)?.with_prefix(prefix);
    let new: HashMap<&str, &Frame> = new.frames.iter().map(|frame| (frame.session_id.as_str(), frame)).collect();
    for change in &exported.written {
        let record = tree.node(change.frame).record();
        let (Some(before), Some(old), Some(said)) =
            (&record.origin, file.get(change.id.as_str()), new.get(change.id.as_str()))
        else {
            continue;
        };
        let mut origin = (**before).clone();
        let sums = said_by(said, said.parent_session_id.as_deref());
        let old_sums = said_by(old, old.parent_session_id.as_deref());
        if old_sums.task == origin.checksums.task {
            origin.checksums.task = sums.task;
        }
        (origin.status, origin.checksums.results, origin.checksums.wait) = (said.status, sums.results, sums.wait);
        exported.origins.push((change.frame, origin));
    }
    note_lost_links(tree, &plan, &new, &handles, &mut exported);
    added.retain(|change| new.contains_key(change.id.as_str()));
    for change in &added {
        let said = new[change.id.as_str()];
        let parent = said.parent_session_id.as_deref();
        let origin = Origin {
            plan: name.clone(),
            id: change.id.clone(),
            after: None,
            gone: false,
            status: said.status,
            checksums: said_by(said, parent),
        };
        exported.origins.push((change.frame, origin));
    }
    exported.added = added;
    Ok(exported)
}

/// Notes the dependencies that entries do not have any more, because what they depend on was closed by the
/// export. The next import must not take this as a change of work that was begun here.
fn note_lost_links(
    tree: &Tree,
    plan: &Imported,
    new: &HashMap<&str, &Frame>,
    handles: &HashMap<String, Handle>,
    exported: &mut ExportedPlan,
) {
    let places: HashMap<Handle, usize> =
        exported.origins.iter().enumerate().map(|(place, (handle, _))| (*handle, place)).collect();
    for file in &plan.frames {
        let (Some(handle), Some(said)) = (handles.get(&file.session_id), new.get(file.session_id.as_str())) else {
            continue;
        };
        let record = tree.node(*handle).record();
        let Some(origin) = record.origin.as_deref().filter(|_| begun_here(record)) else { continue };
        let before = said_by(file, None).depends_on;
        let after = said_by(said, None).depends_on;
        if before == after || before != origin.checksums.depends_on {
            continue;
        }
        match places.get(handle) {
            Some(place) => exported.origins[*place].1.checksums.depends_on = after,
            None => {
                let mut origin = origin.clone();
                origin.checksums.depends_on = after;
                exported.origins.push((*handle, origin));
            }
        }
    }
}

/// Adds events to a draft. They note what a file says since an export.
pub(crate) fn note_export(draft: &mut Draft<'_>, exported: &ExportedPlan) {
    for (handle, origin) in &exported.origins {
        let known = draft.tree.handles().len() > handle.index();
        if known && draft.tree.node(*handle).record().origin.as_deref() != Some(origin) {
            let values = [("origin".to_owned(), serde_json::json!(origin))].into_iter().collect();
            draft.push(*handle, Change::Reimported { values, edit: None });
        }
    }
}

/// The words for records that a tracker keeps apart from all work, no matter what is over.
const LASTING: [&str; 5] = ["pinned", "no history", "template", "wisp", "ephemeral"];

struct Exporter<'a> {
    tree: &'a Tree,
    plan: &'a Imported,
    /// The IDs of frames in the file.
    ids: HashMap<Handle, String>,
    exported: ExportedPlan,
    edits: Edits,
}

impl<'a> Exporter<'a> {
    /// Writes what has changed here into the records of the file.
    fn write_changed(&mut self, handles: &HashMap<String, Handle>, records: &dyn Records) {
        for file in &self.plan.frames {
            let Some(handle) = handles.get(&file.session_id).copied() else { continue };
            let mut here = Here::of(self.tree, handle, &self.ids);
            // Of a record that is not work, only its end is written.
            let is_lasting = file.no_work.as_deref().is_some_and(|word| LASTING.contains(&word));
            let is_left = is_made(file) || is_lasting || here.record.status != FrameStatus::Completed;
            if file.no_work.is_some() && is_left {
                continue;
            }
            if here.origin.is_none_or(|origin| origin.gone) {
                continue;
            }
            let record = self.tree.node(self.tree.newest_attempt(handle)).record();
            let has_results = |frame: &Frame| frame.results.clone().unwrap_or_default();
            let is_settled = record.status == file.status && !file.status.is_unfinished();
            let sums = said_by(file, file.parent_session_id.as_deref());
            here.record = record;
            let status = match file.no_work.is_some() && file.status.is_unfinished() {
                true => Verdict::Here,
                false => status_verdict(&here, file, sums.wait),
            };
            let results = match is_settled && has_results(record) != has_results(file) {
                true => verdict(here.base().map(|base| base.results), sums.results, here.checksums.results),
                false => Verdict::Same,
            };
            let (field, is_result) = match (status, results) {
                (Verdict::Here, _) => (PlanField::Status, false),
                (Verdict::Same, Verdict::Here) => (PlanField::Results, true),
                (Verdict::Both, _) | (Verdict::Same, Verdict::Both) => {
                    let field = if status == Verdict::Same { PlanField::Results } else { PlanField::Status };
                    let advice = "the file has changed since the last import: import it, and settle what both say";
                    self.conflict(handle, file, record, field, advice);
                    continue;
                }
                _ => continue,
            };
            if !records.has(&file.session_id) {
                self.conflict(handle, file, record, field, "the file has no single record of it: settle its versions");
                continue;
            }
            let edits = self.edits.len();
            records.write(&file.session_id, &Written { record, is_result }, &mut self.edits);
            if self.edits.len() > edits {
                let becomes = if is_result { Becomes::Edited } else { Becomes::of(record.status) };
                self.exported.written.push(change(handle, &file.session_id, record, becomes, vec![field]));
            }
        }
    }

    /// Reports what is not written.
    fn conflict(&mut self, handle: Handle, file: &Frame, record: &Frame, field: PlanField, advice: &str) {
        let sides = Sides { tree: self.tree, ids: &self.ids, handle, file, record };
        self.exported.conflicts.push(sides.conflict(field, advice.to_owned()));
    }

    /// Adds the frames that were made here below frames of the plan.
    fn add_new(&mut self, records: &mut dyn Records) -> Vec<PlanChange> {
        let mut added = Vec::new();
        for handle in self.tree.handles() {
            let node = self.tree.node(handle);
            let record = node.record();
            let is_new = record.origin.is_none() && node.retry_of().is_none() && !record.placeholder;
            let parent = node.parent().and_then(|parent| self.ids.get(&parent)).cloned();
            let Some(parent) = parent.filter(|_| is_new && record.status != FrameStatus::Invalidated) else { continue };
            let id = |other: &Handle| self.ids.get(&self.tree.first_attempt(*other)).cloned();
            let depends_on = node.dependencies().iter().filter_map(id).collect();
            let newest = self.tree.node(self.tree.newest_attempt(handle)).record();
            if let Some(id) = records.place(&New { handle, record: newest, parent, depends_on }) {
                added.push(change(handle, &id, newest, Becomes::Added, Vec::new()));
                self.ids.insert(handle, id);
            }
        }
        records.add(&mut self.edits);
        added
    }
}

fn change(frame: Handle, id: &str, record: &Frame, becomes: Becomes, fields: Vec<PlanField>) -> PlanChange {
    PlanChange { frame, id: id.to_owned(), title: record.title.clone(), becomes, fields }
}
