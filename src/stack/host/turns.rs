//! Turns: events and tool calls are handled one after the other, and their actions are executed.

use std::mem;

use super::log_lines::refused;
use crate::error::{Error, ErrorClass, Result};
use crate::session::calls::{self, CallId};
use crate::session::{Action, Effect, Turn, call_title};
use crate::stack::Stack;
use crate::tree::Command;

/// Maximum number of commands that wait for the journal.
const POSTPONED_COMMANDS: usize = 1_000;

/// The turns of one event or tool call.
pub(crate) struct Turns<'a> {
    pub(crate) stack: &'a Stack,
}

impl Turns<'_> {
    /// Runs `decide` with a turn, executes the actions of the turn, and returns the value and the effects for the host.
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

    /// Goes on with what depends on the tree after the actions, until nothing is left to do.
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

    /// Executes actions in their order, and ends the calls whose frames could not be resumed.
    fn carry_out(&self, actions: Vec<Action>) -> Vec<Effect> {
        let mut effects = Vec::new();
        let carry_out = |action| self.stack.carry_out(action, &mut effects);
        let ended: Vec<_> = self.stack.broken_by_panic(|| actions.into_iter().filter_map(carry_out).collect());
        for (call, problem) in ended {
            let ((), actions) = self.decide(|turn| turn.not_begun(call, problem));
            effects.extend(self.carry_out(actions));
        }
        effects
    }
}

impl Stack {
    /// Handles an event or a tool call: waits until those of other threads are done, and calls `run`. All commands in it
    /// share one time limit.
    ///
    /// # Errors
    /// [`Error::InsideRead`] if this thread has the tree, or handles an event or a tool call already; [`Error::Busy`].
    pub(crate) fn in_order<T>(&self, run: impl FnOnce(&Turns<'_>) -> T) -> Result<T> {
        self.inner.tree.check_not_lent_here()?;
        let stack = self.as_one_call();
        let deadline = stack.begin_call();
        let order = self.inner.host.order.try_lock_for(deadline.remaining());
        let order = order.ok_or_else(|| deadline.missed(self.place()))?;
        let _order = order.try_borrow_mut().map_err(|_| Error::InsideRead {})?;
        Ok(run(&Turns { stack: &stack }))
    }

    /// Carries out an action. Returns the call that has to end because its frame could not be resumed, and the reason.
    fn carry_out(&self, action: Action, effects: &mut Vec<Effect>) -> Option<(CallId, String)> {
        let refused = match action {
            Action::Command(command) => self.execute_or_postpone(command),
            Action::Begin { call, handle, caller, session_id, prompt } => {
                let (frame, host, lease) = (handle.into(), self.host_id(), self.call_lease());
                let limits = Box::new(self.root_limits());
                match self.execute(Command::BeginCall { frame, session_id, caller, host, lease, limits }) {
                    Err(error) => return Some((call, error.to_string())),
                    Ok(_) => {
                        effects.extend(prompt);
                        None
                    }
                }
            }
            Action::End { handle } => {
                let host = self.inner.host.id().unwrap_or_default();
                self.execute_or_postpone(Command::EndCall { frame: handle.into(), host, interrupted: false })
            }
            Action::KeepMessages { frame, messages, may_repeat } => {
                self.keep_messages(&frame, messages, may_repeat).err()
            }
            Action::Answer { call, handle, caller, problem } => {
                let tree = self.inner.tree.read();
                let state = self.inner.host.state.lock();
                let mut text = calls::answer(&tree, handle, problem.as_deref(), &state.sessions.tools);
                text.push_str(&state.sessions.place_line(&caller, &tree));
                let title = match problem {
                    Some(problem) => call_title::line(&format!("{}: {problem}", call_title::name(&tree, handle))),
                    None => call_title::of_frame(&tree, handle),
                };
                let ended = call_title::ended(&tree, &[handle]);
                drop((state, tree));
                effects.push(Effect::Answer { call, text, title, ended });
                None
            }
            Action::Effect(effect) => {
                effects.push(effect);
                None
            }
        };
        effects.extend(refused.as_ref().map(self::refused));
        None
    }

    /// Executes a command of a turn. If the journal does not allow it now, the command is executed by one of the next turns: the
    /// decision that it follows from is made, and is not made again. Returns the error.
    fn execute_or_postpone(&self, command: Command) -> Option<Error> {
        let error = self.execute(command.clone()).err()?;
        // Of a command whose outcome is unknown, the next one finds the events if it was kept. A repeated one is then refused, or
        // changes nothing.
        let is_of_journal = matches!(error.class(), ErrorClass::Passing | ErrorClass::Storage);
        let postponed = &mut self.inner.host.state.lock().postponed;
        if is_of_journal && postponed.len() < POSTPONED_COMMANDS {
            postponed.push(command);
        }
        Some(error)
    }

    /// Executes the commands that the journal has not allowed before.
    fn execute_postponed(&self) {
        let postponed = mem::take(&mut self.inner.host.state.lock().postponed);
        for command in postponed {
            self.execute_or_postpone(command);
        }
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
