//! The write path: how what was decided reaches the store, the logs, the tree and the files beside the store.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::shared_tree::SharedTree;
use crate::error::Result;
use crate::frame::{Change, Event, Frame, FrameStatus, Handle, StateDocument};
use crate::store::logs::{self, Appended};
use crate::store::mirror::{Mirror, Source};
use crate::store::{EventQuery, Store, files};
use crate::tree::{Commit, LogAppend, Tree};

/// Which files of the mirror are written.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum MirrorScope {
    /// The files of the frames that this process has just changed.
    #[cfg_attr(not(feature = "session"), allow(dead_code, reason = "only hosts with sessions poll"))]
    ChangedFrames,
    /// All files if `state.json` is due, else as [`MirrorScope::ChangedFrames`].
    Due,
    /// All files.
    All,
}

/// The store of a stack and the files beside it. Locked for a whole command, before the tree.
pub(super) struct Disk {
    /// `None`: the stack lives in memory and keeps no history.
    pub(super) store: Option<Box<dyn Store>>,
    pub(super) mirror: Option<Mirror>,
    /// Where the mirror and the logs are.
    pub(super) folder: Option<PathBuf>,
    /// Logs are synced to the disk with each commit.
    syncs_logs: bool,
    /// The last command failed, perhaps while it committed: news may be our own.
    is_uncertain: bool,
}

/// What a commit has done.
pub(super) struct Committed {
    pub(super) events: Vec<Event>,
    /// A log was written whose file had not been there.
    pub(super) has_new_log: bool,
}

impl Disk {
    /// The disk of a stack in memory.
    pub(super) fn none() -> Self {
        Self { store: None, mirror: None, folder: None, syncs_logs: false, is_uncertain: false }
    }

    /// The disk of a stack with a store, and perhaps with a folder.
    pub(super) fn new(store: Box<dyn Store>, mirror: Option<Mirror>, folder: Option<&Path>, syncs_logs: bool) -> Self {
        Self { store: Some(store), mirror, folder: folder.map(Path::to_owned), syncs_logs, is_uncertain: false }
    }

    /// Decides on the newest tree, commits what was decided, and applies it. No other process can commit in between. If
    /// anything fails, the store and the tree stay as they are, except for the commits of other processes.
    ///
    /// The tree is locked while it is read or changed, never while the disk works, so readers do not wait for the disk.
    pub(super) fn commit(
        &mut self,
        tree: &SharedTree,
        decide: impl FnOnce(&Tree) -> Result<Commit>,
    ) -> Result<Committed> {
        self.transaction(tree, |tree| decide(&tree.read()))
    }

    /// As [`Disk::commit`], for a history that is still empty: `found` may take its time over files.
    pub(super) fn found(&mut self, tree: &SharedTree, found: impl FnOnce() -> Result<Commit>) -> Result<()> {
        // Another process may do the same: the second one finds events.
        let founding = |tree: &SharedTree| if tree.read().revision() == 0 { found() } else { Ok(Commit::default()) };
        self.transaction(tree, founding).map(drop)
    }

    fn transaction(
        &mut self,
        tree: &SharedTree,
        decide: impl FnOnce(&SharedTree) -> Result<Commit>,
    ) -> Result<Committed> {
        let committed = match &mut self.store {
            None => Committed { events: decide(tree)?.events, has_new_log: false },
            Some(store) => {
                store.begin()?;
                let committed = catch_up(&mut **store, self.mirror.as_mut(), tree)
                    .and_then(|()| decide(tree))
                    .and_then(|commit| persist(&mut **store, self.folder.as_deref(), self.syncs_logs, tree, commit));
                // Nothing is left of the transaction, unless it was committed.
                store.rollback();
                self.is_uncertain = committed.is_err();
                committed?
            }
        };
        let mut tree = tree.write();
        for event in &committed.events {
            note(self.mirror.as_mut(), &tree, event, true);
            tree.apply(event);
        }
        Ok(committed)
    }

    /// Ends the transaction that a panic has left open, and writes no file any more.
    pub(super) fn abandon(&mut self) {
        self.store = None;
        self.mirror = None;
    }

    /// Reads the whole history into an empty tree.
    pub(super) fn load(&mut self, tree: &mut Tree) -> Result<()> {
        let Self { store: Some(store), mirror, .. } = self else { return Ok(()) };
        store.read(&EventQuery::default(), &mut |event| {
            note(mirror.as_mut(), tree, &event, false);
            tree.replay(&event)
        })?;
        if let Some(mirror) = mirror
            && (tree.revision() == 0 || tree.revision() < mirror.revision())
        {
            mirror.rewrite_all(tree.handles(), tree.revision());
        }
        Ok(())
    }

    /// Applies what other processes have committed. True: there was something new.
    pub(super) fn refresh(&mut self, tree: &SharedTree) -> Result<bool> {
        let Self { store: Some(store), mirror, is_uncertain, .. } = self else { return Ok(false) };
        let before = tree.read().revision();
        if *is_uncertain || store.has_news()? {
            catch_up(&mut **store, mirror.as_mut(), tree)?;
            *is_uncertain = false;
        }
        Ok(tree.read().revision() > before)
    }

    /// Writes the files of the mirror that the scope names. If another process is writing, it waits for up to
    /// `patience` milliseconds.
    ///
    /// # Errors
    /// Those of the files. They stay in the mirror's status; no command fails by them.
    pub(super) fn write_mirror(
        &mut self,
        tree: &SharedTree,
        clock: &dyn Fn() -> u64,
        scope: MirrorScope,
        patience: u64,
    ) -> Result<()> {
        let Self { store: Some(store), mirror: Some(mirror), .. } = self else { return Ok(()) };
        let is_behind = !mirror.is_current(&*tree.read());
        let all = match scope {
            MirrorScope::ChangedFrames => false,
            MirrorScope::Due => is_behind && mirror.is_due(clock()),
            MirrorScope::All => is_behind,
        };
        if !all && !mirror.is_prompt() {
            return Ok(());
        }
        mirror.locked(clock, patience, |mirror| {
            // Others may have committed since, and an older text must not replace theirs.
            if store.has_news()? {
                catch_up(&mut **store, Some(mirror), tree)?;
            }
            match all {
                true => mirror.write_all(clock, &*tree.read()),
                false => mirror.write_fresh(&*tree.read()),
            }
        })
    }
}

/// Applies what other processes have committed.
fn catch_up(store: &mut dyn Store, mut mirror: Option<&mut Mirror>, tree: &SharedTree) -> Result<()> {
    let query = EventQuery::default().since(tree.read().revision());
    let mut news = Vec::new();
    store.read(&query, &mut |event| {
        news.push(event);
        Ok(())
    })?;
    if news.is_empty() {
        return Ok(());
    }
    let mut tree = tree.write();
    news.iter().try_for_each(|event| {
        note(mirror.as_deref_mut(), &tree, event, false);
        tree.replay(event)
    })
}

/// Writes the lines of the logs, then commits the events. If anything fails the lines are taken back. Only lines that
/// repeat the events stay if the commit may have lasted all the same: a log may have a message too many, but never lacks
/// one.
fn persist(
    store: &mut dyn Store,
    folder: Option<&Path>,
    syncs_logs: bool,
    tree: &SharedTree,
    commit: Commit,
) -> Result<Committed> {
    let Commit { events, log } = commit;
    let mut written = Vec::new();
    let moved = moved_logs(folder, &tree.read(), &events);
    let prepared = append_lines(folder, log, syncs_logs, &mut written).and_then(|()| LogMoves::begin(moved));
    let moves = match prepared {
        Ok(moves) => moves,
        Err(error) => {
            take_back(&written, true);
            return Err(error);
        }
    };
    let has_new_log = written.iter().any(|lines| lines.appended.is_first());
    if events.is_empty() {
        return Ok(Committed { events, has_new_log });
    }
    if let Err(error) = store.append(&events) {
        moves.undo();
        take_back(&written, true);
        return Err(error);
    }
    if let Err(error) = store.commit() {
        store.rollback();
        let is_undone = !may_have_lasted(store, &events);
        if is_undone {
            moves.undo();
        }
        take_back(&written, is_undone);
        return Err(error);
    }
    moves.finish();
    Ok(Committed { events, has_new_log })
}

/// False if the store certainly does not have the events of a commit that has failed.
fn may_have_lasted(store: &mut dyn Store, events: &[Event]) -> bool {
    let first = &events[0];
    let mut is_there = false;
    let looked = store.read(&EventQuery::default().since(first.revision - 1).limit(1), &mut |event| {
        is_there = event == *first;
        Ok(())
    });
    is_there || looked.is_err()
}

/// Appends lines to logs, and notes in `written` what was appended.
fn append_lines(
    folder: Option<&Path>,
    log: Vec<LogAppend>,
    syncs_logs: bool,
    written: &mut Vec<Written>,
) -> Result<()> {
    let Some(folder) = folder else { return Ok(()) };
    for LogAppend { log_path, is_new, entries, repeats_events, .. } in log {
        let path = folder.join(log_path);
        if is_new {
            // A file of that name is not this frame's.
            files::set_aside(&path)?;
        }
        written.push(Written { appended: logs::append(&path, &entries, syncs_logs)?, repeats_events });
    }
    Ok(())
}

/// Lines that were appended to a log.
struct Written {
    appended: Appended,
    repeats_events: bool,
}

/// Takes back all lines, or only those that do not repeat events.
fn take_back(written: &[Written], all: bool) {
    written.iter().rev().filter(|lines| all || !lines.repeats_events).for_each(|lines| lines.appended.undo());
}

/// The present and the next path of each log that moves.
fn moved_logs(folder: Option<&Path>, tree: &Tree, events: &[Event]) -> Vec<(PathBuf, PathBuf)> {
    let Some(folder) = folder else { return Vec::new() };
    let moved = events.iter().filter_map(|event| match &event.change {
        Change::LogMoved { log_path } => {
            let old = tree.node(event.handle).record().log_path.as_ref()?;
            Some((folder.join(old), folder.join(log_path)))
        }
        _ => None,
    });
    moved.collect()
}

/// Logs whose frames get another ID, from the present path to the next one. They have both names until the commit is
/// done; if it fails and nobody knows whether it lasted, both names stay.
struct LogMoves(Vec<(PathBuf, PathBuf)>);

impl LogMoves {
    /// Gives the logs their next names too.
    fn begin(moved: Vec<(PathBuf, PathBuf)>) -> Result<Self> {
        let mut moves = Self(Vec::new());
        for (old, new) in moved.into_iter().filter(|(old, _)| old.exists()) {
            if let Err(error) = files::set_aside(&new).and_then(|()| files::second_name(&old, &new)) {
                moves.undo();
                return Err(error);
            }
            moves.0.push((old, new));
        }
        Ok(moves)
    }

    fn undo(&self) {
        self.0.iter().for_each(|(_, new)| drop(files::remove(new)));
    }

    fn finish(&self) {
        self.0.iter().for_each(|(old, _)| drop(files::remove(old)));
    }
}

/// Notes which files an event puts out of date, before it is applied.
fn note(mirror: Option<&mut Mirror>, tree: &Tree, event: &Event, own: bool) {
    let Some(mirror) = mirror.filter(|mirror| event.revision > mirror.revision()) else { return };
    let (handle, revision) = (event.handle, event.revision);
    match &event.change {
        Change::ActiveChanged { .. }
        | Change::Imported { .. }
        | Change::RunStarted { .. }
        | Change::Called { .. }
        | Change::MessagesAdded { .. } => return,
        Change::Added { frame } if frame.status == FrameStatus::Planned => {
            // The parent's file lists it.
            let parent = frame.parent_session_id.as_ref().and_then(|parent| tree.by_id(parent));
            parent.into_iter().for_each(|parent| mirror.note(parent, revision, own));
        }
        Change::Added { .. } => {}
        _ if handle.index() >= tree.len() => return,
        Change::StatusChanged { .. } | Change::Invalidated { .. } | Change::IdReplaced { .. } => {
            let node = tree.node(handle);
            if node.status() == FrameStatus::Planned {
                node.parent().into_iter().for_each(|parent| mirror.note(parent, revision, own));
            }
            if let Change::IdReplaced { .. } = event.change {
                mirror.note_replaced(node.session_id(), handle, revision);
                node.children().iter().chain(node.dependents()).for_each(|other| mirror.note(*other, revision, own));
            }
        }
        _ => {}
    }
    mirror.note(handle, revision, own);
}

impl Source for Tree {
    fn frame(&self, handle: Handle) -> Frame {
        Tree::frame(self, handle)
    }

    fn owner(&self, session_id: &str) -> Option<Handle> {
        self.by_id(session_id)
    }

    fn revision(&self) -> u64 {
        Tree::revision(self)
    }

    fn write_state(&self, writer: &mut dyn Write) -> io::Result<()> {
        let document =
            StateDocument { head: &self.state_head(), frames: self.handles().map(|handle| Tree::frame(self, handle)) };
        Ok(serde_json::to_writer(writer, &document)?)
    }
}
