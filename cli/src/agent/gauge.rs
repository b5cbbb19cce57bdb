//! How much of a model's context window the prompts fill: the limit, and what the provider has counted.

use callstack_core::context::{Approx, TokenCounter};
use callstack_core::memory::{ContextWindow, Fit, Prompt};

use super::limits::ContextLimit;

/// Largest part of the window that is kept free for an answer whose length is not limited, in tokens.
const ANSWER: u64 = 16_000;
/// Bounds of the ratio between the provider's count and the estimate. Some providers count only a part of the
/// prompt.
const RATIOS: (f64, f64) = (0.8, 2.5);

/// Keeps prompts within a model's context window.
pub struct Gauge {
    window: ContextWindow,
    /// Maximum length of a prompt with its answer, in tokens.
    limit: u64,
    /// Maximum length of an answer, if it is known.
    answer: Option<u64>,
    /// Maximum length of a prompt that follows from a refusal without a number.
    prompt: u64,
    /// The provider's number of tokens of a prompt, divided by the estimate. It comes from the last prompt
    /// for which the provider has returned a number.
    ratio: f64,
    /// The estimated length of the last prompt, with the tools.
    estimate: u64,
}

impl Gauge {
    /// `max_answer`: the maximum length of an answer, if the requests limit it.
    pub fn new(limit: u64, max_answer: Option<u32>) -> Self {
        let answer = max_answer.map(u64::from);
        Self { window: ContextWindow::default(), limit, answer, prompt: u64::MAX, ratio: 1.0, estimate: 0 }
    }

    /// Shortens a prompt that does not fit. `tools`: the estimated length of the tools in the request.
    /// Returns the length of the whole request in tokens, as the provider counts them.
    pub fn fit(&mut self, prompt: &mut Prompt, tools: usize) -> (u64, Fit) {
        let room = (self.room() as f64 / self.ratio) as usize;
        let fit = self.window.fit(prompt, room.saturating_sub(tools), |text| Approx.count(text));
        self.estimate = (fit.size + tools) as u64;
        (self.counted(self.estimate), fit)
    }

    /// Uses the provider's count of the last prompt.
    pub fn set_count(&mut self, counted: u64) {
        if counted > 0 && self.estimate > 0 {
            self.ratio = (counted as f64 / self.estimate as f64).clamp(RATIOS.0, RATIOS.1);
        }
    }

    /// Lowers the limit, because the provider has refused the last prompt.
    pub fn lower(&mut self, found: ContextLimit) {
        let sent = self.counted(self.estimate);
        self.limit = found.tokens.unwrap_or(self.limit).min(self.limit);
        self.answer = found.answer.or(self.answer);
        if sent <= self.room() {
            // The refusal has no number, or the estimate was too low.
            self.prompt = sent / 4 * 3;
        }
    }

    /// Maximum length of a prompt, in tokens.
    pub fn room(&self) -> u64 {
        let answer = self.answer.unwrap_or((self.limit / 8).min(ANSWER));
        self.limit.saturating_sub(answer).min(self.prompt)
    }

    fn counted(&self, estimate: u64) -> u64 {
        (estimate as f64 * self.ratio) as u64
    }
}
