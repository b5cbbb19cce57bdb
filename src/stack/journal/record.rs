//! Records a whole history, which was exported elsewhere, in an empty store.

use std::collections::HashSet;
use std::iter::{self, Peekable};
use std::slice;

use super::Journal;
use super::catch_up::catch_up;
use super::follow::{apply_fitting, check_fits};
use super::snapshots::{archive_if_due, commit_snapshot};
use crate::archive::ArchivedFrame;
use crate::error::{Error, Result};
use crate::frame::Event;
use crate::stack::archive::archive_of;
use crate::stack::deadline::Deadline;
use crate::stack::shared_tree::SharedTree;
use crate::store::export::{self, HistoryLine};
use crate::store::mirror::Mirror;
use crate::store::{Snapshot, Store};
use crate::tree::{Comparison, Tree};

impl Journal {
    /// Records a whole history in an empty store, in one transaction, and replaces the tree by the tree of
    /// the history. Takes the events one by one, and has only few finished trees in memory. Returns false if
    /// the store has events already.
    pub(in crate::stack) fn record(
        &mut self,
        tree: &SharedTree,
        deadline: &Deadline,
        history: impl Iterator<Item = Result<HistoryLine>>,
    ) -> Result<bool> {
        let Self { store: Some(store), mirror, is_incomplete, finished_frames, .. } = self else { return Ok(false) };
        let recorded = store
            .begin(deadline.remaining())
            .and_then(|()| catch_up(&mut **store, mirror.as_mut(), tree, is_incomplete, deadline))
            .and_then(|()| match tree.read().revision() {
                0 => commit_history(&mut **store, mirror.as_mut(), history, *finished_frames).map(Some),
                _ => Ok(None),
            });
        // Ends the transaction if it was not committed.
        store.rollback();
        let Some(grown) = recorded? else { return Ok(false) };
        tree.change(|tree| *tree = grown);
        Ok(true)
    }
}

/// Commits a history, and returns its tree. Trees that have finished are dropped from memory meanwhile.
fn commit_history(
    store: &mut dyn Store,
    mut mirror: Option<&mut Mirror>,
    history: impl Iterator<Item = Result<HistoryLine>>,
    finished_frames: usize,
) -> Result<Tree> {
    let mut history = history.peekable();
    let mut tree = Tree::new();
    if let Some(Ok(HistoryLine::Base(head))) = history.next_if(|line| matches!(line, Ok(HistoryLine::Base(_)))) {
        tree = write_base(store, head, &mut history)?;
        if let Some(mirror) = mirror.as_deref_mut() {
            mirror.rewrite_all(tree.len());
        }
    } else if let Some(archive) = archive_of(store) {
        tree.use_archive(archive);
    }
    for line in history {
        let HistoryLine::Event(event) = line? else {
            return Err(invalid("frames of compacted events come before all events"));
        };
        check_gap(&tree, &event)?;
        check_fits(&tree, &event)?;
        store.append(slice::from_ref(&event))?;
        apply_fitting(mirror.as_deref_mut(), &mut tree, event, true)?;
        archive_if_due(store, &mut tree, finished_frames)?;
    }
    match tree.has_archive() {
        true => commit_snapshot(store, &mut tree)?,
        false => store.commit()?,
    }
    Ok(tree)
}

/// Writes the base of a compacted history, whose frames are the next lines, and the remaining events up to
/// it. Returns its tree.
fn write_base(
    store: &mut dyn Store,
    head: String,
    lines: &mut Peekable<impl Iterator<Item = Result<HistoryLine>>>,
) -> Result<Tree> {
    let archive = archive_of(store).ok_or(Error::InMemory { what: "snapshots" })?;
    let (revision, count) = Tree::snapshot_extent(&head)?;
    let base = Snapshot { revision, head, unfinished: Vec::new(), is_whole: true };
    let (mut read, mut written) = (Ok(()), HashSet::new());
    let frames = iter::from_fn(|| {
        let frame = match lines.next_if(|line| !matches!(line, Ok(HistoryLine::Base(_) | HistoryLine::Event(_))))? {
            Ok(HistoryLine::BaseFrame(frame)) => frame,
            Ok(_) => return None,
            Err(error) => {
                read = Err(error);
                return None;
            }
        };
        let ArchivedFrame { handle, changed, .. } = frame;
        if handle.index() < count && changed <= revision && written.insert(handle) {
            return Some(frame);
        }
        read = Err(invalid(format!(
            "frame {handle}, changed by event {changed}, comes twice or is not of the snapshot with {count} frames at event {revision}"
        )));
        None
    });
    store.write_base(&base, &mut frames.fuse())?;
    read?;
    // This is also a limit for the memory that the tree takes.
    if written.len() != count {
        return Err(invalid(format!("a snapshot with {count} frames is followed by {}", written.len())));
    }
    write_kept_events(store, revision, count, lines)?;
    // The frames come from elsewhere, so they are checked before any code relies on them.
    let mut comparison = Comparison::new(archive.clone(), base.head.clone(), Vec::new(), revision)?;
    comparison.read_compacted()?;
    if let Some(problem) = comparison.into_result()?.problems.first() {
        return Err(invalid(problem));
    }
    Tree::check_snapshot(&base.head, &*archive)?;
    Tree::of_snapshot(&base.head, &[], archive, false)
}

/// Writes the remaining events up to the base of a compacted history.
fn write_kept_events(
    store: &mut dyn Store,
    base: u64,
    frames: usize,
    lines: &mut Peekable<impl Iterator<Item = Result<HistoryLine>>>,
) -> Result<()> {
    let is_kept = |line: &Result<HistoryLine>| match line {
        Ok(HistoryLine::Event(event)) => event.revision <= base,
        Ok(_) => false,
        // The loop then reports the error of the line.
        Err(_) => true,
    };
    let mut last = 0;
    while let Some(line) = lines.next_if(is_kept) {
        let HistoryLine::Event(event) = line? else { break };
        let Event { revision, handle, .. } = event;
        if revision <= last || handle.index() >= frames {
            let message = format!("it does not follow event {last} of a snapshot with {frames} frames");
            return Err(Error::History { revision, message });
        }
        store.append(slice::from_ref(&event))?;
        last = revision;
    }
    if last < base {
        return Err(Error::History { revision: base, message: "it is missing, and the frames are those of it".into() });
    }
    Ok(())
}

/// Checks that no event is missing before this one.
fn check_gap(tree: &Tree, event: &Event) -> Result<()> {
    let next = tree.revision().saturating_add(1);
    if event.revision > next {
        return Err(Error::History { revision: event.revision, message: format!("event {next} is next") });
    }
    Ok(())
}

/// The error of an exported history from which no stack can be made.
fn invalid(message: impl Into<String>) -> Error {
    Error::json(export::NAME, message)
}
