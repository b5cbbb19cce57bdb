//! What a caller can set: budgets in tokens, the least relevance, how much guidance.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::frame::RunSettings;
use crate::variables::{self, Variables};
use crate::vocabulary::ToolNames;

/// Budgets in tokens (specification, "Token Budget Configuration").
///
/// `total` is never exceeded. The others shape what is shown within it: how much ancestors and
/// siblings get before the rest is shared out, and how much is kept for the current frame and the
/// hints around it (`current` + `overhead`), so that these can change without moving a byte of the
/// stable part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
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
    setters! {
        total: usize,
        ancestors: usize,
        siblings: usize,
        current: usize,
        overhead: usize,
        heap: usize,
    }

    /// The defaults with the total given.
    pub fn of_total(total: usize) -> Self {
        Self { total, ..Self::default() }
    }

    /// The defaults, replaced by the environment variables `STACK_TOKEN_BUDGET_TOTAL`, `…_ANCESTORS`,
    /// `…_SIBLINGS` and `…_CURRENT` that are set. The list has an [`Error::Setting`] for each variable that is no
    /// whole number of tokens from 1 on; its default stays, and the other variables count.
    pub fn from_environment() -> (Self, Vec<Error>) {
        Self::from_variables(variables::from_environment)
    }

    /// As [`Budget::from_environment`], with the variables looked up by a function.
    ///
    /// ```
    /// use callstack_core::Budget;
    ///
    /// let (budget, problems) = Budget::from_variables(|name| match name {
    ///     "STACK_TOKEN_BUDGET_TOTAL" => Some("9000".into()),
    ///     "STACK_TOKEN_BUDGET_CURRENT" => Some("many".into()),
    ///     _ => None,
    /// });
    /// assert_eq!((budget.total, budget.current), (9000, 800));
    /// assert!(problems[0].to_string().starts_with("STACK_TOKEN_BUDGET_CURRENT is `many`"));
    /// ```
    pub fn from_variables(look_up: impl Fn(&str) -> Option<String>) -> (Self, Vec<Error>) {
        let mut budget = Self::default();
        let mut variables = Variables::new(&look_up);
        variables.take("STACK_TOKEN_BUDGET_TOTAL", &mut budget.total, tokens);
        variables.take("STACK_TOKEN_BUDGET_ANCESTORS", &mut budget.ancestors, tokens);
        variables.take("STACK_TOKEN_BUDGET_SIBLINGS", &mut budget.siblings, tokens);
        variables.take("STACK_TOKEN_BUDGET_CURRENT", &mut budget.current, tokens);
        (budget, variables.problems)
    }

    fn check(&self) -> Result<()> {
        let fields = [
            ("budget.total", self.total),
            ("budget.ancestors", self.ancestors),
            ("budget.siblings", self.siblings),
            ("budget.current", self.current),
        ];
        match fields.into_iter().find(|(_, value)| *value == 0) {
            Some((name, value)) => {
                Err(Error::Setting { name: name.to_owned(), value: value.to_string(), expected: TOKENS })
            }
            None => Ok(()),
        }
    }
}

const TOKENS: &str = "a whole number of tokens from 1 on";

/// Reads a number of tokens from 1 on.
fn tokens(value: &str) -> std::result::Result<usize, &'static str> {
    value.parse().ok().filter(|number| *number > 0).ok_or(TOKENS)
}

/// How much of the standing advice on working with frames a context carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
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
#[non_exhaustive]
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
    setters! {
        budget: Budget,
        minimum_relevance: u8,
        guidance: Guidance,
        heap_ceiling: usize,
        tools: ToolNames,
    }

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
        let settings: Self = serde_json::from_str(text).map_err(|error| Error::of_json("the settings", error))?;
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
