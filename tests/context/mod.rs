//! Tests of contexts: content, invariants, golden texts, cache, and counting of tokens.

mod assembling;
mod cache;
#[cfg(feature = "tools")]
mod conversations;
mod dense;
mod golden;
mod invariants;
mod plans;
mod retries;
#[cfg(feature = "tokenizer")]
mod tokens;
mod vocabulary;
