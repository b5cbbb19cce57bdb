//! Contexts: what they hold, what never changes about them, their texts, their cache and the counting of tokens.

mod assembling;
mod cache;
mod golden;
mod invariants;
#[cfg(feature = "tokenizer")]
mod tokens;
mod vocabulary;
