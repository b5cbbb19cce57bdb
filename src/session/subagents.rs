//! Subagents: child sessions that the host's own tools start. Which ones are recognised, when they are
//! worth a frame, and when one that has gone idle counts as done (specification, "Subagent Integration").
//!
//! A child session whose title fits a pattern is a subagent, and gets a frame at once, so that its first
//! request already has a context of its own. Another child session gets one when it goes idle after it has
//! done something: as long and with as many messages as the settings say. A subagent that is idle for a
//! while is completed; any activity before that calls it off.
//!
//! ```
//! use callstack_core::Tree;
//! use callstack_core::session::{HostEvent, Sessions};
//!
//! let (tree, mut sessions) = (Tree::new(), Sessions::default());
//! for (event, now) in [
//!     (r#"{"kind": "sessionCreated", "sessionID": "ses_1"}"#, 0),
//!     (r#"{"kind": "sessionCreated", "sessionID": "ses_2", "parentID": "ses_1", "title": "look (@general subagent)"}"#, 0),
//!     (r#"{"kind": "sessionIdle", "sessionID": "ses_2"}"#, 9_000),
//! ] {
//!     sessions.report(&tree, serde_json::from_str::<HostEvent>(event).unwrap(), now);
//! }
//! let subagent = sessions.subagents.get("ses_2").unwrap();
//! assert!(subagent.is_subagent && subagent.has_frame);
//! assert_eq!((subagent.completes_at, sessions.deadline()), (Some(14_000), Some(14_000)));
//! ```

use std::collections::BTreeMap;

use regex_lite::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::variables::{Variables, flag, number};

/// How long a completed session is remembered, in milliseconds.
const REMEMBERED: u64 = 3_600_000;

/// The settings of subagents (specification, "Subagent Integration").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SubagentSettings {
    /// Whether child sessions are tracked at all. Default true.
    pub enabled: bool,
    /// From how long on a session without a fitting title is worth a frame, in milliseconds. Default 60,000.
    pub min_duration: u64,
    /// From how many messages on. Default 3.
    pub min_message_count: u64,
    /// Whether an idle subagent is completed. Default true.
    pub auto_complete_on_idle: bool,
    /// After how long, in milliseconds. Default 5,000.
    pub idle_completion_delay: u64,
    /// Whether a subagent's requests get a context. Default true.
    pub inject_parent_context: bool,
    /// Whether its last words become its frame's results. Default true.
    pub propagate_summaries: bool,
    /// Regular expressions that a subagent's title fits, whatever the case. Default `@.*subagent`, `subagent`,
    /// `\[Task\]`.
    pub patterns: Vec<String>,
}

impl Default for SubagentSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            min_duration: 60_000,
            min_message_count: 3,
            auto_complete_on_idle: true,
            idle_completion_delay: 5_000,
            inject_parent_context: true,
            propagate_summaries: true,
            patterns: ["@.*subagent", "subagent", r"\[Task\]"].map(str::to_owned).to_vec(),
        }
    }
}

impl SubagentSettings {
    /// The defaults, with what the environment variables `STACK_SUBAGENT_ENABLED`, `…_MIN_DURATION`,
    /// `…_MIN_MESSAGES`, `…_AUTO_COMPLETE`, `…_IDLE_DELAY` and `…_PATTERNS` (with commas between them) say,
    /// looked up by a function. A variable that makes no sense is reported, and its default stays.
    pub fn from_variables(look_up: impl Fn(&str) -> Option<String>) -> (Self, Vec<Error>) {
        let mut settings = Self::default();
        let mut variables = Variables::new(&look_up);
        variables.take("STACK_SUBAGENT_ENABLED", &mut settings.enabled, flag);
        variables.take("STACK_SUBAGENT_MIN_DURATION", &mut settings.min_duration, number);
        variables.take("STACK_SUBAGENT_MIN_MESSAGES", &mut settings.min_message_count, number);
        variables.take("STACK_SUBAGENT_AUTO_COMPLETE", &mut settings.auto_complete_on_idle, flag);
        variables.take("STACK_SUBAGENT_IDLE_DELAY", &mut settings.idle_completion_delay, number);
        if let Some(patterns) = variables.list("STACK_SUBAGENT_PATTERNS") {
            settings.patterns = patterns;
        }
        (settings, variables.problems)
    }
}

/// What should be done about a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// It is worth a frame below its parent's. [`Subagents::framed`] says that it has one.
    CreateFrame(String),
    /// It has been idle for long enough: its frame is done. [`Subagents::completed`] says that it was.
    Complete(String),
}

/// A child session, as far as it was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Subagent {
    /// The session.
    #[serde(rename = "sessionID")]
    pub session_id: String,
    /// The session that started it.
    #[serde(rename = "parentSessionID")]
    pub parent_session_id: String,
    /// Its title.
    pub title: String,
    /// When it was first told of, in milliseconds since the epoch.
    pub created_at: u64,
    /// When it last did something.
    pub last_activity_at: u64,
    /// Its messages so far.
    pub message_count: u64,
    /// Its title fits a pattern.
    pub is_subagent: bool,
    /// It has a frame.
    pub has_frame: bool,
    /// It waits for its next message.
    pub is_idle: bool,
    /// When it counts as done, unless it does something before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completes_at: Option<u64>,
    /// When it was completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<u64>,
}

/// How sessions have done since the start, or since statistics were reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubagentStatistics {
    /// Child sessions that were told of.
    pub sessions: u64,
    /// Those whose title fits a pattern.
    pub detected: u64,
    /// Those that got a frame.
    pub frames_created: u64,
    /// Those that went idle before they were worth one.
    pub too_short: u64,
    /// Those that were completed after having been idle.
    pub auto_completed: u64,
    /// Those that were completed by themselves or by a tool.
    pub manually_completed: u64,
}

/// The child sessions of a host.
#[derive(Debug, Clone)]
pub struct Subagents {
    settings: SubagentSettings,
    patterns: Vec<Regex>,
    sessions: BTreeMap<String, Subagent>,
    statistics: SubagentStatistics,
}

impl Default for Subagents {
    fn default() -> Self {
        Self::new(SubagentSettings::default()).0
    }
}

impl Subagents {
    /// No sessions yet. The list says which patterns are no regular expressions; they fit nothing.
    pub fn new(settings: SubagentSettings) -> (Self, Vec<Error>) {
        let statistics = SubagentStatistics::default();
        let mut subagents =
            Self { settings: settings.clone(), patterns: Vec::new(), sessions: BTreeMap::new(), statistics };
        let problems = subagents.configure(settings);
        (subagents, problems)
    }

    /// The settings in force.
    pub fn settings(&self) -> &SubagentSettings {
        &self.settings
    }

    /// Puts other settings in force. They hold for what happens from now on; the list is that of
    /// [`Subagents::new`].
    pub fn configure(&mut self, settings: SubagentSettings) -> Vec<Error> {
        let mut problems = Vec::new();
        self.patterns.clear();
        for pattern in &settings.patterns {
            match RegexBuilder::new(pattern).case_insensitive(true).build() {
                Ok(regex) => self.patterns.push(regex),
                Err(_) => problems.push(Error::Setting {
                    name: "patterns".into(),
                    value: pattern.clone(),
                    expected: "a regular expression such as `@.*subagent`; it is skipped",
                }),
            }
        }
        self.settings = settings;
        problems
    }

    /// A child session was made, or is told of for the first time. Told again, it only gets its title.
    pub(super) fn created(&mut self, session_id: &str, parent_session_id: &str, title: &str, now: u64) -> Option<Step> {
        if !self.settings.enabled {
            return None;
        }
        if !self.sessions.contains_key(session_id) {
            self.statistics.sessions += 1;
            let subagent = Subagent {
                session_id: session_id.to_owned(),
                parent_session_id: parent_session_id.to_owned(),
                title: String::new(),
                created_at: now,
                last_activity_at: now,
                message_count: 0,
                is_subagent: false,
                has_frame: false,
                is_idle: false,
                completes_at: None,
                completed_at: None,
            };
            self.sessions.insert(session_id.to_owned(), subagent);
        }
        self.titled(session_id, title)
    }

    /// A session has another title.
    pub(super) fn titled(&mut self, session_id: &str, title: &str) -> Option<Step> {
        let fits = self.patterns.iter().any(|pattern| pattern.is_match(title));
        let session = self.sessions.get_mut(session_id)?;
        title.clone_into(&mut session.title);
        if fits && !session.is_subagent {
            session.is_subagent = true;
            self.statistics.detected += 1;
        }
        let wants_frame = session.is_subagent && !session.has_frame && session.completed_at.is_none();
        wants_frame.then(|| Step::CreateFrame(session_id.to_owned()))
    }

    /// A session has a frame.
    pub(super) fn framed(&mut self, session_id: &str) {
        if let Some(session) = self.sessions.get_mut(session_id).filter(|session| !session.has_frame) {
            session.has_frame = true;
            self.statistics.frames_created += 1;
        }
    }

    /// A session has a new message.
    pub(super) fn message(&mut self, session_id: &str, now: u64) {
        if let Some(session) = self.sessions.get_mut(session_id) {
            session.message_count += 1;
        }
        self.activity(session_id, now);
    }

    /// A session does something. If it was idle, it is not any more, and goes on.
    pub(super) fn activity(&mut self, session_id: &str, now: u64) {
        if let Some(session) = self.sessions.get_mut(session_id) {
            session.last_activity_at = now;
            session.is_idle = false;
            session.completes_at = None;
        }
    }

    /// A session has nothing to do. Told again, nothing changes.
    pub(super) fn idle(&mut self, session_id: &str, now: u64) -> Option<Step> {
        let settings = &self.settings;
        let session = self.sessions.get_mut(session_id).filter(|session| session.completed_at.is_none())?;
        let was_idle = std::mem::replace(&mut session.is_idle, true);
        let completes = settings.enabled && settings.auto_complete_on_idle && session.is_subagent;
        if completes && session.completes_at.is_none() {
            session.completes_at = Some(now.saturating_add(settings.idle_completion_delay));
        }
        if session.has_frame || was_idle {
            return None;
        }
        let is_long = now.saturating_sub(session.created_at) >= settings.min_duration;
        if settings.enabled && is_long && session.message_count >= settings.min_message_count {
            return Some(Step::CreateFrame(session_id.to_owned()));
        }
        self.statistics.too_short += 1;
        None
    }

    /// A session is done: by being idle, or by itself or a tool. False: it was before, or is not known.
    pub(crate) fn completed(&mut self, session_id: &str, automatically: bool, now: u64) -> bool {
        let session = self.sessions.get_mut(session_id).filter(|session| session.completed_at.is_none());
        let Some(session) = session else { return false };
        session.completed_at = Some(now);
        session.completes_at = None;
        match automatically {
            true => self.statistics.auto_completed += 1,
            false => self.statistics.manually_completed += 1,
        }
        true
    }

    /// A session that was completed goes on.
    pub(super) fn revived(&mut self, session_id: &str) {
        if let Some(session) = self.sessions.get_mut(session_id) {
            session.completed_at = None;
        }
    }

    /// A session is gone.
    pub(super) fn deleted(&mut self, session_id: &str) {
        self.sessions.remove(session_id);
    }

    /// What is due: idle subagents to complete. Sessions completed an hour ago are forgotten.
    pub(super) fn poll(&mut self, now: u64) -> Vec<Step> {
        self.sessions.retain(|_, session| {
            session.completed_at.is_none_or(|completed| now.saturating_sub(completed) < REMEMBERED)
        });
        let due = self.sessions.values_mut().filter(|session| session.completes_at.is_some_and(|time| time <= now));
        due.map(|session| {
            // Said once; who cannot complete it now is told again when it is idle again.
            session.completes_at = None;
            Step::Complete(session.session_id.clone())
        })
        .collect()
    }

    /// When the next idle subagent is due for completion, in milliseconds since the epoch.
    pub fn deadline(&self) -> Option<u64> {
        self.sessions.values().filter_map(|session| session.completes_at).min()
    }

    /// A session that was told of.
    pub fn get(&self, session_id: &str) -> Option<&Subagent> {
        self.sessions.get(session_id)
    }

    /// All sessions that are remembered, the oldest first.
    pub fn sessions(&self) -> Vec<&Subagent> {
        let mut sessions: Vec<&Subagent> = self.sessions.values().collect();
        sessions.sort_by_key(|session| session.created_at);
        sessions
    }

    /// How sessions have done.
    pub fn statistics(&self) -> SubagentStatistics {
        self.statistics
    }

    /// Counts from 0 again.
    pub fn reset_statistics(&mut self) {
        self.statistics = SubagentStatistics::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TITLE: &str = "look around (@general subagent)";

    fn create(session_id: &str) -> Option<Step> {
        Some(Step::CreateFrame(session_id.into()))
    }

    fn complete(session_id: &str) -> Vec<Step> {
        vec![Step::Complete(session_id.into())]
    }

    #[test]
    fn titles_make_subagents_whatever_their_case() {
        for (title, fits) in
            [(TITLE, true), ("A SUBAGENT", true), ("[task] tidy up", true), ("task", false), ("", false)]
        {
            let mut subagents = Subagents::default();
            assert_eq!(subagents.created("c", "p", title, 0).is_some(), fits, "{title}");
            assert_eq!(subagents.get("c").unwrap().is_subagent, fits, "{title}");
        }
    }

    #[test]
    fn a_title_may_come_later_and_events_may_come_twice() {
        let mut subagents = Subagents::default();
        assert_eq!(subagents.created("c", "p", "New session", 0), None);
        assert_eq!(subagents.titled("c", TITLE), create("c"));
        assert_eq!(subagents.created("c", "p", TITLE, 5), create("c"), "it still has no frame");
        subagents.framed("c");
        subagents.framed("c");
        assert_eq!(subagents.created("c", "p", TITLE, 9), None);
        assert_eq!(subagents.titled("nobody", TITLE), None);
        let expected = SubagentStatistics { sessions: 1, detected: 1, frames_created: 1, ..Default::default() };
        assert_eq!(subagents.statistics(), expected);
        assert_eq!(subagents.get("c").unwrap().created_at, 0);
    }

    #[test]
    fn an_idle_subagent_is_completed_after_a_while_unless_it_goes_on() {
        let mut subagents = Subagents::default();
        subagents.created("c", "p", TITLE, 0);
        subagents.framed("c");
        assert_eq!(subagents.idle("c", 1_000), None);
        assert_eq!(subagents.deadline(), Some(6_000));
        assert_eq!(subagents.idle("c", 3_000), None);
        assert_eq!(subagents.deadline(), Some(6_000), "told again, the time does not start anew");
        assert_eq!(subagents.poll(5_999), []);
        subagents.activity("c", 5_999);
        assert_eq!((subagents.deadline(), subagents.poll(60_000)), (None, vec![]), "it went on");

        subagents.idle("c", 70_000);
        assert_eq!(subagents.poll(75_000), complete("c"));
        assert_eq!(subagents.poll(75_001), [], "said once");
        assert!(subagents.completed("c", true, 75_002));
        assert!(!subagents.completed("c", false, 75_003), "done is done");
        assert_eq!(subagents.idle("c", 80_000), None);
        assert_eq!(subagents.deadline(), None);
        let statistics = subagents.statistics();
        assert_eq!((statistics.auto_completed, statistics.manually_completed), (1, 0));
    }

    #[test]
    fn other_child_sessions_get_a_frame_when_they_have_done_something() {
        let mut subagents = Subagents::default();
        subagents.created("c", "p", "a fork", 0);
        (0..2).for_each(|time| subagents.message("c", time));
        assert_eq!(subagents.idle("c", 60_000), None, "two messages are too few");
        subagents.message("c", 60_001);
        assert_eq!(subagents.idle("c", 60_002), create("c"));
        subagents.framed("c");
        assert_eq!(subagents.deadline(), None, "it is no subagent, so nobody else completes it");

        subagents.created("d", "p", "another", 60_000);
        (0..9).for_each(|time| subagents.message("d", 60_000 + time));
        assert_eq!(subagents.idle("d", 119_999), None, "it is too short");
        assert_eq!(subagents.statistics().too_short, 2);
    }

    #[test]
    fn settings_hold_from_now_on() {
        let mut subagents = Subagents::default();
        subagents.created("c", "p", TITLE, 0);
        subagents.framed("c");
        let off = SubagentSettings { auto_complete_on_idle: false, ..SubagentSettings::default() };
        assert!(subagents.configure(off).is_empty());
        subagents.idle("c", 0);
        assert_eq!(subagents.deadline(), None);

        let patterns = vec!["^helper".into(), "(".into(), "[".into()];
        let problems = subagents.configure(SubagentSettings { patterns, ..SubagentSettings::default() });
        let messages: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(messages.len(), 2);
        assert!(messages[0].starts_with("patterns is `(`, but must be a regular expression"), "{messages:?}");
        assert_eq!(subagents.created("d", "p", TITLE, 0), None);
        assert_eq!(subagents.created("e", "p", "Helper 1", 0), create("e"));

        subagents.configure(SubagentSettings { enabled: false, ..SubagentSettings::default() });
        assert_eq!(subagents.created("f", "p", TITLE, 0), None);
        assert!(subagents.get("f").is_none());
    }

    #[test]
    fn the_completed_are_forgotten_after_an_hour_and_the_deleted_at_once() {
        let mut subagents = Subagents::default();
        for session in ["a", "b", "c"] {
            subagents.created(session, "p", TITLE, 0);
        }
        subagents.completed("a", false, 1_000);
        subagents.deleted("b");
        subagents.poll(3_600_999);
        let known = |subagents: &Subagents| {
            subagents.sessions().iter().map(|session| session.session_id.clone()).collect::<Vec<_>>()
        };
        assert_eq!(known(&subagents), ["a", "c"]);
        subagents.poll(3_601_000);
        assert_eq!(known(&subagents), ["c"]);
        assert_eq!(subagents.statistics().manually_completed, 1, "the statistics remember");
        subagents.reset_statistics();
        assert_eq!(subagents.statistics(), SubagentStatistics::default());
    }

    #[test]
    fn variables_set_what_they_can() {
        let (settings, problems) = SubagentSettings::from_variables(|name| {
            let value = match name {
                "STACK_SUBAGENT_ENABLED" => "no",
                "STACK_SUBAGENT_MIN_DURATION" => " 1000 ",
                "STACK_SUBAGENT_MIN_MESSAGES" => "-1",
                "STACK_SUBAGENT_AUTO_COMPLETE" => "0",
                "STACK_SUBAGENT_IDLE_DELAY" => "soon",
                "STACK_SUBAGENT_PATTERNS" => "^a, b ,,",
                _ => return None,
            };
            Some(value.to_owned())
        });
        let expected = SubagentSettings {
            enabled: false,
            min_duration: 1_000,
            auto_complete_on_idle: false,
            patterns: vec!["^a".into(), "b".into()],
            ..SubagentSettings::default()
        };
        assert_eq!(settings, expected);
        let messages: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            messages,
            [
                "STACK_SUBAGENT_MIN_MESSAGES is `-1`, but must be a whole number from 0 on",
                "STACK_SUBAGENT_IDLE_DELAY is `soon`, but must be a whole number from 0 on",
            ]
        );
    }
}
