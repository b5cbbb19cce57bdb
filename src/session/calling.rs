//! How a [`Turn`] drives calls, from the creation of a session to the answer.

use serde_json::json;

use super::calls::{self, Call, CallId, CallOptions, Progress};
use super::compaction::{Message, closing_results};
use super::effect::{Action, Effect, LogLevel};
use super::turn::Turn;
use crate::error::{Error, Result};
use crate::frame::{CompactionType, FrameRef, FrameStatus, Handle, Holder, PopStatus, SummaryRequest};
use crate::text::{beginning, one_line};
use crate::tree::{Command, Parts};

/// Maximum length of the reason why another actor has blocked a frame, in characters.
const REASON_CHARACTERS: usize = 300;
/// Time after which a session that was asked for a summary is salvaged without one, in milliseconds.
const SUMMARY_TIME: u64 = 120_000;

impl Turn<'_> {
    /// Checks that a frame below this parent may be called. `None`: the frame is a root.
    ///
    /// # Errors
    /// [`Error::TooDeep`] if the frame would have more than
    /// [`CallSettings::max_depth`](calls::CallSettings::max_depth) ancestors.
    pub fn check_depth(&self, parent: Option<Handle>) -> Result<()> {
        let limit = self.sessions.calls.settings.max_depth;
        match parent {
            Some(handle) if 1 + self.tree.node(handle).depth() > limit => Err(Error::TooDeep { handle, limit }),
            _ => Ok(()),
        }
    }

    /// Starts a call: runs a frame in its own session, at once or when fewer sessions work. The frame must be
    /// planned, or open while no call runs it; an open frame continues in the session that it has. If a host
    /// runs the frame already, and the caller wants to wait, the caller waits for the end of that call.
    ///
    /// # Errors
    /// - [`Error::TooDeep`]: see [`Turn::check_depth`].
    /// - [`Error::ParentPlanned`], [`Error::ParentClosed`] if the frame is planned and its parent is not
    ///   open.
    /// - [`Error::Held`] if a host already runs the frame and the caller does not want to wait; if a person
    ///   or a subagent works on it; or if it is the caller's frame or an ancestor of that frame.
    /// - [`Error::WaitCircle`] if the frame waits for the caller.
    /// - [`Error::Transition`] if the frame is completed, failed or invalidated.
    ///
    /// After an error the turn has no new actions.
    pub fn call(&mut self, handle: Handle, options: CallOptions) -> Result<CallId> {
        if !options.background && (self.sessions.calls.runs(handle) || self.runs_elsewhere(handle)) {
            let CallOptions { caller, time_limit, .. } = options;
            return self.wait(&caller, vec![handle], false, time_limit.unwrap_or_default());
        }
        self.check_callable(handle, &options.caller)?;
        let call = self.queue(handle, options, None);
        self.begin_queued();
        Ok(call)
    }

    /// Adds a call. The call begins when it is its turn. `wait` is the tool call that waits for several
    /// calls, if there is one.
    pub(super) fn queue(&mut self, handle: Handle, options: CallOptions, wait: Option<CallId>) -> CallId {
        self.sessions.look_later(self.now);
        let awaits = options.awaits_dependencies && self.running_dependencies(handle).next().is_some();
        let options = options.awaits_dependencies(awaits);
        let added = (self.tree.revision(), awaits || self.tree.can_begin(handle, Parts::Within).is_ok());
        self.sessions.calls.add(handle, options, wait, added)
    }

    /// Checks that a session may call a frame: that [`Turn::call`] accepts it.
    ///
    /// # Errors
    /// As [`Turn::call`].
    pub fn check_callable(&self, handle: Handle, caller: &str) -> Result<()> {
        let node = self.tree.node(handle);
        self.check_depth(node.parent())?;
        if !node.status().is_open() && node.status() != FrameStatus::Planned {
            return Err(Error::Transition { handle, from: node.status(), to: FrameStatus::InProgress });
        }
        self.check_begun_above(handle)?;
        self.check_idle(handle, caller)
    }

    /// Checks that a frame has begun, or that the frame above it is open.
    ///
    /// # Errors
    /// [`Error::ParentPlanned`], [`Error::ParentClosed`].
    pub fn check_begun_above(&self, handle: Handle) -> Result<()> {
        let node = self.tree.node(handle);
        let Some(parent) = node.parent().filter(|_| node.status() == FrameStatus::Planned) else { return Ok(()) };
        match self.tree.node(parent).status() {
            FrameStatus::Planned => Err(Error::ParentPlanned { handle: parent }),
            status if !status.is_open() => Err(Error::ParentClosed { handle: parent, status }),
            _ => Ok(()),
        }
    }

    /// Checks that a session may retry a frame and call the new attempt.
    ///
    /// # Errors
    /// As [`Turn::call`], except for the status of the frame, which the command checks.
    pub fn check_retriable(&self, handle: Handle, caller: &str) -> Result<()> {
        self.check_depth(self.tree.node(handle).parent())?;
        let record = self.tree.node(handle).record();
        if record.status == FrameStatus::InProgress && !record.is_interrupted() {
            return Err(self.held(handle));
        }
        self.check_idle(handle, caller)
    }

    /// Checks that a session may reopen a completed frame and call it. If it `works_here`, checks that its
    /// conversation may work in the frame.
    ///
    /// # Errors
    /// As [`Turn::call`], except for the statuses, which the command checks.
    pub fn check_reopenable(&self, handle: Handle, caller: &str, works_here: bool) -> Result<()> {
        self.check_depth(self.tree.node(handle).parent())?;
        // The frame is open then, and the caller is in it already.
        if self.is_own(handle, caller) && !works_here {
            return Err(self.held(handle));
        }
        self.check_idle(handle, caller)
    }

    /// Checks that no host runs a frame, that no worker holds it, and that the caller does not work in it or
    /// below it.
    ///
    /// # Errors
    /// [`Error::Held`].
    pub fn check_idle(&self, handle: Handle, caller: &str) -> Result<()> {
        let holder = self.tree.holder(handle, self.time);
        let is_elsewhere = holder.is_some_and(|holder| holder.name != self.sessions.host && !holder.name.is_empty());
        let is_running = self.sessions.calls.runs(handle) || (is_elsewhere && self.is_at_work(handle));
        let record = self.tree.node(handle).record();
        let is_callers = record.conversation() == Some(caller);
        let is_in = record.status.is_open() && self.is_own(handle, caller);
        if is_running || is_in || (self.works_by_itself(handle) && !is_callers) {
            return Err(self.held(handle));
        }
        Ok(())
    }

    /// The error for a frame on which another actor works.
    fn held(&self, handle: Handle) -> Error {
        let holder = self.tree.node(handle).record().held_by();
        let other = holder.filter(|holder| holder.name != self.sessions.host && !holder.name.is_empty());
        let by = other.map_or_else(|| "a session of this host".to_owned(), Holder::described);
        Error::Held { handle, by, until: other.and_then(|holder| holder.until) }
    }

    /// True if a frame is in progress: its host may keep it for a while when it is blocked.
    fn is_at_work(&self, handle: Handle) -> bool {
        self.tree.node(handle).status() == FrameStatus::InProgress
    }

    /// True if another host runs a frame.
    pub(super) fn runs_elsewhere(&self, handle: Handle) -> bool {
        let record = self.tree.node(handle).record();
        let host = record.host().filter(|_| record.status == FrameStatus::InProgress);
        host.is_some_and(|host| host.name != self.sessions.host)
    }

    /// True if a session of this host works on a frame although no call runs it: the session of a person or
    /// of a subagent.
    fn works_by_itself(&self, handle: Handle) -> bool {
        let record = self.tree.node(handle).record();
        let session_id = record.conversation().unwrap_or(&record.session_id);
        let is_idle = self.sessions.subagents.get(session_id).is_some_and(|subagent| subagent.is_idle);
        record.status == FrameStatus::InProgress
            && !record.is_interrupted()
            && !record.waits_since_reopened()
            && self.sessions.is_known(session_id)
            && !self.sessions.is_called(session_id)
            && !is_idle
    }

    /// True if a call of this host runs a frame.
    pub fn is_running(&self, handle: Handle) -> bool {
        self.sessions.calls.runs(handle)
    }

    /// True if a frame is the frame of the caller or an ancestor of it.
    pub fn is_own(&self, handle: Handle, caller: &str) -> bool {
        let own = self.sessions.served(caller, self.tree);
        own.is_some_and(|own| own == handle || self.tree.is_ancestor(handle, own))
    }

    /// Begins the queued calls, as many as may work at the same time.
    pub(super) fn begin_queued(&mut self) {
        while let Some(id) = self.sessions.next_to_begin(|call| self.awaits_dependencies(call)) {
            self.begin_call(id);
        }
    }

    /// True if a queued call waits until a dependency of its frame does not run any more.
    fn awaits_dependencies(&self, call: &Call) -> bool {
        call.awaits_dependencies && self.running_dependencies(call.handle).next().is_some()
    }

    /// The dependencies of a frame that are not completed, and that this host or another one runs.
    pub(super) fn running_dependencies(&self, handle: Handle) -> impl Iterator<Item = Handle> + '_ {
        self.tree.unfinished_dependencies(handle).filter(|dependency| !self.has_ended(*dependency))
    }

    /// Begins the work of a queued call: the host creates a session for the frame, or the existing session of
    /// the frame continues.
    fn begin_call(&mut self, id: CallId) {
        let Some(call) = self.sessions.calls.get(id) else { return };
        let (handle, parent_id) = (call.handle, call.caller.clone());
        if let Some(reason) = self.in_the_way(call) {
            return self.not_created(id, Some(reason));
        }
        let node = self.tree.node(handle);
        if node.status().is_open() && node.record().has_session() && node.record().conversation().is_none() {
            let running = Progress::Running { session_id: node.session_id().to_owned() };
            self.sessions.calls.begin(id, running, self.now);
            self.go_on(id, handle);
        } else {
            self.sessions.calls.begin(id, Progress::Creating, self.now);
            self.effect(Effect::CreateSession { call: id, parent_id, title: one_line(node.title()) });
        }
    }

    /// Why the planned frame of a call cannot begin any more: the parent can have ended while the call was
    /// queued or while its session was made, and the dependencies can have been edited or reopened.
    fn in_the_way(&self, call: &Call) -> Option<String> {
        let node = self.tree.node(call.handle);
        if node.status() != FrameStatus::Planned {
            return None;
        }
        let parent = node.parent().map(|parent| (parent, self.tree.node(parent).status()));
        if let Some((parent, status)) = parent.filter(|(_, status)| !status.is_open()) {
            return Some(format!("its parent {parent} is {status}"));
        }
        let dependency = self.tree.unfinished_dependencies(call.handle).next().filter(|_| call.was_ready);
        dependency.map(|dependency| format!("it waits for {dependency}"))
    }

    /// Handles the creation of a session for a call by the host.
    pub(super) fn call_started(&mut self, id: CallId, session_id: String) {
        let call = self.sessions.calls.get(id);
        if call.is_some_and(|call| call.session_id() == Some(&*session_id)) {
            // Reported twice.
            return;
        }
        let Some(call) = call.filter(|call| call.progress == Progress::Creating) else {
            // The call was answered before its session was created.
            return self.effect(Effect::AbortSession { session_id });
        };
        let (handle, caller) = (call.handle, call.caller.clone());
        if let Some(reason) = self.in_the_way(call) {
            self.effect(Effect::AbortSession { session_id });
            return self.not_created(id, Some(reason));
        }
        self.sessions.calls.advance(id, Progress::Running { session_id: session_id.clone() });
        self.sessions.describe_called(&session_id, &caller, self.tree.node(handle).record());
        let text = calls::prompt(self.tree, handle, &self.sessions.tools);
        self.sessions.prompted(&session_id, &text);
        let prompt = Some(Effect::Prompt { call: id, session_id: session_id.clone(), caller_id: caller.clone(), text });
        let session_id = Some(session_id);
        self.act(Action::Begin { call: id, handle, caller: caller.clone(), session_id, prompt });
        self.release(&caller);
    }

    /// Handles the end of a call's session, or a failure to create or prompt it.
    pub(super) fn call_ended(&mut self, id: CallId, error: Option<String>) {
        let Some(call) = self.sessions.calls.get(id) else { return };
        match call.progress.clone() {
            Progress::Creating => {
                self.not_created(id, Some(error.unwrap_or_else(|| "the host made no session".into())));
            }
            Progress::Running { session_id } => self.run_ended(id, session_id, error),
            Progress::Queued
            | Progress::Compacting { .. }
            | Progress::SummingUp { .. }
            | Progress::Salvaging { .. } => {}
        }
    }

    /// Handles the end of a running call's session. If the frame was finished or blocked, answers the call;
    /// if the blocked frame was answered meanwhile, continues instead. Otherwise, if the agent has asked for
    /// a compaction, compacts the session and continues. Otherwise asks for a summary.
    fn run_ended(&mut self, id: CallId, session_id: String, error: Option<String>) {
        let Some(handle) = self.sessions.calls.get(id).map(|call| call.handle) else { return };
        if !self.works_on(handle, &session_id) {
            if error.is_none() && self.is_answered(handle) {
                return self.go_on(id, handle);
            }
            self.effect(Effect::ReadMessages { session_id });
            return self.answer(id, None);
        }
        if let Some(error) = error {
            return self.salvage(id, session_id, format!("its session ended with an error: {error}"));
        }
        if self.begin_compaction(&session_id, CompactionType::ManualSummary) {
            self.sessions.calls.limit(id, self.now.saturating_add(SUMMARY_TIME));
            return self.sessions.calls.advance(id, Progress::Compacting { session_id });
        }
        self.sum_up(id, session_id);
    }

    /// True if a session still works on the frame of a call. The session can have another frame now.
    fn works_on(&self, handle: Handle, session_id: &str) -> bool {
        let node = self.tree.node(handle);
        node.status() == FrameStatus::InProgress && node.session_id() == session_id
    }

    /// Asks the session of a call, which has ended without a pop, for a summary of its work.
    fn sum_up(&mut self, id: CallId, session_id: String) {
        let reason = calls::ended_without_pop(&self.sessions.tools);
        let compactions = &mut self.sessions.compactions;
        if !compactions.is_pending(&session_id, CompactionType::FrameCompletion) {
            let mut request = SummaryRequest::new(CompactionType::FrameCompletion, None, self.now);
            request.blocked_because = Some(reason.clone());
            compactions.request(&session_id, request);
        }
        self.begin_compaction(&session_id, CompactionType::FrameCompletion);
        self.sessions.calls.limit(id, self.now.saturating_add(SUMMARY_TIME));
        self.sessions.calls.advance(id, Progress::SummingUp { session_id, reason });
    }

    /// Asks the host for a compaction of this type, if one is requested. Returns true if one was.
    fn begin_compaction(&mut self, session_id: &str, compaction_type: CompactionType) -> bool {
        let is_begun = self.sessions.compactions.begin(session_id, compaction_type);
        if is_begun {
            self.effect(Effect::CompactSession { session_id: session_id.to_owned() });
        }
        is_begun
    }

    /// Handles the abort of a caller, which does not see the answer.
    pub(super) fn call_aborted(&mut self, id: CallId) {
        let reason = "its caller was aborted";
        if self.sessions.calls.remove_wait(id).is_some() {
            // Other tool calls began the other calls that it waits for. Those calls continue.
            let begun: Vec<CallId> =
                self.sessions.calls.all().filter(|(_, call)| call.wait == Some(id)).map(|(call, _)| call).collect();
            let text = "The wait was aborted.".to_owned();
            self.effect(Effect::Answer { call: id, title: text.clone(), text, ended: Vec::new() });
            return begun.into_iter().for_each(|call| {
                self.sessions.calls.unheard(call);
                self.call_stopped(call, reason.into());
            });
        }
        self.sessions.calls.unheard(id);
        self.call_stopped(id, reason.into());
    }

    /// Stops a call: aborts its session and salvages the last message.
    pub(super) fn call_stopped(&mut self, id: CallId, reason: String) {
        let Some(call) = self.sessions.calls.get(id).cloned() else { return };
        match call.progress.clone() {
            Progress::Queued | Progress::Creating => self.not_created(id, Some(reason)),
            Progress::Running { session_id }
            | Progress::Compacting { session_id }
            | Progress::SummingUp { session_id, .. } => {
                self.effect(Effect::AbortSession { session_id: session_id.clone() });
                match self.works_on(call.handle, &session_id) {
                    true => self.salvage(id, session_id, reason),
                    false => self.answer(id, None),
                }
            }
            Progress::Salvaging { .. } => {}
        }
    }

    /// Answers a call whose session was not created.
    fn not_created(&mut self, id: CallId, problem: Option<String>) {
        let Some(caller) = self.sessions.calls.get(id).map(|call| call.caller.clone()) else { return };
        self.answer(id, problem);
        self.release(&caller);
    }

    /// Stops the calls that have reached their time limit, and answers the tool calls that have waited long
    /// enough.
    pub(super) fn stop_overdue_calls(&mut self) {
        for id in self.sessions.calls.overdue(self.now) {
            if self.sessions.calls.waits.contains_key(&id) {
                self.end_wait(id);
                continue;
            }
            let limit = self.sessions.calls.time_limit(id);
            let reason = match self.sessions.calls.get(id).map(|call| call.progress.clone()) {
                Some(Progress::SummingUp { reason, .. }) => reason,
                Some(Progress::Compacting { session_id }) if !self.is_overdue(id) => {
                    self.after_checkpoint(id, &session_id);
                    continue;
                }
                _ => format!("its time limit of {limit} ms was exceeded"),
            };
            self.call_stopped(id, reason);
        }
    }

    /// True if a call has reached its own time limit.
    fn is_overdue(&self, id: CallId) -> bool {
        self.sessions.calls.own_limit(id).is_some_and(|moment| moment <= self.now)
    }

    /// Starts to salvage a call: asks the host for the messages of its session.
    pub(super) fn salvage(&mut self, id: CallId, session_id: String, reason: String) {
        let Some(call) = self.sessions.calls.get(id) else { return };
        let data = json!({ "sessionID": session_id, "handle": call.handle, "reason": reason });
        self.forget_request(&session_id);
        self.sessions.calls.advance(id, Progress::Salvaging { session_id: session_id.clone(), reason });
        self.log(LogLevel::Warn, "Frame salvaged", data);
        self.effect(Effect::ReadMessages { session_id });
    }

    /// Ends the salvaging of a call: blocks its frame, with the last message of its session as results so
    /// far, and answers the call.
    pub(super) fn salvaged(&mut self, session_id: &str, messages: &[Message]) {
        let Some((id, call)) = self.sessions.calls.of_session(session_id) else { return };
        let Progress::Salvaging { reason, .. } = call.progress.clone() else { return };
        let frame = call.handle;
        if self.tree.node(frame).status().is_open() {
            let last_words = closing_results(messages, self.tree.node(frame).record());
            self.block_salvaged(frame, session_id, &reason, messages, last_words);
        }
        self.answer(id, None);
    }

    /// Ends a call, and answers it unless it runs in the background.
    pub(super) fn answer(&mut self, id: CallId, problem: Option<String>) {
        let Some(call) = self.sessions.calls.remove(id) else { return };
        self.act(Action::End { handle: call.handle });
        if call.is_background {
            let problem = problem.unwrap_or_default();
            match call.wait {
                Some(wait) => self.sessions.calls.note_problem(wait, call.handle, problem),
                None if !call.is_unheard => self.sessions.tell(&call.caller, call.handle, problem),
                None => {}
            }
            return;
        }
        self.deliver(&call.caller, call.handle, call.is_unheard);
        self.act(Action::Answer { call: id, handle: call.handle, caller: call.caller, problem });
    }

    /// Records that the caller of a frame gets its results now, if the caller works for the frame's parent.
    pub(super) fn deliver(&mut self, caller: &str, handle: Handle, is_unheard: bool) {
        let parent = self.tree.node(handle).parent();
        let is_parent = parent.is_some_and(|parent| self.sessions.frames_of(caller, self.tree).contains(&parent));
        if is_parent && !is_unheard && self.is_finished(handle) {
            self.command(Command::Deliver { frame: handle.into() });
        }
    }

    fn is_answered(&self, handle: Handle) -> bool {
        self.tree.node(handle).record().pending_answer().is_some()
    }

    /// True if a frame is finished, or a command of this turn finishes it.
    fn is_finished(&self, handle: Handle) -> bool {
        let finishes = |action: &Action| match action {
            Action::Command(command) => matches!(
                &**command,
                Command::Pop { frame, status, .. } if *frame == FrameRef::Handle(handle) && *status != PopStatus::Blocked
            ),
            _ => false,
        };
        self.tree.node(handle).status().is_finished() || self.actions.iter().any(finishes)
    }

    /// Ends the call that runs in a session, if there is one.
    pub(super) fn answer_for(&mut self, session_id: &str) {
        if let Some((id, _)) = self.sessions.calls.of_session(session_id) {
            self.answer(id, None);
        }
    }

    /// Handles the end of a session's frame by a tool. The messages of the session are read for the frame's
    /// log. `is_own`: the frame's own agent has ended it, so the session ends automatically. Otherwise
    /// [`Turn::settle`] aborts the session.
    pub fn finished(&mut self, session_id: &str, is_own: bool) {
        self.forget_request(session_id);
        // The messages of a called session are read when it ends.
        if let Some((call, _)) = self.sessions.calls.of_session(session_id) {
            self.sessions.calls.ending(call, is_own);
        } else if self.sessions.is_known(session_id) {
            self.effect(Effect::ReadMessages { session_id: session_id.to_owned() });
        }
    }

    /// Continues what depends on the tree after the actions of a turn: calls whose frames other actors have
    /// ended, tool calls that wait, and queued calls. Call this after the actions of each turn, until it has
    /// no actions.
    pub fn settle(&mut self) {
        let state = (self.tree.revision(), self.sessions.calls.changes());
        if self.sessions.settled == state {
            return;
        }
        self.notice_ends();
        self.settle_waits();
        self.begin_queued();
        self.handle_released();
        self.sessions.settled = (state.0, self.sessions.calls.changes());
    }

    /// True if another host ended the record of a call, because it assumed that this host had ended.
    fn is_lost(&self, call: &Call) -> bool {
        let record = self.tree.node(call.handle).record();
        let is_own = record.host().is_some_and(|host| host.name == self.sessions.host);
        record.status == FrameStatus::InProgress && !is_own
    }

    /// True if an actor other than its own agent ended the frame of a call, or if another host runs the frame
    /// now.
    fn is_taken(&self, call: &Call) -> bool {
        let status = self.tree.node(call.handle).status();
        match call.progress {
            Progress::Queued | Progress::Creating => !status.is_unfinished(),
            _ if self.is_lost(call) => true,
            Progress::Salvaging { .. } => false,
            Progress::Running { .. } if call.is_ending => false,
            _ => !matches!(status, FrameStatus::Planned | FrameStatus::InProgress),
        }
    }

    /// Stops the calls whose frames were not ended by their own agents, but by a person, another tool, or
    /// another process.
    fn notice_ends(&mut self) {
        let stop = |call: &Call| {
            let is_waiting = call.session_id().is_none();
            self.tree.stop_since(call.handle, call.added_at).filter(|_| is_waiting)
        };
        let calls = self.sessions.calls.all();
        let stopped: Vec<(CallId, String)> =
            calls.filter_map(|(id, call)| Some((id, format!("it was stopped: {}", stop(call)?)))).collect();
        stopped.into_iter().for_each(|(id, problem)| self.not_created(id, Some(problem)));
        let taken: Vec<_> = self
            .sessions
            .calls
            .all()
            .filter(|(_, call)| self.is_taken(call))
            .map(|(id, call)| (id, call.handle, call.session_id().map(str::to_owned)))
            .collect();
        for (id, handle, session_id) in taken {
            let Some(session_id) = session_id else {
                self.not_created(id, None);
                continue;
            };
            self.effect(Effect::AbortSession { session_id: session_id.clone() });
            if self.tree.node(handle).status() == FrameStatus::InProgress {
                self.answer(id, Some("another host runs it".to_owned()));
            } else if self.tree.node(handle).status() == FrameStatus::Blocked {
                let reason = match self.tree.node(handle).record().waits_for() {
                    "" => "another actor has blocked it".to_owned(),
                    reason => beginning(reason, REASON_CHARACTERS).to_owned(),
                };
                self.salvage(id, session_id, reason);
            } else {
                self.forget_request(&session_id);
                self.effect(Effect::ReadMessages { session_id });
                self.answer(id, None);
            }
        }
    }
}
