//! Commands for the calls with which hosts run frames.

use std::collections::BTreeSet;
use std::iter;

use super::adding::check_parent;
use super::not_empty;
use crate::error::{Error, Result};
use crate::frame::{Actor, Change, Frame, FrameLimits, FrameRef, FrameStatus, Handle, HolderKind, Release};
use crate::tree::Draft;

impl Draft<'_> {
    /// Begins the call of a frame: the frame gets its session and becomes in_progress and active.
    pub(super) fn begin_call(
        &mut self,
        handle: Handle,
        session_id: Option<String>,
        caller: String,
        host: String,
        lease: u64,
        limits: &FrameLimits,
    ) -> Result<()> {
        let node = self.tree.node(handle);
        let has_session = node.status().is_open() && node.record().has_session();
        let is_begun = node.status() == FrameStatus::InProgress && session_id.is_some() && has_session;
        if is_begun {
            return Err(Error::Held { handle, by: format!("session `{}`", node.session_id()), until: None });
        }
        (self.actor, self.is_call) = (Some(Actor::new(HolderKind::Host, &host).caller(&caller)), true);
        self.check_free(handle)?;
        self.limit_called(handle, &caller, limits);
        if let Some(session_id) = session_id {
            self.replace_id(handle, session_id)?;
        }
        match node.status() {
            FrameStatus::Planned => self.begin_in_session(handle)?,
            FrameStatus::InProgress => self.go_on(handle)?,
            _ => self.set_status(handle, FrameStatus::InProgress, None, None)?,
        }
        self.held_by_host(handle, host, caller, lease)
    }

    /// Begins or resumes a frame in the conversation of a session.
    pub(super) fn enter(&mut self, handle: Handle, session_id: &str) -> Result<()> {
        let node = self.tree.node(handle);
        let (record, id) = (node.record(), Frame::id_in_conversation(session_id, handle));
        let is_elsewhere = record.status == FrameStatus::InProgress && record.has_session() && record.session_id != id;
        if is_elsewhere {
            return Err(Error::Held { handle, by: format!("session `{}`", record.session_id), until: None });
        }
        self.actor = Some(Actor::new(HolderKind::Conversation, session_id));
        self.check_free(handle)?;
        self.replace_id(handle, id)?;
        match record.status {
            FrameStatus::Planned => self.begin_in_session(handle),
            FrameStatus::InProgress => self.go_on(handle),
            _ => self.set_status(handle, FrameStatus::InProgress, None, None),
        }
    }

    /// Begins a planned frame in a session, unless the frame above it has not begun, or has ended while the session was
    /// made.
    fn begin_in_session(&mut self, handle: Handle) -> Result<()> {
        if let Some(parent) = self.tree.node(handle).parent() {
            check_parent(self.tree, parent, FrameStatus::InProgress)?;
        }
        self.begin(handle)
    }

    pub(super) fn end_call(&mut self, handle: Handle, host: &str, interrupted: bool) {
        if self.tree.node(handle).record().host().is_some_and(|holder| holder.name == host) {
            self.let_go(handle, if interrupted { Release::Interrupted {} } else { Release::Ended {} });
        }
    }

    pub(super) fn stop(&mut self, frame: Option<FrameRef>, reason: &str) -> Result<()> {
        not_empty("reason", reason)?;
        let tree = self.tree;
        let top = frame.map(|frame| tree.resolve(&frame)).transpose()?;
        let is_below = |handle: &Handle| top.is_none_or(|top| *handle == top || tree.is_ancestor(top, *handle));
        let is_working = |handle: &Handle| tree.node(*handle).status() == FrameStatus::InProgress;
        let in_conversations = tree.with_status(FrameStatus::InProgress);
        let in_conversations = in_conversations.filter(|frame| tree.node(*frame).record().conversation().is_some());
        let has_agent = |frame: &Handle| {
            tree.node(*frame).record().held_by().is_some_and(|holder| holder.kind != HolderKind::Person)
        };
        let running = tree.held().filter(has_agent).chain(tree.with_workers()).chain(in_conversations);
        let mut stopped: BTreeSet<Handle> = running.filter(is_below).filter(is_working).collect();
        // A frame that a worker or a host runs can always be stopped. A frame in which another actor works
        // itself belongs to that actor.
        let is_by_itself =
            |frame: &&Handle| tree.holder(**frame, self.now).is_some_and(|holder| !holder.kind.is_running());
        match top {
            Some(_) => stopped.iter().filter(is_by_itself).try_for_each(|frame| self.check_actor(*frame))?,
            None => stopped.retain(|frame| !is_by_itself(&frame) || self.check_actor(*frame).is_ok()),
        }
        for handle in &stopped {
            let status = FrameStatus::Blocked;
            self.push(*handle, Change::StatusChanged { status, results: None, results_compacted: None });
            let question = format!("It was stopped: {}", reason.trim());
            self.push(*handle, Change::Asked { question, interruption: true });
            let holder = tree.node(*handle).record().held_by();
            if holder.is_some_and(|holder| holder.kind != HolderKind::Host) {
                self.let_go(*handle, Release::Stopped { reason: reason.trim().to_owned() });
            }
        }
        // Hosts also have queued frames that the tree does not know. If all frames have ended, there are no
        // queued frames.
        let tops = top.map_or_else(|| tree.unfinished_roots(), |top| vec![top]);
        for top in tops.into_iter().filter(|top| tree.node(*top).is_unfinished_at_or_below()) {
            self.push(top, Change::Stopped { reason: reason.trim().to_owned() });
        }
        let lineage = tree.active().into_iter().flat_map(|active| iter::once(active).chain(tree.ancestors(active)));
        if let Some(highest) = lineage.filter(|frame| stopped.contains(frame)).last() {
            self.return_above(highest);
        }
        Ok(())
    }
}
