//! The results of frames whose sessions have ended without a pop: the reason, the work that was done, and a
//! summary or the last words of the session.

use super::compaction::Message;
use super::turn::Turn;
use crate::dense::dense_characters;
use crate::frame::{Frame, FrameStatus, Handle, Results, SALVAGED};
use crate::text::{newest_lines, one_line};
use crate::tree::{Command, Records};

/// Maximum number of files that are named. The newest files are named.
const NAMED_FILES: usize = 5;
/// Maximum length of the last decision, in characters.
const DECISION_CHARACTERS: usize = 200;

/// The work of a session on its frame.
struct Work {
    /// In milliseconds.
    duration: u64,
    messages: u32,
    tool_calls: u32,
}

impl Turn<'_> {
    /// Blocks a frame whose session has ended without a pop, with the results so far. A frame that was
    /// stopped meanwhile only gets the results. A frame that was blocked with results of its own keeps its
    /// results. `messages` are the messages of the session, if they were read.
    pub(super) fn block_salvaged(
        &mut self,
        handle: Handle,
        session_id: &str,
        reason: &str,
        messages: &[Message],
        last_words: Results,
    ) {
        let work = self.work(session_id, messages);
        let frame = self.tree.node(handle).record();
        let cause = format!("{reason}; {}", done(&work, frame));
        let results = salvaged_results(&cause, last_words);
        let frame_ref = handle.into();
        match frame.status {
            FrameStatus::Blocked if frame.is_salvaged() || frame.results.is_none() => {
                self.command(Command::Record { frame: frame_ref, records: Records::of_results(results) });
            }
            FrameStatus::Blocked => {}
            _ => {
                let question = Some(format!("It was interrupted: {cause}"));
                let results = Some(results);
                self.command(Command::Block { frame: frame_ref, question, results, interruption: true });
            }
        }
    }

    /// The work of a session on its frame, as far as this process knows it.
    fn work(&mut self, session_id: &str, messages: &[Message]) -> Work {
        let call = self.sessions.calls.of_session(session_id).map(|(_, call)| call.begun_at);
        let subagent = || self.sessions.subagents.get(session_id).map(|subagent| subagent.created_at);
        let begun_at = call.or_else(subagent).unwrap_or(self.now);
        let is_reply = |message: &&Message| message.role == "assistant" && !message.text.trim().is_empty();
        let read = messages.iter().filter(is_reply).count();
        let observation = self.sessions.observe(session_id);
        Work {
            duration: self.now.saturating_sub(begun_at),
            messages: observation.replies().max(u32::try_from(read).unwrap_or(u32::MAX)),
            tool_calls: observation.tool_calls(),
        }
    }
}

/// The results of a salvaged frame: the last words of its session, marked with the cause.
fn salvaged_results(cause: &str, last_words: Results) -> Results {
    let marked = |words: String| {
        let words = if words.is_empty() { "It left no last words." } else { &words };
        format!("{SALVAGED}{cause}] {words}")
    };
    Results { full: marked(last_words.full), compacted: marked(last_words.compacted) }
}

/// The work that was done. It shows whether a frame has done nothing or was interrupted in its work.
fn done(work: &Work, frame: &Frame) -> String {
    let Work { duration, messages, tool_calls } = *work;
    if messages == 0 && tool_calls == 0 {
        return format!("it did nothing in {}", span(duration));
    }
    let mut text = format!(
        "it worked for {}: {}, {}",
        span(duration),
        counted(messages, "message"),
        counted(tool_calls, "tool call")
    );
    if !frame.artifacts.is_empty() {
        let (named, skipped) = newest_lines(&frame.artifacts, NAMED_FILES, ", ");
        let older = if skipped > 0 { format!(" and {skipped} older") } else { String::new() };
        text.push_str(&format!("; artifacts: {named}{older}"));
    }
    if let Some(decision) = frame.decisions.last() {
        text.push_str(&format!("; last decision: {}", one_line(&dense_characters(decision, DECISION_CHARACTERS))));
    }
    text
}

fn counted(count: u32, thing: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{ending}")
}

/// A time span in the largest unit that makes at least two.
fn span(milliseconds: u64) -> String {
    match milliseconds / 1_000 {
        0 => format!("{milliseconds} ms"),
        seconds @ 1..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_the_largest_unit_of_which_they_have_two() {
        for (milliseconds, expected) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_000, "1 s"),
            (119_999, "119 s"),
            (120_000, "2 min"),
            (7_199_999, "119 min"),
            (7_200_000, "2 h"),
        ] {
            assert_eq!(span(milliseconds), expected);
        }
    }

    #[test]
    fn a_frame_that_never_ran_differs_from_one_that_worked() {
        let mut frame = Frame::default();
        let idle = Work { duration: 40, messages: 0, tool_calls: 0 };
        let results = |work: &Work, frame: &Frame| {
            salvaged_results(&format!("its caller was aborted; {}", done(work, frame)), Results::new("")).full
        };
        assert_eq!(
            results(&idle, &frame),
            "[auto-completed: its caller was aborted; it did nothing in 40 ms] It left no last words."
        );
        frame.artifacts = (1..=6).map(|number| format!("src/{number}.rs")).collect();
        frame.decisions = vec!["first".into(), "JWT,\nas the others do".into()];
        let busy = Work { duration: 19 * 60_000, messages: 12, tool_calls: 1 };
        assert_eq!(
            results(&busy, &frame),
            "[auto-completed: its caller was aborted; it worked for 19 min: 12 messages, 1 tool call; artifacts: \
             src/2.rs, src/3.rs, src/4.rs, src/5.rs, src/6.rs and 1 older; last decision: JWT, as the others do] It left \
             no last words."
        );
    }
}
