//! Attacks on a stack: hostile texts, hostile files, hostile neighbours. Each test is named after the promise it holds.
//! SECURITY.md says what is defended and against whom.

mod cap;
mod growth;
mod markup;
mod names;
mod waiting;
#[cfg(feature = "sqlite")]
mod files;
