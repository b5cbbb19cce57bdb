//! The write path: writes a commit to the store and the logs, applies it to the tree, and updates the mirror.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::shared_tree::SharedTree;
use super::span_clock::SpanClock;
use crate::error::Result;
use crate::frame::{Change, Event, Frame, FrameStatus, Handle, StateDocument};
use crate::store::logs::{self, Appended};
use crate::store::mirror::{Mirror, MirrorStatus, Source};
use crate::store::{EventQuery, Store, files};
use crate::tree::{Commit, LogAppend, Tree};

/// Maximum number of frames' files that one command or one poll writes. The others follow with later ones: a command
/// that changes a hundred thousand frames must not wait for their files.
const INSTALLMENT: usize = 256;

/// The state of the mirror that queries return.
#[derive(Default)]
pub(super) struct MirrorView {
    /// `None` if the stack has no mirror.
    pub(super) status: Option<MirrorStatus>,
    /// The time at which `state.json` is due, on the clock for spans. `None` if the files are up to date.
    pub(super) deadline: Option<u64>,
}

/// The files of the mirror to write.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum MirrorScope {
    /// The files of the frames that this process has changed, at most [`INSTALLMENT`] of them.
    #[cfg(feature = "session")]
    ChangedFrames,
    /// If `state.json` is due, the files of all changed frames, and it when these are written; else the files of the
    /// frames that this process has changed. At most [`INSTALLMENT`] files of frames.
    Due,
    /// All files.
    All,
}

/// The store of a stack and the files next to it. Locked for a whole command, and before the tree.
pub(super) struct Disk {
    /// `None` if the stack is in memory and keeps no history.
    pub(super) store: Option<Box<dyn Store>>,
    pub(super) mirror: Option<Mirror>,
    /// The folder of the mirror and the logs.
    pub(super) folder: Option<PathBuf>,
    /// True: logs are synced to the disk with each commit.
    syncs_logs: bool,
    /// The last command failed, possibly during the commit. Its own events may then be new to this process.
    is_uncertain: bool,
}

/// The result of a commit.
pub(super) struct Committed {
    pub(super) events: Vec<Event>,
    /// True if the commit created the file of a log.
    pub(super) has_new_log: bool,
}

impl Disk {
    /// The disk of a stack in memory.
    pub(super) fn none() -> Self {
        Self { store: None, mirror: None, folder: None, syncs_logs: false, is_uncertain: false }
    }

    /// The disk of a stack with a store and, optionally, a folder.
    pub(super) fn new(store: Box<dyn Store>, mirror: Option<Mirror>, folder: Option<&Path>, syncs_logs: bool) -> Self {
        Self { store: Some(store), mirror, folder: folder.map(Path::to_owned), syncs_logs, is_uncertain: false }
    }

    /// Decides on the newest tree, commits the result, and applies it. No other process can commit in between.
    /// [`Error`](crate::Error) describes the state after a failure.
    ///
    /// The tree is locked only while it is read or changed, not while the disk is used, so readers do not wait for the
    /// disk.
    pub(super) fn commit(
        &mut self,
        tree: &SharedTree,
        decide: impl FnOnce(&Tree) -> Result<Commit>,
    ) -> Result<Committed> {
        self.transaction(tree, |tree| decide(&tree.read()))
    }

    /// As [`Disk::commit`], for an empty history. The tree is not locked while `found` runs, so `found` may read files.
    pub(super) fn found(&mut self, tree: &SharedTree, found: impl FnOnce() -> Result<Commit>) -> Result<()> {
        // Another process may do the same at the same time. The second one finds the events of the first.
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
                // Ends the transaction if it was not committed.
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

    /// The state of the mirror, for queries. Computed while no other command runs.
    pub(super) fn mirror_view(&self, tree: &SharedTree) -> MirrorView {
        self.mirror.as_ref().map_or_else(MirrorView::default, |mirror| MirrorView {
            status: Some(mirror.status()),
            deadline: (!mirror.is_current(&*tree.read())).then(|| mirror.deadline()),
        })
    }

    /// After a panic: drops the store, which rolls back an open transaction, and the mirror, so no file is written.
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

    /// Applies the commits of other processes. Returns true if there were any.
    pub(super) fn refresh(&mut self, tree: &SharedTree) -> Result<bool> {
        let Self { store: Some(store), mirror, is_uncertain, .. } = self else { return Ok(false) };
        let before = tree.read().revision();
        if *is_uncertain || store.has_news()? {
            catch_up(&mut **store, mirror.as_mut(), tree)?;
            *is_uncertain = false;
        }
        Ok(tree.read().revision() > before)
    }

    /// Writes the files of the mirror that are in the scope. If another process is writing, waits for up to `patience`
    /// milliseconds.
    ///
    /// # Errors
    /// The errors of the files, and of the store when it reads new events. The mirror's status keeps them. Commands
    /// ignore them; [`Stack::flush`](super::Stack::flush) returns them.
    pub(super) fn write_mirror(
        &mut self,
        tree: &SharedTree,
        clock: &SpanClock,
        scope: MirrorScope,
        patience: u64,
    ) -> Result<()> {
        let Self { store: Some(store), mirror: Some(mirror), .. } = self else { return Ok(()) };
        let is_behind = !mirror.is_current(&*tree.read());
        let clock = || clock.now();
        let all = match scope {
            #[cfg(feature = "session")]
            MirrorScope::ChangedFrames => false,
            MirrorScope::Due => is_behind && mirror.is_due(clock()),
            MirrorScope::All => is_behind,
        };
        if !all && !mirror.is_prompt() {
            return Ok(());
        }
        mirror.locked(&clock, patience, |mirror| {
            // Other processes may have committed since. An older text must not replace theirs.
            if store.has_news()? {
                catch_up(&mut **store, Some(mirror), tree)?;
            }
            match all {
                true => mirror.write_all(
                    &clock,
                    &*tree.read(),
                    if scope == MirrorScope::All { usize::MAX } else { INSTALLMENT },
                ),
                false => mirror.write_fresh(&*tree.read(), INSTALLMENT),
            }
        })
    }
}

/// Applies the commits of other processes.
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

/// Writes the lines of the logs, then commits the events. If this fails, the lines are removed again. Exception: if the
/// commit failed but may have been kept, lines that repeat events stay. A log may have a message twice, but never lacks
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

/// True if the store has, or may have, the events of a commit that failed.
fn may_have_lasted(store: &mut dyn Store, events: &[Event]) -> bool {
    let first = &events[0];
    let mut is_there = false;
    let looked = store.read(&EventQuery::default().since(first.revision - 1).limit(1), &mut |event| {
        is_there = event == *first;
        Ok(())
    });
    is_there || looked.is_err()
}

/// Appends lines to logs and records them in `written`.
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
            // A file that already has this name belongs to something else.
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

/// Removes appended lines from the logs: all lines, or only those that do not repeat events.
fn take_back(written: &[Written], all: bool) {
    written.iter().rev().filter(|lines| all || !lines.repeats_events).for_each(|lines| lines.appended.undo());
}

/// The old and the new path of each log that moves.
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

/// Logs whose frames get another ID, with their old and new paths. A log has both names until the commit has finished.
/// If the commit fails and it is not known whether it was kept, both names stay.
struct LogMoves(Vec<(PathBuf, PathBuf)>);

impl LogMoves {
    /// Gives the logs their new names, in addition to the old ones.
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

/// Records the files of the mirror that an event makes out of date. Called before the event is applied.
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
            // The file of the parent lists its planned children.
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
