//! What a caller can set: budgets in tokens, the least relevance, how much guidance.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::frame::RunSettings;
use crate::vocabulary::ToolNames;

/// Budgets in tokens (specification, "Token Budget Configuration").
///
/// `total` is never exceeded. The others shape what is shown within it: how much ancestors and
/// siblings get before the rest is shared out, and how much is kept for the current frame and the
/// hints around it (`current` + `overhead`), so that these can change without moving a byte of the
/// stable part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Budget {
    /// The most tokens a context may have. Default 4000.
    pub total: usize,
    /// Quota of the ancestors. Default 1500.
    pub ancestors: usize,
    /// Quota of the finished siblings and the dependencies. Default 1500.
    pub siblings: usize,
    /// Quota of the current frame. Default 800.
    pub current: usize,
    /// Quota of what surrounds the current frame: position, next action, planned children.
    /// Default 200.
    pub overhead: usize,
    /// Quota of the chunks on the heap that are shown word for word. Others are shown so if the total has room for them
    /// after everything else. Default 1500.
    pub heap: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { total: 4000, ancestors: 1500, siblings: 1500, current: 800, overhead: 200, heap: 1500 }
    }
}

impl Budget {
    /// The defaults with the total given.
    pub fn of_total(total: usize) -> Self {
        Self { total, ..Self::default() }
    }

    /// The defaults, with what the environment variables `STACK_TOKEN_BUDGET_TOTAL`,
    /// `…_ANCESTORS`, `…_SIBLINGS` and `…_CURRENT` set.
    ///
    /// # Errors
    /// [`Error::Setting`] naming a variable that holds no whole number from 1 on.
    pub fn from_environment() -> Result<Self> {
        Self::from_variables(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    /// The same, with the variables looked up by a function.
    ///
    /// ```
    /// use callstack_core::Budget;
    /// let set = |name: &str| (name == "STACK_TOKEN_BUDGET_TOTAL").then(|| "9000".to_owned());
    /// assert_eq!(Budget::from_variables(set).unwrap().total, 9000);
    /// let error = Budget::from_variables(|_| Some("many".into())).unwrap_err();
    /// assert!(error.to_string().starts_with("STACK_TOKEN_BUDGET_TOTAL is `many`"));
    /// ```
    ///
    /// # Errors
    /// As [`Budget::from_environment`].
    pub fn from_variables(look_up: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let mut budget = Self::default();
        let fields: [(&str, &mut usize); 4] = [
            ("STACK_TOKEN_BUDGET_TOTAL", &mut budget.total),
            ("STACK_TOKEN_BUDGET_ANCESTORS", &mut budget.ancestors),
            ("STACK_TOKEN_BUDGET_SIBLINGS", &mut budget.siblings),
            ("STACK_TOKEN_BUDGET_CURRENT", &mut budget.current),
        ];
        for (name, field) in fields {
            let Some(value) = look_up(name) else { continue };
            *field = match value.trim().parse() {
                Ok(0) | Err(_) => return Err(not_positive(name, value)),
                Ok(number) => number,
            };
        }
        Ok(budget)
    }

    fn check(&self) -> Result<()> {
        let fields = [
            ("budget.total", self.total),
            ("budget.ancestors", self.ancestors),
            ("budget.siblings", self.siblings),
            ("budget.current", self.current),
        ];
        match fields.into_iter().find(|(_, value)| *value == 0) {
            Some((name, value)) => Err(not_positive(name, value.to_string())),
            None => Ok(()),
        }
    }
}

fn not_positive(name: &str, value: String) -> Error {
    Error::Setting { name: name.to_owned(), value, expected: "a whole number of tokens from 1 on" }
}

/// How much of the standing advice on working with frames a context carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Guidance {
    /// Philosophy, rules, and when to make child frames: at most 350 tokens.
    #[default]
    Full,
    /// Philosophy and rules: at most 120 tokens.
    Brief,
    /// None, for agents that have it from elsewhere.
    None,
}

/// Everything that shapes a context, beside the tree.
///
/// In JSON: `{"budget": {"total": 4000, …}, "minimumRelevance": 30, "guidance": "full",
/// "heapCeiling": 5000, "tools": {"prefix": "mcp__callstack__"}}`, every key optional. The default names of tools are left
/// out.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Settings {
    /// Tokens to spend, and on what.
    pub budget: Budget,
    /// Siblings that score less are left out: 0 to 100, by default 30.
    pub minimum_relevance: u8,
    /// How much standing advice.
    pub guidance: Guidance,
    /// Characters on the heap past which the agent is warned. Default 5000.
    pub heap_ceiling: usize,
    /// The names of the tools that texts for the agent mention. By default those of
    /// [`ToolRole::tool`](crate::ToolRole::tool).
    #[serde(skip_serializing_if = "ToolNames::is_default")]
    pub tools: ToolNames,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            budget: Budget::default(),
            minimum_relevance: 30,
            guidance: Guidance::default(),
            heap_ceiling: RunSettings::HEAP_CEILING,
            tools: ToolNames::default(),
        }
    }
}

impl Settings {
    /// The defaults with another total budget, in tokens.
    pub fn of_total(total: usize) -> Self {
        Self { budget: Budget::of_total(total), ..Self::default() }
    }

    /// Reads settings from JSON.
    ///
    /// # Errors
    /// [`Error::Json`] for text that is no such object or has other keys; [`Error::Setting`] for
    /// values out of range.
    pub fn from_json(text: &str) -> Result<Self> {
        let settings: Self = serde_json::from_str(text)
            .map_err(|error| Error::Json { what: "the settings", message: error.to_string() })?;
        settings.check()?;
        Ok(settings)
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.minimum_relevance > 100 {
            return Err(Error::Setting {
                name: "minimumRelevance".into(),
                value: self.minimum_relevance.to_string(),
                expected: "a number from 0 to 100",
            });
        }
        self.tools.check()?;
        self.budget.check()
    }
}
