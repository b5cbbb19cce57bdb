//! A session becomes a part of a stack: its events are added to the history, with their times. Later, only
//! what is new is added.

use std::collections::HashMap;

use super::session::Session;
use crate::frame::{Change, Checksums, Frame, Handle, Origin, checksum};
use crate::tree::{Draft, Tree};

/// What has come into a stack from a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TakenSession {
    /// The frame of the session.
    pub root: Option<Handle>,
    /// The frames that are new in the stack.
    pub added: Vec<Handle>,
    /// The frames that had come before, and have changed.
    pub changed: Vec<Handle>,
    /// Number of requests that are new.
    pub requests: usize,
    /// Frames on which work has continued in the stack, so that they stay as they are there.
    pub kept: Vec<Handle>,
    /// True if the session was in the stack before.
    pub is_update: bool,
}

/// Adds to a draft what a session has and the stack does not have.
pub(crate) fn take_over(draft: &mut Draft<'_>, session: &Session) -> TakenSession {
    let (tree, own) = (draft.tree, session.tree());
    let places = places(tree, own);
    let mut taken = TakenSession {
        root: own.roots().first().map(|root| places[root.index()].0),
        is_update: places.iter().any(|(_, is_new)| !is_new),
        ..TakenSession::default()
    };
    let mut known_requests: HashMap<Handle, u64> = HashMap::new();
    for event in session.untaken() {
        let Some((handle, is_new)) = places.get(event.handle.index()).copied() else { continue };
        match &event.change {
            // The stack itself decides which frame is active.
            Change::ActiveChanged { .. } => {}
            Change::UsageRecorded { .. } if !is_new => {
                let known = known_requests.entry(handle).or_insert_with(|| requests_of(tree, handle));
                match known.checked_sub(1) {
                    Some(left) => *known = left,
                    None => {
                        taken.requests += 1;
                        draft.push_at(handle, event.change.clone(), event.time);
                    }
                }
            }
            _ if !is_new => {}
            Change::Added { frame } => {
                taken.added.push(handle);
                let frame = Frame { origin: Some(Box::new(origin(own, event.handle))), ..(**frame).clone() };
                draft.push_at(handle, Change::Added { frame: Box::new(frame) }, event.time);
            }
            change => {
                taken.requests += usize::from(matches!(change, Change::UsageRecorded { .. }));
                draft.push_at(handle, change.clone(), event.time);
            }
        }
    }
    let mut sorted = places.clone();
    sorted.sort_unstable();
    // Frames below come before the frames above them: a frame does not end while work on a frame below it
    // continues.
    for at in own.handles().rev() {
        let (handle, is_new) = places[at.index()];
        if !is_new {
            bring_up_to_date(draft, (own, at), handle, &sorted, &mut taken);
        }
    }
    taken
}

/// For each frame of the session its handle in the stack, and whether it is new there.
fn places(tree: &Tree, own: &Tree) -> Vec<(Handle, bool)> {
    let mut next = tree.len();
    let place = |at: Handle| match tree.by_id(&own.node(at).record().session_id) {
        Some(known) => (known, false),
        None => {
            next += 1;
            (Handle::from_index(next - 1).unwrap_or(at), true)
        }
    };
    own.handles().map(place).collect()
}

fn requests_of(tree: &Tree, handle: Handle) -> u64 {
    tree.node(handle).record().usage.iter().map(|usage| usage.requests).sum()
}

/// What the session says about a frame at an import. From this, the next import knows whether the frame was
/// changed in the stack.
fn origin(own: &Tree, at: Handle) -> Origin {
    let record = own.node(at).record();
    Origin {
        plan: own.node(own.root(at)).record().session_id.clone(),
        id: record.session_id.clone(),
        status: record.status,
        checksums: Checksums {
            title: checksum(&record.title),
            results: checksum(record.results.as_deref().unwrap_or_default()),
            ..Checksums::default()
        },
        ..Origin::default()
    }
}

/// Brings a frame of the stack to its state in the session, unless work on it has continued in the stack.
fn bring_up_to_date(
    draft: &mut Draft<'_>,
    (own, at): (&Tree, Handle),
    handle: Handle,
    // In the order of their handles in the stack.
    places: &[(Handle, bool)],
    taken: &mut TakenSession,
) {
    let (record, now) = (draft.tree.node(handle).record(), own.node(at).record());
    let (known, origin) = (record.origin.as_deref().cloned().unwrap_or_default(), origin(own, at));
    if known == origin {
        return;
    }
    let is_left = |below: Handle| {
        let is_of_session = places.binary_search_by_key(&below, |(known, _)| *known).is_ok();
        let is_unfinished = draft.tree.node(below).status().is_unfinished();
        !is_of_session || is_unfinished && taken.kept.contains(&below)
    };
    let is_gone_on = record.held_by().is_some()
        || record.pending_answer().is_some()
        || record.status != known.status
        || checksum(record.results.as_deref().unwrap_or_default()) != known.checksums.results
        || draft.tree.subtree(handle).any(is_left);
    if is_gone_on {
        taken.kept.push(handle);
        return;
    }
    let keys = ["status", "results", "resultsCompacted", "questions"];
    // A person can have given it another title.
    let is_titled = checksum(&record.title) != known.checksums.title;
    let mut values = now.values(keys.into_iter().chain(Some("title").filter(|_| !is_titled)));
    values.insert("origin".to_owned(), serde_json::to_value(&origin).unwrap_or_default());
    let time = now.updated_at.max(record.updated_at);
    draft.push_at(handle, Change::Reimported { values, edit: None }, time);
    taken.changed.push(handle);
}
