//! What model requests use: the record of one request, and the sums of a frame.

use std::iter::Sum;

use serde::{Deserialize, Serialize};

/// One request to a model, as the host reports it. Numbers of tokens are those that the model's provider
/// counts.
///
/// The three numbers of the prompt do not overlap, and `output` does not contain `reasoning`: the prompt has
/// `uncachedInput + cacheRead + cacheWrite` tokens, the answer `output + reasoning`.
///
/// In JSON; every key is optional, unknown keys are rejected:
///
/// ```json
/// {"model": "claude-sonnet-5", "uncachedInput": 412, "cacheRead": 9120, "cacheWrite": 640, "output": 210,
///  "reasoning": 0, "duration": 3480, "messages": 14, "costMicroUsd": 11500, "failed": false}
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ModelRequest {
    /// The host's name of the model. Empty: it is not known.
    pub model: String,
    /// Prompt tokens that were neither read from a cache nor written to it.
    pub uncached_input: u64,
    /// Prompt tokens that were read from the provider's cache.
    pub cache_read: u64,
    /// Prompt tokens that were written to the provider's cache.
    pub cache_write: u64,
    /// Prompt tokens that were written to the provider's cache and that it keeps for an hour. They are also
    /// counted in `cacheWrite`. Some providers have a separate price for these tokens.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_hour: u64,
    /// Tokens of the answer, without those of reasoning.
    pub output: u64,
    /// Tokens of reasoning.
    pub reasoning: u64,
    /// Time from the request to the end of its answer, in milliseconds.
    pub duration: u64,
    /// Number of messages in the prompt.
    pub messages: u64,
    /// The cost of the request, in millionths of a US dollar. 0: the host does not know it. A record that has
    /// nothing but a cost is not a request: it adds to the costs.
    #[serde(skip_serializing_if = "is_zero")]
    pub cost_micro_usd: u64,
    /// True if the request had no answer that could be used. Its tokens are counted nevertheless.
    pub failed: bool,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl ModelRequest {
    /// A request to a model, without tokens.
    pub fn new(model: impl Into<String>) -> Self {
        Self { model: model.into(), ..Self::default() }
    }
}

/// The sums of requests to one model.
///
/// ```json
/// {"model": "claude-sonnet-5", "requests": 12, "failed": 1, "uncachedInput": 5204, "cacheRead": 88120,
///  "cacheWrite": 6400, "output": 2210, "reasoning": 0, "duration": 41480}
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ModelUsage {
    /// The host's name of the model. Empty: it is not known.
    pub model: String,
    /// Number of requests, failed ones among them.
    pub requests: u64,
    /// Number of failed requests.
    pub failed: u64,
    /// Prompt tokens that were neither read from a cache nor written to it.
    pub uncached_input: u64,
    /// Prompt tokens that were read from the provider's cache.
    pub cache_read: u64,
    /// Prompt tokens that were written to the provider's cache.
    pub cache_write: u64,
    /// Prompt tokens that were written to the provider's cache and that it keeps for an hour. They are also
    /// counted in `cacheWrite`. Some providers have a separate price for these tokens.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_hour: u64,
    /// Tokens of the answers, without those of reasoning.
    pub output: u64,
    /// Tokens of reasoning.
    pub reasoning: u64,
    /// Time of all requests, in milliseconds. If requests ran at the same time, the time of each of them
    /// counts.
    pub duration: u64,
    /// The cost of the requests, in millionths of a US dollar, as far as the host has told it.
    #[serde(skip_serializing_if = "is_zero")]
    pub cost_micro_usd: u64,
}

impl ModelUsage {
    /// The sums of requests, an entry for each model.
    ///
    /// ```
    /// use callstack_core::frame::{ModelRequest, ModelUsage};
    ///
    /// let requests = ["small", "large", "small"].map(ModelRequest::new);
    /// let sums = ModelUsage::sums(&requests);
    /// assert_eq!((sums.len(), sums[0].model.as_str(), sums[0].requests), (2, "small", 2));
    /// ```
    pub fn sums<'a>(requests: impl IntoIterator<Item = &'a ModelRequest>) -> Vec<Self> {
        let mut sums = Vec::new();
        requests.into_iter().for_each(|request| add_usage(&mut sums, &Self::from(request)));
        sums
    }

    /// All tokens of the prompts.
    pub fn input(&self) -> u64 {
        self.uncached_input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// All tokens of the answers, with those of reasoning.
    pub fn answer(&self) -> u64 {
        self.output.saturating_add(self.reasoning)
    }

    /// All tokens: those of the prompts and those of the answers.
    pub fn tokens(&self) -> u64 {
        self.input().saturating_add(self.answer())
    }

    /// Adds the sums of other requests. A sum that would exceed the largest number stays at that number.
    pub fn add(&mut self, other: &ModelUsage) {
        self.combine(other, u64::saturating_add);
    }

    /// The sums without those of some of the requests. A sum that would be less than 0 is 0.
    ///
    /// ```
    /// use callstack_core::frame::ModelUsage;
    ///
    /// let usage = |requests, output| ModelUsage { requests, output, ..ModelUsage::default() };
    /// assert_eq!(usage(3, 50).without(&usage(1, 20)), usage(2, 30));
    /// ```
    pub fn without(mut self, some: &ModelUsage) -> Self {
        self.combine(some, u64::saturating_sub);
        self
    }

    fn combine(&mut self, other: &ModelUsage, combine: impl Fn(u64, u64) -> u64) {
        let sums = [
            (&mut self.requests, other.requests),
            (&mut self.failed, other.failed),
            (&mut self.uncached_input, other.uncached_input),
            (&mut self.cache_read, other.cache_read),
            (&mut self.cache_write, other.cache_write),
            (&mut self.cache_write_hour, other.cache_write_hour),
            (&mut self.output, other.output),
            (&mut self.reasoning, other.reasoning),
            (&mut self.duration, other.duration),
            (&mut self.cost_micro_usd, other.cost_micro_usd),
        ];
        for (sum, number) in sums {
            *sum = combine(*sum, number);
        }
    }
}

/// The sums of all models together; the name of the model is empty.
impl<'a> Sum<&'a ModelUsage> for ModelUsage {
    fn sum<I: Iterator<Item = &'a ModelUsage>>(usages: I) -> Self {
        let mut sum = Self::default();
        usages.for_each(|usage| sum.add(usage));
        sum
    }
}

impl From<&ModelRequest> for ModelUsage {
    fn from(request: &ModelRequest) -> Self {
        let ModelRequest {
            model,
            uncached_input,
            cache_read,
            cache_write,
            cache_write_hour,
            output,
            reasoning,
            duration,
            cost_micro_usd,
            failed,
            ..
        } = request;
        let is_only_cost = *cost_micro_usd > 0
            && *request == ModelRequest { cost_micro_usd: *cost_micro_usd, ..ModelRequest::new(model.as_str()) };
        Self {
            model: model.clone(),
            requests: u64::from(!is_only_cost),
            failed: u64::from(*failed),
            uncached_input: *uncached_input,
            cache_read: *cache_read,
            cache_write: *cache_write,
            cache_write_hour: *cache_write_hour,
            output: *output,
            reasoning: *reasoning,
            duration: *duration,
            cost_micro_usd: *cost_micro_usd,
        }
    }
}

/// Adds sums to a list that has an entry for each model, in the order of their first requests.
pub(crate) fn add_usage(list: &mut Vec<ModelUsage>, usage: &ModelUsage) {
    match list.iter_mut().find(|known| known.model == usage.model) {
        Some(known) => known.add(usage),
        None => {
            // Most frames use one model, so the first entry gets no room for others.
            if list.is_empty() {
                list.reserve_exact(1);
            }
            list.push(usage.clone());
        }
    }
}

/// The requests of a frame, and the requests of the frame and everything below it, with an entry for each
/// model. The costs of these requests too, as far as hosts have told them.
///
/// In JSON: `{"own": [{"model": "…", "requests": 3, …}], "total": [{"model": "…", "requests": 12, …}],
/// "ownCostMicroUsd": 120000, "totalCostMicroUsd": 640000}`, each entry a [`ModelUsage`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FrameUsage {
    /// The requests of the frame itself.
    pub own: Vec<ModelUsage>,
    /// The requests of the frame and of all frames below it.
    pub total: Vec<ModelUsage>,
    /// The cost of the frame itself, in millionths of a US dollar: the cost that was told, and an estimate
    /// for the requests since then.
    pub own_cost_micro_usd: u64,
    /// The cost of the frame and all frames below it.
    pub total_cost_micro_usd: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_kept_by_model_and_never_overflow() {
        let request = |model: &str, output| ModelRequest { output, failed: output == 0, ..ModelRequest::new(model) };
        let mut list = Vec::new();
        for request in [request("a", 5), request("b", 0), request("a", u64::MAX), request("a", 1)] {
            add_usage(&mut list, &ModelUsage::from(&request));
        }
        let sums: Vec<_> =
            list.iter().map(|usage| (usage.model.as_str(), usage.requests, usage.failed, usage.output)).collect();
        assert_eq!(sums, [("a", 3, 0, u64::MAX), ("b", 1, 1, 0)]);
    }
}
