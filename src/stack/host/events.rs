//! What a host reports, and its polls: each returns the effects that follow.

use super::Host;
use super::log_lines::refused;
use crate::session::{Effect, HostEvent, Turn};
use crate::stack::Stack;

/// Time until commands that wait for the journal are tried again, in milliseconds.
const RETRY_INTERVAL: u64 = 1_000;

impl Host<'_> {
    /// Reports an event of the host, and returns the effects that the host should perform. Changes of the
    /// tree that follow from the event are committed before this returns. A change that is refused is
    /// reported as an [`Effect::Log`]. Events are handled one after the other; a call waits for the events of
    /// other threads, up to [`StackOptions::busy_timeout`](crate::StackOptions::busy_timeout). If they take
    /// longer, or if this is called inside of [`Stack::read`] or in code that the stack calls, the event is
    /// refused as a whole. Then the only effect is an [`Effect::Log`] with the reason.
    ///
    /// ```
    /// use callstack_core::Stack;
    /// use callstack_core::session::HostEvent;
    ///
    /// let stack = Stack::in_memory();
    /// let report = |json: &str| stack.host().report(serde_json::from_str::<HostEvent>(json).unwrap());
    /// let effects = report(r#"{"kind": "sessionCreated", "sessionID": "ses_1", "title": "Shop"}"#);
    /// assert!(effects.is_empty());
    /// # let _ =
    /// report(r#"{"kind": "message", "sessionID": "ses_1", "messageID": "m1", "role": "user", "text": "Build a shop"}"#);
    /// assert_eq!(stack.frame("ses_1")?.success_criteria, "Build a shop");
    /// assert!(stack.host().context("ses_1")?.unwrap().context.xml.contains("Build a shop"));
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    #[must_use = "the host has to carry out the effects"]
    pub fn report(&self, event: HostEvent) -> Vec<Effect> {
        // Titles are matched while nothing is locked.
        let patterns = self.stack.inner.host.state.lock().sessions.subagents.patterns();
        let event = patterns.receive(event);
        self.turn(self.stack, |turn| turn.report(event))
    }

    /// Handles everything that is due: the work of [`Stack::refresh`] and
    /// [`Upkeep::poll`](crate::stack::Upkeep::poll), idle subagents, calls that have reached their time
    /// limit, expired suggestions, and answers to blocked frames, also answers from other processes. While
    /// the frame of a known session is blocked, a poll is due each second. Returns the effects, including the
    /// collected log lines. Call it at the time that [`Host::deadline`] returns. After the first call,
    /// commands leave `state.json` to it, also with
    /// [`Mirroring::WithCommands`](crate::Mirroring::WithCommands).
    #[must_use = "the host has to carry out the effects"]
    pub fn poll(&self) -> Vec<Effect> {
        self.stack.inner.host.state.lock().is_polling = true;
        let call = self.stack.as_one_call();
        // The next command reports an error of the store.
        let _ = call.refresh();
        call.upkeep().poll();
        self.turn(&call, |turn| turn.poll())
    }

    /// Runs `decide` with a turn, and returns the effects. If the call is refused, the effect is a log line.
    fn turn(&self, call: &Stack, decide: impl FnOnce(&mut Turn<'_>)) -> Vec<Effect> {
        call.in_order(|turns| turns.turn(decide).1).unwrap_or_else(|error| vec![refused(&error)])
    }

    /// The time at which [`Host::poll`] should be called, in milliseconds since the Unix epoch. `None` if
    /// nothing is pending.
    ///
    /// Spans are measured by a clock that is never set back:
    /// [`StackOptions::monotonic_clock`](crate::StackOptions). This is the end of the span in the present
    /// time of day, so subtract the present time from it at once, and wait for the difference. It can be far
    /// away: a timer with a limit should fire at its limit and ask again.
    pub fn deadline(&self) -> Option<u64> {
        let files = self.stack.upkeep().deadline();
        let (has_lines, has_postponed, sessions) = {
            let state = self.stack.inner.host.state.lock();
            (!state.waiting.is_empty(), !state.postponed.is_empty(), state.sessions.deadline())
        };
        if has_lines {
            // Due now, but not returned by each call: the poll fetches the lines of several calls together.
            return Some((self.stack.inner.clock)());
        }
        let inner = &self.stack.inner;
        let sessions = sessions.map(|deadline| inner.span_clock.time_of_day(deadline, &inner.clock));
        let again = has_postponed.then(|| (inner.clock)().saturating_add(RETRY_INTERVAL));
        files.into_iter().chain(sessions).chain(again).min()
    }
}

impl Stack {
    /// True if the host polls.
    pub(in crate::stack) fn is_polled(&self) -> bool {
        self.inner.host.state.lock().is_polling
    }
}
