//! The write path: writes a commit to the store and the logs, applies it to the tree, and updates the mirror.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::iter::{self, Peekable};
use std::slice;
use std::sync::Arc;

use super::StackOptions;
use super::archive::StackArchive;
#[cfg(all(feature = "session", feature = "sqlite"))]
use super::compact::RepairedFiles;
use super::deadline::Deadline;
#[cfg(all(feature = "session", feature = "sqlite"))]
use super::health::found_files;
use super::shared_tree::SharedTree;
use super::span_clock::SpanClock;
use crate::archive::{Archive, ArchivedFrame};
use crate::error::{Error, Result};
use crate::frame::{Change, Event, Frame, FrameStatus, Handle, Repair, StateDocument, own_log_path};
use crate::store::export::{self, HistoryLine};
use crate::store::folder::Folder;
#[cfg(all(feature = "session", feature = "sqlite"))]
use crate::store::layout;
use crate::store::logs::{self, Appended};
use crate::store::mirror::{Due, Mirror, MirrorStatus, Source};
use crate::store::{
    CompactedEvents, CompactionLimits, Durability, EventQuery, LogLimits, PrunedLogs, Snapshot, Store, StoredLog,
};
use crate::tree::{Commit, Compared, Comparison, LogAppend, Scan, Tree};

/// The advice in the error of a stack whose history is damaged.
const ADVICE: &str = "this stack keeps the events before the damage and refuses commands: write these events out with \
                      Stack::export_history, close the stack, and make a new one of them in another folder with \
                      Stack::rebuild";

/// Maximum number of frames' files that one command or one poll writes. The others follow with later ones: a command
/// that changes a hundred thousand frames must not wait for their files.
const INSTALLMENT: usize = 256;

/// The folder with the files of the mirror as a repair has found them.
#[cfg(all(feature = "session", feature = "sqlite"))]
const BEFORE_REPAIR: &str = "before-repair";

/// Number of events from which a command, or an open that has read them all, makes a snapshot itself, so that the next one does not
/// pay for it.
const MANY_EVENTS: usize = 1_024;

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
    /// If `state.json` is due, and not left to others: the files of all changed frames, and then `state.json`. Else the
    /// files of the frames that the last commands have changed, and those that wait when they are due. At most
    /// [`INSTALLMENT`] files of frames.
    Due,
    /// As `Due`, but `state.json` is due more seldom, because a caller waits.
    DueInCommand,
    /// All files, unless `state.json` is left to others: then those of the frames that this process has changed.
    Rest,
    /// All files.
    All,
}

/// The store of a stack and the files next to it. Locked for a whole command, and before the tree.
pub(super) struct Journal {
    /// `None` if the stack is in memory and keeps no history.
    pub(super) store: Option<Box<dyn Store>>,
    pub(super) mirror: Option<Mirror>,
    /// The folder of the mirror and the logs.
    pub(super) folder: Option<Folder>,
    /// Number of frames above which `state.json` is left to others: see
    /// [`StackOptions::state_file_frames`](super::StackOptions::state_file_frames).
    state_file_frames: usize,
    /// Maximum number of frames of finished trees in memory: see
    /// [`StackOptions::finished_frames`](super::StackOptions::finished_frames).
    finished_frames: usize,
    /// True: logs are synced to the disk with each commit.
    syncs_logs: bool,
    /// The last command failed, possibly during the commit. Its own events may then be new to this process.
    is_uncertain: bool,
    /// True: the archive has failed while events were applied, so the tree must be read again.
    is_incomplete: bool,
    /// The error of every command since the store returned an event that cannot be read or does not fit. The tree has
    /// the events before it. Nothing is written any more.
    damage: Option<Error>,
}

/// The result of a commit.
pub(super) struct Committed {
    pub(super) events: Vec<Event>,
    /// True if the commit created the file of a log.
    pub(super) has_new_log: bool,
    /// The revision of the snapshot that was made with the commit.
    archived: Option<u64>,
}

impl Journal {
    /// The journal of a stack in memory.
    pub(super) fn none() -> Self {
        Self {
            store: None,
            mirror: None,
            folder: None,
            state_file_frames: usize::MAX,
            finished_frames: usize::MAX,
            syncs_logs: false,
            is_uncertain: false,
            is_incomplete: false,
            damage: None,
        }
    }

    /// The journal of a stack with a store and, optionally, a folder.
    pub(super) fn new(
        store: Box<dyn Store>,
        mirror: Option<Mirror>,
        folder: Option<&Folder>,
        options: &StackOptions,
    ) -> Self {
        let syncs_logs = options.durability == Durability::Full;
        let StackOptions { state_file_frames, finished_frames, .. } = *options;
        let folder = folder.cloned();
        Self { store: Some(store), mirror, folder, state_file_frames, finished_frames, syncs_logs, ..Self::none() }
    }

    /// Decides on the newest tree, commits the result, and applies it. No other process can commit in between.
    /// [`Error`](crate::Error) describes the state after a failure.
    ///
    /// The tree is locked only while it is read or changed, not while the disk is used, so readers do not wait for the
    /// disk.
    pub(super) fn commit(
        &mut self,
        tree: &SharedTree,
        deadline: &Deadline,
        decide: impl FnOnce(&Tree) -> Result<Commit>,
    ) -> Result<Committed> {
        self.transaction(tree, deadline, |tree| tree.read().checked(decide)?)
    }

    /// As [`Journal::commit`], for an empty history. The tree is not locked while `found` runs, so `found` may read files.
    pub(super) fn found(
        &mut self,
        tree: &SharedTree,
        deadline: &Deadline,
        found: impl FnOnce() -> Result<Commit>,
    ) -> Result<()> {
        // Another process may do the same at the same time. The second one finds the events of the first.
        let founding = |tree: &SharedTree| if tree.read().revision() == 0 { found() } else { Ok(Commit::default()) };
        self.transaction(tree, deadline, founding).map(drop)
    }

    /// Records a whole history in an empty store, in one transaction, and replaces the tree by that of the history. Takes the
    /// events one by one, and holds few finished trees in memory. Returns false if the store has events already.
    pub(super) fn record(
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

    /// Removes the `state.json` from which this history was begun, if this process leaves it to others to write the new one. The
    /// original is in `before-import/`.
    pub(super) fn remove_earlier_state(&mut self, tree: &SharedTree) {
        let leaves_state = self.leaves_state(tree);
        if let Some(mirror) = self.mirror.as_mut().filter(|_| leaves_state) {
            // If it stays, it is only out of date.
            let _ = mirror.remove_earlier_state();
        }
    }

    fn transaction(
        &mut self,
        tree: &SharedTree,
        deadline: &Deadline,
        decide: impl FnOnce(&SharedTree) -> Result<Commit>,
    ) -> Result<Committed> {
        let committed = match &mut self.store {
            None => Committed { events: decide(tree)?.events, has_new_log: false, archived: None },
            Some(store) => {
                if let Err(error) = store.begin(deadline.remaining()) {
                    store.rollback();
                    return Err(error);
                }
                let Self { mirror, is_incomplete, .. } = self;
                let committed = catch_up(&mut **store, mirror.as_mut(), tree, is_incomplete, deadline)
                    .and_then(|()| decide(tree))
                    .and_then(|commit| {
                        let logs = Logs { folder: self.folder.as_ref(), are_synced: self.syncs_logs, deadline };
                        persist(&mut **store, logs, tree, commit)
                    });
                // Ends the transaction if it was not committed.
                store.rollback();
                self.is_uncertain = committed.is_err();
                committed?
            }
        };
        let failure = tree.change(|tree| {
            let before = tree.failures();
            for event in &committed.events {
                note(self.mirror.as_mut(), tree, event, true);
                tree.apply(event);
            }
            if let Some(revision) = committed.archived {
                tree.archived(revision, true);
            }
            tree.drop_finished(self.finished_frames);
            tree.failure_since(before)
        });
        // The events are committed. The next command reads the tree again.
        self.is_incomplete |= failure.is_some();
        if committed.events.len() >= MANY_EVENTS {
            // A failure does not concern the command. A later one makes the snapshot.
            let _ = self.make_snapshot(tree, deadline);
        }
        Ok(committed)
    }

    /// Makes a snapshot of the tree, if the store keeps one.
    fn make_snapshot(&mut self, tree: &SharedTree, deadline: &Deadline) -> Result<()> {
        self.in_transaction(tree, deadline, |store, tree| {
            let made = write_newest_snapshot(store, tree)?;
            store.commit()?;
            archived(tree, made);
            Ok(())
        })?;
        self.drop_finished(tree);
        Ok(())
    }

    /// Calls `run` in a transaction of the store, with the newest tree. What `run` does not commit is not kept.
    ///
    /// # Errors
    /// [`Error::InMemory`] if there is no store.
    fn in_transaction<T>(
        &mut self,
        tree: &SharedTree,
        deadline: &Deadline,
        run: impl FnOnce(&mut dyn Store, &SharedTree) -> Result<T>,
    ) -> Result<T> {
        let Self { store: Some(store), mirror, is_incomplete, .. } = self else {
            return Err(Error::InMemory { what: "history" });
        };
        let result = store
            .begin(deadline.remaining())
            .and_then(|()| catch_up(&mut **store, mirror.as_mut(), tree, is_incomplete, deadline))
            .and_then(|()| run(&mut **store, tree));
        // Ends the transaction if it was not committed.
        store.rollback();
        result
    }

    /// Removes logs of finished frames that the limits select, while no other process commits or appends to a log.
    pub(super) fn prune_logs(
        &mut self,
        tree: &SharedTree,
        limits: LogLimits,
        deadline: &Deadline,
    ) -> Result<PrunedLogs> {
        let folder = self.folder.clone();
        self.in_transaction(tree, deadline, |store, tree| {
            let tree = tree.read();
            if let Some(stored) = store.logs() {
                let kept: HashSet<Handle> = tree.unfinished().collect();
                let found = stored.list(deadline.remaining())?;
                let found = found.into_iter().map(|StoredLog { frame, bytes, written }| (written, frame, bytes));
                let (chosen, pruned) = logs::choose(found.collect(), limits, |frame| kept.contains(frame));
                store.remove_logs(&chosen)?;
                store.commit()?;
                return Ok(pruned);
            }
            let folder = folder.ok_or(Error::InMemory { what: "logs" })?;
            let own_log = |handle: Handle| own_log_path(tree.node(handle).session_id(), handle);
            logs::prune(&folder, limits, &tree.unfinished().map(own_log).collect())
        })
    }

    /// Compares the events with the snapshot, removes those of finished trees in the same transaction, and gives their space back.
    pub(super) fn compact(&mut self, tree: &SharedTree, before: u64, deadline: &Deadline) -> Result<CompactedEvents> {
        let compacted = self.in_transaction(tree, deadline, |store, tree| {
            let made = write_newest_snapshot(store, tree)?;
            let Some(Snapshot { head, revision, .. }) = store.snapshot(deadline.remaining())? else {
                return Ok(CompactedEvents::default());
            };
            let archive = archive_of(store).ok_or(Error::InMemory { what: "snapshots" })?;
            let mut comparison = Comparison::new(archive, head, revision)?;
            let query = EventQuery::default().since(comparison.revision());
            store.read(&query, deadline.remaining(), &mut |event| comparison.follow(event))?;
            let Compared { same, problems } = comparison.into_result();
            if let Some(problem) = problems.first() {
                let advice = "nothing was compacted; make the snapshot of the events anew (Stack::repair, or `callstack doctor \
                              --repair`), then compact";
                return Err(Error::damaged("the snapshot of the history", problem, advice));
            }
            let is_verified = |root: Handle| same.contains(&root);
            let compacted = store.compact(&CompactionLimits { before, is_verified: &is_verified })?;
            store.commit()?;
            archived(tree, made);
            Ok(compacted)
        })?;
        self.drop_finished(tree);
        if let Some(store) = &mut self.store {
            // The events are removed, whether the file becomes smaller now or with later events.
            let _ = store.shrink(deadline.remaining());
        }
        Ok(compacted)
    }

    /// Makes the snapshot of the events anew, and the files of the mirror if they are not right.
    #[cfg(all(feature = "session", feature = "sqlite"))]
    pub(super) fn remake(
        &mut self,
        tree: &SharedTree,
        clock: &SpanClock,
        deadline: &Deadline,
    ) -> Result<RepairedFiles> {
        let Self { store: Some(store), finished_frames, .. } = self else {
            return Err(Error::InMemory { what: "history" });
        };
        let made =
            store.begin(deadline.remaining()).and_then(|()| remake_snapshot(&mut **store, *finished_frames, deadline));
        // Ends the transaction if it was not committed.
        store.rollback();
        let made = made?;
        tree.change(|tree| *tree = made);
        self.is_incomplete = false;
        let Self { store: Some(store), mirror: Some(mirror), folder: Some(folder), is_incomplete, .. } = self else {
            return Ok(RepairedFiles::default());
        };
        let clock = || clock.now();
        let mut repaired = RepairedFiles::default();
        // Of two repairs at once, the second one finds what the first one has written.
        let written = mirror.locked(&clock, deadline.remaining(), |mirror| {
            if store.has_news(deadline.remaining())? {
                catch_up(&mut **store, Some(mirror), tree, is_incomplete, deadline)?;
            }
            mirror.follow_others(tree.read().revision());
            tree.lend(|tree| {
                // The tree was not told of its events one by one.
                list_changed(&mut **store, mirror, tree, deadline)?;
                let found = found_files(folder, tree, |handle| mirror.is_due(handle));
                if found.are_wrong {
                    repaired.kept_in = layout::keep(folder, BEFORE_REPAIR)?;
                }
                if found.are_wrong || found.are_missing {
                    repaired.are_rewritten = true;
                    mirror.rewrite_all(tree.handles(), tree.revision());
                    mirror.write_all(&clock, &TreeFiles::new(tree, false), usize::MAX)?;
                }
                Ok(())
            })
        });
        self.noting_damage(written)?;
        Ok(repaired)
    }

    /// Drops finished trees from memory that queries have loaded, if they are too many.
    pub(super) fn drop_finished(&self, tree: &SharedTree) {
        if tree.read().has_excess(self.finished_frames) {
            tree.change(|tree| tree.drop_finished(self.finished_frames));
        }
    }

    /// The tree as an open would read it now. Changes nothing here.
    #[cfg(all(feature = "session", feature = "sqlite"))]
    pub(super) fn read_again(&mut self, deadline: &Deadline) -> Result<Tree> {
        match &mut self.store {
            Some(store) => {
                // The store takes the events that it has read here for known ones.
                self.is_uncertain = true;
                read_tree(&mut **store, None, deadline).map(|(tree, _)| tree)
            }
            None => Ok(Tree::new()),
        }
    }

    /// Checks that the history is not damaged, as far as it is known.
    ///
    /// # Errors
    /// The error that reported the damage.
    pub(super) fn check_sound(&self) -> Result<()> {
        self.damage.clone().map_or(Ok(()), Err)
    }

    /// Passes a result on. If its error says that the history is damaged, it becomes the error of all later commands.
    pub(super) fn noting_damage<T>(&mut self, result: Result<T>) -> Result<T> {
        let error = match result {
            Err(Error::History { revision, message }) => {
                let place =
                    self.folder.as_ref().map_or("the store".into(), |folder| folder.path().display().to_string());
                let message = format!("event {revision} does not fit the history before it: {message}");
                Error::damaged(format!("the history of {place}"), message, ADVICE)
            }
            Err(Error::Damaged { path, message, source, .. }) => {
                Error::Damaged { path, message, advice: ADVICE, source }
            }
            other => return other,
        };
        self.damage = Some(error.clone());
        Err(error)
    }

    /// The state of the mirror, for queries. Computed while no other command runs.
    pub(super) fn mirror_view(&self, tree: &SharedTree) -> MirrorView {
        let Some(mirror) = &self.mirror else { return MirrorView::default() };
        let status = mirror.status();
        let is_due = self.damage.is_none() && !self.leaves_state(tree) && !mirror.is_current(tree.read().revision());
        MirrorView {
            status: Some(MirrorStatus { error: self.damage.clone().or(status.error), ..status }),
            deadline: is_due.then(|| mirror.deadline()),
        }
    }

    /// After a panic: drops the store, which rolls back an open transaction, and the mirror, so no file is written.
    pub(super) fn abandon(&mut self) {
        self.store = None;
        self.mirror = None;
    }

    /// Reads the tree of the history, and makes its first snapshot if there is none. The list says why a snapshot was not used.
    pub(super) fn load(&mut self, deadline: &Deadline) -> Result<(Tree, Vec<Repair>)> {
        let Self { store: Some(store), mirror, finished_frames, .. } = self else { return Ok(Default::default()) };
        let read = read_tree(&mut **store, mirror.as_mut(), deadline);
        let (mut tree, mut repair) = match read {
            Err(Error::Json { .. }) if store.base_revision()? > 0 => {
                restore_base(&mut **store, mirror.as_mut(), *finished_frames, deadline)?
            }
            read => read?,
        };
        // A command makes the first one of a small stack, so opening it writes nothing.
        let is_due = tree.revision() >= MANY_EVENTS as u64 || repair.is_some();
        // If it cannot be made, all frames stay in memory.
        if tree.has_archive()
            && tree.archived_revision() == 0
            && is_due
            && let Ok((found, later)) = make_first_snapshot(&mut **store, mirror.as_mut(), deadline)
        {
            tree = found;
            repair = repair.or(later);
        }
        tree.drop_finished(*finished_frames);
        if let Some(mirror) = mirror
            && (tree.revision() == 0 || tree.revision() < mirror.revision())
        {
            mirror.rewrite_all(tree.handles(), tree.revision());
        }
        Ok((tree, repair.into_iter().collect()))
    }

    /// Applies the commits of other processes. Returns true if there were any.
    pub(super) fn refresh(&mut self, tree: &SharedTree, deadline: &Deadline) -> Result<bool> {
        let Self { store: Some(store), mirror, is_uncertain, is_incomplete, .. } = self else { return Ok(false) };
        let before = tree.read().revision();
        if *is_uncertain || *is_incomplete || store.has_news(deadline.remaining())? {
            catch_up(&mut **store, mirror.as_mut(), tree, is_incomplete, deadline)?;
            *is_uncertain = false;
        }
        Ok(tree.read().revision() > before)
    }

    /// True if the tree is so large that `state.json` is left to others.
    fn leaves_state(&self, tree: &SharedTree) -> bool {
        tree.read().len() > self.state_file_frames
    }

    /// Syncs the store to the disk.
    pub(super) fn sync(&mut self, deadline: &Deadline) -> Result<()> {
        self.store.as_mut().map_or(Ok(()), |store| store.sync(deadline.remaining()))
    }

    /// Writes the files of the mirror that are in the scope. Waits until another process has written,
    /// up to the deadline.
    ///
    /// # Errors
    /// The errors of the files, and of the store when it reads new events. The mirror's status keeps them. Commands
    /// ignore them; [`Stack::flush`](super::Stack::flush) returns them.
    pub(super) fn write_mirror(
        &mut self,
        tree: &SharedTree,
        clock: &SpanClock,
        scope: MirrorScope,
        deadline: &Deadline,
    ) -> Result<()> {
        self.check_sound()?;
        let leaves_state = self.leaves_state(tree);
        let Self { store: Some(store), mirror: Some(mirror), is_incomplete, .. } = self else { return Ok(()) };
        let is_behind = !mirror.is_current(tree.read().revision());
        let clock = || clock.now();
        mirror.look(clock());
        let due = match scope {
            _ if !is_behind => Due::Fresh,
            #[cfg(feature = "session")]
            MirrorScope::ChangedFrames => Due::Fresh,
            MirrorScope::Due | MirrorScope::DueInCommand => {
                let due = mirror.due(clock(), scope == MirrorScope::DueInCommand);
                if leaves_state { due.min(Due::Waiting) } else { due }
            }
            MirrorScope::Rest if leaves_state => Due::Waiting,
            MirrorScope::Rest | MirrorScope::All => Due::Everything,
        };
        if due == Due::Fresh && !mirror.is_prompt() {
            return Ok(());
        }
        let is_patient = matches!(scope, MirrorScope::Rest | MirrorScope::All);
        let most = if is_patient { usize::MAX } else { INSTALLMENT };
        let written = mirror.locked(&clock, deadline.remaining(), |mirror| {
            // Other processes may have committed since. An older text must not replace theirs.
            if store.has_news(deadline.remaining())? {
                catch_up(&mut **store, Some(mirror), tree, is_incomplete, deadline)?;
            }
            tree.lend(|tree| match due {
                Due::Fresh => mirror.write_fresh(&TreeFiles::new(tree, false), most),
                Due::Waiting => mirror.write_waiting(&clock, &TreeFiles::new(tree, false), most),
                Due::Everything => {
                    mirror.follow_others(tree.revision());
                    if mirror.has_unlisted() {
                        list_changed(&mut **store, mirror, tree, deadline)?;
                    }
                    mirror.write_all(&clock, &TreeFiles::new(tree, false), most)
                }
            })
        });
        self.noting_damage(written)
    }
}

/// Applies the commits of other processes. If an event is damaged or does not fit, those before it are applied. If another process
/// has made a snapshot since, or the tree is incomplete, the tree is read again: the snapshot no longer has what this tree knows.
fn catch_up(
    store: &mut dyn Store,
    mut mirror: Option<&mut Mirror>,
    tree: &SharedTree,
    is_incomplete: &mut bool,
    deadline: &Deadline,
) -> Result<()> {
    let (known, has_archive) = {
        let tree = tree.read();
        (tree.revision(), tree.has_archive())
    };
    let is_behind_snapshot =
        |store: &mut dyn Store| Ok::<bool, Error>(has_archive && store.snapshot_revision()? > known);
    // What a snapshot has needs not be followed event by event, however much it is.
    let mut reads_again = *is_incomplete || is_behind_snapshot(store)?;
    let (mut news, mut read) = (Vec::new(), Ok(()));
    if !reads_again {
        read = store.read(&EventQuery::default().since(known), deadline.remaining(), &mut |event| {
            news.push(event);
            Ok(())
        });
        if !matches!(read, Ok(()) | Err(Error::Damaged { .. })) {
            return read;
        }
        reads_again = !news.is_empty() && is_behind_snapshot(store)?;
    }
    if reads_again {
        let (found, _) = read_tree(store, mirror, deadline)?;
        tree.change(|tree| *tree = found);
        *is_incomplete = false;
    } else if !news.is_empty() {
        let followed = tree.change(|tree| {
            let before = tree.failures();
            let followed = news.into_iter().try_for_each(|event| follow(mirror.as_deref_mut(), tree, event));
            *is_incomplete |= tree.failures() > before;
            followed
        });
        followed?;
    }
    read
}

/// Reads the tree of a history: that of the newest snapshot, with the events since then. If there is no snapshot, or it cannot
/// be read, the tree follows from the events alone, and is wholly in memory until the next snapshot. The repair says so.
///
/// # Errors
/// [`Error::Json`] if the snapshot cannot be read and the events do not suffice: see [`Store::base_revision`].
fn read_tree(
    store: &mut dyn Store,
    mut mirror: Option<&mut Mirror>,
    deadline: &Deadline,
) -> Result<(Tree, Option<Repair>)> {
    loop {
        let snapshot = store.snapshot(deadline.remaining())?;
        let revision = snapshot.as_ref().map_or(0, |snapshot| snapshot.revision);
        let read = read_tree_since(store, mirror.as_deref_mut(), snapshot, deadline);
        // Meanwhile another process can have made a snapshot, or have compacted the events.
        let is_outdated = matches!(read, Err(Error::Json { .. } | Error::History { .. }));
        if !is_outdated || store.snapshot_revision()? == revision {
            return read;
        }
    }
}

/// As [`read_tree`], with this snapshot.
fn read_tree_since(
    store: &mut dyn Store,
    mut mirror: Option<&mut Mirror>,
    snapshot: Option<Snapshot>,
    deadline: &Deadline,
) -> Result<(Tree, Option<Repair>)> {
    let (mut tree, mut repair) = (Tree::new(), None);
    if snapshot.is_none() && store.base_revision()? > 0 {
        return Err(Error::json("the snapshot", "it is missing"));
    }
    let archive = archive_of(store);
    if let Some((archive, Snapshot { head, revision, .. })) = archive.clone().zip(snapshot) {
        let is_newest = |store: &mut dyn Store| Ok::<bool, Error>(store.snapshot_revision()? == revision);
        match Tree::of_snapshot(&head, archive, false) {
            Ok(found) => tree = found,
            Err(error @ (Error::Json { .. } | Error::Damaged { .. } | Error::Io { .. }))
                if is_newest(store)? && store.base_revision()? == 0 =>
            {
                repair = Some(unread_snapshot(&error));
            }
            Err(error) => return Err(error),
        }
        if let Some(mirror) = mirror.as_deref_mut().filter(|mirror| mirror.revision() < tree.revision()) {
            mirror.note_unlisted();
        }
    }
    if let Some(archive) = archive.filter(|_| !tree.has_archive()) {
        tree.use_archive(archive);
    }
    let news = EventQuery::default().since(tree.revision());
    store.read(&news, deadline.remaining(), &mut |event| follow(mirror.as_deref_mut(), &mut tree, event))?;
    Ok((tree, repair))
}

fn unread_snapshot(error: &Error) -> Repair {
    Repair::of_state(format!("{error}; the events were read instead"))
}

/// The archive of a store, which falls back to the events.
pub(super) fn archive_of(store: &dyn Store) -> Option<Arc<dyn Archive>> {
    let archive = store.archive()?;
    Some(Arc::new(StackArchive { archive, reader: store.reader() }))
}

/// Makes a snapshot that cannot be read again, of the one that the events of the history follow, unless another process has done
/// so meanwhile.
fn restore_base(
    store: &mut dyn Store,
    mut mirror: Option<&mut Mirror>,
    finished_frames: usize,
    deadline: &Deadline,
) -> Result<(Tree, Option<Repair>)> {
    store.begin(deadline.remaining())?;
    let restored = match read_tree(store, mirror.as_deref_mut(), deadline) {
        Err(error @ Error::Json { .. }) => {
            let made = remake_snapshot(store, finished_frames, deadline);
            mirror.into_iter().for_each(Mirror::note_unlisted);
            made.map(|tree| (tree, Some(unread_snapshot(&error))))
        }
        read => read,
    };
    // Ends the transaction if it was not committed.
    store.rollback();
    restored
}

/// Makes the snapshot anew, of the events and what they follow, and commits it. Reads the events in parts, and keeps at most this
/// number of frames of finished trees in memory. Call it in a transaction.
fn remake_snapshot(store: &mut dyn Store, finished_frames: usize, deadline: &Deadline) -> Result<Tree> {
    let archive = archive_of(store).ok_or(Error::InMemory { what: "snapshots" })?;
    store.restore_base()?;
    let mut tree = match store.snapshot(deadline.remaining())? {
        Some(base) => Tree::of_snapshot(&base.head, archive, false)?,
        None => {
            let mut tree = Tree::new();
            tree.use_archive(archive);
            tree
        }
    };
    loop {
        let mut events = Vec::new();
        let query = EventQuery::default().since(tree.revision()).limit(MANY_EVENTS);
        store.read(&query, deadline.remaining(), &mut |event| {
            events.push(event);
            Ok(())
        })?;
        if events.is_empty() {
            break;
        }
        for event in events {
            follow(None, &mut tree, event)?;
            archive_if_due(store, &mut tree, finished_frames)?;
        }
    }
    if tree.revision() > 0 {
        commit_snapshot(store, &mut tree)?;
        tree.drop_finished(finished_frames);
    }
    Ok(tree)
}

/// Adds a snapshot of a tree that nobody else has yet to the transaction, if one is due, and drops what it then need not hold.
fn archive_if_due(store: &mut dyn Store, tree: &mut Tree, finished_frames: usize) -> Result<()> {
    if tree.is_snapshot_due() {
        let revision = write_snapshot(store, tree)?;
        tree.archived(revision, true);
        tree.drop_finished(finished_frames);
    }
    Ok(())
}

/// Commits the transaction with a snapshot of the tree.
fn commit_snapshot(store: &mut dyn Store, tree: &mut Tree) -> Result<()> {
    let revision = write_snapshot(store, tree)?;
    store.commit()?;
    tree.archived(revision, true);
    Ok(())
}

/// Makes the first snapshot of a history, unless another process has made it meanwhile.
fn make_first_snapshot(
    store: &mut dyn Store,
    mirror: Option<&mut Mirror>,
    deadline: &Deadline,
) -> Result<(Tree, Option<Repair>)> {
    store.begin(deadline.remaining())?;
    let made = read_tree(store, mirror, deadline).and_then(|(mut tree, repair)| {
        if tree.has_archive() && tree.archived_revision() == 0 && tree.revision() > 0 {
            commit_snapshot(store, &mut tree)?;
        }
        Ok((tree, repair))
    });
    // Ends the transaction if it was not committed.
    store.rollback();
    made
}

/// Records the files of the mirror that are out of date because of events that the tree was not told of one by one.
fn list_changed(store: &mut dyn Store, mirror: &mut Mirror, tree: &Tree, deadline: &Deadline) -> Result<()> {
    let since = mirror.revision();
    for handle in tree.checked(|tree| tree.changed_since(since))? {
        mirror.note(handle, tree.revision(), false);
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

/// Commits a history, and returns its tree. Trees that have finished leave the memory meanwhile.
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
            mirror.rewrite_all(tree.handles(), tree.revision());
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

/// Writes the base of a compacted history, whose frames are the next lines, and the events up to it that are left. Returns its tree.
fn write_base(
    store: &mut dyn Store,
    head: String,
    lines: &mut Peekable<impl Iterator<Item = Result<HistoryLine>>>,
) -> Result<Tree> {
    let archive = archive_of(store).ok_or(Error::InMemory { what: "snapshots" })?;
    let (revision, count) = Tree::snapshot_extent(&head)?;
    let base = Snapshot { revision, head, is_whole: true };
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
    // Also a limit for the memory that the tree takes.
    if written.len() != count {
        return Err(invalid(format!("a snapshot with {count} frames is followed by {}", written.len())));
    }
    write_kept_events(store, revision, count, lines)?;
    // The frames come from elsewhere, so they are looked at before anybody relies on them.
    let mut comparison = Comparison::new(archive.clone(), base.head.clone(), revision)?;
    comparison.read_compacted();
    if let Some(problem) = comparison.into_result().problems.first() {
        return Err(invalid(problem));
    }
    Tree::check_snapshot(&base.head, &*archive)?;
    Tree::of_snapshot(&base.head, archive, false)
}

/// Writes the events up to the base of a compacted history that are left.
fn write_kept_events(
    store: &mut dyn Store,
    base: u64,
    frames: usize,
    lines: &mut Peekable<impl Iterator<Item = Result<HistoryLine>>>,
) -> Result<()> {
    let is_kept = |line: &Result<HistoryLine>| match line {
        Ok(HistoryLine::Event(event)) => event.revision <= base,
        Ok(_) => false,
        // Its error is the one to tell.
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

/// The error of an exported history from which no stack can be made.
fn invalid(message: impl Into<String>) -> Error {
    Error::json(export::NAME, message)
}

/// Checks that no event is missing before this one.
fn check_gap(tree: &Tree, event: &Event) -> Result<()> {
    let next = tree.revision().saturating_add(1);
    if event.revision > next {
        return Err(Error::History { revision: event.revision, message: format!("event {next} is next") });
    }
    Ok(())
}

/// Applies an event of another process, if it fits.
fn follow(mirror: Option<&mut Mirror>, tree: &mut Tree, event: Event) -> Result<()> {
    check_fits(tree, &event)?;
    apply_fitting(mirror, tree, event, false)
}

/// Checks that an event can be the next one of the history, and loads what it changes.
fn check_fits(tree: &Tree, event: &Event) -> Result<()> {
    tree.checked(|tree| tree.check_next(event))??;
    tree.prepare(event)
}

/// Applies an event that fits. `own`: this process writes the files of its frame.
fn apply_fitting(mirror: Option<&mut Mirror>, tree: &mut Tree, event: Event, own: bool) -> Result<()> {
    note(mirror, tree, &event, own);
    let before = tree.failures();
    tree.apply_owned(event);
    // What was applied without the frames that could not be read is not used: see `catch_up`.
    tree.failure_since(before).map_or(Ok(()), Err)
}

/// Where and how a command writes logs.
#[derive(Clone, Copy)]
struct Logs<'a> {
    /// `None` if the stack keeps no logs.
    folder: Option<&'a Folder>,
    are_synced: bool,
    deadline: &'a Deadline,
}

/// Writes the lines of the logs, then commits the events. If this fails, the lines are removed again. Exception: if the
/// commit failed but may have been kept, lines that repeat events stay. A log may have a message twice, but never lacks
/// one.
fn persist(store: &mut dyn Store, logs: Logs<'_>, tree: &SharedTree, commit: Commit) -> Result<Committed> {
    let Commit { events, log } = commit;
    if store.logs().is_some() {
        return persist_with_logs(store, tree, events, log);
    }
    let mut written = Vec::new();
    let moved = moved_logs(&tree.read(), &events);
    let prepared = append_lines(logs, log, &mut written)
        .and_then(|()| logs.folder.map(|folder| LogMoves::begin(folder, moved)).transpose());
    let moves = match prepared {
        Ok(moves) => moves,
        Err(error) => {
            logs.take_back(&written, true);
            return Err(error);
        }
    };
    let has_new_log = written.iter().any(|lines| lines.appended.is_first());
    if events.is_empty() {
        return Ok(Committed { events, has_new_log, archived: None });
    }
    let archived = match append_events(store, tree, &events) {
        Ok(archived) => archived,
        Err(error) => {
            moves.iter().for_each(LogMoves::undo);
            logs.take_back(&written, true);
            return Err(error);
        }
    };
    if let Err(error) = store.commit() {
        store.rollback();
        let is_undone = !may_have_lasted(store, &events, logs.deadline);
        if is_undone {
            moves.iter().for_each(LogMoves::undo);
        }
        logs.take_back(&written, is_undone);
        return Err(error);
    }
    moves.iter().for_each(LogMoves::finish);
    Ok(Committed { events, has_new_log, archived })
}

/// Adds events to the transaction, and a snapshot of the tree before them, if one is due. Returns its revision.
fn append_events(store: &mut dyn Store, tree: &SharedTree, events: &[Event]) -> Result<Option<u64>> {
    events.iter().try_for_each(|event| tree.read().prepare(event))?;
    let archived = write_due_snapshot(store, tree)?;
    store.append(events)?;
    Ok(archived)
}

/// Commits the events together with the lines of the logs, in a store that keeps both.
fn persist_with_logs(
    store: &mut dyn Store,
    tree: &SharedTree,
    events: Vec<Event>,
    log: Vec<LogAppend>,
) -> Result<Committed> {
    if events.is_empty() && log.is_empty() {
        return Ok(Committed { events, has_new_log: false, archived: None });
    }
    let mut has_new_log = false;
    for LogAppend { handle, entries, .. } in log {
        let lines = entries.iter().map(|entry| entry.to_string()).collect();
        has_new_log |= store.append_log(handle, lines)?;
    }
    let archived = if events.is_empty() { None } else { append_events(store, tree, &events)? };
    store.commit()?;
    Ok(Committed { events, has_new_log, archived })
}

/// Adds a snapshot of the tree to the transaction, if one is due. Returns its revision.
fn write_due_snapshot(store: &mut dyn Store, tree: &SharedTree) -> Result<Option<u64>> {
    if !tree.read().is_snapshot_due() {
        return Ok(None);
    }
    // Other processes make snapshots too. A tree without one may have found one that cannot be read.
    let newest = store.snapshot_revision()?;
    let known = tree.read().archived_revision();
    if known > 0 && newest > known {
        tree.change(|tree| tree.archived(newest, false));
    }
    let tree = tree.read();
    if tree.is_snapshot_due() { write_snapshot(store, &tree).map(Some) } else { Ok(None) }
}

/// Adds a snapshot of the tree to the transaction, if there are events since the last one. Returns its revision.
fn write_newest_snapshot(store: &mut dyn Store, tree: &SharedTree) -> Result<Option<u64>> {
    let tree = tree.read();
    let has_news = tree.has_archive() && tree.revision() > tree.archived_revision();
    has_news.then(|| write_snapshot(store, &tree)).transpose()
}

/// Notes the revision of a snapshot that was committed.
fn archived(tree: &SharedTree, made: Option<u64>) {
    if let Some(revision) = made {
        tree.change(|tree| tree.archived(revision, true));
    }
}

/// Adds a snapshot of the tree to the transaction. Returns its revision.
fn write_snapshot(store: &mut dyn Store, tree: &Tree) -> Result<u64> {
    let is_whole = tree.archived_revision() == 0;
    let snapshot = Snapshot { revision: tree.revision(), head: tree.snapshot_head(), is_whole };
    tree.checked(|tree| store.write_snapshot(&snapshot, &mut tree.unarchived()))??;
    Ok(snapshot.revision)
}

/// True if the store has, or may have, the events of a commit that failed.
fn may_have_lasted(store: &mut dyn Store, events: &[Event], deadline: &Deadline) -> bool {
    let first = &events[0];
    let mut is_there = false;
    let query = EventQuery::default().since(first.revision - 1).limit(1);
    let looked = store.read(&query, deadline.remaining(), &mut |event| {
        is_there = event == *first;
        Ok(())
    });
    is_there || looked.is_err()
}

/// Appends lines to logs and records them in `written`.
///
/// Each log is locked on its own, within the store's transaction and only while its lines are written. No call waits for
/// anything else while it has the lock of a log, so these locks cannot be part of a deadlock.
fn append_lines(logs: Logs<'_>, log: Vec<LogAppend>, written: &mut Vec<Written>) -> Result<()> {
    let Some(folder) = logs.folder else { return Ok(()) };
    for LogAppend { log_path, is_new, entries, repeats_events, .. } in log {
        if is_new {
            // A file that already has this name belongs to something else.
            folder.set_aside(&log_path)?;
        }
        let appended = logs::append(folder, &log_path, &entries, logs.are_synced, logs.deadline.remaining())?;
        written.push(Written { appended, repeats_events });
    }
    Ok(())
}

/// Lines that were appended to a log.
struct Written {
    appended: Appended,
    repeats_events: bool,
}

impl Logs<'_> {
    /// Removes appended lines from the logs: all lines, or only those that do not repeat events.
    fn take_back(self, written: &[Written], all: bool) {
        let undone = written.iter().rev().filter(|lines| all || !lines.repeats_events);
        undone.for_each(|lines| lines.appended.undo(self.deadline.remaining()));
    }
}

/// The old and the new name of each log that moves.
fn moved_logs(tree: &Tree, events: &[Event]) -> Vec<(String, String)> {
    let moved = events.iter().filter_map(|event| match &event.change {
        Change::LogMoved { log_path } => Some((tree.node(event.handle).record().log_path.clone()?, log_path.clone())),
        _ => None,
    });
    moved.collect()
}

/// Logs whose frames get another ID, with their old and new names. A log has both names until the commit has finished.
/// If the commit fails and it is not known whether it was kept, both names stay.
struct LogMoves<'a> {
    folder: &'a Folder,
    moved: Vec<(String, String)>,
}

impl<'a> LogMoves<'a> {
    /// Gives the logs their new names, in addition to the old ones.
    fn begin(folder: &'a Folder, moved: Vec<(String, String)>) -> Result<Self> {
        let mut moves = Self { folder, moved: Vec::new() };
        for (old, new) in moved.into_iter().filter(|(old, _)| folder.has_file(old)) {
            if let Err(error) = folder.set_aside(&new).and_then(|()| folder.second_name(&old, &new)) {
                moves.undo();
                return Err(error);
            }
            moves.moved.push((old, new));
        }
        Ok(moves)
    }

    fn undo(&self) {
        self.moved.iter().for_each(|(_, new)| drop(self.folder.remove(new)));
    }

    fn finish(&self) {
        self.moved.iter().for_each(|(old, _)| drop(self.folder.remove(old)));
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
        Change::Added { frame } => {
            // The file of the parent lists its planned children, and all children if they were moved, or if a new attempt
            // stands before others.
            let parent = frame.parent_session_id.as_ref().and_then(|parent| tree.by_id(parent));
            let can_be_listed = frame.status == FrameStatus::Planned || frame.retry_of.is_some();
            let lists_it = |parent: &Handle| can_be_listed || tree.node(*parent).is_reordered();
            parent.filter(lists_it).into_iter().for_each(|parent| mirror.note(parent, revision, own));
        }
        _ if handle.index() >= tree.len() => return,
        Change::StatusChanged { .. }
        | Change::Invalidated { .. }
        | Change::Reopened { .. }
        | Change::Restored { .. }
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
        Change::Edited { edit, .. } if edit.moves() => {
            let parent = edit.parent.iter().flatten().filter_map(|parent| tree.resolve(parent).ok());
            let parents = parent.chain(tree.node(handle).parent());
            parents.for_each(|parent| mirror.note(parent, revision, own));
        }
        _ => {}
    }
    mirror.note(handle, revision, own);
}

/// The files of a tree. Finished trees that are not in memory are loaded one by one.
pub(super) struct TreeFiles<'a> {
    tree: &'a Tree,
    scan: RefCell<Scan<'a>>,
    /// True: `state.json` has all frames. Else that of a large tree leaves out the finished trees.
    is_whole: bool,
}

impl<'a> TreeFiles<'a> {
    pub(super) fn new(tree: &'a Tree, is_whole: bool) -> Self {
        Self { tree, scan: RefCell::new(Scan::of(tree)), is_whole }
    }

    /// Writes the state with all frames. They are made one by one.
    fn write_whole_state(&self, writer: &mut dyn Write) -> io::Result<()> {
        let ids = RefCell::new(HashMap::new());
        let frames = self.tree.handles().zip(self.tree.records()).map(|(handle, frame)| {
            if frame.parent_session_id.is_none() {
                ids.borrow_mut().insert(handle, frame.session_id.clone());
            }
            frame
        });
        let roots = || self.tree.roots().iter().filter_map(|root| ids.borrow_mut().remove(root)).collect();
        Ok(serde_json::to_writer(writer, &StateDocument::new(&self.tree.state_head(), frames, &roots))?)
    }
}

impl Source for TreeFiles<'_> {
    fn frame(&self, handle: Handle) -> Result<Frame> {
        self.scan.borrow_mut().at(handle).checked(|tree| tree.frame(handle))
    }

    fn owner(&self, session_id: &str) -> Result<Option<Handle>> {
        self.tree.checked(|tree| tree.by_id(session_id))
    }

    fn revision(&self) -> u64 {
        self.tree.revision()
    }

    fn write_state(&self, writer: &mut dyn Write) -> io::Result<()> {
        let written = self.tree.checked(|tree| {
            let parts = (!self.is_whole).then(|| tree.state_without_finished()).flatten();
            match parts {
                Some(state) => Ok(serde_json::to_writer(writer, &state)?),
                None => self.write_whole_state(writer),
            }
        });
        written.map_err(io::Error::other)?
    }
}
