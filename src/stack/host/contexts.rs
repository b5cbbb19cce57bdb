//! The contexts of sessions, and the frames in which sessions are.

use std::sync::Arc;

use serde_json::json;

use super::Host;
use crate::context::{Advice, Context, Conversation, Key};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::frame::Handle;
use crate::session::LogLevel;
use crate::session::autonomy::AutonomyLevel;

/// The context of a session, and the frame of the session.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SessionContext {
    /// The session's frame.
    pub handle: Handle,
    /// The context of the frame.
    pub context: Arc<Context>,
}

impl Host<'_> {
    /// Returns the context of a session's frame, with the current settings of the host and the suggestions
    /// for the session's agent. `None` if the session has no frame, or if the settings disable contexts for
    /// this subagent.
    ///
    /// # Errors
    /// [`Error::BudgetTooSmall`], [`Error::Setting`], [`Error::Broken`].
    pub fn context(&self, session_id: &str) -> Result<Option<SessionContext>> {
        self.context_for(session_id, true)
    }

    /// The context of a session for a request to its model, or for a caller that only looks at it.
    pub(crate) fn context_for(&self, session_id: &str, is_request: bool) -> Result<Option<SessionContext>> {
        self.stack.check_working()?;
        let now = self.stack.inner.span_clock.now();
        let tree = self.stack.inner.tree.read();
        let (handle, base, settings, suggestions, planning, conversation, above, news) = {
            let mut state = self.stack.inner.host.state.lock();
            let sessions = &mut state.sessions;
            let places = (sessions.place(session_id, &tree), sessions.base(session_id, &tree));
            let (Some(handle), Some(base)) = places else { return Ok(None) };
            if is_request {
                sessions.asked_model(session_id, &tree);
            }
            let subagents = &state.sessions.subagents;
            if subagents.get(session_id).is_some() && !subagents.settings().inject_parent_context {
                return Ok(None);
            }
            let autonomy = &state.sessions.autonomy;
            let level = autonomy.settings.level;
            let is_open = tree.node(handle).status().is_open();
            let is_shown = is_open && autonomy.settings.suggest_in_context && level != AutonomyLevel::Manual;
            let suggestions = is_shown.then(|| autonomy.suggestions.text(handle, now, &state.context.tools)).flatten();
            let planning = state.sessions.needs_planning_advice(session_id);
            let conversation_of = |frame: Handle| {
                let has_criteria = state.sessions.has_criteria(session_id, frame, &tree);
                Conversation {
                    is_called: tree.by_id(session_id) == Some(frame) && state.sessions.is_frame_called(session_id),
                    has_criteria,
                    says_place: has_criteria && state.sessions.says_place(session_id, frame, &tree),
                }
            };
            let conversation = conversation_of(handle);
            let base = (base != handle).then(|| (base, conversation_of(base)));
            let above = state.sessions.untold_above(session_id, &tree);
            let news = state.sessions.news(session_id);
            let suggestions = suggestions.unwrap_or_default();
            (handle, base, state.context.clone(), suggestions, planning, conversation, above, news)
        };
        let advice = Advice { suggestions: &suggestions, planning, conversation, base, above: &above, news: &news };
        let key = Key::new(&tree, handle, &settings, advice);
        drop(tree);
        let (context, is_cached) = self.stack.cached_context(&key, now)?;
        let data = json!({ "sessionID": session_id, "handle": handle, "tokens": context.tokens, "cached": is_cached });
        let mut state = self.stack.inner.host.state.lock();
        state.sessions.shown_news(session_id, news.len());
        state.log(LogLevel::Debug, "Context generated", data);
        drop(state);
        Ok(Some(SessionContext { handle, context }))
    }

    /// Returns the frame in which the conversation of a session is: the session's own frame, or a frame that
    /// it has begun and [works on itself](crate::session::calls::CallPlace::Conversation). `None` if the
    /// session has no frame.
    pub fn place(&self, session_id: &str) -> Option<Handle> {
        let tree = self.stack.inner.tree.read();
        let state = self.stack.inner.host.state.lock();
        state.sessions.place(session_id, &tree)
    }
}
