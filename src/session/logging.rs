//! How a [`Turn`] keeps the messages of sessions in the logs of their frames, while the sessions work and
//! when they end.

use super::calls::Progress;
use super::compaction::Message;
use super::effect::{Action, Effect};
use super::known_session::LogProgress;
use super::turn::Turn;
use crate::frame::FrameRef;

/// Maximum number of messages that wait for the earlier messages of their session.
const WAITING_MESSAGES: usize = 64;

impl Turn<'_> {
    /// Logs a message that will not change any more. The first such message of a session makes the library
    /// ask for the messages before it.
    pub(super) fn message_finished(&mut self, session_id: &str, message: Message) {
        let is_framed = self.sessions.subagents.get(session_id).is_some_and(|subagent| subagent.has_frame);
        let has_frame = is_framed || self.tree.by_id(session_id).is_some();
        let Some(session) = self.sessions.known.get_mut(session_id).filter(|_| has_frame) else { return };
        let log = &mut session.log;
        match &mut log.progress {
            LogProgress::Unknown => {
                log.progress = LogProgress::Asked(vec![message]);
                self.effect(Effect::ReadMessages { session_id: session_id.to_owned() });
            }
            LogProgress::Asked(waiting) if waiting.len() < WAITING_MESSAGES => waiting.push(message),
            LogProgress::Asked(waiting) => {
                let mut messages = std::mem::take(waiting);
                messages.push(message);
                self.log_messages(session_id, messages);
            }
            LogProgress::Complete => {
                if log.logged.is_new(&message.id) {
                    self.keep(session_id, vec![message], false);
                }
            }
        }
    }

    /// Logs the messages of a session, after those that were finished while the host read them.
    pub(super) fn keep_messages(&mut self, session_id: &str, mut messages: Vec<Message>) {
        let session = self.sessions.known.get_mut(session_id);
        let begun_with = session.as_ref().and_then(|session| session.begun_with.as_ref());
        if let Some(first) = messages.iter().position(|message| Some(&message.id) == begun_with) {
            // The messages before it belong to an earlier frame, which is finished.
            messages.drain(..first);
        }
        if let Some(LogProgress::Asked(waiting)) = session.map(|session| &mut session.log.progress) {
            let later = std::mem::take(waiting);
            let is_missing = |message: &Message| messages.iter().all(|read| read.id != message.id);
            let later: Vec<_> = later.into_iter().filter(is_missing).collect();
            messages.extend(later);
        }
        self.log_messages(session_id, messages);
    }

    /// True if the session has come to its end, so that a message without an end will not get one.
    pub(super) fn is_at_its_end(&self, session_id: &str) -> bool {
        let call = self.sessions.calls.of_session(session_id);
        let is_salvaged = call.is_some_and(|(_, call)| matches!(call.progress, Progress::Salvaging { .. }));
        is_salvaged || self.sessions.ending.contains_key(session_id)
    }

    /// Logs all messages up to now.
    fn log_messages(&mut self, session_id: &str, messages: Vec<Message>) {
        if let Some(session) = self.sessions.known.get_mut(session_id) {
            // An empty list of an unknown session can come from a compaction that failed.
            if !messages.is_empty() || !matches!(session.log.progress, LogProgress::Unknown) {
                session.log.progress = LogProgress::Complete;
            }
            for message in &messages {
                session.log.logged.is_new(&message.id);
            }
        }
        if !messages.is_empty() {
            self.keep(session_id, messages, true);
        }
    }

    /// Logs messages, each in the frame in which the conversation was at the time of the message.
    fn keep(&mut self, session_id: &str, messages: Vec<Message>, may_repeat: bool) {
        let mut parts: Vec<(FrameRef, Vec<Message>)> = Vec::new();
        for message in messages {
            if self.sessions.is_from_before(session_id, message.time) {
                continue;
            }
            let frame = self.sessions.frame_at(session_id, message.time);
            match parts.last_mut().filter(|(last, _)| *last == frame) {
                Some((_, messages)) => messages.push(message),
                None => parts.push((frame, vec![message])),
            }
        }
        for (frame, messages) in parts {
            self.act(Action::KeepMessages { frame, messages, may_repeat });
        }
    }
}

/// Returns the messages without those that still change.
pub(super) fn finished_only(mut messages: Vec<Message>) -> Vec<Message> {
    messages.retain(|message| !message.unfinished);
    messages
}
