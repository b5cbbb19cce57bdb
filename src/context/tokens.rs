//! Token counters: the trait, the specification's estimate, and the exact counter for o200k. Also truncation
//! of texts to a number of tokens. `approx` has the estimate that is used by default, `counter` finds one by
//! its name.

use std::borrow::Cow;
use std::cell::LazyCell;

use crate::text::floor_char_boundary;

/// Counts the tokens of a text.
///
/// An implementation must be subadditive: `count(ab) <= count(a) + count(b)`. The library adds the counts of
/// pieces, and the sum must not be less than the count of the whole text. Pieces of contexts always end with
/// a line end, so it is sufficient if the condition holds after line ends.
///
/// ```
/// use std::sync::Arc;
/// use callstack_core::context::TokenCounter;
/// use callstack_core::{Stack, StackOptions};
///
/// /// Every byte is a token, as for models that read bytes.
/// struct Bytes;
///
/// impl TokenCounter for Bytes {
///     fn count(&self, text: &str) -> usize {
///         text.len()
///     }
/// }
///
/// let stack = Stack::with_options(StackOptions::default().counter(Arc::new(Bytes)));
/// # let _ = stack;
/// ```
pub trait TokenCounter: Send + Sync {
    /// Returns the number of tokens of a text, exact or estimated.
    fn count(&self, text: &str) -> usize;
}

/// The specification's estimate: one token for every four characters, rounded up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Chars4;

impl TokenCounter for Chars4 {
    fn count(&self, text: &str) -> usize {
        text.chars().count().div_ceil(4)
    }
}

/// The exact number of tokens in the o200k vocabulary. Requires the feature `tokenizer`.
///
/// `docs/figures.md` lists its cost: megabytes of program and memory, and the time of counting. Fragments of
/// contexts keep their counts, so the time is spent when a frame changes.
///
/// It is not subadditive everywhere: `recursive` and `x` are a token each, and `recursivex` is three. It is
/// subadditive where the library divides contexts: after a line end and before `<` or `(`. There, no token
/// begins before the place and ends after it. So contexts keep their cap with this counter too.
#[cfg(feature = "tokenizer")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct O200k;

#[cfg(feature = "tokenizer")]
impl TokenCounter for O200k {
    fn count(&self, text: &str) -> usize {
        tiktoken::get_encoding("o200k_base").expect("the vocabulary is compiled in").count(text)
    }
}

/// Returns the text if it fits into `limit` tokens, or else a beginning of it that fits together with
/// `indicator`, followed by `indicator`. Empty if `indicator` alone does not fit.
///
/// The beginning ends at the last whitespace in its second half, if there is any. A text that fits only
/// without the indicator may be cut too.
///
/// ```
/// use callstack_core::context::{Chars4, truncate};
/// assert_eq!(truncate("one two three four", 3, "…", &Chars4), "one two…");
/// assert_eq!(truncate("one two", 3, "…", &Chars4), "one two");
/// ```
pub fn truncate<'a>(text: &'a str, limit: usize, indicator: &str, counter: &dyn TokenCounter) -> Cow<'a, str> {
    truncate_by(text, limit, indicator, &|part| counter.count(part)).0
}

/// As [`truncate`], with any subadditive cost function; also returns the cost. Examines little more of the
/// text than it returns.
pub(super) fn truncate_by<'a>(
    text: &'a str,
    limit: usize,
    indicator: &str,
    cost: &dyn Fn(&str) -> usize,
) -> (Cow<'a, str>, usize) {
    // Most texts fit, so the indicator is seldom needed.
    let room = LazyCell::new(|| limit.saturating_sub(cost(indicator)));
    let fits = |end: usize| cost(&text[..end]) <= *room;
    // Double the step until the beginning does not fit, then search the end by bisection.
    let mut fitting = 0;
    let mut step = (limit * 4).max(16);
    let mut exceeding = loop {
        let end = floor_char_boundary(text, fitting + step);
        if end == text.len() {
            let whole = cost(text);
            if whole <= limit {
                return (Cow::Borrowed(text), whole);
            }
            break end;
        }
        if !fits(end) {
            break end;
        }
        (fitting, step) = (end, step * 2);
    };
    loop {
        let middle = floor_char_boundary(text, fitting + (exceeding - fitting) / 2);
        if middle <= fitting {
            break;
        }
        if fits(middle) { fitting = middle } else { exceeding = middle }
    }
    if cost(indicator) > limit {
        return (Cow::Borrowed(""), cost(""));
    }
    let kept = &text[..fitting];
    // Go back to the last whitespace, but not by more than half of the text.
    let cut_word = !text[fitting..].starts_with(char::is_whitespace);
    let word_end = kept.rfind(char::is_whitespace).filter(|end| cut_word && *end >= fitting / 2);
    let mut kept = kept[..word_end.unwrap_or(fitting)].trim_end();
    loop {
        let cut = format!("{kept}{indicator}");
        let cost = cost(&cut);
        // Only counters that are not quite subadditive count more here than for the two parts.
        if kept.is_empty() || cost <= limit {
            return (Cow::Owned(cut), cost);
        }
        kept = kept[..floor_char_boundary(kept, kept.len() - 1)].trim_end();
    }
}
