//! What all requests together have used, and what they would have used with the whole conversation.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;

use super::folding::Removed;
use super::meter::Usage;
use crate::output::{Line, Page, Report, count, number};

/// The price of a token that is read from a cache, relative to a token that is not.
const READ: f64 = 0.1;
/// The price of a token that is written into a cache.
const WRITTEN: f64 = 1.25;

/// What the requests of a proxy have used.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProxyUsage {
    /// Number of requests that a model was to answer.
    pub requests: u64,
    /// How many of them were folded.
    pub folded: u64,
    /// How many of them have failed, or were cut.
    pub failed: u64,
    /// How many of their answers did not say what they have used. The tokens are those of the other answers.
    pub unknown: u64,
    /// Number of all other requests, such as counts of tokens and lists of models.
    pub others: u64,
    /// Tokens of prompts that no cache had, and that were not written into one.
    pub uncached_tokens: u64,
    /// Tokens of prompts that were read from a cache.
    pub read_tokens: u64,
    /// Tokens of prompts that were written into a cache.
    pub written_tokens: u64,
    /// Tokens of answers.
    pub output_tokens: u64,
    /// Tokens that folding has taken out of requests, as estimated: a stretch counts in each request that
    /// would have had it.
    pub removed_tokens: u64,
    /// Uncached tokens, a tenth of the read ones, and 1.25 times the written ones.
    pub cost_index: f64,
    /// The same including what was removed, as estimated. In a request that has read from a cache, removed
    /// tokens have the price of read tokens; in a request that has only written, the price of written tokens;
    /// else the price of uncached tokens.
    pub unfolded_cost_index: f64,
}

impl ProxyUsage {
    fn add(&mut self, usage: &Usage, removed: Removed, has_failed: bool) {
        self.requests += 1;
        self.folded += u64::from(removed.folds > 0);
        self.failed += u64::from(has_failed);
        self.unknown += u64::from(!usage.is_known);
        self.uncached_tokens = self.uncached_tokens.saturating_add(usage.uncached);
        self.read_tokens = self.read_tokens.saturating_add(usage.read);
        self.written_tokens = self.written_tokens.saturating_add(usage.written);
        self.output_tokens = self.output_tokens.saturating_add(usage.output);
        if !usage.is_known {
            return;
        }
        self.removed_tokens = self.removed_tokens.saturating_add(removed.tokens);
        let cost = usage.uncached as f64 + READ * usage.read as f64 + WRITTEN * usage.written as f64;
        let price = match usage {
            Usage { read: 1.., .. } => READ,
            Usage { written: 1.., .. } => WRITTEN,
            _ => 1.0,
        };
        self.cost_index += cost;
        self.unfolded_cost_index += cost + price * removed.tokens as f64;
    }

    /// One line for a person.
    pub fn in_words(&self) -> String {
        let input = self.uncached_tokens.saturating_add(self.read_tokens).saturating_add(self.written_tokens);
        let mut words = format!(
            "{}, {} tokens in ({} from a cache) and {} out",
            count(self.requests as usize, "request"),
            number(input),
            number(self.read_tokens),
            number(self.output_tokens),
        );
        if self.unfolded_cost_index > self.cost_index {
            let share = 100.0 * self.cost_index / self.unfolded_cost_index;
            words.push_str(&format!(
                "; cost index {}, {share:.0} % of the unfolded {}",
                number(self.cost_index.round() as u64),
                number(self.unfolded_cost_index.round() as u64)
            ));
        } else {
            words.push_str(&format!("; cost index {}, nothing was folded", number(self.cost_index.round() as u64)));
        }
        for (number, what) in [(self.failed, "failed"), (self.unknown, "did not say what it used")] {
            if number > 0 {
                words.push_str(&format!("; {number} {what}"));
            }
        }
        words
    }
}

impl Report for ProxyUsage {
    const KIND: &'static str = "proxyUsage";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        page.line(Line::new().plain(self.in_words()))
    }
}

/// The sums of a proxy that serves.
#[derive(Default)]
pub struct Totals(Mutex<ProxyUsage>);

impl Totals {
    /// Adds a request that a model was to answer.
    pub fn add(&self, usage: &Usage, removed: Removed, has_failed: bool) {
        self.sums().add(usage, removed, has_failed);
    }

    /// Adds any other request.
    pub fn add_other(&self) {
        self.sums().others += 1;
    }

    pub fn so_far(&self) -> ProxyUsage {
        self.sums().clone()
    }

    fn sums(&self) -> MutexGuard<'_, ProxyUsage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_removed_costs_what_the_request_would_have_paid_for_it() {
        let totals = Totals::default();
        let removed = Removed { folds: 1, tokens: 1_000 };
        let usage = |uncached, read, written| Usage { is_known: true, uncached, read, written, ..Usage::default() };
        totals.add(&usage(10, 100, 8), removed, false);
        totals.add(&usage(10, 0, 8), removed, false);
        totals.add(&usage(10, 0, 0), removed, true);
        totals.add(&Usage::default(), removed, true);
        totals.add_other();
        let sums = totals.so_far();
        assert_eq!((sums.requests, sums.folded, sums.failed, sums.unknown, sums.others), (4, 4, 2, 1, 1));
        assert_eq!(sums.removed_tokens, 3_000);
        assert_eq!(sums.cost_index, 10.0 + 10.0 + 10.0 + 10.0 + 10.0 + 10.0);
        assert_eq!(sums.unfolded_cost_index, 60.0 + 100.0 + 1_250.0 + 1_000.0);
    }
}
