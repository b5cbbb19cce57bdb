//! Turns: events and tool calls are handled one after the other, and their actions are executed.

use std::mem;

use super::log_lines::refused;
use crate::error::{Error, ErrorClass, Result};
use crate::frame::{Event, FrameRef, Handle};
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

    /// Carries out actions in their order, and ends the calls whose frames could not be begun. All commands are
    /// one commit, so that a crash leaves all of them or none, and so that the disk or the server is waited
    /// for once. Exceptions: a commit ends before lines for a log that the commit moves, and before lines that
    /// have to be compared with lines of the same commit.
    fn carry_out(&self, actions: Vec<Action>) -> Vec<Effect> {
        let (mut effects, ended) = self.stack.broken_by_panic(|| {
            let mut carrying = Carrying::new(self.stack);
            actions.into_iter().for_each(|action| carrying.carry_out(action));
            carrying.commit();
            (carrying.effects, carrying.ended)
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
    /// The effects that depend on the commit: see [`Later`].
    later: Vec<Later>,
    effects: Vec<Effect>,
    /// The calls that have to end because their frames could not be begun, and the reasons.
    ended: Vec<(CallId, String)>,
}

/// An effect that follows from the commands that are not committed yet, with the number of effects before it.
enum Later {
    /// A call begins with the command in this place.
    Begin { before: usize, place: usize, call: CallId, prompt: Option<Effect> },
    /// A call is answered from the tree after the commit.
    Answer { before: usize, call: CallId, handle: Handle, caller: String, problem: Option<String> },
}

impl<'a> Carrying<'a> {
    fn new(stack: &'a Stack) -> Self {
        Self { stack, commands: Vec::new(), later: Vec::new(), effects: Vec::new(), ended: Vec::new() }
    }

    /// Carries out an action, perhaps together with later ones.
    fn carry_out(&mut self, action: Action) {
        match action {
            Action::Command(command) => self.command(*command),
            Action::Begin { call, handle, caller, session_id, prompt } => {
                let (frame, host, lease) = (handle.into(), self.stack.host_id(), self.stack.call_lease());
                let limits = Box::new(self.stack.root_limits());
                let (before, place) = (self.effects.len(), self.commands.len());
                self.later.push(Later::Begin { before, place, call, prompt });
                self.command(Command::BeginCall { frame, session_id, caller, host, lease, limits });
            }
            Action::End { handle } => {
                let host = self.stack.inner.host.id().unwrap_or_default();
                self.command(Command::EndCall { frame: handle.into(), host, interrupted: false });
            }
            Action::KeepMessages { frame, messages, may_repeat } => {
                // The log may get lines that these repeat, or the frame may be made in another way than by its
                // session.
                let is_unknown = self.stack.resolve(frame.clone()).is_err();
                let is_new = is_unknown && self.commands.iter().any(|command| makes(command, &frame));
                if (is_unknown && !is_new) || (may_repeat && self.commands.iter().any(adds_lines)) {
                    self.commit();
                }
                if let Some(entries) = self.stack.lines_to_keep(&frame, messages, may_repeat, is_new) {
                    self.command(Command::AppendLog { frame, entries });
                }
            }
            Action::Answer { call, handle, caller, problem } => {
                let before = self.effects.len();
                self.later.push(Later::Answer { before, call, handle, caller, problem });
            }
            Action::Effect(effect) => self.effects.push(effect),
        }
    }

    fn command(&mut self, command: Command) {
        // The lines belong to the log under its new name.
        if adds_lines(&command) && self.commands.iter().any(moves_log) {
            self.commit();
        }
        self.commands.push(command);
    }

    fn commit(&mut self) {
        let commands = mem::take(&mut self.commands);
        let count = commands.len();
        let errors = self.stack.execute_or_postpone(commands);
        let mut begins = Vec::new();
        let mut made = Vec::new();
        for later in mem::take(&mut self.later) {
            match later {
                Later::Begin { before, place, call, prompt } => {
                    begins.push(place);
                    match errors.iter().find(|(failed, _)| failed.is_none_or(|failed| failed == place)) {
                        Some((_, error)) => self.ended.push((call, error.to_string())),
                        None => made.extend(prompt.map(|prompt| (before, prompt))),
                    }
                }
                Later::Answer { before, call, handle, caller, problem } => {
                    made.push((before, self.stack.answer_of_call(call, handle, &caller, problem.as_deref())));
                }
            }
        }
        // From the last one, so that the places of the others stay.
        made.into_iter().rev().for_each(|(before, effect)| self.effects.insert(before, effect));
        // The end of a call says why it could not begin.
        let is_of_begin = |failed: &Option<usize>| match failed {
            Some(failed) => begins.contains(failed),
            None => begins.len() == count,
        };
        let reported = errors.iter().filter(|(failed, _)| !is_of_begin(failed));
        self.effects.extend(reported.map(|(_, error)| refused(error)));
    }
}

/// True if a command makes the frame of this session.
fn makes(command: &Command, frame: &FrameRef) -> bool {
    matches!((command, frame), (Command::Ensure { session_id, .. }, FrameRef::Id(id)) if session_id == id)
}

/// True if a command adds lines to a log.
fn adds_lines(command: &Command) -> bool {
    matches!(command, Command::AppendLog { .. } | Command::RecordConversation { .. })
}

/// True if a command may give a log another name.
fn moves_log(command: &Command) -> bool {
    matches!(
        command,
        Command::ReplaceId { .. } | Command::Enter { .. } | Command::BeginCall { session_id: Some(_), .. }
    )
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
    /// executes them: the decision that they follow from is made, and is not made again. A call that cannot
    /// begin now does not begin later. Returns the errors with the places of the commands; without a place,
    /// it is that of all commands.
    fn execute_or_postpone(&self, commands: Vec<Command>) -> Vec<(Option<usize>, Error)> {
        if commands.is_empty() {
            return Vec::new();
        }
        let (error, first) = match self.execute_together(commands.clone()) {
            Ok(refused) => return refused.into_iter().map(|(place, error)| (Some(place), error)).collect(),
            Err(failure) => failure,
        };
        let is_of_journal = matches!(error.class(), ErrorClass::Passing | ErrorClass::Storage);
        let is_line = |command: &Command| matches!(command, Command::AppendLog { .. });
        let places: Vec<usize> = (0..commands.len()).filter(|place| !is_line(&commands[*place])).collect();
        let (lines, others): (Vec<Command>, Vec<Command>) = commands.iter().cloned().partition(is_line);
        // A log that cannot be written does not prevent other records.
        let failed = Postponed { commands, first };
        if is_of_journal && !lines.is_empty() && !others.is_empty() && self.has_kept(&failed) == Ok(false) {
            let errors = self.execute_or_postpone(others);
            self.postpone(Postponed { commands: lines, first: None });
            let line = failed.commands.iter().position(is_line);
            let placed = errors.into_iter().map(|(place, error)| (place.map(|place| places[place]), error));
            return [(line, error)].into_iter().chain(placed).collect();
        }
        if is_of_journal {
            self.postpone(failed);
        }
        vec![(None, error)]
    }

    fn postpone(&self, Postponed { commands, first }: Postponed) {
        let postponed = &mut self.inner.host.state.lock().postponed;
        let waiting: usize = postponed.iter().map(|postponed| postponed.commands.len()).sum();
        // Lines of logs have the texts of messages, so fewer of them wait.
        let may_wait = |command: &Command| match command {
            Command::BeginCall { .. } => false,
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
