//! Tools for the child sessions that a host's own tools start.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::caller::Caller;
use super::json::{pretty, with_references};
use super::popping::Ended;
use super::{AgentTool, Reply};
use crate::error::Error;
use crate::frame::{FrameRef, reference_to_id};
use crate::session::TitlePatterns;
use crate::session::subagents::{Subagent, SubagentSettings};
use crate::text::beginning;

/// Show or change how subagents (child sessions of the host's own tools) are detected and finished. Omitted
/// arguments change nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Config {
    /// Track child sessions.
    enabled: Option<bool>,
    /// Finish a subagent's frame with its answer, or after idleCompletionDelay.
    auto_complete_on_idle: Option<bool>,
    /// Subagents get contexts.
    inject_parent_context: Option<bool>,
    /// The last message of a subagent finished so becomes its results.
    propagate_summaries: Option<bool>,
    /// Age in milliseconds from which a child session gets a frame, unless its title matches a pattern.
    min_duration: Option<u64>,
    /// Number of messages from which it gets a frame, likewise.
    min_message_count: Option<u64>,
    /// Idle milliseconds after which a subagent is finished.
    idle_completion_delay: Option<u64>,
    /// A regular expression for titles of subagents, at most 200 characters; at most 20 patterns.
    add_pattern: Option<String>,
    /// A pattern to remove.
    remove_pattern: Option<String>,
}

impl AgentTool for Config {
    const NAME: &'static str = "stack_config";
    const EXAMPLE: &'static str = r#"{"idleCompletionDelay": 10000, "addPattern": "^review"}"#;
    const USES_PLACE: bool = false;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        loop {
            let before = caller.turn(|turn| turn.sessions.subagents.settings().clone());
            let after = self.applied_to(&before)?;
            // Compiled here, where the sessions are not locked: contexts do not wait for it.
            let (patterns, problems) = TitlePatterns::compile(&after.patterns);
            if self.add_pattern.is_some() && !problems.is_empty() {
                let known = TitlePatterns::compile(&before.patterns).1;
                if let Some(new) = problems.into_iter().find(|problem| !known.contains(problem)) {
                    return Err(new);
                }
            }
            let is_set = caller.turn(|turn| {
                let subagents = &mut turn.sessions.subagents;
                let is_same = *subagents.settings() == before;
                if is_same {
                    subagents.set(after.clone(), patterns);
                }
                is_same
            });
            // Otherwise the host has changed the settings in between.
            if is_set {
                caller.stack.keep_settings("subagents");
                return Ok(Reply::Text(pretty(&after)));
            }
        }
    }
}

impl Config {
    /// The settings with the changes that the arguments ask for.
    fn applied_to(&self, before: &SubagentSettings) -> Result<SubagentSettings, Error> {
        let mut after = before.clone();
        let flags = [
            (&mut after.enabled, self.enabled),
            (&mut after.auto_complete_on_idle, self.auto_complete_on_idle),
            (&mut after.inject_parent_context, self.inject_parent_context),
            (&mut after.propagate_summaries, self.propagate_summaries),
        ];
        flags.into_iter().for_each(|(place, value)| *place = value.unwrap_or(*place));
        let numbers = [
            (&mut after.min_duration, self.min_duration),
            (&mut after.min_message_count, self.min_message_count),
            (&mut after.idle_completion_delay, self.idle_completion_delay),
        ];
        numbers.into_iter().for_each(|(place, value)| *place = value.unwrap_or(*place));
        if let Some(pattern) = &self.remove_pattern {
            if !after.patterns.contains(pattern) {
                let (value, expected) = (beginning(pattern, 60).to_owned(), "one of the patterns that this tool shows");
                return Err(Error::Setting { name: "removePattern".into(), value, expected });
            }
            after.patterns.retain(|known| known != pattern);
        }
        after.patterns.extend(self.add_pattern.clone().filter(|pattern| !before.patterns.contains(pattern)));
        Ok(after)
    }
}

/// Show how many child sessions were reported, detected as subagents, given a frame, and completed.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Stats {
    /// Then set them to 0.
    #[serde(default)]
    reset: bool,
    /// Also show the sessions that are not completed.
    #[serde(default)]
    show_active: bool,
}

impl AgentTool for Stats {
    const NAME: &'static str = "stack_stats";
    const EXAMPLE: &'static str = r#"{"showActive": true}"#;
    const USES_PLACE: bool = false;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let text = caller.turn(|turn| {
            let subagents = &mut turn.sessions.subagents;
            let mut statistics = json!({ "statistics": subagents.statistics() });
            if self.show_active {
                statistics["active"] = json!(listed(&selected(&subagents.sessions(), Filter::Active)));
            }
            if self.reset {
                subagents.reset_statistics();
            }
            pretty(&statistics)
        });
        Ok(Reply::Text(text))
    }
}

/// Finish the frame of a subagent manually: by default the only active subagent among this session and those
/// that it has started.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Complete {
    /// The subagent's session ID, or the handle of its frame.
    #[serde(rename = "sessionID")]
    session_id: Option<String>,
    /// The outcome of its work.
    #[serde(default = "completed")]
    status: Ended,
    /// The results of the subagent. If empty, the frame keeps its results so far.
    #[serde(default)]
    summary: String,
}

fn completed() -> Ended {
    Ended::Completed
}

impl AgentTool for Complete {
    const NAME: &'static str = "stack_subagent_complete";
    const EXAMPLE: &'static str = r#"{"sessionID": "f3", "summary": "Three modules: parser, printer, tests"}"#;
    const USES_PLACE: bool = false;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let session_id = caller.session_id;
        let named = self.session_id.as_deref();
        let found = caller.turn(|turn| {
            let (subagents, tree) = (&turn.sessions.subagents, turn.tree);
            if let Some(name) = named {
                return tree.resolve(&name.into());
            }
            let started: Vec<&Subagent> = selected(&subagents.sessions(), Filter::Active)
                .into_iter()
                .filter(|subagent| subagent.session_id == session_id || subagent.parent_session_id == session_id)
                .collect();
            match &started[..] {
                [only] => tree.resolve(&FrameRef::Id(only.session_id.clone())),
                [] => Err(Error::NoFrame { session_id: session_id.to_owned() }),
                several => Err(Error::AmbiguousFrame {
                    reference: "sessionID".into(),
                    candidates: several
                        .iter()
                        .map(|subagent| reference_to_id(&subagent.session_id).into_owned())
                        .take(8)
                        .collect(),
                }),
            }
        })?;
        let results =
            if self.summary.is_empty() { caller.stack.frame(found)?.results.unwrap_or_default() } else { self.summary };
        caller.stack.pop(found, self.status.into(), results)?;
        caller.turn(|turn| {
            turn.sessions.subagents.completed(turn.tree.node(found).session_id(), false, turn.now);
        });
        caller.finished(&[found]);
        let status = caller.stack.look(|tree| tree.node(found).status());
        Ok(Reply::Text(format!("{} is {status}.", caller.name(found))))
    }
}

/// List the tracked child sessions. Completed ones are listed for one hour.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct List {
    /// The sessions to list.
    #[serde(default)]
    filter: Filter,
}

#[derive(Deserialize, JsonSchema, Clone, Copy, Default, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Filter {
    #[default]
    All,
    Active,
    Completed,
}

fn selected<'a>(subagents: &[&'a Subagent], filter: Filter) -> Vec<&'a Subagent> {
    let is_meant = |subagent: &&Subagent| match filter {
        Filter::All => true,
        Filter::Active => subagent.completed_at.is_none(),
        Filter::Completed => subagent.completed_at.is_some(),
    };
    subagents.iter().copied().filter(is_meant).collect()
}

/// Returns the records of subagents, with IDs that the agent can use as arguments.
fn listed(subagents: &[&Subagent]) -> Vec<Value> {
    subagents.iter().map(with_references).collect()
}

impl AgentTool for List {
    const NAME: &'static str = "stack_subagent_list";
    const EXAMPLE: &'static str = r#"{"filter": "active"}"#;
    const USES_PLACE: bool = false;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let text = caller.turn(|turn| match &selected(&turn.sessions.subagents.sessions(), self.filter)[..] {
            [] => "No child session matches the filter.".to_owned(),
            found => pretty(&listed(found)),
        });
        Ok(Reply::Text(text))
    }
}
