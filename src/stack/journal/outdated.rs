//! The files of the mirror that events make out of date.

use crate::error::Result;
use crate::frame::{Change, Event, FrameStatus, Handle};
use crate::stack::deadline::Deadline;
use crate::store::mirror::Mirror;
use crate::store::{EventQuery, Store};
use crate::tree::{Scan, Tree};

/// Records the files of the mirror that an event makes out of date. Called before the event is applied.
pub(super) fn note(mirror: Option<&mut Mirror>, tree: &Tree, event: &Event, own: bool) {
    let Some(mirror) = mirror.filter(|mirror| event.revision > mirror.revision()) else { return };
    let (handle, revision) = (event.handle, event.revision);
    match &event.change {
        Change::ActiveChanged { .. }
        | Change::Imported { .. }
        | Change::RunStarted { .. }
        | Change::Called { .. }
        | Change::MessagesAdded { .. } => return,
        Change::Added { frame } => {
            // The file of the parent lists its planned children, and all children if they were moved, or if a
            // new attempt stands before others.
            let parent = frame.parent_session_id.as_ref().and_then(|parent| tree.by_id(parent));
            let can_be_listed = frame.status == FrameStatus::Planned || frame.retry_of.is_some();
            let lists_it = |parent: &Handle| can_be_listed || tree.node(*parent).is_reordered();
            parent.filter(lists_it).into_iter().for_each(|parent| mirror.note(parent, revision, own));
        }
        _ if handle.index() >= tree.len() => return,
        Change::Edited { edit, .. }
        | Change::Reimported { edit: Some(edit), .. }
        | Change::Restored { edit: Some(edit), .. }
            if edit.moves() =>
        {
            let parent = edit.parent.iter().flatten().filter_map(|parent| tree.resolve(parent).ok());
            let parents = parent.chain(tree.node(handle).parent());
            parents.for_each(|parent| mirror.note(parent, revision, own));
        }
        Change::StatusChanged { .. }
        | Change::Invalidated { .. }
        | Change::Reopened { .. }
        | Change::Restored { .. }
        | Change::Reimported { .. }
        | Change::IdReplaced { .. } => {
            let node = tree.node(handle);
            let lists_it = |parent: &Handle| node.status() == FrameStatus::Planned || tree.node(*parent).is_reordered();
            node.parent().filter(lists_it).into_iter().for_each(|parent| mirror.note(parent, revision, own));
            if let Change::IdReplaced { .. } = event.change {
                mirror.note_replaced(node.session_id(), handle, revision);
                let naming = node.children().iter().chain(tree.dependents(handle)).copied().chain(node.retried_as());
                naming.for_each(|other| mirror.note(other, revision, own));
            }
        }
        _ => {}
    }
    mirror.note(handle, revision, own);
}

/// Records the files of the mirror that are out of date because of events that were not applied to the tree
/// one by one.
pub(super) fn list_changed(store: &mut dyn Store, mirror: &mut Mirror, tree: &Tree, deadline: &Deadline) -> Result<()> {
    let since = mirror.revision();
    if mirror.is_foreign() {
        mirror.rewrite_all(tree.len());
    } else {
        let changed = tree.checked(|tree| tree.changed_since(since))?;
        changed.into_iter().for_each(|handle| mirror.note(handle, tree.revision(), false));
    }
    let mut replaced = Vec::new();
    let query = EventQuery::default().since(since).until(tree.revision()).kind("idReplaced");
    store.read(&query, deadline.remaining(), &mut |event| {
        replaced.push((event.handle, event.revision));
        Ok(())
    })?;
    let mut scan = Scan::of(tree);
    for (handle, revision) in replaced {
        let naming: Vec<Handle> = scan.at(handle).checked(|tree| {
            let node = tree.node(handle);
            node.children().iter().chain(tree.dependents(handle)).copied().chain(node.retried_as()).collect()
        })?;
        naming.into_iter().for_each(|other| mirror.note(other, tree.revision(), false));
        let mut old = None;
        let query = EventQuery::default().until(revision - 1).frame(handle);
        store.read(&query, deadline.remaining(), &mut |event| {
            match event.change {
                Change::Added { frame } => old = Some(frame.session_id),
                Change::IdReplaced { session_id } => old = Some(session_id),
                _ => {}
            }
            Ok(())
        })?;
        old.into_iter().for_each(|id| mirror.note_replaced(&id, handle, revision));
    }
    mirror.note_all_listed();
    Ok(())
}
