//! Tracking of subagents, that is, of child sessions that the host's own tools start: their detection, the
//! creation of their frames, and their completion when they are idle (specification, "Subagent Integration").
//!
//! A child session whose title matches a pattern is a subagent. It gets a frame immediately, so that its
//! first request already contains its own context. Any other child session gets a frame when it becomes idle
//! after the minimum duration and the minimum number of messages in the settings.
//!
//! A subagent is completed when the tool that has started it returns with its answer. For hosts that do not
//! report this, a child session with a frame that is idle for a delay is completed; any activity before the
//! end of the delay cancels the completion.
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

use serde::{Deserialize, Serialize};

use super::timers::Timers;
use super::titles::TitlePatterns;
use crate::error::Error;
use crate::variables::{Variables, flag, number};

/// Time after which a completed session is forgotten, in milliseconds.
const REMEMBERED: u64 = 3_600_000;

/// The settings of subagents (specification, "Subagent Integration").
///
/// In JSON: `{"enabled": true, "minDuration": 60000, "minMessageCount": 3, "autoCompleteOnIdle": true,
/// "idleCompletionDelay": 5000, "injectParentContext": true, "propagateSummaries": true, "patterns":
/// ["subagent"]}`. Every key is optional; unknown keys are rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SubagentSettings {
    /// Whether child sessions are tracked. Default true.
    pub enabled: bool,
    /// Minimum age of a session without a matching title to get a frame, in milliseconds. Default 60,000.
    pub min_duration: u64,
    /// Minimum number of messages of a session without a matching title to get a frame. Default 3.
    pub min_message_count: u64,
    /// Whether a subagent is completed automatically: when its tool returns, or when it is idle. Default
    /// true.
    pub auto_complete_on_idle: bool,
    /// Idle time after which a subagent is completed, in milliseconds. Default 5,000.
    pub idle_completion_delay: u64,
    /// Whether the context of its frame is added to a child session's requests. Default true.
    pub inject_parent_context: bool,
    /// Whether the answer of an automatically completed subagent, which is its last assistant message,
    /// becomes its frame's results. Default true.
    pub propagate_summaries: bool,
    /// Regular expressions for titles, ignoring case: a child session whose title matches one of them is a
    /// subagent. Default `@.*subagent`, `subagent`, `\[Task\]`.
    ///
    /// At most 20 patterns of at most 200 characters each, whose compiled form has at most 16 KiB; so
    /// `x{1000}` is too large. The first 300 characters of a title are matched.
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
    setters! {
        enabled: bool,
        min_duration: u64,
        min_message_count: u64,
        auto_complete_on_idle: bool,
        idle_completion_delay: u64,
        inject_parent_context: bool,
        propagate_summaries: bool,
        patterns: Vec<String>,
    }

    /// Reads the settings from environment variables, which the function `look_up` returns:
    /// `STACK_SUBAGENT_ENABLED`, `STACK_SUBAGENT_MIN_DURATION`, `STACK_SUBAGENT_MIN_MESSAGES`,
    /// `STACK_SUBAGENT_AUTO_COMPLETE`, `STACK_SUBAGENT_IDLE_DELAY` and `STACK_SUBAGENT_PATTERNS` (separated
    /// by commas). Variables that are not set leave the defaults. An invalid variable is reported as
    /// [`Error::Setting`] in the returned list, and its default is used.
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

/// A step that the caller should take for a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Create a frame for the session below the frame of its parent, then call [`Subagents::framed`].
    CreateFrame(String),
    /// End the frame of the session, which is idle, then call [`Subagents::completed`].
    End(String, Ending),
}

/// How the work of a subagent has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    /// It is idle; its last message is its answer.
    Idle,
    /// The tool that has started it has returned this answer.
    Answered(String),
    /// The tool that has started it has failed with this message.
    Failed(String),
}

/// The known data of a child session. Times are in milliseconds, on the clock of
/// [`Turn::now`](super::Turn::now).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Subagent {
    /// ID of the session.
    #[serde(rename = "sessionID")]
    pub session_id: String,
    /// ID of the session that started it.
    #[serde(rename = "parentSessionID")]
    pub parent_session_id: String,
    /// The latest title.
    pub title: String,
    /// Time at which the session was first reported.
    pub created_at: u64,
    /// Time of the last message or other activity.
    pub last_activity_at: u64,
    /// Number of messages so far.
    pub message_count: u64,
    /// True if a title of the session matched a pattern.
    pub is_subagent: bool,
    /// True if the session has a frame.
    pub has_frame: bool,
    /// True if the session is idle, that is, waiting for its next message.
    pub is_idle: bool,
    /// Time at which the session is completed, unless there is activity before. `None` if no completion is
    /// scheduled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completes_at: Option<u64>,
    /// Time of the completion; `None` before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<u64>,
    /// Number of returns of its tool that have not been reported: one for each time that work in the session
    /// was begun.
    #[serde(skip)]
    returns_due: u32,
}

/// Numbers of child sessions since the start or since the last reset of the statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SubagentStatistics {
    /// Reported child sessions.
    pub sessions: u64,
    /// Sessions whose title matched a pattern.
    pub detected: u64,
    /// Sessions that got a frame.
    pub frames_created: u64,
    /// Idle sessions without a frame that did not have the minimum age or number of messages.
    pub too_short: u64,
    /// Sessions that were completed automatically after the idle delay.
    pub auto_completed: u64,
    /// Sessions that were completed by their own pop or by a tool.
    pub manually_completed: u64,
}

/// The child sessions of a host. See the [module](self) for the rules and an example.
#[derive(Debug, Clone)]
pub struct Subagents {
    settings: SubagentSettings,
    patterns: TitlePatterns,
    sessions: BTreeMap<String, Subagent>,
    /// Endings that were reported while their sessions were working.
    endings: BTreeMap<String, Ending>,
    /// When idle subagents are completed.
    completions: Timers<String>,
    /// When completed sessions are forgotten.
    expiries: Timers<String>,
    statistics: SubagentStatistics,
}

impl Default for Subagents {
    fn default() -> Self {
        Self::new(SubagentSettings::default()).0
    }
}

impl Subagents {
    /// Creates a tracker without sessions. The returned list contains an [`Error::Setting`] for each pattern
    /// that is not a regular expression or exceeds a limit of [`SubagentSettings::patterns`]; such a pattern
    /// is ignored.
    pub fn new(settings: SubagentSettings) -> (Self, Vec<Error>) {
        let (patterns, problems) = TitlePatterns::compile(&settings.patterns);
        let subagents = Self {
            settings,
            patterns,
            sessions: BTreeMap::new(),
            endings: BTreeMap::new(),
            completions: Timers::default(),
            expiries: Timers::default(),
            statistics: SubagentStatistics::default(),
        };
        (subagents, problems)
    }

    /// The current settings.
    pub fn settings(&self) -> &SubagentSettings {
        &self.settings
    }

    /// Replaces the settings. They apply to later events. Returns the same errors as [`Subagents::new`].
    pub fn configure(&mut self, settings: SubagentSettings) -> Vec<Error> {
        let (patterns, problems) = TitlePatterns::compile(&settings.patterns);
        self.set(settings, patterns);
        problems
    }

    /// Replaces the settings, whose patterns are compiled already.
    pub(crate) fn set(&mut self, settings: SubagentSettings, patterns: TitlePatterns) {
        (self.settings, self.patterns) = (settings, patterns);
    }

    /// The compiled patterns of the settings.
    pub(crate) fn patterns(&self) -> TitlePatterns {
        self.patterns.clone()
    }

    /// Reports a new child session. If it is already known, only its title is updated. Does nothing if
    /// tracking is disabled. `fits` is true if the title matches a pattern.
    pub(super) fn created(
        &mut self,
        session_id: &str,
        parent_session_id: &str,
        title: &str,
        fits: bool,
        now: u64,
    ) -> Option<Step> {
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
                returns_due: 1,
            };
            self.sessions.insert(session_id.to_owned(), subagent);
        }
        self.titled(session_id, title, fits)
    }

    /// Reports a new title of a session. `fits` is true if it matches a pattern.
    pub(super) fn titled(&mut self, session_id: &str, title: &str, fits: bool) -> Option<Step> {
        let session = self.sessions.get_mut(session_id)?;
        title.clone_into(&mut session.title);
        if fits && !session.is_subagent {
            session.is_subagent = true;
            self.statistics.detected += 1;
        }
        let wants_frame = session.is_subagent && !session.has_frame && session.completed_at.is_none();
        wants_frame.then(|| Step::CreateFrame(session_id.to_owned()))
    }

    /// Reports that a session has a frame.
    pub(super) fn framed(&mut self, session_id: &str) {
        if let Some(session) = self.sessions.get_mut(session_id).filter(|session| !session.has_frame) {
            session.has_frame = true;
            self.statistics.frames_created += 1;
        }
    }

    /// Reports a new message in a session. It counts as activity. A message of the user begins new work.
    pub(super) fn message(&mut self, session_id: &str, is_user: bool, now: u64) {
        if let Some(session) = self.sessions.get_mut(session_id) {
            session.message_count += 1;
        }
        if is_user {
            self.endings.remove(session_id);
        }
        self.activity(session_id, now);
    }

    /// Reports activity in a session. It is then no longer idle, and a scheduled completion is cancelled.
    pub(super) fn activity(&mut self, session_id: &str, now: u64) {
        if let Some(session) = self.sessions.get_mut(session_id) {
            session.last_activity_at = now;
            session.is_idle = false;
            session.completes_at = None;
            self.completions.cancel(&session.session_id);
        }
    }

    /// Reports that a tool that worked in a session has returned. `is_unique` is true if a repeated report
    /// would have been recognized. Returns the step if the work has ended.
    ///
    /// The session can work again already: then the report is an old one. The report is not old if the
    /// session is idle, or if it is unique and the only one that is due. Otherwise the ending is remembered
    /// until the session is idle.
    pub(super) fn returned(&mut self, session_id: &str, ending: Ending, is_unique: bool) -> Option<Step> {
        let mut has_ended = true;
        if let Some(session) = self.sessions.get_mut(session_id) {
            has_ended = session.is_idle || (is_unique && session.returns_due == 1);
            session.returns_due = session.returns_due.saturating_sub(1);
        }
        if !self.settings.enabled || !self.settings.auto_complete_on_idle {
            return None;
        }
        if !has_ended {
            self.endings.insert(session_id.to_owned(), ending);
            return None;
        }
        Some(Step::End(session_id.to_owned(), ending))
    }

    /// Reports that a session is idle. Repeated reports do not extend the delay of the completion.
    pub(super) fn idle(&mut self, session_id: &str, now: u64) -> Option<Step> {
        let settings = &self.settings;
        let session = self.sessions.get_mut(session_id).filter(|session| session.completed_at.is_none())?;
        let was_idle = std::mem::replace(&mut session.is_idle, true);
        match self.endings.remove(session_id) {
            // The answer may belong to earlier work, so the messages of the session decide.
            Some(Ending::Answered(_)) => return Some(Step::End(session_id.to_owned(), Ending::Idle)),
            Some(ending) => return Some(Step::End(session_id.to_owned(), ending)),
            None => {}
        }
        let is_long = now.saturating_sub(session.created_at) >= settings.min_duration;
        let gets_frame = !session.has_frame
            && !was_idle
            && settings.enabled
            && is_long
            && session.message_count >= settings.min_message_count;
        let is_completed = session.is_subagent || session.has_frame || gets_frame;
        let completes = settings.enabled && settings.auto_complete_on_idle && is_completed;
        if completes && session.completes_at.is_none() {
            let moment = now.saturating_add(settings.idle_completion_delay);
            session.completes_at = Some(moment);
            self.completions.set(session_id.to_owned(), moment);
        }
        if gets_frame {
            return Some(Step::CreateFrame(session_id.to_owned()));
        }
        self.statistics.too_short += u64::from(!session.has_frame && !was_idle);
        None
    }

    /// Reports that a session is completed. `automatically` is true after the idle delay, and false for a pop
    /// by the session itself or by a tool. Returns false if the session is unknown or was already completed.
    pub(crate) fn completed(&mut self, session_id: &str, automatically: bool, now: u64) -> bool {
        let session = self.sessions.get_mut(session_id).filter(|session| session.completed_at.is_none());
        let Some(session) = session else { return false };
        session.completed_at = Some(now);
        session.completes_at = None;
        self.completions.cancel(&session.session_id);
        self.expiries.set(session_id.to_owned(), now.saturating_add(REMEMBERED));
        match automatically {
            true => self.statistics.auto_completed += 1,
            false => self.statistics.manually_completed += 1,
        }
        true
    }

    /// Reports that a completed session works again.
    pub(super) fn revived(&mut self, session_id: &str) {
        if let Some(session) = self.sessions.get_mut(session_id) {
            session.completed_at = None;
            session.returns_due = session.returns_due.saturating_add(1);
            self.expiries.cancel(&session.session_id);
        }
    }

    /// Reports that a session was deleted, and forgets it.
    pub(super) fn deleted(&mut self, session_id: &str) {
        self.endings.remove(session_id);
        if let Some((session_id, _)) = self.sessions.remove_entry(session_id) {
            self.completions.cancel(&session_id);
            self.expiries.cancel(&session_id);
        }
    }

    /// Returns the idle subagents that are due for completion. Forgets sessions that were completed an hour
    /// ago or earlier.
    pub(super) fn poll(&mut self, now: u64) -> Vec<Step> {
        for session_id in self.expiries.due(now) {
            self.sessions.remove(&session_id);
        }
        let due = self.completions.due(now);
        for session_id in &due {
            // Each step is returned once. If the completion fails, the step is returned again after the next
            // idle delay.
            if let Some(session) = self.sessions.get_mut(session_id) {
                session.completes_at = None;
            }
        }
        due.into_iter().map(|session_id| Step::End(session_id, Ending::Idle)).collect()
    }

    /// Time at which the next idle subagent is due for completion, on the clock of
    /// [`Turn::now`](super::Turn::now); `None` if no completion is scheduled.
    pub fn deadline(&self) -> Option<u64> {
        self.completions.next()
    }

    /// Returns a known session.
    pub fn get(&self, session_id: &str) -> Option<&Subagent> {
        self.sessions.get(session_id)
    }

    /// Returns all known sessions, oldest first.
    pub fn sessions(&self) -> Vec<&Subagent> {
        let mut sessions: Vec<&Subagent> = self.sessions.values().collect();
        sessions.sort_by_key(|session| session.created_at);
        sessions
    }

    /// Returns the statistics.
    pub fn statistics(&self) -> SubagentStatistics {
        self.statistics
    }

    /// Sets the statistics to 0.
    pub fn reset_statistics(&mut self) {
        self.statistics = SubagentStatistics::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TITLE: &str = "look around (@general subagent)";

    fn created(subagents: &mut Subagents, session_id: &str, title: &str, now: u64) -> Option<Step> {
        let fits = subagents.patterns.fit(title);
        subagents.created(session_id, "p", title, fits, now)
    }

    fn create(session_id: &str) -> Option<Step> {
        Some(Step::CreateFrame(session_id.into()))
    }

    fn complete(session_id: &str) -> Vec<Step> {
        vec![Step::End(session_id.into(), Ending::Idle)]
    }

    #[test]
    fn titles_make_subagents_whatever_their_case() {
        for (title, fits) in
            [(TITLE, true), ("A SUBAGENT", true), ("[task] tidy up", true), ("task", false), ("", false)]
        {
            let mut subagents = Subagents::default();
            assert_eq!(created(&mut subagents, "c", title, 0).is_some(), fits, "{title}");
            assert_eq!(subagents.get("c").unwrap().is_subagent, fits, "{title}");
        }
    }

    #[test]
    fn a_title_may_come_later_and_events_may_come_twice() {
        let mut subagents = Subagents::default();
        assert_eq!(created(&mut subagents, "c", "New session", 0), None);
        assert_eq!(subagents.titled("c", TITLE, true), create("c"));
        assert_eq!(created(&mut subagents, "c", TITLE, 5), create("c"), "it still has no frame");
        subagents.framed("c");
        subagents.framed("c");
        assert_eq!(created(&mut subagents, "c", TITLE, 9), None);
        assert_eq!(subagents.titled("unknown", TITLE, true), None);
        let expected = SubagentStatistics { sessions: 1, detected: 1, frames_created: 1, ..Default::default() };
        assert_eq!(subagents.statistics(), expected);
        assert_eq!(subagents.get("c").unwrap().created_at, 0);
    }

    #[test]
    fn an_idle_subagent_is_completed_after_a_while_unless_it_goes_on() {
        let mut subagents = Subagents::default();
        created(&mut subagents, "c", TITLE, 0);
        subagents.framed("c");
        assert_eq!(subagents.idle("c", 1_000), None);
        assert_eq!(subagents.deadline(), Some(6_000));
        assert_eq!(subagents.idle("c", 3_000), None);
        assert_eq!(subagents.deadline(), Some(6_000), "told again, the time does not start again");
        assert_eq!(subagents.poll(5_999), []);
        subagents.activity("c", 5_999);
        assert_eq!((subagents.deadline(), subagents.poll(60_000)), (None, vec![]), "it continued");

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
        created(&mut subagents, "c", "a fork", 0);
        (0..2).for_each(|time| subagents.message("c", false, time));
        assert_eq!(subagents.idle("c", 60_000), None, "two messages are too few");
        subagents.message("c", false, 60_001);
        assert_eq!(subagents.idle("c", 60_002), create("c"));
        subagents.framed("c");
        assert_eq!(subagents.deadline(), Some(65_002), "it has a frame, which nothing else completes");

        created(&mut subagents, "d", "another", 60_000);
        (0..9).for_each(|time| subagents.message("d", false, 60_000 + time));
        assert_eq!(subagents.idle("d", 119_999), None, "it is too short");
        assert_eq!(subagents.statistics().too_short, 2);
    }

    #[test]
    fn settings_hold_from_now_on() {
        let mut subagents = Subagents::default();
        created(&mut subagents, "c", TITLE, 0);
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
        assert_eq!(created(&mut subagents, "d", TITLE, 0), None);
        assert_eq!(created(&mut subagents, "e", "Helper 1", 0), create("e"));

        subagents.configure(SubagentSettings { enabled: false, ..SubagentSettings::default() });
        assert_eq!(created(&mut subagents, "f", TITLE, 0), None);
        assert!(subagents.get("f").is_none());
    }

    #[test]
    fn the_completed_are_forgotten_after_an_hour_and_the_deleted_at_once() {
        let mut subagents = Subagents::default();
        for session in ["a", "b", "c"] {
            created(&mut subagents, session, TITLE, 0);
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
