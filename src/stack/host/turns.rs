//! Turns: events and tool calls are handled one after the other, and their actions are executed.

use std::mem;

use super::log_lines::refused;
use crate::error::{Error, ErrorClass, Result};
use crate::frame::{Event, Handle};
use crate::session::calls::{self, CallId};
use crate::session::{Action, Effect, Turn, call_title};
use crate::stack::Stack;
use crate::store::EventQuery;
use crate::tree::Command;

/// The most commands that wait for the journal.
const MOST_POSTPONED: usize = 1_000;

/// Commands of a turn that the journal has not allowed.
pub(super) struct Postponed {
    commands: Vec<Command>,
    /// The first event of their commit, if they got as far as a commit: the store may have kept it although
    /// it has failed.
    first: Option<Box<Event>>,
}

/// The turns of one event or tool call.
pub(crate) struct Turns<'a> {
    pub(crate) stack: &'a Stack,
}

impl Turns<'_> {
    /// Runs `decide` with a turn, executes the actions of the turn, and returns the value and the effects for
    /// the host.
    pub(crate) fn turn<T>(&self, decide: impl FnOnce(&mut Turn<'_>) -> T) -> (T, Vec<Effect>) {
        self.stack.execute_postponed();
        self.stack.renew_calls();
        self.stack.renew_conversations();
        self.stack.note_lapses();
        let (value, actions) = self.decide(decide);
        let mut effects = self.carry_out(actions);
        self.settle(&mut effects);
        let mut lines: Vec<Effect> = self.stack.inner.host.state.lock().waiting.drain(..).collect();
        lines.append(&mut effects);
        (value, lines)
    }

    /// Continues with what depends on the tree after the actions, until nothing is left to do.
    fn settle(&self, effects: &mut Vec<Effect>) {
        let has_calls = || !self.stack.inner.host.state.lock().sessions.calls.is_empty();
        while has_calls() {
            let ((), actions) = self.decide(|turn| turn.settle());
            if actions.is_empty() {
                return;
            }
            effects.extend(self.carry_out(actions));
        }
    }

    fn decide<T>(&self, decide: impl FnOnce(&mut Turn<'_>) -> T) -> (T, Vec<Action>) {
        let Stack { inner, .. } = self.stack;
        let (now, time) = (inner.span_clock.now(), (inner.clock)());
        inner.tree.lend(|tree| {
            let mut state = inner.host.state.lock();
            state.is_attached = true;
            let mut turn = Turn::new(&mut state.sessions, tree, now);
            turn.time = time;
            turn.sessions.begun_at.get_or_insert(time);
            self.stack.broken_by_panic(|| {
                let value = decide(&mut turn);
                (value, turn.into_actions())
            })
        })
    }

    /// Carries out actions in their order, and ends the calls whose frames could not be resumed. Commands
    /// that follow each other are one commit, so that a crash leaves all of them or none. A commit ends where
    /// a frame gets another ID, where a host begins a frame, and where a call is answered.
    fn carry_out(&self, actions: Vec<Action>) -> Vec<Effect> {
        let (mut effects, ended) = self.stack.broken_by_panic(|| {
            let mut carrying = Carrying { stack: self.stack, commands: Vec::new(), effects: Vec::new() };
            let ended: Vec<_> = actions.into_iter().filter_map(|action| carrying.carry_out(action)).collect();
            carrying.commit();
            (carrying.effects, ended)
        });
        for (call, problem) in ended {
            let ((), actions) = self.decide(|turn| turn.not_begun(call, problem));
            effects.extend(self.carry_out(actions));
        }
        effects
    }
}

/// Carries out the actions of a turn.
struct Carrying<'a> {
    stack: &'a Stack,
    /// Commands that are not committed yet.
    commands: Vec<Command>,
    effects: Vec<Effect>,
}

impl Carrying<'_> {
    /// Carries out an action. Returns the call that has to end because its frame could not be resumed, and
    /// the reason.
    fn carry_out(&mut self, action: Action) -> Option<(CallId, String)> {
        match action {
            Action::Command(command) => self.command(*command),
            Action::Begin { call, handle, caller, session_id, prompt } => {
                self.commit();
                let (frame, host, lease) = (handle.into(), self.stack.host_id(), self.stack.call_lease());
                let limits = Box::new(self.stack.root_limits());
                match self.stack.execute(Command::BeginCall { frame, session_id, caller, host, lease, limits }) {
                    Err(error) => return Some((call, error.to_string())),
                    Ok(_) => self.effects.extend(prompt),
                }
            }
            Action::End { handle } => {
                let host = self.stack.inner.host.id().unwrap_or_default();
                self.command(Command::EndCall { frame: handle.into(), host, interrupted: false });
            }
            Action::KeepMessages { frame, messages, may_repeat } => {
                // The frame may be new, and its log may get lines that these repeat.
                let adds_lines = |command: &Command| matches!(command, Command::AppendLog { .. });
                if self.stack.resolve(frame.clone()).is_err() || self.commands.iter().any(adds_lines) {
                    self.commit();
                }
                if let Some(entries) = self.stack.lines_to_keep(&frame, messages, may_repeat) {
                    self.command(Command::AppendLog { frame, entries });
                }
            }
            Action::Answer { call, handle, caller, problem } => {
                self.commit();
                let answer = self.stack.answer_of_call(call, handle, &caller, problem.as_deref());
                self.effects.push(answer);
            }
            Action::Effect(effect) => self.effects.push(effect),
        }
        None
    }

    fn command(&mut self, command: Command) {
        // The lines that follow belong to the log under its new name.
        let moves_log = matches!(command, Command::ReplaceId { .. } | Command::Enter { .. });
        self.commands.push(command);
        if moves_log {
            self.commit();
        }
    }

    fn commit(&mut self) {
        let commands = mem::take(&mut self.commands);
        self.effects.extend(self.stack.execute_or_postpone(commands).iter().map(refused));
    }
}

impl Stack {
    /// Handles an event or a tool call: waits until those of other threads are done, and calls `run`. All
    /// commands in it share one time limit.
    ///
    /// # Errors
    /// [`Error::InsideRead`] if this thread has the tree, or handles an event or a tool call already;
    /// [`Error::Busy`].
    pub(crate) fn in_order<T>(&self, run: impl FnOnce(&Turns<'_>) -> T) -> Result<T> {
        self.inner.tree.check_not_lent_here()?;
        let stack = self.as_one_call();
        let deadline = stack.begin_call();
        let order = self.inner.host.order.try_lock_for(deadline.remaining());
        let order = order.ok_or_else(|| deadline.missed(self.place()))?;
        let _order = order.try_borrow_mut().map_err(|_| Error::InsideRead {})?;
        Ok(run(&Turns { stack: &stack }))
    }

    /// The answer of a call, from the tree as it is now.
    fn answer_of_call(&self, call: CallId, handle: Handle, caller: &str, problem: Option<&str>) -> Effect {
        let tree = self.inner.tree.read();
        let state = self.inner.host.state.lock();
        let mut text = calls::answer(&tree, handle, problem, &state.sessions.tools);
        text.push_str(&state.sessions.place_line(caller, &tree));
        let title = match problem {
            Some(problem) => call_title::line(&format!("{}: {problem}", call_title::name(&tree, handle))),
            None => call_title::of_frame(&tree, handle),
        };
        let ended = call_title::ended(&tree, &[handle]);
        Effect::Answer { call, text, title, ended }
    }

    /// Executes commands of a turn together. If the journal does not allow them now, one of the next turns
    /// executes them: the decision that they follow from is made, and is not made again. Returns the errors.
    fn execute_or_postpone(&self, commands: Vec<Command>) -> Vec<Error> {
        if commands.is_empty() {
            return Vec::new();
        }
        let (error, first) = match self.execute_together(commands.clone()) {
            Ok(refused) => return refused,
            Err(failure) => failure,
        };
        let is_of_journal = matches!(error.class(), ErrorClass::Passing | ErrorClass::Storage);
        let is_line = |command: &Command| matches!(command, Command::AppendLog { .. });
        let (lines, others): (Vec<Command>, Vec<Command>) = commands.iter().cloned().partition(is_line);
        // A log that cannot be written does not prevent other records.
        let failed = Postponed { commands, first };
        if is_of_journal && !lines.is_empty() && !others.is_empty() && self.has_kept(&failed) == Ok(false) {
            let errors = self.execute_or_postpone(others);
            self.postpone(Postponed { commands: lines, first: None });
            return [error].into_iter().chain(errors).collect();
        }
        if is_of_journal {
            self.postpone(failed);
        }
        vec![error]
    }

    fn postpone(&self, Postponed { commands, first }: Postponed) {
        let postponed = &mut self.inner.host.state.lock().postponed;
        let waiting: usize = postponed.iter().map(|postponed| postponed.commands.len()).sum();
        // Lines of logs have the texts of messages, so fewer of them wait.
        let may_wait = |command: &Command| match command {
            Command::AppendLog { .. } => waiting < MOST_POSTPONED / 10,
            _ => waiting < MOST_POSTPONED,
        };
        let commands: Vec<Command> = commands.into_iter().filter(may_wait).collect();
        if !commands.is_empty() {
            postponed.push(Postponed { commands, first });
        }
    }

    /// Executes the commands that the journal has not allowed before, commit by commit, until a commit has to
    /// wait again.
    fn execute_postponed(&self) {
        let mut postponed = mem::take(&mut self.inner.host.state.lock().postponed).into_iter();
        while let Some(next) = postponed.next() {
            let Ok(was_kept) = self.has_kept(&next) else {
                let mut state = self.inner.host.state.lock();
                state.postponed.push(next);
                state.postponed.extend(postponed);
                return;
            };
            let commands = match was_kept {
                false => next.commands,
                // Lines in files beside the database were removed again.
                true => next.commands.into_iter().filter(|command| self.was_taken_back(command)).collect(),
            };
            self.execute_or_postpone(commands);
            let mut state = self.inner.host.state.lock();
            if !state.postponed.is_empty() {
                state.postponed.extend(postponed);
                return;
            }
        }
    }

    /// True if the store has kept commands whose commit has failed.
    fn has_kept(&self, postponed: &Postponed) -> Result<bool> {
        let Some(first) = &postponed.first else { return Ok(false) };
        self.refresh()?;
        let found = self.history().events(&EventQuery::default().since(first.revision - 1).limit(1))?;
        Ok(found.first() == Some(&**first))
    }

    /// True for lines of a log that are not part of the commit that has failed although the store kept it.
    fn was_taken_back(&self, command: &Command) -> bool {
        matches!(command, Command::AppendLog { .. }) && self.inner.stored_logs.is_none()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// A panic in a turn leaves the sessions partially changed.
    #[test]
    fn a_panic_in_a_turn_breaks_the_stack() {
        let stack = Stack::in_memory();
        let turn = || stack.in_order(|turns| turns.turn(|_| panic!("provoked by a test")));
        let turn = catch_unwind(AssertUnwindSafe(turn));
        assert!(turn.is_err());
        assert!(stack.is_broken());
        assert_eq!(stack.host().context("ses_1").unwrap_err(), Error::Broken {});
    }
}
