//! The cost of a text: its tokens and its bytes, which a budget limits independently.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

use super::tokens::TokenCounter;

/// Bytes for each token, where a number of tokens limits bytes too.
pub(super) const BYTES_PER_TOKEN: usize = 6;

/// Tokens and bytes. Costs of pieces add up to no less than the cost of the whole text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) tokens: usize,
    pub(super) bytes: usize,
}

impl Cost {
    pub(super) const MAX: Self = Self { tokens: usize::MAX, bytes: usize::MAX };

    pub(super) fn of(text: &str, counter: &dyn TokenCounter) -> Self {
        Self { tokens: counter.count(text), bytes: text.len() }
    }

    /// Applies a function to the tokens of several costs, and to their bytes.
    pub(super) fn each<const N: usize>(costs: [Self; N], function: impl Fn([usize; N]) -> usize) -> Self {
        Self { tokens: function(costs.map(|cost| cost.tokens)), bytes: function(costs.map(|cost| cost.bytes)) }
    }

    pub(super) fn max(self, other: Self) -> Self {
        Self::each([self, other], |[one, other]| one.max(other))
    }

    pub(super) fn saturating_sub(self, other: Self) -> Self {
        Self::each([self, other], |[one, other]| one.saturating_sub(other))
    }

    /// The tokens for limits in tokens alone, such as that of a title: at least one for every six bytes, so
    /// that such a limit is one of bytes too.
    pub(super) fn charge(self) -> usize {
        self.tokens.max(self.bytes.div_ceil(BYTES_PER_TOKEN))
    }

    /// The tokens for a limit in tokens alone, see [`Cost::charge`], that keeps a text within this cost.
    pub(super) fn least_charge(self) -> usize {
        self.tokens.min(self.bytes / BYTES_PER_TOKEN)
    }

    /// True if neither the tokens nor the bytes exceed the limit.
    pub(super) fn fits(self, limit: Self) -> bool {
        self.tokens <= limit.tokens && self.bytes <= limit.bytes
    }
}

/// The [`Cost::charge`] of a text.
pub(super) fn charge(text: &str, counter: &dyn TokenCounter) -> usize {
    Cost::of(text, counter).charge()
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        // A host's counter can return any number.
        Self::each([self, other], |[one, other]| one.saturating_add(other))
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), Self::add)
    }
}
