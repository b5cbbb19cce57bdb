//! The settings of autonomy: level, thresholds and enabled heuristics.

use serde::{Deserialize, Serialize};

use super::Heuristic;
use crate::error::Error;
use crate::variables::{Variables, flag, percentage};

/// The level of autonomy. In JSON `"manual"`, `"suggest"` or `"auto"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum AutonomyLevel {
    /// Assessments only answer the tools. No suggestions are made.
    Manual,
    /// Recommendations are suggested to the agent.
    #[default]
    Suggest,
    /// Recommendations are suggested and partly carried out: a recommended pop when the session is next idle,
    /// and a recommended push when the tool `stack_should_push` got a `potentialGoal`. These observations of
    /// the host suggest that a frame can end: the files that its criteria name are among its artifacts, its
    /// parts are done, its tools have succeeded.
    Auto,
}

/// The settings of autonomy (specification, "Agent Autonomy").
///
/// In JSON: `{"level": "suggest", "pushThreshold": 70, "popThreshold": 80, "suggestInContext": true,
/// "enabledHeuristics": ["stagnation"]}`. Every key is optional; unknown keys are rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct AutonomySettings {
    /// The level. Default `suggest`.
    pub level: AutonomyLevel,
    /// Minimum confidence for the recommendation of a push, from 0 to 100. Default 70.
    pub push_threshold: u8,
    /// Minimum confidence for the recommendation of a pop, from 0 to 100. Default 80.
    pub pop_threshold: u8,
    /// Whether contexts show the pending suggestions to the agent. Default true.
    pub suggest_in_context: bool,
    /// The enabled heuristics. Their order does not matter. Default all.
    pub enabled_heuristics: Vec<Heuristic>,
}

impl Default for AutonomySettings {
    fn default() -> Self {
        Self {
            level: AutonomyLevel::default(),
            push_threshold: 70,
            pop_threshold: 80,
            suggest_in_context: true,
            enabled_heuristics: Heuristic::ALL.to_vec(),
        }
    }
}

impl AutonomySettings {
    setters! {
        level: AutonomyLevel,
        push_threshold: u8,
        pop_threshold: u8,
        suggest_in_context: bool,
        enabled_heuristics: Vec<Heuristic>,
    }

    /// Reads the settings from environment variables, which the function `look_up` returns:
    /// `STACK_AUTONOMY_LEVEL`, `STACK_PUSH_THRESHOLD`, `STACK_POP_THRESHOLD`, `STACK_SUGGEST_IN_CONTEXT` and
    /// `STACK_ENABLED_HEURISTICS` (separated by commas). Variables that are not set leave the defaults. An
    /// invalid variable is reported as [`Error::Setting`] in the returned list, and its default is used; of a
    /// list, only the invalid names are ignored.
    ///
    /// ```
    /// use callstack_core::session::autonomy::{AutonomyLevel, AutonomySettings, Heuristic};
    ///
    /// let (settings, problems) = AutonomySettings::from_variables(|name| match name {
    ///     "STACK_AUTONOMY_LEVEL" => Some("auto".into()),
    ///     "STACK_ENABLED_HEURISTICS" => Some("stagnation, complexity, guesswork".into()),
    ///     _ => None,
    /// });
    /// assert_eq!(settings.level, AutonomyLevel::Auto);
    /// assert_eq!(settings.enabled_heuristics, [Heuristic::Complexity, Heuristic::Stagnation]);
    /// assert!(problems[0].to_string().starts_with("STACK_ENABLED_HEURISTICS is `guesswork`, but must be"));
    /// ```
    pub fn from_variables(look_up: impl Fn(&str) -> Option<String>) -> (Self, Vec<Error>) {
        let mut settings = Self::default();
        let mut variables = Variables::new(&look_up);
        variables.take("STACK_AUTONOMY_LEVEL", &mut settings.level, level);
        variables.take("STACK_PUSH_THRESHOLD", &mut settings.push_threshold, percentage);
        variables.take("STACK_POP_THRESHOLD", &mut settings.pop_threshold, percentage);
        variables.take("STACK_SUGGEST_IN_CONTEXT", &mut settings.suggest_in_context, flag);
        let name = "STACK_ENABLED_HEURISTICS";
        if let Some(names) = variables.list(name) {
            let (known, unknown): (Vec<String>, Vec<String>) =
                names.into_iter().partition(|name| name.parse::<Heuristic>().is_ok());
            unknown.iter().for_each(|value| variables.report(name, value, Heuristic::EXPECTED));
            settings.enabled_heuristics.retain(|heuristic| known.iter().any(|name| name == heuristic.as_str()));
        }
        (settings, variables.problems)
    }

    /// Enables or disables a heuristic.
    pub fn enable(&mut self, heuristic: Heuristic, is_enabled: bool) {
        let before = std::mem::take(&mut self.enabled_heuristics);
        self.enabled_heuristics = Heuristic::ALL
            .iter()
            .copied()
            .filter(|other| if *other == heuristic { is_enabled } else { before.contains(other) })
            .collect();
    }
}

fn level(value: &str) -> Result<AutonomyLevel, &'static str> {
    match value.to_ascii_lowercase().as_str() {
        "manual" => Ok(AutonomyLevel::Manual),
        "suggest" => Ok(AutonomyLevel::Suggest),
        "auto" => Ok(AutonomyLevel::Auto),
        _ => Err("manual, suggest or auto"),
    }
}
