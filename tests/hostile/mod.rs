//! Attacks on a stack: hostile texts, hostile files, hostile neighbours. Each test is named after the promise
//! it holds. SECURITY.md says what is defended, and against which attackers.

#[cfg(feature = "tokenizer")]
mod cap;
#[cfg(feature = "tools")]
mod echoes;
#[cfg(feature = "sqlite")]
mod files;
mod growth;
mod histories;
#[cfg(all(feature = "sqlite", feature = "tools"))]
mod marks;
mod markup;
mod names;
#[cfg(feature = "tools")]
mod spans;
mod waiting;
