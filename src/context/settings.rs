//! The settings of contexts: budgets in tokens and bytes, minimum relevance, guidance, and the names of the
//! agent's tools.

use serde::{Deserialize, Serialize};

use super::cost::{BYTES_PER_TOKEN, Cost};
use crate::error::{Error, Result};
use crate::frame::RunSettings;
use crate::text::from_json;
use crate::variables::{self, Variables};
use crate::vocabulary::ToolNames;

/// Budgets in tokens and bytes (specification, "Token Budget Configuration").
///
/// A context never exceeds `total` tokens and `bytes` bytes. The other budgets are quotas that divide it:
/// `ancestors`, `siblings`, `heap` and `children` limit the space of these sections until the rest of the
/// total is distributed; `current` + `overhead` are reserved for the volatile part, so that it can change
/// without changing the stable part.
///
/// In JSON: `{"total": 4000, "bytes": 24000, "ancestors": 1500, "siblings": 1500, "current": 800, "overhead":
/// 200, "heap": 1500, "children": 1000}`. Every key is optional; unknown keys are rejected. `overhead`,
/// `heap` and `children` may be 0; the others must be at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Budget {
    /// Maximum number of tokens of a context. Default 4000.
    pub total: usize,
    /// Maximum number of bytes of a context, of `xml` and of `stable` plus `volatile`. `None`, the default:
    /// six bytes for each token of `total`, which leaves all prose room.
    ///
    /// No model that reads bytes makes more tokens than bytes, so this cap holds for every tokenizer, while
    /// `total` is as exact as the token counter. With `O200k`, texts in Greek, Cyrillic or Indic letters have
    /// up to ten bytes a token, so a larger cap in bytes shows more of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<usize>,
    /// Quota of the ancestors, in tokens. Default 1500.
    pub ancestors: usize,
    /// Quota of the finished siblings of the frame and of its ancestors, and of the dependencies, in tokens.
    /// The quota of the earlier attempts is half as much. Default 1500.
    pub siblings: usize,
    /// Quota of the current frame, in tokens. Default 800.
    pub current: usize,
    /// Quota of the elements around the current frame, in tokens: position, next action, planned children.
    /// Default 200.
    pub overhead: usize,
    /// Quota of the chunks on the heap that are shown verbatim, in tokens. More chunks are shown verbatim if
    /// the total has room left after everything else. Default 1500.
    pub heap: usize,
    /// Quota of the finished children whose results the frame's conversation does not hold, in tokens.
    /// Default 1000.
    pub children: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            total: 4000,
            bytes: None,
            ancestors: 1500,
            siblings: 1500,
            current: 800,
            overhead: 200,
            heap: 1500,
            children: 1000,
        }
    }
}

impl Budget {
    setters! {
        total: usize,
        bytes: Option<usize>,
        ancestors: usize,
        siblings: usize,
        current: usize,
        overhead: usize,
        heap: usize,
        children: usize,
    }

    /// The defaults with another total, in tokens.
    pub fn of_total(total: usize) -> Self {
        Self { total, ..Self::default() }
    }

    /// Reads budgets from the environment variables `STACK_TOKEN_BUDGET_TOTAL`, `…_ANCESTORS`, `…_SIBLINGS`
    /// and `…_CURRENT`. Variables that are not set leave the default.
    ///
    /// A variable that is not a whole number of tokens from 1 on leaves the default too, and adds an
    /// [`Error::Setting`] to the returned list.
    pub fn from_environment() -> (Self, Vec<Error>) {
        Self::from_variables(variables::from_environment)
    }

    /// As [`Budget::from_environment`], but `look_up` returns the values of the variables.
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

    /// The most that a context may have.
    pub(super) fn cap(&self) -> Cost {
        let bytes = self.bytes.unwrap_or_else(|| self.total.saturating_mul(BYTES_PER_TOKEN));
        Cost { tokens: self.total, bytes }
    }

    fn check(&self) -> Result<()> {
        if self.bytes == Some(0) {
            let (name, value) = ("budget.bytes".to_owned(), "0".to_owned());
            return Err(Error::Setting { name, value, expected: "a whole number of bytes from 1 on" });
        }
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

/// How much guidance on working with frames a context contains. In JSON `"full"` (the default), `"brief"` or
/// `"none"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Guidance {
    /// Philosophy, rules, and when to create child frames: at most 350 tokens, including the planning advice
    /// for a root without children. A root gets the advice when to create child frames only together with the
    /// planning advice.
    #[default]
    Full,
    /// Philosophy and rules: at most 120 tokens, not including the planning advice for a root without
    /// children.
    Brief,
    /// No philosophy and no rules, for agents that get them in another way. The planning advice for a root
    /// without children is still included.
    None,
}

/// Which finished children of a frame its context shows. In JSON `"all"`, `"forgotten"` (the default) or
/// `"none"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum FinishedChildren {
    /// All, for hosts that show the agent no conversation.
    All,
    /// Those whose results the frame's conversation does not hold: they were never delivered there, or the
    /// conversation was compacted or started again since. A stack with a [host](crate::Stack::host) notes
    /// both; other hosts call [`Stack::deliver`](crate::Stack::deliver) and
    /// [`Stack::forget`](crate::Stack::forget).
    #[default]
    Forgotten,
    /// None, for hosts whose conversations hold all results.
    None,
}

/// The form of a context. In JSON `"cached"` (the default) or `"document"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Form {
    /// The form for prompt caches: what is added comes behind what is there, and nothing before it changes.
    /// The text names neither the session nor the number of siblings, because they would change the bytes
    /// before all siblings. Failed siblings are in `<failed-siblings>` elements between the completed ones,
    /// in the order in which they ended.
    #[default]
    Cached,
    /// The form of the specification ("Context XML Format"): `<stack-context session="…">` with the ID of the
    /// frame, `<completed-siblings count="…">` with the number of those shown, and after them
    /// `<failed-siblings count="…">`.
    Document,
}

/// The settings of a context.
///
/// In JSON: `{"budget": {"total": 4000, …}, "minimumRelevance": 30, "finishedChildren": "forgotten",
/// "guidance": "full", "form": "cached", "heapCeiling": 5000, "tools": {"prefix": "mcp__callstack__"}}`.
/// Every key is optional; unknown keys are rejected. `tools` is omitted if the names are the default ones.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Settings {
    /// The budgets in tokens and bytes.
    pub budget: Budget,
    /// Minimum score of the siblings that are shown with more than a stub, from 0 to 100. Stubs of the others
    /// are shown while the quota of the siblings has room. Does not apply to dependencies. Default 30.
    pub minimum_relevance: u8,
    /// Which finished children are shown. Default `forgotten`.
    pub finished_children: FinishedChildren,
    /// How much guidance the context contains. Default `full`.
    pub guidance: Guidance,
    /// The form of the text. Default `cached`.
    pub form: Form,
    /// Size of the heap, in characters, above which the agent is warned. Default 5000.
    pub heap_ceiling: usize,
    /// The names of the tools that the texts for the agent mention. Default: the names in the
    /// library's own list of tools.
    #[serde(skip_serializing_if = "ToolNames::is_default")]
    pub tools: ToolNames,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            budget: Budget::default(),
            minimum_relevance: 30,
            finished_children: FinishedChildren::default(),
            guidance: Guidance::default(),
            form: Form::default(),
            heap_ceiling: RunSettings::HEAP_CEILING,
            tools: ToolNames::default(),
        }
    }
}

impl Settings {
    setters! {
        budget: Budget,
        minimum_relevance: u8,
        finished_children: FinishedChildren,
        guidance: Guidance,
        form: Form,
        heap_ceiling: usize,
        tools: ToolNames,
    }

    /// The defaults with another total budget, in tokens.
    pub fn of_total(total: usize) -> Self {
        Self { budget: Budget::of_total(total), ..Self::default() }
    }

    /// The settings of a context that shows only what surrounds a frame, in at most `total` tokens. Ancestors
    /// and siblings share it as in the default budget, where three eighths are for the ancestors.
    pub(super) fn of_surroundings(total: usize) -> Self {
        let ancestors = total / 8 * 3;
        let budget = Budget::of_total(total).ancestors(ancestors).siblings(total - ancestors);
        Self { budget, finished_children: FinishedChildren::None, guidance: Guidance::None, ..Self::default() }
    }

    /// Reads settings from JSON.
    ///
    /// # Errors
    /// [`Error::Json`] if the text is not a JSON object of this shape or has unknown keys; [`Error::Setting`]
    /// if a value is out of range.
    pub fn from_json(text: &str) -> Result<Self> {
        let settings: Self = from_json(text).map_err(|error| Error::of_json("the settings", error))?;
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
