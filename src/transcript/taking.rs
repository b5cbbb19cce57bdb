//! A session becomes a part of a stack: its events are added to the history, with their times; later only what is new.

use std::collections::HashMap;

use super::session::Session;
use crate::frame::{Change, FrameStatus, Handle};
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
    /// Frames that somebody has gone on with in the stack, so that they stay as they are there.
    pub kept: Vec<Handle>,
    /// True: the session was in the stack before.
    pub is_update: bool,
}

/// Adds to a draft what a session has, and the stack has not.
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
            // Which frame is active is a matter of the stack.
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
            change => {
                if let Change::Added { .. } = change {
                    taken.added.push(handle);
                }
                taken.requests += usize::from(matches!(change, Change::UsageRecorded { .. }));
                draft.push_at(handle, change.clone(), event.time);
            }
        }
    }
    for at in own.handles() {
        let (handle, is_new) = places[at.index()];
        if !is_new {
            bring_up_to_date(draft, (own, at), handle, &places, &mut taken);
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

/// Brings a frame of the stack to where it is in the session, unless somebody has gone on with it.
fn bring_up_to_date(
    draft: &mut Draft<'_>,
    (own, at): (&Tree, Handle),
    handle: Handle,
    places: &[(Handle, bool)],
    taken: &mut TakenSession,
) {
    let (node, frame) = (draft.tree.node(handle), own.node(at).record());
    let is_as_before =
        node.status() == frame.status && (node.record().results == frame.results || frame.status.is_unfinished());
    if is_as_before {
        return;
    }
    let is_of_session = |child: &Handle| places.iter().any(|(known, _)| known == child);
    // What was interrupted has a question. If it is not blocked any more, or has other results, somebody was at work here.
    let record = node.record();
    let was_interrupted = !record.questions.is_empty();
    let is_ended = !node.status().is_unfinished();
    let is_gone_on = record.held_by().is_some()
        || record.pending_answer().is_some()
        || node.status() == FrameStatus::Invalidated
        || was_interrupted && (is_ended || node.status() == FrameStatus::InProgress)
        || !draft.tree.children(handle).iter().all(is_of_session);
    if is_gone_on {
        taken.kept.push(handle);
        return;
    }
    let time = frame.updated_at.max(record.updated_at);
    if is_ended && frame.status.is_unfinished() {
        draft.push_at(handle, Change::Reopened { reason: "The session goes on.".to_owned() }, time);
    }
    taken.changed.push(handle);
    if is_ended && frame.status == FrameStatus::InProgress {
        return;
    }
    draft.push_at(
        handle,
        Change::StatusChanged {
            status: frame.status,
            results: frame.results.clone(),
            results_compacted: frame.results_compacted.clone(),
        },
        time,
    );
}
