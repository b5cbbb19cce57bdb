//! The settings of a host: where they come from, and how they are set.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Host, State};
use crate::context::{Budget, FinishedChildren, Settings};
use crate::error::Error;
use crate::session::TitlePatterns;
use crate::session::autonomy::AutonomySettings;
use crate::session::calls::CallSettings;
use crate::session::subagents::SubagentSettings;
use crate::text::{from_json, plain};
use crate::variables;
use crate::vocabulary::{ToolNames, ToolSet};

/// All settings of a stack with a host.
///
/// In JSON: `{"tools": "standard", "context": {"budget": {"total": 6000}}, "subagents": {"enabled": false},
/// "autonomy": {"level": "auto"}, "calls": {"maxDepth": 3}}`. Every key is optional; unknown keys are
/// rejected. The keys of the sections are those of [`Settings`], [`SubagentSettings`], [`AutonomySettings`]
/// and [`CallSettings`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct HostSettings {
    /// The tools that the host offers to its agents. Default: those that an agent needs to work.
    pub tools: ToolSet,
    /// Settings of the contexts of sessions. Its `tools` are the names of all tools; texts mention those of
    /// the offered ones.
    pub context: Settings,
    /// Subagents: which child sessions get frames, and when these frames are completed.
    pub subagents: SubagentSettings,
    /// Suggestions, and pops without a request.
    pub autonomy: AutonomySettings,
    /// Maximum depth and time limit of calls.
    pub calls: CallSettings,
}

impl HostSettings {
    setters! {
        tools: ToolSet,
        context: Settings,
        subagents: SubagentSettings,
        autonomy: AutonomySettings,
        calls: CallSettings,
    }

    /// Creates settings from the defaults, then the environment variables (`STACK_TOOLS`,
    /// `STACK_TOKEN_BUDGET_…`, `STACK_SUBAGENT_…`, `STACK_AUTONOMY_LEVEL` and so on), then a JSON object;
    /// later sources override earlier ones. `look_up` returns the value of a variable.
    ///
    /// Invalid values and unknown keys are ignored, and returned as a list of [`Error::Setting`] and
    /// [`Error::Json`].
    ///
    /// ```
    /// use callstack_core::HostSettings;
    ///
    /// let variables = |name: &str| (name == "STACK_SUBAGENT_MIN_MESSAGES").then(|| "5".to_owned());
    /// let (settings, problems) = HostSettings::from_variables(variables, r#"{"calls": {"maxDepth": 3}, "typo": 1}"#);
    /// assert_eq!((settings.subagents.min_message_count, settings.calls.max_depth), (5, 3));
    /// assert!(problems[0].to_string().contains("`typo` is unknown"));
    /// ```
    pub fn from_variables(look_up: impl Fn(&str) -> Option<String>, json: &str) -> (Self, Vec<Error>) {
        let mut settings = Self::default();
        let mut problems = Vec::new();
        settings.tools = collected(ToolSet::from_variables(&look_up), &mut problems);
        settings.context.budget = collected(Budget::from_variables(&look_up), &mut problems);
        settings.subagents = collected(SubagentSettings::from_variables(&look_up), &mut problems);
        settings.autonomy = collected(AutonomySettings::from_variables(&look_up), &mut problems);
        settings.overlay(json, &mut problems);
        (settings, problems)
    }

    /// As [`HostSettings::from_variables`], with the environment variables of this process.
    pub fn from_environment(json: &str) -> (Self, Vec<Error>) {
        Self::from_variables(variables::from_environment, json)
    }

    /// Applies the values of a JSON object, section by section and key by key.
    pub(in crate::stack) fn overlay(&mut self, json: &str, problems: &mut Vec<Error>) {
        let unreadable = |message: String| Error::json("the settings", message);
        let sections: Map<String, Value> = match from_json(json) {
            Ok(sections) => sections,
            Err(error) => return problems.push(Error::of_json("the settings", error)),
        };
        for (section, value) in sections {
            let known = json!(self);
            match (known.get(&section), value) {
                (None, _) => {
                    let sections = known.as_object().into_iter().flat_map(Map::keys).cloned().collect::<Vec<_>>();
                    problems.push(unreadable(format!("`{section}` is unknown; there are {}", sections.join(", "))));
                }
                (Some(Value::Object(_)), Value::Object(keys)) => {
                    for (key, value) in keys {
                        let place = format!("{section}.{key}");
                        self.replace(&place, json!({ (section.as_str()): { (key.as_str()): value } }), problems);
                    }
                }
                (Some(Value::Object(_)), _) => problems.push(unreadable(format!("`{section}` is not an object"))),
                (Some(_), value) => self.replace(&section, json!({ (section.as_str()): value }), problems),
            }
        }
    }

    /// Replaces one value, if the result is valid. `change` is the value inside of the objects that lead to
    /// it.
    fn replace(&mut self, place: &str, change: Value, problems: &mut Vec<Error>) {
        let mut changed = json!(self);
        merge(&mut changed, change);
        let checked = serde_json::from_value::<Self>(changed)
            .map_err(|error| Error::json("the settings", format!("`{place}`: {}", plain(&error.to_string()))))
            .and_then(|settings| settings.context.check().map(|()| settings));
        match checked {
            Ok(settings) => *self = settings,
            Err(problem) => problems.push(problem),
        }
    }
}

/// Returns settings and adds the problems found with them to a list.
fn collected<T>((settings, found): (T, Vec<Error>), problems: &mut Vec<Error>) -> T {
    problems.extend(found);
    settings
}

/// Merges a JSON value into another: objects key by key; other values are replaced.
fn merge(place: &mut Value, value: Value) {
    match (place, value) {
        (Value::Object(place), Value::Object(value)) => {
            for (key, value) in value {
                merge(place.entry(key).or_insert(Value::Null), value);
            }
        }
        (place, value) => *place = value,
    }
}

impl Host<'_> {
    /// Sets the host's settings. From then on log lines are collected for the host. Returns the problems of
    /// the settings. A pattern that is not a valid regular expression matches nothing. If a tool name is
    /// invalid, the default names are used.
    ///
    /// Settings that agents have changed by tools (`stack_config`, `stack_autonomy`, `stack_auto_suggest`)
    /// outlive the process: they are kept in `settings.json` in the stack's folder, and replace the host's
    /// values. An agent returns to the host's values with `stack_autonomy` and `reset`; a person removes the
    /// file.
    pub fn configure(&self, mut settings: HostSettings) -> Vec<Error> {
        let configured = settings.clone();
        let now = (self.stack.inner.clock)();
        let mut problems = self.stack.apply_kept(&mut settings);
        if let Err(problem) = settings.context.tools.check() {
            problems.push(problem);
            settings.context.tools = ToolNames::default();
        }
        let (patterns, invalid) = TitlePatterns::compile(&settings.subagents.patterns);
        problems.extend(invalid);
        let mut state = self.stack.inner.host.state.lock();
        (state.is_attached, state.is_polling) = (true, true);
        state.sessions.begun_at.get_or_insert(now);
        state.sessions.hides_finished_children = settings.context.finished_children == FinishedChildren::None;
        state.offer(settings.tools, settings.context);
        state.sessions.autonomy.host_settings.clone_from(&configured.autonomy);
        state.sessions.autonomy.settings = settings.autonomy;
        state.sessions.calls.settings = settings.calls;
        state.sessions.settled = Default::default();
        state.sessions.subagents.set(settings.subagents, patterns);
        state.configured = configured;
        problems
    }

    /// The settings that the host has set last, without the changes by tools.
    #[cfg(feature = "tools")]
    pub(in crate::stack) fn configured(&self) -> HostSettings {
        self.stack.inner.host.state.lock().configured.clone()
    }

    /// The current settings of the host.
    pub fn settings(&self) -> HostSettings {
        let state = self.stack.inner.host.state.lock();
        HostSettings {
            tools: state.tools,
            context: state.context.clone().tools(state.names.clone()),
            subagents: state.sessions.subagents.settings().clone(),
            autonomy: state.sessions.autonomy.settings.clone(),
            calls: state.sessions.calls.settings.clone(),
        }
    }
}

impl State {
    /// Sets the tools that the host offers, and the settings of contexts with the host's names of the tools.
    pub(super) fn offer(&mut self, tools: ToolSet, context: Settings) {
        let offered = context.tools.clone().limited_to(tools);
        (self.tools, self.names) = (tools, context.tools);
        self.sessions.tools = offered.clone();
        self.context = Settings { tools: offered, ..context };
    }
}
