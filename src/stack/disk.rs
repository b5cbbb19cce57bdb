//! What stands between a stack and its files: every command's way to the store, what other
//! processes have committed, and the mirror.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use parking_lot::RwLock;

use crate::error::Result;
use crate::frame::{Change, Event, Frame, FrameStatus, Handle, StateDocument};
use crate::store::mirror::{Mirror, Source};
use crate::store::{EventQuery, Store, files};
use crate::tree::Tree;

/// How much of the mirror is written.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Extent {
    /// The files of the frames that this process has just changed.
    #[cfg_attr(not(feature = "session"), allow(dead_code, reason = "only hosts with sessions poll"))]
    Fresh,
    /// Everything if `state.json` is due, and else as [`Extent::Fresh`].
    Due,
    /// Everything.
    All,
}

/// The store of a stack and the mirror beside it. Held for a whole command, before the tree.
pub(super) struct Disk {
    /// `None`: the stack lives in memory and keeps no history.
    pub(super) store: Option<Box<dyn Store>>,
    pub(super) mirror: Option<Mirror>,
    /// Where the mirror and the logs are.
    pub(super) folder: Option<PathBuf>,
    /// The last command failed, perhaps while it committed: news may be our own.
    is_uncertain: bool,
}

impl Disk {
    /// That of a stack in memory.
    pub(super) fn none() -> Self {
        Self { store: None, mirror: None, folder: None, is_uncertain: false }
    }

    /// That of a stack with a store, and perhaps with a folder.
    pub(super) fn new(store: Box<dyn Store>, mirror: Option<Mirror>, folder: Option<&Path>) -> Self {
        Self { store: Some(store), mirror, folder: folder.map(Path::to_owned), is_uncertain: false }
    }

    /// Decides on the newest tree, commits what was decided, and applies it. When anything fails,
    /// the store and the tree are as before, but for what other processes have committed.
    ///
    /// `decide` runs while no other process can commit. Like everything here, it locks the tree for
    /// looks and changes alone, never while the disk works: readers would have to wait. What `decide`
    /// has done to files, `undo` takes back if the commit fails.
    pub(super) fn commit(
        &mut self,
        tree: &RwLock<Tree>,
        decide: impl FnOnce(&RwLock<Tree>) -> Result<Vec<Event>>,
        undo: impl FnOnce(),
    ) -> Result<Vec<Event>> {
        let Self { store, mirror, folder, is_uncertain } = self;
        let events = match store {
            None => decide(tree)?,
            Some(store) => {
                store.begin()?;
                let committed = catch_up(&mut **store, mirror.as_mut(), tree)
                    .and_then(|()| decide(tree))
                    .and_then(|events| append(&mut **store, folder.as_deref(), tree, events));
                if committed.is_err() {
                    undo();
                }
                // Nothing is left of the transaction, unless it was committed.
                store.rollback();
                *is_uncertain = committed.is_err();
                committed?
            }
        };
        let mut tree = tree.write();
        for event in &events {
            note(mirror.as_mut(), &tree, event, true);
            tree.apply(event);
        }
        Ok(events)
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
            mirror.distrust(tree.handles(), tree.revision());
        }
        Ok(())
    }

    /// Applies what other processes have committed. True: there was something.
    pub(super) fn refresh(&mut self, tree: &RwLock<Tree>) -> Result<bool> {
        let Self { store: Some(store), mirror, is_uncertain, .. } = self else { return Ok(false) };
        let before = tree.read().revision();
        if *is_uncertain || store.has_news()? {
            catch_up(&mut **store, mirror.as_mut(), tree)?;
            *is_uncertain = false;
        }
        Ok(tree.read().revision() > before)
    }

    /// Writes as much of the mirror as is asked for. If another process writes, it waits for so many
    /// milliseconds.
    ///
    /// # Errors
    /// Those of the files. They stay in the mirror's status; no command fails by them.
    pub(super) fn write_mirror(
        &mut self,
        tree: &RwLock<Tree>,
        clock: &dyn Fn() -> u64,
        extent: Extent,
        patience: u64,
    ) -> Result<()> {
        let Self { store: Some(store), mirror: Some(mirror), .. } = self else { return Ok(()) };
        let is_behind = !mirror.is_current(&*tree.read());
        let all = match extent {
            Extent::Fresh => false,
            Extent::Due => is_behind && mirror.is_due(clock()),
            Extent::All => is_behind,
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
fn catch_up(store: &mut dyn Store, mut mirror: Option<&mut Mirror>, tree: &RwLock<Tree>) -> Result<()> {
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

/// Commits events. The logs that move along with an ID have both names until that is done.
fn append(store: &mut dyn Store, folder: Option<&Path>, tree: &RwLock<Tree>, events: Vec<Event>) -> Result<Vec<Event>> {
    if events.is_empty() {
        return Ok(events);
    }
    let mut moves = folder.map_or(Vec::new(), |folder| log_moves(folder, &tree.read(), &events));
    moves.retain(|(old, _)| old.exists());
    for (old, new) in &moves {
        files::set_aside(new)?;
        files::second_name(old, new)?;
    }
    let appended = store.append(&events);
    let committed = match &appended {
        Ok(()) => store.commit(),
        Err(_) => appended.clone(),
    };
    for (old, new) in &moves {
        // A commit that failed may have lasted all the same. Then both names stay, which does no harm.
        let superfluous = if appended.is_err() { Some(new) } else { committed.is_ok().then_some(old) };
        let _ = superfluous.map(|path| files::remove(path));
    }
    committed.map(|()| events)
}

/// The present and the future path of the logs whose frames get another ID.
fn log_moves(folder: &Path, tree: &Tree, events: &[Event]) -> Vec<(PathBuf, PathBuf)> {
    let mut moves = Vec::new();
    for pair in events.windows(2) {
        if let (Change::IdReplaced { .. }, Change::LogPathSet { log_path }) = (&pair[0].change, &pair[1].change)
            && let Some(old) = &tree.node(pair[1].handle).record().log_path
        {
            moves.push((folder.join(old), folder.join(log_path)));
        }
    }
    moves
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
