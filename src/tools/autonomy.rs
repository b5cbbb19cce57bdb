//! Tools that assess when to start and finish frames.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::json;

use super::caller::Caller;
use super::json::pretty;
use super::{AgentTool, Reply};
use crate::error::Error;
use crate::frame::{Handle, NewFrame};
use crate::session::autonomy::{Assessment, Autonomy, AutonomyLevel, Heuristic};
use crate::session::title_of;

/// Show or change the settings of autonomy. Omitted arguments change nothing. Levels: manual (assess when
/// asked), suggest (also suggest pushes and pops), auto (also carry out what is recommended).
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Configure {
    /// The level of autonomy.
    #[schemars(schema_with = "level_names")]
    #[serde(default)]
    level: Option<AutonomyLevel>,
    /// Minimum confidence for recommending a push.
    #[schemars(range(min = 0, max = 100))]
    push_threshold: Option<u8>,
    /// Minimum confidence for recommending a pop.
    #[schemars(range(min = 0, max = 100))]
    pop_threshold: Option<u8>,
    /// Whether contexts show the pending suggestions.
    suggest_in_context: Option<bool>,
    /// Restore the settings of the host before applying the other arguments.
    #[serde(default)]
    reset: bool,
    /// A heuristic to enable.
    #[schemars(schema_with = "heuristic_names")]
    #[serde(default)]
    enable_heuristic: Option<Heuristic>,
    /// A heuristic to disable.
    #[schemars(schema_with = "heuristic_names")]
    #[serde(default)]
    disable_heuristic: Option<Heuristic>,
}

/// The schema of a level: its names.
fn level_names(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["manual", "suggest", "auto"] })
}

/// The schema of a heuristic: its names.
fn heuristic_names(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": Heuristic::ALL.iter().map(|heuristic| heuristic.as_str()).collect::<Vec<_>>() })
}

impl AgentTool for Configure {
    const NAME: &'static str = "stack_autonomy";
    const EXAMPLE: &'static str = r#"{"level": "suggest", "popThreshold": 90, "disableHeuristic": "duration"}"#;
    const USES_PLACE: bool = false;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        for (name, threshold) in [("pushThreshold", self.push_threshold), ("popThreshold", self.pop_threshold)] {
            if let Some(value) = threshold.filter(|value| *value > 100) {
                let expected = "a number from 0 to 100";
                return Err(Error::Setting { name: name.into(), value: value.to_string(), expected });
            }
        }
        let settings = caller.turn(|turn| {
            let autonomy = &mut turn.sessions.autonomy;
            let settings = &mut autonomy.settings;
            if self.reset {
                settings.clone_from(&autonomy.host_settings);
            }
            settings.level = self.level.unwrap_or(settings.level);
            settings.push_threshold = self.push_threshold.unwrap_or(settings.push_threshold);
            settings.pop_threshold = self.pop_threshold.unwrap_or(settings.pop_threshold);
            settings.suggest_in_context = self.suggest_in_context.unwrap_or(settings.suggest_in_context);
            for (heuristic, is_enabled) in [(self.enable_heuristic, true), (self.disable_heuristic, false)] {
                if let Some(heuristic) = heuristic {
                    settings.enable(heuristic, is_enabled);
                }
            }
            settings.clone()
        });
        caller.stack.keep_settings("autonomy");
        Ok(Reply::Text(pretty(&settings)))
    }
}

/// Assess whether to start a child frame now. Omitted signals are taken from this session. At the level auto,
/// a recommended child frame with a potentialGoal is started at once; its results are this tool's answer.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ShouldPush {
    /// The goal of the next piece of work, if it differs from the goal of this frame.
    potential_goal: Option<String>,
    /// Number of messages so far.
    recent_messages: Option<u32>,
    /// Number of recent errors.
    error_count: Option<u32>,
    /// Size of the conversation in tokens.
    token_count: Option<u64>,
    /// Paths of recently changed files.
    recent_file_changes: Option<Vec<String>>,
}

impl AgentTool for ShouldPush {
    const NAME: &'static str = "stack_should_push";
    const EXAMPLE: &'static str = r#"{"potentialGoal": "Make the login page faster", "errorCount": 2}"#;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let frame = caller.named_or_own(None)?;
        let session_id = caller.session_id;
        let goal = self.potential_goal.clone().filter(|goal| !goal.trim().is_empty());
        let (assessment, level) = caller.turn(|turn| {
            let mut signals = turn.sessions.observe(session_id).push_signals();
            signals.potential_goal = self.potential_goal;
            signals.recent_messages = self.recent_messages.unwrap_or(signals.recent_messages);
            signals.error_count = self.error_count.unwrap_or(signals.error_count);
            signals.token_count = self.token_count.unwrap_or(signals.token_count);
            signals.recent_file_changes = self.recent_file_changes.unwrap_or(signals.recent_file_changes);
            (turn.should_push(frame, &signals), turn.sessions.autonomy.settings.level)
        });
        match goal.filter(|_| assessment.is_recommended && level == AutonomyLevel::Auto) {
            Some(goal) => {
                caller.turn(|turn| turn.check_depth(Some(frame)))?;
                let child = NewFrame::new(title_of(&goal)).criteria(goal).below(frame);
                let child = caller.stack.plan(child)?;
                caller.call(child, caller.options(false, None))
            }
            None => Ok(Reply::Text(verdict(caller, frame, &assessment))),
        }
    }
}

/// Assess whether to finish this frame now. Omitted numbers are taken from this session. At the level auto, a
/// recommended pop is carried out when the session is next idle, with a summary as results.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ShouldPop {
    /// Evidence of success, such as "all tests pass".
    #[serde(default)]
    success_signals: Vec<String>,
    /// Evidence of failure.
    #[serde(default)]
    failure_signals: Vec<String>,
    /// Number of consecutive turns without progress.
    no_progress_turns: Option<u32>,
    /// Size of the session's conversation in tokens.
    token_count: Option<u64>,
    /// Maximum size of the conversation in tokens.
    context_limit: Option<u64>,
}

impl AgentTool for ShouldPop {
    const NAME: &'static str = "stack_should_pop";
    const EXAMPLE: &'static str = r#"{"successSignals": ["all tests pass", "the docs are written"]}"#;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let frame = caller.named_or_own(None)?;
        let session_id = caller.session_id;
        let (assessment, is_due) = caller.turn(|turn| {
            let mut signals = turn.sessions.observe(session_id).pop_signals();
            (signals.success_signals, signals.failure_signals) = (self.success_signals, self.failure_signals);
            signals.no_progress_turns = self.no_progress_turns.unwrap_or(signals.no_progress_turns);
            signals.token_count = self.token_count.unwrap_or(signals.token_count);
            signals.context_limit = self.context_limit.unwrap_or(signals.context_limit);
            let assessment = turn.should_pop(frame, &signals);
            let is_due = turn.finish_if_auto(session_id, frame, &assessment);
            (assessment, is_due)
        });
        let mut text = verdict(caller, frame, &assessment);
        if is_due {
            text.push_str(
                "\nThe level is auto: end your turn; the frame is then finished with a summary as its results.",
            );
        }
        Ok(Reply::Text(text))
    }
}

/// Returns an assessment as text for the agent: the advice, then one line for each heuristic.
fn verdict(caller: &Caller<'_>, frame: Handle, assessment: &Assessment) -> String {
    let Assessment { decision, confidence, threshold, is_recommended, scores, .. } = assessment;
    let name = caller.name(frame);
    let advice = if *is_recommended { "recommended" } else { "not recommended" };
    let mut lines = vec![format!(
        "A {} is {advice} for {name}: confidence {confidence} of 100, threshold {threshold}.",
        decision.as_str()
    )];
    lines.extend(scores.iter().map(|score| format!("{} {}: {}", score.heuristic, score.score, score.reason)));
    lines.join("\n")
}

/// Show the pending suggestions, enable or disable suggestions in contexts, clear pending suggestions, or
/// show past suggestions with their outcomes.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct AutoSuggest {
    /// Whether contexts show the pending suggestions.
    enable: Option<bool>,
    /// Clear the pending suggestions.
    #[serde(default)]
    clear_pending: bool,
    /// Also show the last 100 past suggestions.
    #[serde(default)]
    show_history: bool,
}

impl AgentTool for AutoSuggest {
    const NAME: &'static str = "stack_auto_suggest";
    const EXAMPLE: &'static str = r#"{"enable": true, "showHistory": true}"#;
    const USES_PLACE: bool = false;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let text = caller.turn(|turn| {
            let now = turn.now;
            let Autonomy { settings, suggestions, .. } = &mut turn.sessions.autonomy;
            settings.suggest_in_context = self.enable.unwrap_or(settings.suggest_in_context);
            let cleared = if self.clear_pending { suggestions.clear(now) } else { 0 };
            let mut shown = json!({
                "level": settings.level,
                "suggestInContext": settings.suggest_in_context,
                "cleared": cleared,
                "pending": suggestions.pending(now).collect::<Vec<_>>(),
            });
            if self.show_history {
                shown["history"] = json!(suggestions.history().collect::<Vec<_>>());
            }
            pretty(&shown)
        });
        caller.stack.keep_settings("autonomy");
        Ok(Reply::Text(text))
    }
}

/// Show how often pushes and pops were assessed and suggested, and the outcomes of the suggestions.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Stats {
    /// Afterwards, set the numbers to 0 and delete the past suggestions.
    #[serde(default)]
    reset: bool,
}

impl AgentTool for Stats {
    const NAME: &'static str = "stack_autonomy_stats";
    const EXAMPLE: &'static str = "{}";
    const USES_PLACE: bool = false;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let text = caller.turn(|turn| {
            let autonomy = &mut turn.sessions.autonomy;
            let statistics = json!({
                "level": autonomy.settings.level,
                "assessedPushes": autonomy.push_assessments,
                "assessedPops": autonomy.pop_assessments,
                "suggestions": autonomy.suggestions.statistics(),
                "pending": autonomy.suggestions.pending(turn.now).count(),
            });
            if self.reset {
                autonomy.suggestions.reset();
                (autonomy.push_assessments, autonomy.pop_assessments) = (0, 0);
            }
            pretty(&statistics)
        });
        Ok(Reply::Text(text))
    }
}
